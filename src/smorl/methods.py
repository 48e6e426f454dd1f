"""The methods as rows of one table: what each is composed of (docs/architecture.md).

A method names an encoder and whether it learns. Everything else (networks, relabelling fractions,
thresholds, sub-goal order) is settings. No method has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from smorl.errors import InvalidInput, did_you_mean
from smorl.perception.encoder import Encoder
from smorl.perception.ground_truth import GroundTruthObjects, GroundTruthVector
from smorl.perception.scalor.weights import PerceptionWeights


@dataclass(frozen=True)
class Senses:
    """What an encoder is made from.

    items: arm and pucks of the environment; identities: the length of a one-hot code, if another
    environment fixed it; perception: the trained perception of methods that see pixels.
    """

    items: int
    identities: int | None = None
    perception: PerceptionWeights | None = None


@dataclass(frozen=True)
class Method:
    """One row: how observations become objects, and whether anything is learned."""

    line: str
    encoder: Callable[[Senses], Encoder]
    learns: bool = True
    pixels: bool = False  # sees pictures, through a trained perception


def _ground_truth(senses: Senses) -> Encoder:
    return GroundTruthObjects(senses.items, senses.identities)


def _vector(senses: Senses) -> Encoder:
    return GroundTruthVector(2 * senses.items)


def _tracker(senses: Senses) -> Encoder:
    if senses.perception is None:
        raise InvalidInput("this method sees pixels and needs a trained perception.")
    return senses.perception.tracker()


METHODS: dict[str, Method] = {
    "smorl": Method("SMORL from pixels: objects by SCALOR, tracked", _tracker, pixels=True),
    "smorl-gt": Method(
        "SMORL on ground-truth objects: one-hot appearance, positions in metres", _ground_truth
    ),
    "sac-her": Method(
        "SAC with hindsight on the flat state, all objects at once (the paper's baseline)", _vector
    ),
    "passive": Method("does nothing: the dotted line", _ground_truth, learns=False),
}


def get_method(name: str) -> Method:
    """Return a row of the table by name."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS)
        raise InvalidInput(f"unknown method {name!r}.{hint} Known: {', '.join(METHODS)}.")
    return METHODS[name]


def make_envs(
    env: str, num_envs: int, threads: int, *, goal_images: bool = True
) -> gym.vector.VectorEnv:
    """Return a vector environment without a step limit: whoever runs it decides when to stop.

    Without `goal_images` a visual environment does not draw its goals: training has no use for
    them, because the agent sets its own.
    """
    import smorl  # noqa: F401  registers the environments

    if env not in gym.registry:
        hint = did_you_mean(env, [name for name in gym.registry if name.startswith("smorl/")])
        raise InvalidInput(f"unknown environment {env!r}.{hint} `smorl envs` lists them.")
    visual = (gym.spec(env).kwargs or {}).get("observation") == "image"
    extra: dict[str, Any] = {"goal_images": goal_images} if visual else {}
    return gym.make_vec(
        env,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        threads=threads,
        max_episode_steps=None,
        **extra,
    )
