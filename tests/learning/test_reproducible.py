"""The same seed gives the same run, bit for bit, however often it is interrupted."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.learners.networks import TorsoConfig
from smorl.runs.checkpoint import load_latest
from tests.learning.runs import HORIZON, smorl_config, train

ROWS, ROUNDS = 4, 6


def small_config(seed=0, prior="uniform"):
    """Six rounds of 4 episodes, the first two random, evaluated on the way; about a second."""
    base, steps = smorl_config(seed), ROWS * HORIZON
    torso = TorsoConfig(embedding=12, heads=3, queries=1)
    return replace(
        base,
        collect=replace(
            base.collect,
            total_steps=ROUNDS * steps,
            initial_steps=2 * steps,
            num_envs=ROWS,
            replay_steps=4 * steps,  # smaller than the run, so the ring wraps around
            updates_per_step=0.11,  # 5.28 updates a round: the fraction is carried along
        ),
        goals=replace(base.goals, prior=prior),
        networks=replace(base.networks, torso=torso, policy_hidden=(16,), critic_hidden=(16,)),
        learner=replace(base.learner, batch_size=32),
        evaluation=replace(
            base.evaluation,
            every=2 * steps,
            episodes=3,
            final_episodes=4,
            subgoals=replace(base.evaluation.subgoals, length=4, attempts=3),
        ),
    )


class Crash(Exception):
    """Stands for whatever ends a process without warning."""


def outcome(folder):
    """Everything a run leaves behind except its timings."""
    checkpoint = load_latest(folder / "checkpoints")
    assert checkpoint is not None
    logs = {name: (folder / name).read_bytes() for name in ("metrics.jsonl", "evaluations.csv")}
    state = {name: value for name, value in checkpoint.state.items() if name != "seconds"}
    return logs, checkpoint.tensors, checkpoint.arrays, state


def assert_same(a, b):
    logs, tensors, arrays, state = zip(outcome(a), outcome(b), strict=True)
    assert logs[0] == logs[1]
    assert logs[0]["metrics.jsonl"].count(b"\n") == ROUNDS - 1  # the run did learn
    assert logs[0]["evaluations.csv"].count(b"\n") == 4  # header, two on the way, the last
    assert tensors[0].keys() == tensors[1].keys()
    assert all(torch.equal(value, tensors[1][name]) for name, value in tensors[0].items())
    assert arrays[0].keys() == arrays[1].keys()
    for name, value in arrays[0].items():
        np.testing.assert_array_equal(value, arrays[1][name], err_msg=name)
    assert state[0] == state[1]


@pytest.fixture(scope="module", params=["uniform", "fitted"])
def uninterrupted(request, tmp_path_factory):
    """One whole run per kind of prior: (its config, its folder)."""
    config = small_config(prior=request.param)
    folder = tmp_path_factory.mktemp("whole") / "run"
    trainer, result = train(config, folder)
    assert result is not None
    assert trainer.state.counters.updates == 26  # int(5 * 5.28)
    return config, folder


def test_same_seed_same_run(uninterrupted, tmp_path):
    config, folder = uninterrupted
    train(config, tmp_path / "again")
    assert_same(folder, tmp_path / "again")


def test_other_seed_other_run(uninterrupted, tmp_path):
    config, folder = uninterrupted
    train(replace(config, seed=1), tmp_path / "other")
    assert outcome(folder)[0] != outcome(tmp_path / "other")[0]


@pytest.mark.parametrize("stops", [(1,), (2,), (3, 4), (6,)])
def test_stopped_and_resumed_equals_uninterrupted(uninterrupted, tmp_path, stops):
    """Stopped before learning starts, as it starts, twice on the way, and before the end."""
    config, folder = uninterrupted

    for stop in stops:

        def after_round(trainer, rounds, stop=stop):
            trainer.stop_requested = rounds == stop

        trainer, result = train(config, tmp_path / "run", after_round)
        assert result is None
        assert trainer.state.counters.rounds == stop
    _, result = train(config, tmp_path / "run")
    assert result is not None
    assert_same(folder, tmp_path / "run")


def test_crashed_after_a_checkpoint_and_resumed_equals_uninterrupted(uninterrupted, tmp_path):
    """Rows logged after the checkpoint are cut off and written again, the same."""
    config, folder = uninterrupted

    def after_round(trainer, rounds):
        if rounds == 3:
            trainer.checkpoint()
        if rounds == 5:
            raise Crash

    with pytest.raises(Crash):
        train(config, tmp_path / "run", after_round)
    rows = (tmp_path / "run" / "metrics.jsonl").read_bytes().count(b"\n")
    assert rows == 4
    train(config, tmp_path / "run")
    assert_same(folder, tmp_path / "run")


def test_crashed_before_any_checkpoint_starts_anew(uninterrupted, tmp_path):
    config, folder = uninterrupted

    def after_round(trainer, rounds):
        if rounds == 4:
            raise Crash

    with pytest.raises(Crash):
        train(config, tmp_path / "run", after_round)
    train(config, tmp_path / "run")
    assert_same(folder, tmp_path / "run")
