"""Made-up data of the shape of the visual two-object task, for benchmarks and their tests."""

import numpy as np
import torch

from smorl.goals.base import GoalConfig, GoalSpace
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.replay.buffer import Replay
from smorl.types import Batch, Episode, ObjectGoal, ObjectLayout, ObjectSet

# The visual two-object networks (Release: settings of visual rearrange 2).
LAYOUT = ObjectLayout(slots=6, what=4, position=2, scale=2, depth=1)
NETWORKS = NetworkConfig(
    torso=TorsoConfig(embedding=32, heads=1, free_heads=1, queries=3),
    policy_hidden=(128, 128, 128),
    critic_hidden=(128, 128, 128),
)
ACTIONS, HORIZON = 2, 20


def random_batch(size: int, layout: ObjectLayout, seed: int) -> Batch:
    """A batch of noise in which about half of the slots are present, the first always."""
    generator = torch.Generator().manual_seed(seed)

    def objects() -> tuple[torch.Tensor, torch.Tensor]:
        present = torch.rand(size, layout.slots, generator=generator) < 0.5
        present[:, 0] = True
        features = torch.randn(size, layout.slots, layout.features, generator=generator)
        return features * present[..., None], present

    (now, present), (following, next_present) = objects(), objects()
    return Batch(
        objects=now,
        present=present,
        goal=torch.randn(size, layout.features, generator=generator),
        action=torch.rand(size, ACTIONS, generator=generator) * 2 - 1,
        reward=-torch.rand(size, generator=generator),
        next_objects=following,
        next_present=next_present,
    )


def filled_replay(layout: ObjectLayout, episodes: int, seed: int) -> tuple[Replay, GoalSpace]:
    """Replayed episodes of three wandering objects with distinct appearances, in random slots."""
    rng = np.random.default_rng(seed)
    shape = (episodes, HORIZON + 1, layout.slots)
    identity = np.argsort(rng.random((episodes, 1, layout.slots)), -1)
    identity = np.broadcast_to(identity, shape)
    sizes = {name: getattr(layout, name) for name in ("what", "scale", "depth", "motion")}
    parts = {name: rng.normal(0, 0.05, (*shape, size)) for name, size in sizes.items()}
    parts["what"] += np.eye(layout.slots, layout.what)[identity]
    steps = rng.normal(0, 0.03, (*shape, layout.position))
    parts["position"] = np.clip(steps.cumsum(1), -1, 1)
    # An object of three is overlooked in one frame of ten.
    present = (identity < 3) & (rng.random(shape) < 0.9)
    arrays = {name: (a * present[..., None]).astype(np.float32) for name, a in parts.items()}
    objects = ObjectSet(**arrays, present=present)
    low, high = (np.full(layout.position, x, np.float32) for x in (-1, 1))
    space = MatchedGoals(GoalConfig(match_threshold=0.7), UniformPrior(low, high))
    goal: ObjectGoal = space.propose(objects[:, 0], rng)
    actions = rng.uniform(-1, 1, (episodes, HORIZON, ACTIONS)).astype(np.float32)
    replay = Replay(episodes * HORIZON, HORIZON, layout, ACTIONS)
    replay.add(Episode(objects, actions, goal))
    return replay, space
