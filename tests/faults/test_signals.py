"""Signals and outputs that fail: every end is told in a sentence, with the code it promises."""

import os
import signal
import subprocess
import sys
import time

import pytest

from smorl.cli import main
from smorl.runs.stopping import orderly_stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_that_ends_a_session_saves_first(number):
    class Trainer:
        stop_requested = False

    class Notes:
        def note(self, text):
            pass

    trainer = Trainer()
    with orderly_stop(trainer, Notes(), "this round"):
        os.kill(os.getpid(), number)
        time.sleep(0.01)
    assert trainer.stop_requested


def test_ctrl_c_anywhere_ends_without_a_traceback(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("smorl.cli.presets.main", interrupted)
    assert main(["presets"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_ctrl_c_while_a_text_is_executed_ends_with_its_code(tmp_path):
    """Python would end by SIGINT, though the interrupt was caught, as when a dataclass is made."""
    part = tmp_path / "part.py"
    part.write_text("exec('raise KeyboardInterrupt')")
    words = [sys.executable, "-m", "smorl", "play", f"{part}:Env-v0"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 130
    assert "smorl play: stopped" in done.stderr
    assert "Traceback" not in done.stderr


def test_nobody_is_started_to_find_a_library_for_windows():
    """A child that looks for GLFW would show a traceback when a signal ends it."""
    program = """
import subprocess, sys
def refused(*args, **kwargs):
    raise AssertionError(f"started {args}")
subprocess.Popen = refused
from smorl.cli import main
code = main(["play", "Push1-v0", "--episodes", "1", "--policy", "passive"])
assert "glfw" in sys.modules, "nobody asked for it"
raise SystemExit(code)
"""
    own = {name: value for name, value in os.environ.items() if "GL" not in name}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, env=own)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_behind_the_output_is_said_in_a_sentence():
    with open("/dev/full", "w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "smorl", "envs"], stdout=out, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
