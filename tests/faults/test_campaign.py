"""The campaign in its short form, part by part, and that it can see what it looks for."""

import time

import numpy as np
import pytest

from smorl.errors import DamagedFile
from tests.faults import commands, mutations, real_commands
from tests.faults.__main__ import parts, table
from tests.faults.outcomes import REFUSED, SURVIVED, Tally, attempt, command


def spin(seconds):
    """Use the processor for this long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_every_kind_of_outcome_is_told_apart():
    def refuse():
        raise DamagedFile("this file is damaged; restore it")

    assert attempt(lambda: 1) == SURVIVED
    assert attempt(lambda: 1, lambda result: result == 2).startswith("a wrong result")
    assert attempt(refuse) == REFUSED
    assert attempt(lambda: {}["x"]).startswith("KeyError")
    assert command(["presets"]) == SURVIVED
    assert command(["no-such-verb"]) == REFUSED


def test_the_table_adds_up():
    tally = Tally("part")
    for outcome in (SURVIVED, REFUSED, "ended with 1"):
        tally.add("try", outcome)
    assert "| part | 3 | 1 | 1 | 1 |" in table([tally])
    assert "| **all** | 6 | 2 | 2 | 2 |" in table([tally, tally])


def test_parsers_of_verbs_are_found():
    parser = commands.parser_of(["evaluate"], ("no/run",))
    assert "--episodes" in parser._option_string_actions


@pytest.mark.parametrize(("work", "found"), [(time.sleep, "it waits"), (spin, "more than")])
def test_who_waits_or_works_for_ever_is_found_and_who_is_slow_is_not(monkeypatch, work, found):
    monkeypatch.setattr(real_commands, "SECONDS", 0.4)
    monkeypatch.setattr(real_commands, "LONGEST", 0.2)
    monkeypatch.setattr(real_commands, "LEAST", 0.001)
    monkeypatch.setattr("smorl.cli.presets.main", lambda words: work(30))
    assert found in real_commands._limited(["presets"])
    monkeypatch.setattr("smorl.cli.presets.main", lambda words: spin(0.3))
    assert real_commands._limited(["presets"]) == SURVIVED


@pytest.mark.parametrize("part", ["commands", "files"])
def test_the_short_campaign_has_no_failures(tmp_path, part):
    for tally in parts(tmp_path, short=True)[part]():
        assert not tally.failures
        assert tally.tries


@pytest.mark.slow
@pytest.mark.parametrize("part", ["kills", "surroundings", "soak"])
def test_the_short_campaign_of_whole_runs_has_no_failures(tmp_path, part):
    for tally in parts(tmp_path, short=True)[part]():
        assert not tally.failures


def test_an_unnoticed_mutation_would_be_a_failure(tmp_path, monkeypatch):
    """Break the reader: a file that is not verified must show up in the table."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"0" * 1000)
    monkeypatch.setattr(mutations, "readers", lambda files: {path: path.read_bytes})
    tally = mutations.mutate({}, 20, np.random.default_rng(0))
    assert tally.failures
    assert path.read_bytes() == b"0" * 1000
