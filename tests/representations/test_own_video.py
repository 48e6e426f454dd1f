"""A person's own pictures as sequences."""

import imageio.v3 as imageio
import numpy as np
import pytest
from PIL import Image

from smorl.errors import InvalidInput
from smorl.representations.own_video import NAME, load_video
from smorl.representations.video_files import load_sequences, save_sequences

RNG = np.random.default_rng(0)


def frames(count, height=20, width=30):
    return RNG.integers(0, 255, (count, height, width, 3), np.uint8)


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for number, frame in enumerate(frames(3, 16, 16)):
        frame[:] = 10 * number
        Image.fromarray(frame).save(tmp_path / f"{2 - number}.png")
    data = load_video(tmp_path, 16)
    assert (data.env, data.episodes, data.steps) == (NAME, 1, 2)
    assert data.images[0, :, 0, 0, 0].tolist() == [20, 10, 0]
    assert not data.actions.any()
    assert data.privileged is None


def test_folders_of_folders_and_long_scenes_become_equal_sequences(tmp_path):
    for scene, count in (("a", 5), ("b", 11)):
        (tmp_path / scene).mkdir()
        for number, frame in enumerate(frames(count)):
            Image.fromarray(frame).save(tmp_path / scene / f"{number:03}.jpg")
    data = load_video(tmp_path, 8)
    assert data.images.shape == (3, 5, 8, 8, 3)  # a, and b cut in two; one frame is left over


def test_arrays_bring_their_actions(tmp_path):
    images, actions = frames(6)[None].repeat(2, 0), np.ones((2, 6, 3))
    np.savez(tmp_path / "v.npz", images=images, actions=actions)
    data = load_video(tmp_path / "v.npz", 8)
    assert data.actions.shape == (2, 6, 3)
    assert not data.actions[:, 0].any()
    assert data.actions[:, 1:].all()


def test_a_film(tmp_path):
    imageio.imwrite(tmp_path / "film.mp4", np.full((7, 32, 48, 3), 90, np.uint8), fps=5)
    data = load_video(tmp_path / "film.mp4", 16)
    assert data.images.shape == (1, 7, 16, 16, 3)
    assert abs(int(data.images.mean()) - 90) < 5


def test_sequences_without_the_truth_are_saved(tmp_path):
    np.savez(tmp_path / "v.npz", images=frames(6))
    data = load_video(tmp_path / "v.npz", 8)
    save_sequences(tmp_path / "kept", data)
    np.testing.assert_array_equal(load_sequences(tmp_path / "kept").images, data.images)
    with pytest.raises(InvalidInput, match="do not say where things really were"):
        load_sequences(tmp_path / "kept", privileged=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", None, "neither a folder"),
        ("v.npz", {"pictures": frames(3)}, "no readable `images`"),
        ("v.npz", {"images": frames(3).astype(float)}, "must be uint8"),
        ("v.npz", {"images": frames(3), "actions": np.zeros((2, 2))}, "one action per picture"),
        ("v.npz", {"images": frames(1)}, "2 are the least"),
    ],
)
def test_mistakes_get_one_clear_sentence(tmp_path, name, content, message):
    if content is not None:
        np.savez(tmp_path / name, **content)
    with pytest.raises(InvalidInput, match=message):
        load_video(tmp_path / name, 8)


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="holds no pictures"):
        load_video(tmp_path, 8)
