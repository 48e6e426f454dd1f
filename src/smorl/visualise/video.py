"""Pictures and videos on disk, and the small layout work around them (numpy and Pillow only).

Images are uint8 (H, W, 3), row 0 on top. Files appear under their name only when complete: they
are written under a temporary name in the same folder, looked at once more, and renamed.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smorl.errors import InvalidInput
from smorl.files import appearing

VIDEO_SUFFIXES = (".mp4", ".gif")
PICTURE_SUFFIXES = (".png",)

Picture = NDArray[np.uint8]


def write_png(path: str | os.PathLike[str], image: Picture) -> Path:
    """Write one picture as PNG; its folder must exist. Returns the path."""
    image = _checked(image)
    _check_suffix(path, PICTURE_SUFFIXES)
    with appearing(path) as partial:
        Image.fromarray(image).save(partial, format="PNG", optimize=True)
    return Path(path)


def write_video(path: str | os.PathLike[str], frames: Iterable[Picture], fps: int = 10) -> Path:
    """Write frames of one size as .mp4 (H.264) or .gif; the folder must exist.

    `frames` may be a generator: they are encoded as they come. Odd sides are padded by one pixel,
    because H.264 wants even ones. Returns the path.
    """
    if not fps > 0:
        raise InvalidInput(f"fps is {fps}; a video needs more than 0 frames per second.")
    _check_suffix(path, VIDEO_SUFFIXES)
    with appearing(path) as partial:
        stream = iter(frames)
        first = next(stream, None)
        if first is None:
            raise InvalidInput(f"No frames for {Path(path)}; a video needs at least one.")
        encode = _encode_mp4 if partial.suffix.lower() == ".mp4" else _encode_gif
        encode(partial, _same_size(_checked(first), stream), fps)
    return Path(path)


def check_writable(path: str | os.PathLike[str], suffixes: Sequence[str] = VIDEO_SUFFIXES) -> None:
    """Raise now if `path` could not be written later, after long work; nothing is left there."""
    _check_suffix(path, suffixes)
    with appearing(path, keep=False):
        pass


def tile(images: Sequence[Picture], columns: int, gap: int = 4) -> Picture:
    """Lay pictures of one size out in rows of `columns`, `gap` white pixels apart."""
    if columns < 1 or not len(images):
        raise InvalidInput(f"tile got {len(images)} images and {columns} columns; give 1 or more.")
    cells = list(_same_size(_checked(images[0]), iter(images[1:])))
    height, width = cells[0].shape[:2]
    rows, columns = -(-len(cells) // columns), min(columns, len(cells))
    shape = (rows * (height + gap) - gap, columns * (width + gap) - gap, 3)
    sheet = np.full(shape, 255, dtype=np.uint8)
    for index, cell in enumerate(cells):
        row, column = divmod(index, columns)
        top, left = row * (height + gap), column * (width + gap)
        sheet[top : top + height, left : left + width] = cell
    return sheet


def caption(image: Picture, text: str, size: int = 16) -> Picture:
    """Put a white strip with black `text` (`size` pixels high) above the picture."""
    image = _checked(image)
    font = ImageFont.load_default(size)
    line_height = round(1.6 * size)
    lines = text.split("\n")
    strip = Image.new("RGB", (image.shape[1], line_height * len(lines)), "white")
    draw = ImageDraw.Draw(strip)
    for row, line in enumerate(lines):
        draw.text((size // 3, row * line_height + size // 5), line, fill="black", font=font)
    return np.concatenate([np.asarray(strip), image], axis=0)


def beside(images: Sequence[Picture], gap: int = 8) -> Picture:
    """Put pictures next to each other, `gap` white pixels apart, centred vertically."""
    if not len(images):
        raise InvalidInput("beside got no images; give 1 or more.")
    cells = [_checked(image) for image in images]
    height = max(cell.shape[0] for cell in cells)
    width = sum(cell.shape[1] for cell in cells) + gap * (len(cells) - 1)
    sheet = np.full((height, width, 3), 255, dtype=np.uint8)
    left = 0
    for cell in cells:
        top = (height - cell.shape[0]) // 2
        sheet[top : top + cell.shape[0], left : left + cell.shape[1]] = cell
        left += cell.shape[1] + gap
    return sheet


def _checked(image: Picture) -> Picture:
    """Return the image as a contiguous array or say what is wrong with it."""
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise InvalidInput(
            f"An image has dtype {image.dtype} and shape {image.shape}; pass uint8 (H, W, 3)."
        )
    return np.ascontiguousarray(image)


def _same_size(first: Picture, rest: Iterator[Picture]) -> Iterator[Picture]:
    """Yield all frames, checking that each has the size of the first."""
    yield first
    for index, frame in enumerate(rest, start=1):
        frame = _checked(frame)
        if frame.shape != first.shape:
            raise InvalidInput(
                f"Image {index} has shape {frame.shape}, the first {first.shape}; use one size."
            )
        yield frame


def _check_suffix(path: str | os.PathLike[str], suffixes: Sequence[str]) -> None:
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InvalidInput(
            f"Cannot write {str(target)!r}: unsupported suffix {target.suffix!r}. "
            f"End the name with {' or '.join(suffixes)}."
        )


def _encode_mp4(path: Path, frames: Iterator[Picture], fps: int) -> None:
    import imageio_ffmpeg  # imported here because it looks for its ffmpeg binary

    writer, sent = None, 0
    try:
        for frame in frames:
            pad = [(0, side % 2) for side in frame.shape[:2]]
            frame = np.pad(frame, [*pad, (0, 0)], mode="edge")
            if writer is None:
                writer = imageio_ffmpeg.write_frames(
                    str(path), frame.shape[1::-1], fps=fps, quality=8, macro_block_size=1
                )
                writer.send(None)  # start the encoder
            writer.send(frame.tobytes())
            sent += 1
    finally:
        if writer is not None:
            writer.close()
    # The encoder says nothing of a disk that was full: what it wrote is read once more.
    try:
        found, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    except (RuntimeError, OSError):
        found = 0
    if found != sent:
        raise OSError(errno.ENOSPC, f"only {found} of {sent} frames arrived on the disk")


def _encode_gif(path: Path, frames: Iterator[Picture], fps: int) -> None:
    pictures = [Image.fromarray(frame) for frame in frames]
    pictures[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=max(round(1000 / fps), 20),
        loop=0,
    )
