"""Rounds played one ahead of the learner are the same whoever plays them, and after a cut."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.config import to_json
from smorl.errors import InvalidInput
from smorl.presets import get_preset
from smorl.runs.checkpoint import load_latest
from smorl.runs.folder import RunDir
from smorl.training.ahead import RoundPlayer, open_ahead, rows_of
from smorl.training.loop import Trainer
from tests.cli.same_run import assert_same_checkpoints, assert_same_files


class Here:
    """Plays in this process: at once, or when it can no longer be put off."""

    def __init__(self, config, late):
        parts = range(config.collect.collectors)
        self.players = [RoundPlayer(to_json(config), rows_of(config), None) for _ in parts]
        self.late, self.orders, self.played, self.numbers = late, [], [], []

    def begin(self, orders):
        self.orders, self.played = list(orders), []
        self.numbers.append(orders[0].round)
        if not self.late:
            self.play()

    def play(self):
        pairs = zip(self.players, self.orders, strict=True)
        self.played = [player.play(order) for player, order in pairs]

    def finish(self):
        if self.late:
            self.play()
        return self.played


class Quiet:
    """Asks for a stop after some rounds."""

    def __init__(self, stop_after=None):
        self.stop_after, self.trainer = stop_after, None

    def update(self, env_steps, updates, distance):
        rounds = self.trainer.state.counters.rounds
        if self.stop_after is not None and rounds >= self.stop_after:
            self.trainer.stop_requested = True

    def note(self, text):
        pass


def config(number=2):
    base = get_preset("debug").build()
    collect = replace(base.collect, total_steps=320, collectors=number)
    evaluation = replace(base.evaluation, every=9999, final_episodes=1)
    return replace(base, collect=collect, evaluation=evaluation)


def train(folder, collectors, settings, stop_after=None):
    reporter = Quiet(stop_after)
    with RunDir.open(folder, to_json(settings), "test") as run:
        trainer = Trainer(settings, run, reporter, collectors=collectors)
        reporter.trainer = trainer
        trainer.resume()
        result = trainer.train()
        trainer.logger.close()
        trainer.envs.close()
    return result


def test_who_plays_when_makes_no_difference_nor_does_a_cut(tmp_path):
    settings = config()
    early = Here(settings, late=False)
    train(tmp_path / "a", early, settings)
    assert early.numbers == [0, 1, 2, 3]  # every round once, and none after the last
    train(tmp_path / "b", Here(settings, late=True), settings, stop_after=2)
    cut = load_latest(tmp_path / "b" / "checkpoints")
    assert "ahead/actions" in cut.arrays  # the round in flight was waited for
    again = Here(settings, late=True)
    train(tmp_path / "b", again, settings)
    assert again.numbers == [3]  # round 2 was in the checkpoint
    assert_same_files(tmp_path / "a", tmp_path / "b", "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(tmp_path / "a", tmp_path / "b")


def test_a_round_is_played_by_the_policy_of_the_round_before(tmp_path):
    settings, seen = config(1), []

    class Watching(Here):
        def begin(self, orders):
            seen.append({name: value.clone() for name, value in orders[0].tensors.items()})
            super().begin(orders)

    train(tmp_path, Watching(settings, late=True), settings)

    def same(one, other):
        return all(np.array_equal(one[name], other[name]) for name in one)

    # 80 steps a round, learning after the first: round 2 is begun before it has learned from 1.
    assert same(seen[0], seen[1])
    assert not same(seen[1], seen[2])


@pytest.mark.parametrize(
    ("preset", "number", "message"),
    [
        ("debug", -1, "collectors = -1"),
        ("debug", 3, "collectors = 3"),
        ("debug-rig", 1, "leave --collectors out"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(preset, number, message):
    base = get_preset(preset).build()
    with pytest.raises(InvalidInput, match=message):
        replace(base, collect=replace(base.collect, collectors=number))


def test_nobody_collects_by_itself_what_others_were_to_play():
    with pytest.raises(InvalidInput, match="nobody opened any"):
        open_ahead(config(), None)
    assert open_ahead(get_preset("debug").build(), None) is None


def test_environments_must_be_shared_evenly():
    base = get_preset("debug").build()
    with pytest.raises(InvalidInput, match="divisor of num_envs, 4"):
        replace(base.collect, num_envs=4, collectors=3)
