"""The released recipe of the visual loop, step by step: what our loop is measured against.

One environment row with the reference physics, a paper-size SCALOR, five separate paper-size
networks (`reference`), and one update with a batch of 2048 per environment step. Weights are
random: shapes are static, so that they do not change the cost. Pictures are drawn by our rays,
and objects are cut out by our matrix products, so the release itself is slower than this.
"""

import gymnasium as gym
import numpy as np
import torch

import smorl  # noqa: F401  registers the environments
from smorl.bench.reference_sac import ReferenceSac
from smorl.bench.synthetic import filled_replay
from smorl.envs.contract import action_size
from smorl.envs.tabletop.scene import REFERENCE_PHYSICS
from smorl.learners.sac import SacConfig
from smorl.presets.perception import get_perception_preset
from smorl.replay.relabel import RelabelConfig, sample_batch
from smorl.training.collector import collect
from smorl.training.settings import RunConfig
from smorl.types import Batch, ObjectGoal, ObjectSet

_EPISODES = 200  # in replay before the first step; their number does not change the cost


class ReferenceLoop:
    """Collects an episode and makes as many updates as it has steps, `round` by `round`."""

    def __init__(self, config: RunConfig, perception: str) -> None:
        """`config` is a paper-size run on a visual environment; its learner is not ours."""
        self.config = config
        self.envs = gym.make_vec(
            config.env,
            num_envs=1,
            vectorization_mode="vector_entry_point",
            threads=1,
            max_episode_steps=None,
            goal_images=False,
            physics=REFERENCE_PHYSICS,
        )
        actions = action_size(self.envs)
        self.tracker = get_perception_preset(perception).build().untrained(actions).tracker()
        layout = self.tracker.layout
        self.replay, self.space = filled_replay(layout, _EPISODES, seed=0)
        assert isinstance(config.learner, SacConfig)
        self.sac = ReferenceSac(config.learner, config.networks, layout, actions)
        self.rng = np.random.default_rng(0)

    def round(self) -> int:
        """Collect, relabel, update; return the environment steps taken."""
        horizon = self.config.collect.horizon
        episodes = collect(self.envs, self.tracker, self.act, self.space, horizon, self.rng)
        self.replay.add(episodes)
        for _ in range(horizon):
            self.update(*self.draw())
        return horizon

    @torch.no_grad()
    def act(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return sampled actions (1, A)."""
        features = torch.from_numpy(objects.features())
        noise = self.rng.standard_normal((len(features), self.sac.actions), np.float32)
        wanted = torch.from_numpy(goal.features(objects.layout))
        state = (features, _all_slots(features), wanted)
        return self.sac.sample(state, torch.from_numpy(noise))[0].numpy()

    def draw(self) -> tuple[Batch, torch.Tensor]:
        """Draw and relabel a batch; with it the noise of an update."""
        size = self.config.learner.batch_size
        replay, config = self.replay, RelabelConfig()
        batch = sample_batch(replay.episodes, replay.size, size, self.space, config, self.rng)
        noise = self.rng.standard_normal((2, size, self.sac.actions), np.float32)
        return batch.map(torch.from_numpy), torch.from_numpy(noise)

    def update(self, batch: Batch, noise: torch.Tensor) -> None:
        """One gradient step. Release: empty slots take part as zero vectors."""
        present = _all_slots(batch.objects)
        full = {"present": present, "next_present": present}
        self.sac.update(Batch(**{**vars(batch), **full}), noise)


def _all_slots(objects: torch.Tensor) -> torch.Tensor:
    return torch.ones(objects.shape[:2], dtype=torch.bool)
