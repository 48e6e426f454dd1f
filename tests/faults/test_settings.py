"""Every setting has a range, checked with what it needs of others before anything is written."""

import dataclasses
import json

import pytest

from smorl.cli import main
from smorl.config import override, paths, to_json
from smorl.errors import InvalidInput
from smorl.presets import PRESETS
from smorl.presets.perception import PERCEPTION_PRESETS
from smorl.training.settings import customised

CONFIGS = {
    "debug": PRESETS["debug"].build(),
    "debug-skewfit": PRESETS["debug-skewfit"].build(),
    "debug-scalor": PERCEPTION_PRESETS["debug-scalor"].build(),
}


def leaves(config):
    """Every dotted field of a config with its value, those of inner configs included."""
    data = to_json(config)
    for path in paths(type(config), data):
        value = data
        for name in path.split("."):
            value = value[name]
        if not isinstance(value, dict):
            yield path, value


NUMBERS = [
    (name, path, value)
    for name, config in CONFIGS.items()
    for path, value in leaves(config)
    if isinstance(value, int | float) and not isinstance(value, bool)
]


@pytest.mark.parametrize(("name", "path", "value"), NUMBERS)
def test_every_number_has_a_smallest_and_a_largest_value(name, path, value):
    for text in ("-1e29", "1e29") if isinstance(value, float) else (str(-(10**20)), str(10**20)):
        with pytest.raises(InvalidInput, match=path.replace(".", r"\.")):
            override(CONFIGS[name], {path: text})


REFUSED = [
    ("--networks.torso.heads", "5", "divisor of embedding"),
    ("--networks.initial_std", "1", "between"),
    ("--networks.policy_hidden", "[-1]", "between"),
    ("--networks.policy_hidden", "[]", "layers"),
    ("--goals.low", " ", "one number for each"),
    ("--goals.high", "-1 -1", "above these"),
    ("--evaluation.seed", "-5", "between"),
    ("--env", "CartPole-v1", "CartPole-v1"),
    ("--env", "smorl/Nope-v0", "unknown environment"),
    ("--collect.replay_steps", "1e14", "does not fit into memory"),
    ("--threads", "100000", "between"),
    ("--collect.total_steps", "-5", "between"),
    ("--goals.solved_threshold", "-1", "between"),
    ("--method", "sac-her", "sees one vector instead of objects"),
    ("--relabel.rollout", "0.9", "shares sum to 1"),
    ("--collect.num_envs", "1e999", "must be"),
]


@pytest.mark.parametrize(("option", "value", "said"), REFUSED)
def test_a_refused_start_leaves_nothing_behind(tmp_path, capsys, option, value, said):
    out = tmp_path / "deep" / "run"
    assert main(["train", "debug", "--out", str(out), "--quiet", option, value]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_there_stays(tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    words = ["train", "debug", "--out", str(out), "--quiet", "--collect.replay_steps", "1e14"]
    assert main(words) == 2
    assert not list(out.iterdir())


@pytest.mark.parametrize("words", [["train", "debug", "--out", ""], ["figures", "--results", ""]])
def test_an_empty_word_is_no_place(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert f"an empty word '' after {words[-2]}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_like_an_environment_that_is_like_none(capsys):
    assert main(["play", "smorl/Nope-v0"]) == 2
    assert "Did you mean" not in capsys.readouterr().err
    assert main(["play", "smorl/Rearange2-v0"]) == 2
    assert "Did you mean 'smorl/Rearrange2-v0'" in capsys.readouterr().err


def test_episodes_are_those_of_the_evaluation_at_the_end_too():
    config = PRESETS["gt-rearrange-2"].build()
    assert customised(config, {"evaluation.episodes": "7"}).evaluation.final_episodes == 7
    both = {"evaluation.episodes": "7", "evaluation.final_episodes": "9"}
    assert customised(config, both).evaluation.final_episodes == 9
    assert customised(config, {}).evaluation == config.evaluation


HUGE = "1" + 20 * "0"


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "shipped:visual-rearrange-1", "--episodes", HUGE],
        ["evaluate", "shipped:visual-rearrange-1", "--threads", HUGE],
        ["gap", "shipped:visual-rearrange-1", "--threads", HUGE],
        ["view", "--visitors", HUGE],
        ["sweep", "debug", "--seeds", HUGE],
        ["play", "Push1-v0", "--size", HUGE],
        ["perception", "show", "shipped:scalor-1", "--zoom", HUGE],
        ["perception", "evaluate", "shipped:scalor-1", "--seed", HUGE],
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_more_than_any_machine_has_is_refused_before_it_is_begun(capsys, words):
    assert main(words) == 2
    assert f"{words[-2]} {HUGE} must be at most" in capsys.readouterr().err


def test_messages_name_the_field_where_it_lies():
    with pytest.raises(InvalidInput, match=r"^networks\.torso\.heads = 5 is out of range"):
        override(CONFIGS["debug"], {"networks.torso.heads": "5"})
    with pytest.raises(InvalidInput, match=r"^heads = 5"):
        dataclasses.replace(CONFIGS["debug"].networks.torso, heads=5)


def test_every_preset_is_within_its_own_ranges():
    for preset in (*PRESETS.values(), *PERCEPTION_PRESETS.values()):
        assert json.dumps(to_json(preset.build()))
