"""Collecting, saving and cutting random-policy sequences."""

import json

import numpy as np
import pytest

from smorl.envs.rendering.cameras import CAMERAS, project
from smorl.errors import DamagedFile, InvalidInput, RunConflict
from smorl.representations.video import (
    Privileged,
    Sequences,
    collect,
    median_background,
    sample_batch,
)
from smorl.representations.video_files import load_sequences, obtain_sequences, save_sequences

ENV = "smorl/VisualRearrange2-v0"


@pytest.fixture(scope="module")
def small() -> Sequences:
    return collect(ENV, episodes=3, steps=4, seed=7, num_envs=2, threads=1)


def test_shapes_and_actions(small):
    assert small.images.shape == (3, 5, 64, 64, 3)
    assert small.images.dtype == np.uint8
    assert small.actions.shape == (3, 5, 2)
    assert (small.actions[:, 0] == 0).all()
    assert (np.abs(small.actions) <= 1).all()
    assert (np.abs(small.actions[:, 1:]) > 0).all()
    assert small.privileged is not None
    assert small.privileged.hand.shape == (3, 5, 2)
    assert small.privileged.objects.shape == (3, 5, 2, 2)


def test_an_action_leads_to_the_frame_of_its_index(small):
    moved = np.diff(small.privileged.hand, axis=1)
    wanted = small.actions[:, 1:]
    free = np.abs(small.privileged.hand[:, 1:, 0]) < 0.2
    assert np.corrcoef(moved[..., 0][free], wanted[..., 0][free])[0, 1] > 0.9


def test_the_pictures_show_the_privileged_positions(small):
    centre = np.append(small.privileged.objects[0, 0, 0], 0.015)
    x, y = np.floor((project(centre, CAMERAS["zoomed_in"]) + 1) * 32).astype(int)
    red, green, blue = small.images[0, 0, y, x].astype(int)
    assert blue > 100 > max(red, green)  # puck 0 is blue


def test_an_episode_depends_on_seed_and_index_alone(small):
    other = collect(ENV, episodes=2, steps=3, seed=7, num_envs=5, threads=2)
    assert np.array_equal(other.images, small.images[:2, :4])
    assert np.array_equal(other.actions, small.actions[:2, :4])
    assert not np.array_equal(collect(ENV, 1, 3, seed=8).actions, other.actions[:1])


def test_progress_counts_episodes():
    seen = []
    collect(ENV, 3, 1, seed=0, num_envs=2, threads=1, progress=lambda *now: seen.append(now))
    assert seen == [(2, 3), (3, 3)]


def test_a_state_env_is_refused():
    with pytest.raises(InvalidInput, match="smorl/VisualRearrange2-v0"):
        collect("smorl/Rearrange2-v0", 1, 1, seed=0)
    with pytest.raises(InvalidInput, match="Did you mean"):
        collect("smorl/VisualRearange2-v0", 1, 1, seed=0)


def test_round_trip(small, tmp_path):
    folder = save_sequences(tmp_path / "data", small)
    loaded = load_sequences(folder, privileged=True)
    assert isinstance(loaded.images, np.memmap)
    for name in ("images", "actions"):
        assert np.array_equal(getattr(loaded, name), getattr(small, name))
    assert loaded.privileged is not None
    assert np.array_equal(loaded.privileged.objects, small.privileged.objects)
    assert (loaded.env, loaded.seed, loaded.steps) == (ENV, 7, 4)
    assert load_sequences(folder).privileged is None
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_saving_replaces_only_the_same_sequences(small, tmp_path):
    folder = save_sequences(tmp_path / "data", small)
    save_sequences(folder, small)
    other = Sequences(ENV, 8, small.images, small.actions, small.privileged)
    with pytest.raises(RunConflict, match="seed 8"):
        save_sequences(folder, other)
    assert load_sequences(folder).seed == 7
    (tmp_path / "notes").mkdir()
    with pytest.raises(RunConflict, match="choose another folder"):
        save_sequences(tmp_path / "notes", small)


def test_obtain_collects_once(tmp_path):
    first = obtain_sequences(tmp_path / "data", ENV, 1, 2, seed=3, threads=1)
    stamp = (tmp_path / "data" / "images.npy").stat().st_mtime_ns
    second = obtain_sequences(tmp_path / "data", ENV, 1, 2, seed=3, threads=1)
    assert np.array_equal(first.images, second.images)
    assert (tmp_path / "data" / "images.npy").stat().st_mtime_ns == stamp
    with pytest.raises(RunConflict, match="steps 9"):
        obtain_sequences(tmp_path / "data", ENV, 1, 9, seed=3)


def damage_flip(folder):
    data = bytearray((folder / "images.npy").read_bytes())
    data[-1] ^= 1
    (folder / "images.npy").write_bytes(data)


def damage_cut(folder):
    data = (folder / "actions.npy").read_bytes()
    (folder / "actions.npy").write_bytes(data[:-3])


def damage_meta(folder):
    (folder / "meta.json").write_text("{")


def damage_steps(folder):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "steps": 9}))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (damage_flip, "images.npy does not match its hash"),
        (damage_cut, "actions.npy has"),
        (damage_meta, "not valid JSON"),
        (damage_steps, "does not match meta.json"),
        (lambda folder: (folder / "images.npy").unlink(), "images.npy: No such file"),
    ],
)
def test_damage_is_named(small, tmp_path, harm, words):
    folder = save_sequences(tmp_path / "data", small)
    harm(folder)
    with pytest.raises(DamagedFile, match=words):
        load_sequences(folder)


def test_windows_are_consecutive_and_start_where_asked():
    count = np.arange(6 * 10, dtype=np.uint8).reshape(6, 10)
    images = np.broadcast_to(count[..., None, None, None], (6, 10, 2, 2, 3))
    actions = np.repeat(count[..., None], 2, axis=-1).astype(np.float32)
    nothing = np.zeros((6, 10, 2), np.float32)
    data = Sequences("any", 0, images, actions, Privileged(nothing, nothing[:, :, None]))
    pictures, moves = sample_batch(data, 200, 4, np.random.default_rng(0))
    assert pictures.shape == (200, 4, 2, 2, 3)
    assert (np.diff(pictures[:, :, 0, 0, 0].astype(int), axis=1) == 1).all()
    assert np.array_equal(pictures[:, :, 0, 0, 0], moves[..., 0])
    assert set(pictures[:, 0, 0, 0, 0] % 10) == set(range(7))
    first, _ = sample_batch(data, 200, 4, np.random.default_rng(0), first_frames=1.0)
    assert (first[:, 0, 0, 0, 0] % 10 == 0).all()
    with pytest.raises(InvalidInput, match="11"):
        sample_batch(data, 1, 11, np.random.default_rng(0))


def test_the_median_ignores_what_moves():
    images = np.full((5, 4, 8, 8, 3), 100, np.uint8)
    for episode in range(5):
        images[episode, :, episode] = 255
    assert np.allclose(median_background(images), 100 / 255)
