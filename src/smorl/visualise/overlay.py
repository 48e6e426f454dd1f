"""Small drawing work on pictures uint8 (H, W, 3): sizes, labels, boxes in image coordinates."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from smorl.visualise.video import Picture

Colour = tuple[int, int, int]
LABEL_SIZE = 15
TAG_SIZE = 11


def as_bytes(picture: NDArray[np.floating]) -> Picture:
    """Return a picture in [0, 1] as uint8."""
    return np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8)


def enlarged(picture: Picture, zoom: int) -> Picture:
    """Return a square picture `zoom` times as large, smoothly."""
    size = picture.shape[0] * zoom
    return np.asarray(Image.fromarray(picture).resize((size, size), Image.Resampling.BICUBIC))


def draw_box(
    picture: Picture,
    centre: ArrayLike,
    half: ArrayLike,
    colour: Colour,
    *,
    dashed: bool = False,
    line: int | None = None,
) -> Picture:
    """Return the square picture with the box centre +- half (image coordinates), an outline."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    size = picture.shape[0]
    line = max(2, size // 96) if line is None else line
    middle, reach = np.asarray(centre), np.abs(np.asarray(half))
    low, high = (middle - reach + 1) / 2 * size, (middle + reach + 1) / 2 * size
    corners = [*np.rint(low).astype(int).tolist(), *np.rint(high).astype(int).tolist()]
    if dashed:
        _dash(draw, corners, colour, line)
    else:
        draw.rectangle(corners, outline=colour, width=line)
    return np.asarray(image)


def _dash(draw: ImageDraw.ImageDraw, corners: list[int], colour: Colour, line: int) -> None:
    left, top, right, bottom = corners
    dash = 4 * line
    for start in range(left, right, 2 * dash):
        for y in (top, bottom):
            draw.line([start, y, min(start + dash, right), y], fill=colour, width=line)
    for start in range(top, bottom, 2 * dash):
        for x in (left, right):
            draw.line([x, start, x, min(start + dash, bottom)], fill=colour, width=line)


def draw_tag(
    picture: Picture, centre: ArrayLike, half: ArrayLike, text: str, colour: Colour
) -> Picture:
    """Return the square picture with a short text on `colour`, at the upper left of a box.

    It lies above the box where there is room, and never outside the picture.
    """
    image = Image.fromarray(picture)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(TAG_SIZE)
    size = picture.shape[0]
    middle, reach = np.asarray(centre), np.abs(np.asarray(half))
    corner = np.rint((middle - reach + 1) / 2 * size).astype(int) - (0, TAG_SIZE + 1)
    width = round(draw.textlength(text, font=font)) + 4
    left, top = np.clip(corner, 0, (size - width - 1, size - TAG_SIZE - 2)).tolist()
    draw.rectangle([left, top, left + width, top + TAG_SIZE + 1], fill=colour)
    place = (left + (width + 1) / 2, top + (TAG_SIZE + 2) / 2)
    draw.text(place, text, fill="black", font=font, anchor="mm")
    return np.asarray(image)


def crop(picture: Picture, centre: ArrayLike, half: ArrayLike, pixels: int) -> Picture:
    """Return the square around a box (image coordinates), enlarged to `pixels`."""
    size = picture.shape[0]
    middle = (np.asarray(centre, float) + 1) / 2 * size
    reach = max(float(np.abs(np.asarray(half)).max()) / 2 * size, 2.0)
    low, high = (np.clip(middle + sign * reach, 0, size) for sign in (-1, 1))
    # A box at the border is moved inwards rather than cut, so that nothing is stretched.
    side = min(2 * reach, size)
    low = np.where(high >= size, size - side, low)
    box = (*low.tolist(), *np.minimum(low + side, size).tolist())
    image = Image.fromarray(picture)
    return np.asarray(image.resize((pixels, pixels), Image.Resampling.BICUBIC, box=box))


def side_label(text: str, height: int) -> Picture:
    """Write `text` upwards on a thin white strip of this height."""
    strip = Image.new("RGB", (height, round(1.5 * LABEL_SIZE)), "white")
    font = ImageFont.load_default(LABEL_SIZE)
    middle = (height / 2, strip.height / 2)
    ImageDraw.Draw(strip).text(middle, text, fill="black", font=font, anchor="mm")
    return np.asarray(strip.transpose(Image.Transpose.ROTATE_90))


def column_labels(texts: list[str], size: int, width: int) -> Picture:
    """Write a text above each of the last columns, `size` wide, on a white strip of this width."""
    strip = Image.new("RGB", (width, round(1.5 * LABEL_SIZE)), "white")
    draw, font = ImageDraw.Draw(strip), ImageFont.load_default(LABEL_SIZE)
    left = width - len(texts) * (size + 4) + 4
    for column, text in enumerate(texts):
        middle = (left + column * (size + 4) + size / 2, strip.height / 2)
        draw.text(middle, text, fill="black", font=font, anchor="mm")
    return np.asarray(strip)
