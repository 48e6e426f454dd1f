"""Files people open: right content, complete or absent, errors that name the remedy."""

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from smorl.errors import CannotWrite, InvalidInput
from smorl.visualise.video import (
    beside,
    caption,
    check_writable,
    tile,
    write_png,
    write_video,
)


def flat(value, height=32, width=48):
    return np.full((height, width, 3), value, dtype=np.uint8)


def read_video(path):
    reader = imageio_ffmpeg.read_frames(str(path))
    meta = next(reader)
    width, height = meta["size"]
    return meta, [np.frombuffer(data, np.uint8).reshape(height, width, 3) for data in reader]


def test_png_round_trip(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    path = write_png(tmp_path / "a.png", image)
    np.testing.assert_array_equal(np.asarray(Image.open(path)), image)
    assert [file.name for file in path.parent.iterdir()] == ["a.png"]


def test_mp4_keeps_size_count_rate_and_brightness(tmp_path):
    path = tmp_path / "a.mp4"
    write_video(path, (flat(value) for value in (0, 100, 200, 250)), fps=5)
    meta, frames = read_video(path)
    assert meta["fps"] == 5
    assert [frame.shape for frame in frames] == [(32, 48, 3)] * 4
    for frame, value in zip(frames, (0, 100, 200, 250), strict=True):
        assert abs(frame.mean() - value) < 4


def test_mp4_of_odd_size_is_padded_by_one_pixel(tmp_path):
    write_video(tmp_path / "a.mp4", [flat(90, 33, 47)] * 2, fps=10)
    meta, frames = read_video(tmp_path / "a.mp4")
    assert meta["size"] == (48, 34)
    assert abs(frames[0].mean() - 90) < 4


def test_gif(tmp_path):
    write_video(tmp_path / "a.gif", [flat(0), flat(255)], fps=10)
    with Image.open(tmp_path / "a.gif") as gif:
        assert getattr(gif, "n_frames", 1) == 2
        assert gif.size == (48, 32)


def test_a_failure_leaves_the_old_file_and_no_scraps(tmp_path):
    path = tmp_path / "a.mp4"
    write_video(path, [flat(10)] * 3)
    before = path.read_bytes()

    def breaks():
        yield flat(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(path, breaks())
    with pytest.raises(InvalidInput, match="use one size"):
        write_video(path, [flat(1), flat(1, 10, 10)])
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


def test_unusable_paths_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(InvalidInput, match=r"unsupported suffix '.avi'.*\.mp4 or \.gif"):
        write_video(tmp_path / "a.avi", [flat(0)])
    with pytest.raises(InvalidInput, match=r"End the name with \.png"):
        write_png(tmp_path / "a.jpg", flat(0))
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotWrite, match="choose another place"):
        write_png(tmp_path / "file" / "a.png", flat(0))
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(CannotWrite, match="is a folder"):
        write_png(tmp_path / "folder.png", flat(0))
    with pytest.raises(InvalidInput, match="unsupported suffix"):
        check_writable(tmp_path / "b.txt")
    with pytest.raises(CannotWrite, match="make its folder first"):
        check_writable(tmp_path / "sub" / "b.mp4")
    assert not (tmp_path / "sub").exists()


def test_bad_frames_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(InvalidInput, match="dtype float64"):
        write_png(tmp_path / "a.png", np.zeros((4, 4, 3)))
    with pytest.raises(InvalidInput, match="at least one"):
        write_video(tmp_path / "a.mp4", [])
    with pytest.raises(InvalidInput, match="fps is 0"):
        write_video(tmp_path / "a.mp4", [flat(0)], fps=0)
    assert not list(tmp_path.iterdir())


def test_tile_places_row_by_row():
    sheet = tile([flat(value, 4, 6) for value in (10, 20, 30)], columns=2, gap=1)
    assert sheet.shape == (9, 13, 3)
    assert (sheet[:4, :6] == 10).all()
    assert (sheet[:4, 7:] == 20).all()
    assert (sheet[5:, :6] == 30).all()
    assert (sheet[5:, 7:] == 255).all()
    assert tile([flat(1, 4, 6)], columns=5).shape == (4, 6, 3)
    with pytest.raises(InvalidInput, match="0 images"):
        tile([], columns=2)


def test_caption_writes_above_the_untouched_picture():
    image = flat(77, 20, 100)
    one, two = caption(image, "goal"), caption(image, "goal\n5 cm")
    np.testing.assert_array_equal(one[-20:], image)
    strip = one[:-20]
    assert strip.min() < 100
    assert (strip == 255).mean() > 0.5
    assert len(two) > len(one)
    assert (caption(image, "goal") == one).all()
    assert (caption(image, "start") != one).any()


def test_beside_centres_what_is_lower():
    row = beside([flat(1, 4, 5), flat(2, 2, 3)], gap=2)
    assert row.shape == (4, 10, 3)
    assert (row[1:3, 7:] == 2).all()
    assert (row[0, 7:] == 255).all()
