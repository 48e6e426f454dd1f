"""A person's own pictures as sequences to train perception on; nobody knows the truth of them.

- a folder of pictures (.png, .jpg), in the order of their names; or of such folders, one a scene;
- a film (.mp4, .gif, .avi, .mov, .mkv);
- a `.npz` file with `images` uint8 (T, H, W, 3) or (E, T, H, W, 3) and, if the camera looked at a
  robot, `actions` (T, A) or (E, T, A), where action t led to picture t.

Pictures become squares of the size the model asks for; long scenes are cut into shorter ones.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from smorl.errors import InvalidInput
from smorl.images import resize, square
from smorl.representations.video import Sequences

NAME = "video"  # in the place of an environment
PICTURES = (".png", ".jpg", ".jpeg")
FILMS = (".mp4", ".gif", ".avi", ".mov", ".mkv")
LONGEST, SHORTEST = 101, 2  # pictures per sequence
# Assumed where a video has no actions: of the length of our tables', so that the perception can be
# used there.
STANDING_STILL = np.zeros(2, np.float32)

Scene = tuple[np.ndarray, np.ndarray | None]  # images (T, S, S, 3), actions (T, A)


def load_video(path: Path, image_size: int) -> Sequences:
    """Read `path` as sequences of equal length, as many frames of it as that allows."""
    path = Path(path)
    if path.is_dir():
        scenes = _folders(path, image_size)
    elif path.suffix.lower() == ".npz":
        scenes = _arrays(path, image_size)
    elif path.suffix.lower() in FILMS:
        scenes = [(_film(path, image_size), None)]
    else:
        raise InvalidInput(
            f"--video {path} is neither a folder of pictures nor a film ({', '.join(FILMS)}) nor "
            "an .npz file with `images`."
        )
    shortest = min(len(images) for images, _ in scenes)
    if shortest < SHORTEST:
        raise InvalidInput(f"--video {path} has a scene of {shortest} pictures; 2 are the least.")
    length = min(LONGEST, shortest)
    pieces = [
        (images[i : i + length], None if actions is None else actions[i : i + length])
        for images, actions in scenes
        for i in range(0, len(images) - length + 1, length)
    ]
    images = np.stack([piece[0] for piece in pieces])
    actions = np.tile(STANDING_STILL, (*images.shape[:2], 1))
    if pieces[0][1] is not None:
        actions = np.stack([piece[1] for piece in pieces]).astype(np.float32)  # pyright: ignore
        actions[:, 0] = 0.0  # what led to the first picture is not known
    return Sequences(NAME, 0, images, actions)


def _folders(path: Path, size: int) -> list[Scene]:
    folders = sorted(inner for inner in path.iterdir() if inner.is_dir()) or [path]
    scenes: list[Scene] = [
        (np.stack(found), None) for f in folders if (found := _pictures(f, size))
    ]
    if not scenes:
        raise InvalidInput(f"--video {path} holds no pictures ({', '.join(PICTURES)}).")
    return scenes


def _pictures(folder: Path, size: int) -> list[np.ndarray]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in PICTURES)
    try:
        return [square(Image.open(file), size) for file in files]
    except (UnidentifiedImageError, OSError) as error:
        raise InvalidInput(f"a picture of {folder} cannot be read ({error}); remove it.") from error


def _film(path: Path, size: int) -> np.ndarray:
    import imageio.v3 as imageio

    try:
        frames = [square(Image.fromarray(frame), size) for frame in imageio.imiter(path)]
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"--video {path} cannot be read as a film ({error}).") from error
    return np.stack(frames) if frames else np.zeros((0, size, size, 3), np.uint8)


def _arrays(path: Path, size: int) -> list[Scene]:
    try:
        with np.load(path, allow_pickle=False) as file:
            images, actions = file["images"], file.get("actions")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"--video {path} has no readable `images` ({error}).") from error
    if images.ndim == 4:
        images, actions = images[None], None if actions is None else actions[None]
    if images.ndim != 5 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise InvalidInput(
            f"--video {path}: images are {images.dtype} {images.shape}; they must be uint8 "
            "(T, H, W, 3) or (E, T, H, W, 3)."
        )
    if actions is not None and (actions.ndim != 3 or actions.shape[:2] != images.shape[:2]):
        raise InvalidInput(
            f"--video {path}: actions {actions.shape} do not fit images {images.shape}; there is "
            "one action per picture."
        )
    return [
        (
            resize(scene, size),
            None if actions is None else actions[index],
        )
        for index, scene in enumerate(images)
    ]
