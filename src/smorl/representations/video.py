"""Random-policy sequences for training perception: collected in parallel, cut into batches.

A sequence holds `steps + 1` pictures: the reset frame and one frame per action. `actions[:, t]` is
the action that led to frame t, zero for the reset frame. The simulator's positions are kept apart
in `Privileged`: evaluation may ask for them, training never sees them.

Release: 101 episodes of 100 steps, stored without the reset frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import Truth, action_size, observation_shape, truth_of
from smorl.envs.factory import make_visual_envs
from smorl.errors import Diverged, InvalidInput
from smorl.seeding import stream

Progress = Callable[[int, int], None]

# A diverged simulation is repeated with another stream at most this often per episode.
_ATTEMPTS = 5
# Pictures the median is taken over; more change it by less than a grey level.
_MEDIAN_FRAMES = 400


@dataclass(frozen=True)
class Privileged:
    """What only the simulator knows, metres: hand (E, T, 2) and pucks (E, T, n, 2)."""

    hand: NDArray[np.float32]
    objects: NDArray[np.float32]


@dataclass(frozen=True)
class Sequences:
    """E sequences of T = steps + 1 frames: images uint8 (E, T, S, S, 3), actions (E, T, A)."""

    env: str
    seed: int
    images: NDArray[np.uint8]
    actions: NDArray[np.float32]
    privileged: Privileged | None = None

    @property
    def episodes(self) -> int:
        """Number of sequences E."""
        return self.images.shape[0]

    @property
    def steps(self) -> int:
        """Actions per sequence; there is one frame more."""
        return self.images.shape[1] - 1


def collect(
    env_id: str,
    episodes: int,
    steps: int,
    seed: int,
    num_envs: int = 50,
    threads: int = 2,
    progress: Progress | None = None,
    image_size: int | None = None,
) -> Sequences:
    """Roll out uniformly random actions in a visual env.

    Episode i depends on `seed` and i alone: neither `num_envs`, `threads` nor the number of
    episodes changes it, and more steps only make it longer. `progress(done, episodes)` is called
    after every set of episodes. Pictures are `image_size` square, or as the environment has them.
    """
    for name, value in {"episodes": episodes, "steps": steps, "num_envs": num_envs}.items():
        if isinstance(value, bool) or int(value) != value or value < 1:
            raise InvalidInput(f"{name} is {value!r}; it must be a whole number, 1 or more.")
    envs = make_visual_envs(env_id, min(num_envs, episodes), threads, image_size=image_size)
    try:
        return _collect(envs, env_id, episodes, steps, seed, progress)
    finally:
        envs.close()


def episode_plan(
    seed: int,
    episode: int,
    steps: int,
    actions: int,
    attempt: int = 0,
    purpose: str = "episode",
) -> tuple[int, NDArray[np.float32]]:
    """Return the env seed and the random actions (steps + 1, `actions`) of one episode.

    Episodes of different `purpose` share nothing, so that evaluation can be held out.
    """
    suffix = f"/{attempt}" if attempt else ""
    rng = stream(seed, f"perception/{purpose}/{episode}{suffix}")
    env_seed = int(rng.integers(2**31))
    chosen = np.zeros((steps + 1, actions), np.float32)
    chosen[1:] = rng.uniform(-1, 1, size=(steps, actions))
    return env_seed, chosen


def _collect(
    envs: gym.vector.VectorEnv,
    env_id: str,
    episodes: int,
    steps: int,
    seed: int,
    progress: Progress | None,
) -> Sequences:
    length, truth = action_size(envs), truth_of(envs)
    images = np.empty((episodes, steps + 1, *observation_shape(envs)), np.uint8)
    actions = np.empty((episodes, steps + 1, length), np.float32)
    known = None if truth is None else _empty_privileged(truth, episodes, steps)
    pending = [(episode, 0) for episode in range(episodes)]
    while pending:
        chosen, pending = pending[: envs.num_envs], pending[envs.num_envs :]
        # Rows without an episode of their own repeat the last one and are thrown away.
        rows = chosen + [chosen[-1]] * (envs.num_envs - len(chosen))
        plans = [episode_plan(seed, episode, steps, length, attempt) for episode, attempt in rows]
        failed = np.zeros(len(rows), bool)
        index, used = [episode for episode, _ in chosen], len(chosen)
        for t, (observation, ended) in enumerate(_rollout(envs, plans)):
            images[index, t] = observation[:used]
            if known is not None and truth is not None:
                known.hand[index, t] = truth.body[:used]
                known.objects[index, t] = truth.objects[:used]
            failed |= ended
        actions[index] = [plan[1] for plan in plans[:used]]
        pending += [_again(env_id, *chosen[row]) for row in np.flatnonzero(failed[:used])]
        if progress is not None:
            progress(episodes - len(pending), episodes)
    return Sequences(env_id, seed, images, actions, known)


def _empty_privileged(truth: Truth, episodes: int, steps: int) -> Privileged:
    shape = (episodes, steps + 1)
    return Privileged(
        np.empty((*shape, *truth.body.shape[1:]), np.float32),
        np.empty((*shape, *truth.objects.shape[1:]), np.float32),
    )


def _rollout(envs: gym.vector.VectorEnv, plans: list[tuple[int, NDArray[np.float32]]]):
    """Yield (pictures, rows whose episode ended: they diverged, or show another one now)."""
    observation, _ = envs.reset(seed=[plan[0] for plan in plans])  # pyright: ignore
    yield observation["observation"], np.zeros(envs.num_envs, bool)
    for action in np.stack([plan[1] for plan in plans], axis=1)[1:]:
        observation, _, terminated, truncated, _ = envs.step(action)
        yield observation["observation"], terminated | truncated


def _again(env_id: str, episode: int, attempt: int) -> tuple[int, int]:
    if attempt + 1 >= _ATTEMPTS:
        raise Diverged(
            f"Episode {episode} of {env_id} ended early {_ATTEMPTS} times (diverged physics, or a "
            "limit of its own); use another seed, or fewer steps."
        )
    return episode, attempt + 1


def median_background(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the per-pixel median (S, S, 3) in [0, 1] of frames spread over images (E, T, ...).

    Everything that moves is away from most pixels most of the time, so what remains is the table.
    """
    episodes, length = images.shape[:2]
    total = episodes * length
    chosen = np.unique(np.linspace(0, total - 1, min(_MEDIAN_FRAMES, total)).astype(np.intp))
    frames = images[chosen // length, chosen % length]
    return (np.median(frames, axis=0) / 255).astype(np.float32)


def sample_batch(
    sequences: Sequences,
    batch: int,
    length: int,
    rng: np.random.Generator,
    first_frames: float = 0.0,
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Cut `batch` windows: images uint8 (B, T, S, S, 3) and actions (B, T, A), T = `length`.

    Episode and start are uniform; on average the share `first_frames` of the windows starts at
    the reset frame instead.
    """
    total = sequences.steps + 1
    if not 1 <= length <= total:
        raise InvalidInput(f"length is {length}; the sequences have 1 to {total} frames to give.")
    if not 0 <= first_frames <= 1:
        raise InvalidInput(f"first_frames is {first_frames}; it is a share between 0 and 1.")
    episode = rng.integers(sequences.episodes, size=batch)
    start = rng.integers(total - length + 1, size=batch)
    start[rng.random(batch) < first_frames] = 0
    frame = start[:, None] + np.arange(length)
    return sequences.images[episode[:, None], frame], sequences.actions[episode[:, None], frame]


def describe(sequences: Sequences) -> dict[str, Any]:
    """Return what identifies sequences, for meta data and messages."""
    return {
        "env": sequences.env,
        "seed": sequences.seed,
        "episodes": sequences.episodes,
        "steps": sequences.steps,
        "image_size": sequences.images.shape[2],
    }
