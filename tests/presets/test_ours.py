"""What is ours is off where a preset says "paper", or docs/fidelity.md says why not."""

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from smorl.config import to_json
from smorl.presets import PRESETS, get_preset
from smorl.presets.ours import OURS, OURS_LATENT, OURS_PERCEPTION, flat, papers_method
from smorl.presets.perception import PERCEPTION_PRESETS

FIDELITY = (Path(__file__).parents[2] / "docs" / "fidelity.md").read_text("utf-8")
PAPER = sorted(name for name in PRESETS if name.startswith(("paper-", "lite-")))

# preset: {option: the row of docs/fidelity.md that says why it is on}
EXCEPTIONS = {
    "paper-sac-*": {
        "networks.normalise_positions": "L9",
        "evaluation.subgoals.stop_when_solved": "V11",
    },
    "paper-rig-*": {"evaluation.subgoals.stop_when_solved": "V11"},
    "paper-skewfit-*": {"evaluation.subgoals.stop_when_solved": "V11"},
}
# Numbers of the paper's own settings, which fast presets have otherwise.
NUMBERS = {
    "perception", "collect.total_steps", "collect.initial_steps", "collect.num_envs",
    "collect.replay_steps", "collect.updates_per_step", "goals.match_threshold",
    "goals.no_match_reward", "goals.prior", "goals.low", "relabel.rollout", "relabel.future",
    "relabel.imagined", "relabel.moved", "networks.torso.embedding", "networks.torso.heads",
    "networks.torso.free_heads", "networks.torso.queries", "networks.policy_hidden",
    "networks.critic_hidden", "learner.batch_size", "learner.lr", "learner.discount",
    "evaluation.every", "evaluation.solved_threshold",
}  # fmt: skip


def settings(name):
    return dict(flat(json.loads(json.dumps(to_json(get_preset(name).build())))))


def excepted(name):
    return {
        k: v for glob, rows in EXCEPTIONS.items() if fnmatch(name, glob) for k, v in rows.items()
    }


@pytest.mark.parametrize("name", PAPER)
def test_everything_that_is_ours_is_off(name):
    found, why = settings(name), excepted(name)
    # How pictures are tracked matters to those alone that see objects in them.
    tracked = "visual" in name
    for option, off in OURS.items():
        if option.startswith("tracker.") and not tracked:
            continue
        assert option in found, f"{option} is no setting any more"
        assert (found[option] != off) == (option in why), option
    if "skewfit" in name:
        for option, off in OURS_LATENT.items():
            assert found[option] == off, option


@pytest.mark.parametrize("rows", EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_exceptions_have_their_reason_on_the_page(rows):
    for option, row in rows.items():
        (line,) = (line for line in FIDELITY.splitlines() if line.startswith(f"| {row} |"))
        assert option.rsplit(".", 1)[1] in line


def test_every_option_that_is_ours_is_on_the_page():
    for option in (*OURS, *OURS_LATENT, *OURS_PERCEPTION):
        name = re.escape(option.rsplit(".", 1)[-1])
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", FIDELITY), option


@pytest.mark.parametrize("kind", ["gt-rearrange-2", "visual-rearrange-2", "visual-push-1"])
def test_the_list_misses_nothing(kind):
    """What the fast preset has otherwise is on the list, or one of the paper's own numbers."""
    fast, paper = settings(kind), settings(f"paper-{kind}")
    differ = {name for name in fast | paper if fast.get(name) != paper.get(name)}
    differ = {name for name in differ if not name.startswith(("gentle.", "dynamics."))}
    assert differ <= set(OURS) | NUMBERS, differ - set(OURS) - NUMBERS


@pytest.mark.parametrize("name", [n for n in PERCEPTION_PRESETS if n.startswith("paper-")])
def test_perception_has_nothing_that_is_ours(name):
    found = dict(flat(json.loads(json.dumps(to_json(PERCEPTION_PRESETS[name].build())))))
    for option, off in OURS_PERCEPTION.items():
        assert found[option] == off, option
    assert len(found["optimise.lengths"]) == 1


def test_the_papers_heads():
    """Paper, table of hyperparameters: 3/0 heads with one object; 1/1 and 3 queries with two."""
    for name in PAPER:
        if "-visual-" in name:
            torso = get_preset(name).build().networks.torso
            heads = (torso.heads, torso.free_heads if torso.queries else 0, torso.queries)
            assert heads == ((3, 0, 0) if name.endswith("-1") else (1, 1, 3)), name


@pytest.mark.parametrize("name", [name for name in PAPER if name.startswith("lite-")])
def test_lite_differs_in_batch_updates_steps_and_the_training_of_scalor_alone(name):
    lite, paper = settings(name), settings(name.replace("lite-", "paper-"))
    if "visual" in name:
        seen = lite.pop("perception")
        assert (seen in PERCEPTION_PRESETS, f"paper-{seen}") == (True, paper["perception"])
    differ = {field for field in lite if lite[field] != paper[field]}
    assert differ == {"collect.total_steps", "collect.updates_per_step", "learner.batch_size"}
    assert [lite[field] for field in sorted(differ)] == [300_000, 0.5, 512]


def test_runs_of_the_papers_method_are_known_by_their_settings():
    for name in ("paper-gt-rearrange-2", "lite-visual-push-1"):
        config = json.loads(json.dumps(to_json(get_preset(name).build())))
        assert papers_method(config)
        config["networks"]["matched"] = True
        assert not papers_method(config)
        del config["networks"]["matched"]
        assert not papers_method(config)  # who does not say is not taken for it
    assert not papers_method(to_json(get_preset("gt-rearrange-2").build()))
