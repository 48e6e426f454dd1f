"""Objects in a video, found by SCALOR: `python examples/detect.py FILM.mp4 [PERCEPTION]`."""

import sys

import numpy as np

import smorl
from smorl.representations.own_video import load_video

perception = smorl.load_perception(sys.argv[2] if len(sys.argv) > 2 else "shipped:scalor-1")
frames = load_video(sys.argv[1], perception.config.image_size).images[0]
objects = perception.track(frames)
for t, present in enumerate(np.asarray(objects.present)):
    seen = zip(objects.ids[t, present], objects.position[t, present], strict=True)
    print(f"frame {t}: " + ", ".join(f"object {i} at {np.round(p, 2).tolist()}" for i, p in seen))
