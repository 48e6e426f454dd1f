"""Settings from a file."""

import json
import os

import pytest

from smorl.config import override, to_json
from smorl.errors import InvalidInput
from smorl.presets import get_preset
from smorl.settings_file import read_settings


def test_the_config_of_a_run_gives_the_same_run(tmp_path):
    config = get_preset("debug").build()
    file = tmp_path / "config.json"
    file.write_text(json.dumps(to_json(config)))
    again = override(get_preset("gt-push-1").build(), {**read_settings(file)})
    assert to_json(again) == to_json(config)


def test_a_part_of_one_in_yaml(tmp_path):
    pytest.importorskip("yaml")
    file = tmp_path / "some.yaml"
    file.write_text("learner:\n  lr: 0.001\nnetworks:\n  policy_hidden: [8, 8]\n")
    config = override(get_preset("debug").build(), read_settings(file))
    assert (config.learner.lr, config.networks.policy_hidden) == (0.001, (8, 8))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "is not valid JSON"),
        ("a.json", "[1]", "holds no settings"),
        ("a.json", "[" * 10**5, "is not valid JSON|levels"),
        ("a.json", '{"seed": NaN}', "NaN"),
        ("a.json", " " * 2**21, "more than"),
        ("b.json", None, "read"),
    ],
)
def test_mistakes_get_one_clear_sentence(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_settings(tmp_path / name)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(InvalidInput, match="no regular file"):
        read_settings(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "aliases"),
        ("!!python/object/apply:os.getcwd []", "no YAML"),
        ("seed: 2026-11-18", "no YAML"),
        ("[" * 1500, "no YAML"),
    ],
)
def test_yaml_is_plain_settings_or_refused(tmp_path, text, message):
    pytest.importorskip("yaml")
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_settings(tmp_path / "a.yaml")
