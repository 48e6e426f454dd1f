"""Recorded episodes as a Minari data set (extra `minari`), which anybody can load without smorl."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.errors import InvalidInput, RunConflict
from smorl.files import TEMPORARY, cannot_write, make_folder
from smorl.studies.episodes import Recorded


def check_name(name: str, folder: Path) -> Path:
    """Return where a data set of this name goes; refuse a bad name or one that is there."""
    minari = _minari()
    try:
        minari.dataset.minari_dataset.parse_dataset_id(name)
    except ValueError as error:
        raise InvalidInput(
            f"--minari {name!r} is no name of a data set; it looks like rearrange2-random-v0."
        ) from error
    place = folder / name
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise InvalidInput(f"--minari {name!r} leads out of {folder}; use letters, digits and -.")
    if place.exists():
        raise RunConflict(f"{place} exists; choose another name or version, or remove it.")
    return place


def write_dataset(
    name: str, folder: Path, env: str, episodes: Iterable[Recorded], about: dict[str, str]
) -> Path:
    """Write the episodes as data set `name` below `folder`, whole or not at all.

    `about` has `algorithm_name` and `description`. Pictures are stored as they are, not as JPEG.
    """
    minari, place = _minari(), check_name(name, folder)
    make_folder(folder)
    buffers = [_buffer(minari, number, episode) for number, episode in enumerate(episodes)]
    if not buffers:
        raise InvalidInput(f"{name}: no episode was whole, so there is nothing to write.")
    made = gym.make(env)
    spaces = made.observation_space
    assert isinstance(spaces, gym.spaces.Dict)
    kept = {key: space for key, space in spaces.items() if key in buffers[0].observations}
    try:
        with _elsewhere(folder) as temporary:
            minari.create_dataset_from_buffers(
                name,
                buffers,
                env=made,
                eval_env=made,
                observation_space=gym.spaces.Dict(kept),
                action_space=made.action_space,
                code_permalink="",
                author="smorl",
                author_email="",
                jpeg_encoding=False,
                data_format="hdf5",
                requirements=["smorl"],
                **about,
            )
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(temporary / name, place)
    except OSError as error:
        raise cannot_write(place, error) from error
    finally:
        made.close()
    return place


def _buffer(minari: Any, number: int, episode: Recorded) -> Any:
    steps = len(episode.actions)
    return minari.data_collector.EpisodeBuffer(
        id=number,
        seed=episode.seed,
        observations=episode.observations,
        actions=episode.actions,
        rewards=episode.rewards,
        terminations=np.zeros(steps, bool),
        truncations=np.arange(1, steps + 1) == steps,
        infos=episode.infos,
    )


@contextmanager
def _elsewhere(folder: Path) -> Iterator[Path]:
    """Let Minari write below a temporary folder in `folder`; what is left there goes."""
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=folder.resolve()))
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(temporary)
    try:
        yield temporary
    finally:
        if before is None:
            del os.environ["MINARI_DATASETS_PATH"]
        else:
            os.environ["MINARI_DATASETS_PATH"] = before
        shutil.rmtree(temporary, ignore_errors=True)


def _minari() -> Any:
    try:
        import h5py  # noqa: F401  # pyright: ignore[reportMissingImports]
        import minari  # pyright: ignore[reportMissingImports]
        import minari.data_collector  # pyright: ignore[reportMissingImports]
        import minari.dataset.minari_dataset  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InvalidInput("Minari is not installed; `pip install 'smorl[minari]'`.") from error
    return minari
