"""Stable-Baselines3's hindsight replay accepts the state envs unchanged (extra `sb3`)."""

import gymnasium
import numpy as np
import pytest

import smorl  # noqa: F401  registers the environments

sb3 = pytest.importorskip("stable_baselines3")


@pytest.mark.parametrize("env_id", ["smorl/Rearrange2-v0", "smorl/Push1-v0"])
def test_hindsight_replay_collects_relabels_and_learns(env_id):
    env = gymnasium.make(env_id, max_episode_steps=10)
    model = sb3.SAC(
        "MultiInputPolicy",
        env,
        replay_buffer_class=sb3.HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=20,
        batch_size=32,
        seed=0,
    )
    model.learn(40)
    assert model._n_updates > 0
    batch = model.replay_buffer.sample(64)
    achieved = batch.next_observations["achieved_goal"].numpy()
    desired = batch.observations["desired_goal"].numpy()
    expected = env.unwrapped.compute_reward(achieved, desired, None)
    np.testing.assert_allclose(batch.rewards.numpy()[:, 0], expected, atol=1e-6)
    # Most goals are relabelled, so some rewards are better than any original goal would give.
    assert len(np.unique(desired, axis=0)) > 5
