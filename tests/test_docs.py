"""Every command and snippet of README and docs works as it stands.

Commands are parsed by the verbs themselves, settings included, and not carried out: most of them
train for minutes. Python is run, page by page.
"""

import argparse
import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from smorl.cli import VERBS, main
from smorl.cli.options import overrides
from smorl.config import override, paths, to_json
from smorl.library import make_config
from smorl.presets import PRESETS
from smorl.presets.perception import PERCEPTION_PRESETS, get_perception_preset
from tests.pages import PAGES, PROJECT, ROOT, commands, inline_commands, name_of, snippets

BY_NAME = {name_of(page): page for page in PAGES}
WITH_PYTHON = [name for name, page in BY_NAME.items() if snippets(page)]
MAKE = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
# Words of a page that stand for something else, and what they may stand for.
PLACEHOLDERS = {"PRESET": "debug", "FIGURE": "gt", "NAME": "debug", "RUN": "runs/x", "VERB": "demo"}
ELSEWHERE = {"git", "ray", "cd"}  # first words of commands that are not ours


class Parsed(Exception):
    """Carries what a verb's parser made of its words out of the verb."""


def parse(words: list[str]) -> None:
    """Let a verb parse its words, no more; raise if it would refuse them."""
    real = argparse.ArgumentParser.parse_known_args

    def some(parser, args=None, namespace=None):
        raise Parsed(parser.prog, *real(parser, args, namespace))

    def all_of_them(parser, args=None, namespace=None):
        found, rest = real(parser, args, namespace)
        if rest:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        raise Parsed(parser.prog, found, [])

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_known_args", some),
        mock.patch.object(argparse.ArgumentParser, "parse_args", all_of_them),
    ):
        try:
            code = main(words)
        except Parsed as parsed:
            settings_exist(*parsed.args)
        else:  # `smorl --version`, `smorl perception --help`: answered without a parser
            assert code == 0, words


def settings_exist(prog: str, found: argparse.Namespace, rest: list[str]) -> None:
    """Build the settings that `--learner.lr 1e-3` and its like ask for."""
    given = overrides(rest, "--learner.lr 1e-3")
    given = {k: v for k, v in given.items() if k not in ("env", "method", "state_objects")}
    if prog == "smorl train" or prog == "smorl sweep":
        given = {k: v for k, v in given.items() if k != "learner.kind" and "exploration" not in k}
        make_config(found.preset, None, given)
    elif prog == "smorl perception train":
        override(get_perception_preset(found.preset).build(), given)
    else:
        assert not rest, f"{prog} does not know {rest}"


def check(words: list[str]) -> None:
    """Check one command, whoever's it is."""
    first, *others = words
    if first == "smorl":
        parse(others)
    elif first == "make":
        assert others[0] in MAKE, f"make {others[0]}"
    elif first == "pip":
        for extras in re.findall(r"smorl\[([\w,]+)\]", " ".join(others)):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), extras
    elif first in ("python", "python3"):
        place = others[1].replace(".", "/") if others[0] == "-m" else others[0]
        assert (ROOT / place).exists(), words
    else:
        assert first in ELSEWHERE, f"who knows {first!r}? {words}"


@pytest.mark.parametrize("name", BY_NAME)
def test_every_command_of_a_page_is_understood(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in commands(BY_NAME[name]):
        try:
            check([PLACEHOLDERS.get(word, word) for word in words])
        except SystemExit as refused:
            pytest.fail(f"{name}: {' '.join(words)} is refused ({refused})")


def test_the_check_of_commands_refuses_what_does_not_exist(capsys):
    for words in ("smorl evaluate x --no-such", "smorl train debug --learner.no 1", "smorl nope"):
        with pytest.raises((SystemExit, AssertionError, ValueError)):
            check(words.split())
    with pytest.raises(AssertionError):
        check(["make", "nothing"])
    with pytest.raises(AssertionError):
        check(["pip", "install", "smorl[nothing]"])
    capsys.readouterr()


def options_of(verb: list[str]) -> set[str]:
    """Return the long options of a verb, as its help says them."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        main([*verb, "--help"])
    return set(re.findall(r"--[\w-]+", text.getvalue()))


@pytest.fixture(scope="module")
def settings() -> set[str]:
    """Every setting of every preset, as an option."""
    built = [preset.build() for preset in [*PRESETS.values(), *PERCEPTION_PRESETS.values()]]
    return {f"--{path}" for config in built for path in paths(type(config), to_json(config))}


def test_commands_within_sentences_have_verbs_and_options_that_exist(settings):
    known: dict[tuple[str, ...], set[str]] = {}
    for name, page in BY_NAME.items():
        for command in inline_commands(page):
            where = f"{name}: `{command}`"
            first, *words = command.split()
            if first == "make":
                assert words[0] in MAKE, where
                continue
            if words[0].startswith("-") or words[0].isupper():
                continue
            verb = (
                words[:1]
                if words[0] not in ("perception", "study", "analyse", "bench")
                else words[:2]
            )
            assert verb[0] in VERBS, where
            options = known.setdefault(tuple(verb), options_of(verb)) | {"--trust"}
            for option in re.findall(r"(?<!\S)--[\w.-]+", command):
                settable = verb in (["train"], ["sweep"], ["perception", "train"])
                fine = option in options or (settable and fits(option, settings))
                assert fine or "..." in command, f"{where}: {option}"


def fits(option: str, settings: set[str]) -> bool:
    """Whether an option is a setting, or the beginning of some (`--tracker...`)."""
    return any(setting == option or setting.startswith(f"{option}.") for setting in settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PYTHON)
def test_the_python_of_a_page_runs_in_turn(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for snippet in snippets(BY_NAME[name]):
        exec(compile(snippet, name, "exec"), names)
    if name == "docs/library.md":
        assert names["result"]["episodes"] == 4
        assert names["action"].shape == (1, 2)
        assert (tmp_path / "runs" / "first" / "result.json").exists()
    if name == "README.md":
        assert names["actor"].solved.shape[0] == 1
    if name == "docs/benchmark.md":
        score = names["score"](Still(), "smorl/VisualPush1-v0", episodes=2)
        assert 0.05 < score["distance"] < 0.3


class Still:
    """A policy that does nothing."""

    def reset(self, goal: np.ndarray) -> None:
        assert goal.shape == (64, 64, 3)

    def act(self, picture: np.ndarray) -> np.ndarray:
        return np.zeros(2)


def test_pages_with_python_are_found():
    assert {"README.md", "docs/library.md", "docs/quickstart.md"} <= set(WITH_PYTHON)
    assert sum(1 for page in PAGES for _ in commands(page)) > 90
    assert Path(ROOT / "docs" / "results.md") in PAGES
