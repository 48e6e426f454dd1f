"""The one display: lines that are drawn over on a terminal, plain ones elsewhere."""

import io
import sys

import pytest

from smorl.cli.play import progress_bar
from smorl.runs.screen import Screen, bar
from tests.terminal import Terminal


def test_lines_are_drawn_over_and_notes_stay(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Screen(terminal) as screen:
        assert screen.live
        assert screen.height == 12
        screen.draw(["one", "two", "three"])
        screen.note("[noted]")
        screen.draw(["four"])
        assert not screen.due()
    assert terminal.lines() == ["[noted]", "four"]


@pytest.mark.parametrize("quiet", [False, True])
def test_elsewhere_there_is_a_plain_line_now_and_then(quiet):
    now, stream = [0.0], io.StringIO()
    with Screen(stream, every=10.0, quiet=quiet, clock=lambda: now[0]) as screen:
        for second in range(35):
            now[0] = second
            screen.draw(["never seen"])
            if screen.due():
                screen.note(f"line at {second}")
    assert stream.getvalue() == ("" if quiet else "line at 10\nline at 20\nline at 30\n")


def test_a_bar_that_is_done_leaves_nothing_behind(monkeypatch):
    terminal = Terminal(monkeypatch)
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("filming", 4) as advance:
        for _ in range(3):
            advance()
    assert f"filming {bar(0.75)}  3/4 steps, ETA 0:00" in terminal.getvalue()
    assert terminal.lines() == []


def test_bars_are_as_full_as_they_say():
    assert bar(0.0) == "─" * 24 + "   0 %"
    assert bar(0.5) == "━" * 12 + "─" * 12 + "  50 %"
    assert bar(1.0) == "━" * 24 + " 100 %"
