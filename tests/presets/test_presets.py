"""Contracts over every preset."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.cli import main
from smorl.config import from_json, paths, to_json
from smorl.envs.factory import View
from smorl.methods import EncoderInputs, get_method
from smorl.presets import PRESETS, get_preset
from smorl.replay.relabel import sample_batch
from smorl.representations.perceptions import load_perception
from smorl.representations.vae.settings import batches_due
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState
from smorl.types import Episode, ObjectSet, Spaces

NAMES = sorted(PRESETS)

ACTION_SIZE = 2


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_through_json(name):
    config = get_preset(name).build()
    assert from_json(RunConfig, json.loads(json.dumps(to_json(config)))) == config


def make_episodes(state: TrainState, config: RunConfig, items: int, count=3) -> Episode:
    """Random states, or pictures of noise, through the preset's own encoder: no simulator."""
    rng = np.random.default_rng(0)
    horizon = config.collect.horizon
    carry, path = state.encoder.init(count), []
    for _ in range(horizon + 1):
        seen = rng.random((count, 2 * items))
        if get_method(config.method).visual:
            size = 64 if config.view is None else config.view.image_size
            seen = rng.integers(0, 256, (count, size, size, 3), dtype=np.uint8)
        carry, objects = state.encoder.step(carry, seen, np.zeros((count, 2)))
        path.append(objects)
    objects = ObjectSet(*(np.stack([getattr(o, k) for o in path], 1) for k, _ in path[0].arrays()))
    actions = rng.uniform(-1, 1, (count, horizon, ACTION_SIZE)).astype(np.float32)
    return Episode(objects, actions, state.space.propose(path[0], rng))


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_makes_one_update(name):
    config = get_preset(name).build()
    config = replace(
        config,
        learner=replace(config.learner, batch_size=16),
        collect=replace(config.collect, replay_steps=5 * config.collect.horizon),
    )
    items = int(config.env[-4]) + 1
    perception = None
    if get_method(config.method).needs_perception:
        perception = load_perception(f"shipped:scalor-{items - 1}")
    visual = get_method(config.method).visual
    spaces = Spaces((64, 64, 3) if visual else (2 * items,), ACTION_SIZE)
    state = TrainState.create(config, EncoderInputs(spaces, perception=perception))
    state.replay.add(make_episodes(state, config, items))
    rng = np.random.default_rng(1)
    batch = sample_batch(
        state.replay.episodes, state.replay.size, 16, state.space, config.relabel, rng
    ).map(torch.from_numpy)
    before = [p.clone() for p in state.learner.policy.parameters()]
    info = state.learner.update(batch, torch.randn(2, 16, ACTION_SIZE))
    assert all(torch.isfinite(value) for value in info.values())
    after = state.learner.policy.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("paper-")])
def test_paper_presets_leave_our_options_off(name):
    config = get_preset(name).build()
    assert config.learner.batch_size == 2048
    assert config.learner.policy_every == 1
    assert config.learner.reward_scale == 1.0
    assert config.relabel.any_object == 0.0
    assert config.evaluation.subgoals.order == "cycle"
    assert not config.evaluation.subgoals.switch_when_solved
    networks = config.networks
    assert (networks.relative, networks.matched, networks.critic_norm) == (False,) * 3
    assert get_preset(name).provenance


def test_paper_lengths():
    """Attempts 2 (n + 1) - 1 of 15 or 20 steps: 45, 75 for push and 60 ... 180 for rearrange."""
    steps = {
        (task, n): get_preset(f"paper-gt-{task}-{n}").build().evaluation.subgoals.steps
        for task, n in (("push", 1), ("push", 2), ("rearrange", 1), ("rearrange", 4))
    }
    assert list(steps.values()) == [45, 75, 60, 180]


def test_sac_has_the_budget_of_smorl():
    for n in (2, 3, 4):
        ours, theirs = (get_preset(f"{m}-rearrange-{n}").build().collect for m in ("gt", "sac"))
        assert ours.total_steps == theirs.total_steps
        assert ours.updates_per_step == theirs.updates_per_step


@pytest.mark.parametrize("task", ["push", "rearrange"])
@pytest.mark.parametrize("n", [1, 2])
def test_latent_methods_have_the_budget_of_smorl(task, n):
    ours = get_preset(f"visual-{task}-{n}").build()
    for method in ("rig", "skewfit"):
        theirs = get_preset(f"{method}-{task}-{n}").build()
        assert theirs.env == ours.env
        assert theirs.collect.total_steps == ours.collect.total_steps
        assert theirs.collect.updates_per_step == ours.collect.updates_per_step
        assert theirs.evaluation.subgoals.steps == ours.evaluation.subgoals.steps
        assert theirs.evaluation.seed == ours.evaluation.seed
        # Pictures of every replayed step must fit into 1 GB.
        assert theirs.collect.replay_steps * 48 * 48 * 3 < 2**30
        training = theirs.latent.training
        due = batches_due(training.phases, 0, theirs.collect.total_steps)
        assert (due == 0) == (method == "rig")
        assert (training.initial + due) * training.batch <= 400_000, "about four minutes"


@pytest.mark.parametrize(
    ("name", "lr", "discount", "no_match", "embedding", "queries", "steps"),
    [
        ("push-1", 1e-3, 0.925, -0.75, 48, 0, 45),
        ("push-2", 7e-4, 0.95, -1.0, 32, 3, 75),
        ("rearrange-1", 1e-3, 0.95, -0.75, 48, 0, 60),
        ("rearrange-2", 5e-4, 0.925, -1.5, 32, 3, 100),
    ],
)
def test_the_visual_table_of_the_paper(name, lr, discount, no_match, embedding, queries, steps):
    config = get_preset(f"paper-visual-{name}").build()
    assert config.perception == f"paper-scalor-{name[-1]}"
    assert (config.learner.lr, config.learner.discount, config.learner.target_rate) == (
        lr,
        discount,
        0.05,
    )
    assert config.goals.no_match_reward == no_match
    assert (config.networks.torso.embedding, config.networks.torso.queries) == (embedding, queries)
    assert config.evaluation.subgoals.steps == steps
    assert config.collect.initial_steps == 10_000
    assert config.collect.replay_steps == 100_000
    relabel = config.relabel
    assert (relabel.rollout, relabel.future, relabel.imagined) == (0.1, 0.4, 0.5)


@pytest.mark.parametrize("task", ["push", "rearrange"])
def test_the_release_of_the_latent_methods(task):
    for n, latent, batches, lr in ((1, 4, 20_000, 7e-4), (2, 16, 40_000, 1e-3)):
        rig = get_preset(f"paper-rig-{task}-{n}").build()
        assert (rig.latent.model.latent, rig.latent.training.initial, rig.learner.lr) == (
            latent,
            batches,
            lr,
        )
        assert (rig.latent.goals, rig.latent.skew, rig.latent.training.phases) == (
            "prior",
            None,
            (),
        )
        skewfit = get_preset(f"paper-skewfit-{task}-{n}").build()
        assert (skewfit.latent.model.latent, skewfit.learner.lr) == (latent, 1e-3)
        assert skewfit.latent.goals == "replay"
        assert skewfit.latent.skew.power == -0.5
        for config, steps, updates in ((rig, 940_000, 1.5), (skewfit, 610_500, 2.0)):
            assert config.view == View("multiobject_push", 48)
            assert config.collect.total_steps == steps
            assert config.collect.updates_per_step == updates
            assert config.collect.horizon == 50
            relabel = config.relabel
            assert (relabel.rollout, relabel.future, relabel.imagined) == (0.2, 0.3, 0.5)
            assert config.evaluation.subgoals.attempts == 1
            assert config.evaluation.subgoals.steps == (
                get_preset(f"paper-gt-{task}-{n}").build().evaluation.subgoals.steps
            )
            state = TrainState.create(config, EncoderInputs(Spaces((48, 48, 3), ACTION_SIZE)))
            assert state.learner.policy.log_std_offset == pytest.approx(0)


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("paper-")])
def test_provenance_names_fields(name):
    preset = get_preset(name)
    assert set(preset.provenance) <= set(paths(RunConfig, to_json(preset.build())))


def test_cli_lists_and_prints(capsys):
    assert main(["presets"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    assert main(["presets", "gt-rearrange-2"]) == 0
    assert json.loads(capsys.readouterr().out)["env"] == "smorl/Rearrange2-v0"
    assert main(["presets", "paper-gt-rearrange-2", "--provenance"]) == 0
    assert "paper, 2048" in capsys.readouterr().out
