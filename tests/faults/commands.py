"""The command line fuzzed from its own parsers: every option of every verb with boundary values."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from smorl.cli import VERBS, main
from smorl.config import paths, to_json
from smorl.presets import PRESETS
from smorl.presets.perception import PERCEPTION_PRESETS
from tests.faults.outcomes import Tally, command

# What a verb needs to come as far as its parser. None of the runs exists: what is tried here are
# options, and a valid one ends in the sentence that there is no such run.
VERB_WORDS: dict[str, tuple[str, ...]] = {
    "perception collect": ("no/Env-v0", "--out", "no/data"),
    "perception train": ("no-preset",),
    "perception evaluate": ("no/run",),
    "perception show": ("no/run",),
    "perception results": ("no/runs",),
    "analyse clusters": ("--perception", "no/run"),
    "analyse mig": ("--perception", "no/run"),
    "study tracking": ("no/run",),
    "train": ("debug", "--out", "no\0where"),
    "export": ("no/run", "no/file.safetensors"),
    "play": ("no/Env-v0",),
    "figures": ("--results", "no/results"),
    "reproduce": ("no-figure",),
    "sweep": ("no-preset",),
    "view": ("no/run",),
    "demo": ("no/run",),
    "gap": ("no/run",),
}
VALUES = (
    "", " ", "-1", "0", "1", "1e12", "999999999999999999999", "nan", "inf", "-inf", "0.5", "x", "é",
    "a" * 300, "/", "/dev/null", "/proc/x.png", "no/such.mp4", "--", "[]", "{}", "null", "None",
    "../x", "a\nb", "$(true)", "%s", "shipped:", "shipped:nothing",
)  # fmt: skip


class _Parser(Exception):
    """Carries a verb's parser out of it."""


def run(folder: Path, tries: int) -> list[Tally]:
    """Try boundary values of the options of all verbs, then of all settings of all presets."""
    verbs, settings = Tally("options of all verbs"), Tally("settings of all presets")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for number, words in zip(range(tries // 2), _verb_words(), strict=False):
            verbs.add(f"#{number} {' '.join(words)!r:.120}", command(words))
            _refuse_leftovers(verbs, folder, words)
        for number, words in zip(range(tries - tries // 2), _setting_words(), strict=False):
            settings.add(f"#{number} {' '.join(words)!r:.120}", command(words))
            _refuse_leftovers(settings, folder, words)
    finally:
        os.chdir(before)
    return [verbs, settings]


def _refuse_leftovers(tally: Tally, folder: Path, words: list[str]) -> None:
    """Whatever was refused must have left nothing behind."""
    left = [path.name for path in folder.iterdir()]
    if left:
        tally.add(" ".join(words), f"left {left} behind")
        for path in folder.iterdir():
            path.rename(folder.parent / f"left-{path.name}-{tally.tries}")


def parser_of(verb: list[str], words: tuple[str, ...]) -> argparse.ArgumentParser | None:
    """Return the parser of a verb, caught when it is about to parse."""

    def caught(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise _Parser(parser)

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", caught),
        mock.patch.object(argparse.ArgumentParser, "parse_known_args", caught),
    ):
        try:
            main([*verb, *words])
        except _Parser as found:
            return found.args[0]
    return None


def _verb_words() -> Iterator[list[str]]:
    """Yield command lines: verbs alone, with nonsense, with every option at every value."""
    for verb in VERBS:
        yield [verb, "--no-such-option"]
        yield [verb, "no-such-word", "--help"]
    for value in VALUES:
        # `smorl view --` asks for nothing wrong, and serves until somebody stops it.
        busy = ("figures", "bench", "demo", *(["view"] if value == "--" else []))
        yield from ([verb, value] for verb in VERBS if verb not in busy)
    parsers = {}
    for verb in (*VERB_WORDS, "evaluate", "results", "curves"):
        words = VERB_WORDS.get(verb, ("no/run",))
        name = verb.split()
        found = parser_of(name, ("debug-scalor",) if verb == "perception train" else words)
        if found is not None:
            parsers[verb] = (name, words, found)
    for value in VALUES:
        for name, words, parser in parsers.values():
            for action in parser._actions:
                option = action.option_strings[-1:]
                # One that `words` have already is what keeps the verb from starting.
                if option and action.nargs != 0 and option[0] not in ("--help", *words):
                    yield [*name, *words, *option, value]


def _setting_words() -> Iterator[list[str]]:
    """Yield `smorl train PRESET --field value` for every field; in such a place no run starts."""
    for value in VALUES:
        for preset in ("debug", "debug-rig", "debug-skewfit", "debug-visual"):
            for path in _fields(PRESETS[preset].build()):
                yield ["train", preset, "--out", "no\0where", f"--{path}", value]
        for path in _fields(PERCEPTION_PRESETS["debug-scalor"].build()):
            words = ["perception", "train", "debug-scalor", "--out", "no\0where"]
            yield [*words, f"--{path}", value]


def _fields(config: object) -> list[str]:
    return paths(type(config), to_json(config))
