"""The figure of reconstructions (App. A.3) from the pictures of `smorl perception show`."""

from __future__ import annotations

from typing import Any

import numpy as np

from smorl.errors import DamagedFile
from smorl.paper.evidence import Evidence

_WIDTH = 11.0  # inches


def reconstructions_figure(evidence: Evidence) -> Any:
    """Put the five-row panels for 2 and 3 pucks under each other."""
    from matplotlib.figure import Figure

    folder = evidence.results / "analysis"
    found = {n: folder / f"reconstructions-{n}.png" for n in (2, 3)}
    pictures = {n: read_picture(path) for n, path in found.items() if path.exists()}
    heights = [_WIDTH * len(picture) / picture.shape[1] for picture in pictures.values()]
    figure = Figure(figsize=(_WIDTH, sum(heights) + 0.3 * len(heights)), layout="constrained")
    axes = figure.subplots(len(pictures), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, (pucks, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, interpolation="antialiased")
        axis.set_title(f"Visual Rearrange with {pucks} pucks", fontsize=10)
        axis.set_axis_off()
    return figure


def read_picture(path) -> np.ndarray:
    """Read a PNG as bytes (H, W, 3)."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return np.array(image.convert("RGB"))
    except OSError as error:
        raise DamagedFile(f"{path} is not a readable picture ({error}); remove it.") from error
