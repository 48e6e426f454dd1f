"""The methods as rows of one table: what each is composed of (docs/architecture.md).

A method names an encoder and whether it learns. Everything else (networks, relabelling fractions,
thresholds, sub-goal order) is settings. No method has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym

from smorl.errors import InvalidInput, did_you_mean
from smorl.perception.encoder import Encoder
from smorl.perception.ground_truth import GroundTruthObjects, GroundTruthVector


@dataclass(frozen=True)
class Method:
    """One row. `encoder(items, identities)` sees `items` = arm and pucks of the environment."""

    line: str
    encoder: Callable[[int, int | None], Encoder]
    learns: bool = True


METHODS: dict[str, Method] = {
    "smorl-gt": Method(
        "SMORL on ground-truth objects: one-hot appearance, positions in metres",
        GroundTruthObjects,
    ),
    "sac-her": Method(
        "SAC with hindsight on the flat state, all objects at once (the paper's baseline)",
        lambda items, identities: GroundTruthVector(2 * items),
    ),
    "passive": Method("does nothing: the dotted line", GroundTruthObjects, learns=False),
}


def get_method(name: str) -> Method:
    """Return a row of the table by name."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS)
        raise InvalidInput(f"unknown method {name!r}.{hint} Known: {', '.join(METHODS)}.")
    return METHODS[name]


def make_envs(env: str, num_envs: int, threads: int) -> gym.vector.VectorEnv:
    """Return a vector environment without a step limit: whoever runs it decides when to stop."""
    import smorl  # noqa: F401  registers the environments

    if env not in gym.registry:
        hint = did_you_mean(env, [name for name in gym.registry if name.startswith("smorl/")])
        raise InvalidInput(f"unknown environment {env!r}.{hint} `smorl envs` lists them.")
    return gym.make_vec(
        env,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        threads=threads,
        max_episode_steps=None,
    )
