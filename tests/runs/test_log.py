"""Logs: exact values, exact resume, clear errors; progress for terminals and for files."""

import csv
import errno
import io
import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smorl.errors import DamagedFile, InvalidInput, RunConflict, SmorlError
from smorl.runs.boards import Boards
from smorl.runs.folder import RunDir
from smorl.runs.log import RunLogger
from smorl.runs.progress import Progress
from smorl.runs.screen import duration

COLUMNS = ("env_steps", "distance", "success", "note")


@pytest.fixture
def run(tmp_path):
    with RunDir.open(tmp_path / "run", {"seed": 0}, "smorl train debug") as opened:
        yield opened


def step(logger: RunLogger, index: int) -> None:
    """One step of a pretend training run: metrics always, an evaluation every third."""
    value = np.random.default_rng(index).normal()
    logger.metrics({"env_steps": index, "critic/loss": value, "alpha": np.float32(value)})
    logger.timing({"env_steps": index, "seconds": 0.1})
    if index % 3 == 0:
        row = {"distance": value / 3, "success": index > 3, "note": 'a,"b"'}
        logger.evaluation({"env_steps": index, **row})


def files(run: RunDir) -> tuple[bytes, bytes]:
    return run.metrics.read_bytes(), run.evaluations.read_bytes()


def test_rows_read_back_exactly(run):
    with RunLogger(run, COLUMNS) as logger:
        logger.truncate(None)
        numbers = {"a": 0.1 + 0.2, "b": np.float32(0.1), "c": torch.tensor(2), "d": np.nan}
        logger.metrics({"env_steps": 7, **numbers})
        logger.metrics({"env_steps": 8, "a": np.inf, "name": "é", "on": True})
        row = {"note": 'x,"y"\nz', "distance": 1 / 3, "success": None, "env_steps": 7}
        logger.evaluation(row)
    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    assert rows[0] == {
        "env_steps": 7,
        "a": 0.1 + 0.2,
        "b": float(np.float32(0.1)),
        "c": 2,
        "d": None,
    }
    assert rows[1] == {"env_steps": 8, "a": None, "name": "é", "on": True}
    [row] = csv.DictReader(io.StringIO(run.evaluations.read_text("utf-8"), newline=""))
    assert list(row) == list(COLUMNS)
    assert float(row["distance"]) == 1 / 3
    assert (row["env_steps"], row["success"], row["note"]) == ("7", "", 'x,"y"\nz')


def test_rows_are_on_disk_at_once(run):
    logger = RunLogger(run, COLUMNS)
    step(logger, 0)
    assert run.metrics.read_text().endswith("\n")
    assert len(run.evaluations.read_text().splitlines()) == 2
    logger.close()


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    saves=st.sets(st.integers(1, 9)),
    kills=st.lists(st.integers(0, 10), max_size=3),
    torn=st.binary(max_size=20),
)
def test_an_interrupted_run_ends_with_the_same_bytes(run, saves, kills, torn):
    with RunLogger(run, COLUMNS) as logger:
        logger.truncate(None)
        for index in range(10):
            step(logger, index)
    expected = files(run)

    start, position = 0, None
    for kill in [*sorted(kills), 10]:
        with RunLogger(run, COLUMNS) as logger:
            logger.truncate(position)
            for index in range(start, max(start, kill)):
                if index in saves:
                    start, position = index, logger.position()
                step(logger, index)
        if kill < 10:
            # Killed in the middle of a row, at a moment after the last checkpoint.
            for path in (run.metrics, run.evaluations):
                with path.open("ab") as file:
                    file.write(torn)
    assert files(run) == expected
    assert b"time" not in expected[0]


def test_starting_again_without_a_checkpoint_forgets_everything(run):
    with RunLogger(run, COLUMNS) as logger:
        step(logger, 0)
    with RunLogger(run, COLUMNS) as logger:
        logger.truncate(None)
    assert files(run) == (b"", b"env_steps,distance,success,note\n")


def test_a_header_torn_by_a_kill_is_mended(run):
    run.evaluations.write_bytes(b"env_steps,dis")
    RunLogger(run, COLUMNS).close()
    assert files(run) == (b"", b"env_steps,distance,success,note\n")


def test_other_columns_are_refused(run):
    RunLogger(run, COLUMNS).close()
    with pytest.raises(RunConflict, match="env_steps,distance,success,note"):
        RunLogger(run, ("distance",))


@pytest.mark.parametrize("name", ["metrics", "evaluations"])
def test_a_file_shorter_than_its_checkpoint_is_damaged(run, name):
    with RunLogger(run, COLUMNS) as logger:
        step(logger, 0)
        position = logger.position()
        step(logger, 3)
    path = getattr(run, name)
    path.write_bytes(path.read_bytes()[: position[name] - 1])
    before = files(run)
    with RunLogger(run, COLUMNS) as logger, pytest.raises(DamagedFile, match=path.name):
        logger.truncate(position)
    assert files(run) == before


@pytest.mark.parametrize(
    "values",
    [
        {"distance": 1.0},
        {"env_steps": 1, "distance": 1.0, "success": 1, "note": "", "extra": 2},
        {"env_steps": 1, "distance": 1.0, "success": 1, "notes": ""},
    ],
)
def test_an_evaluation_has_exactly_its_columns(run, values):
    with RunLogger(run, COLUMNS) as logger, pytest.raises(InvalidInput, match="columns"):
        logger.evaluation(values)


@pytest.mark.parametrize("value", [[1], {"a": 1}, object()])
def test_only_plain_values_are_logged(run, value):
    with RunLogger(run, COLUMNS) as logger, pytest.raises(InvalidInput, match="'critic/x'"):
        logger.metrics({"critic/x": value})


class Full:
    """A file on a full disk."""

    def __init__(self, file):
        self._file = file

    def write(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __getattr__(self, name):
        return getattr(self._file, name)


def test_a_full_disk_is_a_clear_error(run, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RunLogger(run, COLUMNS) as logger:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SmorlError, match=r"metrics\.jsonl.*No space left.*resume"):
            logger.position()
        monkeypatch.undo()
    with RunLogger(run, COLUMNS) as logger:
        monkeypatch.setattr(logger._metrics, "_file", Full(logger._metrics._file))
        with pytest.raises(SmorlError, match=r"metrics\.jsonl.*No space left"):
            logger.metrics({"a": 1})


def test_an_unwritable_file_is_a_clear_error(run):
    run.metrics.mkdir()
    with pytest.raises(SmorlError, match=r"metrics\.jsonl"):
        RunLogger(run, COLUMNS)


def test_short_writes_are_completed(run, monkeypatch):
    class Slow:
        """A file that takes three bytes at a time, as a nearly full disk may."""

        def __init__(self, file):
            self._file = file

        def write(self, data):
            return self._file.write(bytes(data[:3]))

        def __getattr__(self, name):
            return getattr(self._file, name)

    logger = RunLogger(run, COLUMNS)
    monkeypatch.setattr(logger._metrics, "_file", Slow(logger._metrics._file))
    logger.metrics({"a": 1.25})
    logger.close()
    assert json.loads(run.metrics.read_text()) == {"a": 1.25}


def test_tensorboard_absent_is_a_clear_error(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InvalidInput, match=r"smorl\[tensorboard\]"):
        RunLogger(run, COLUMNS, Boards(tensorboard=True))


def test_tensorboard_gets_the_numbers(run, monkeypatch):
    written = []

    class SummaryWriter:
        def __init__(self, folder):
            written.append(folder)

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def close(self):
            written.append("closed")

    fake = types.ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = SummaryWriter  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    with RunLogger(run, COLUMNS, Boards(tensorboard=True)) as logger:
        logger.metrics({"env_steps": 3, "a": 1.5, "note": "x", "bad": float("nan")})
        logger.evaluation({"env_steps": 3, "distance": 0.1, "success": None, "note": ""})
    assert written == [
        str(run.path / "tensorboard"),
        ("a", 1.5, 3),
        ("evaluation/distance", 0.1, 3),
        "closed",
    ]


def test_wandb_absent_is_a_clear_error(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InvalidInput, match=r"smorl\[wandb\]"):
        RunLogger(run, COLUMNS, Boards(wandb="tables"))


def test_wandb_gets_the_numbers_and_a_resumed_run_the_same_id(run, monkeypatch):
    begun, logged = [], []

    class Run:
        def define_metric(self, name, step_metric):
            assert (name, step_metric) == ("*", "env_steps")

        def log(self, numbers):
            logged.append(numbers)

        def finish(self):
            logged.append("finished")

    def init(**settings):
        begun.append(settings)
        return Run()

    fake = types.ModuleType("wandb")
    fake.init = init  # pyright: ignore[reportAttributeAccessIssue]
    fake.Error = KeyError  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    with RunLogger(run, COLUMNS, Boards(wandb="tables")) as logger:
        logger.metrics({"env_steps": 3, "a": 1.5, "note": "x", "bad": float("nan")})
        logger.evaluation({"env_steps": 3, "distance": 0.1, "success": None, "note": ""})
    assert logged == [
        {"a": 1.5, "env_steps": 3},
        {"evaluation/distance": 0.1, "env_steps": 3},
        "finished",
    ]
    RunLogger(run, COLUMNS, Boards(wandb="tables")).close()
    run.versions["date"] = "another day"
    RunLogger(run, COLUMNS, Boards(wandb="tables")).close()
    assert begun[0] == begun[1]
    assert begun[0]["project"] == "tables"
    assert begun[0]["config"] == run.config
    assert begun[2]["id"] != begun[0]["id"]


def test_wandb_without_a_login_is_a_clear_error(run, monkeypatch):
    def init(**_):
        raise PermissionError("No API key.")

    fake = types.ModuleType("wandb")
    fake.init = init  # pyright: ignore[reportAttributeAccessIssue]
    fake.Error = PermissionError  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    with pytest.raises(InvalidInput, match=r"No API key.*WANDB_MODE=offline"):
        RunLogger(run, COLUMNS, Boards(wandb="tables"))


@pytest.mark.slow
def test_wandb_itself_takes_them_offline(run, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with RunLogger(run, COLUMNS, Boards(wandb="tables")) as logger:
        logger.metrics({"env_steps": 3, "a": 1.5})
    assert list((run.path / "wandb").glob("offline-run-*/run-*.wandb"))


def test_reading_runs_needs_neither_torch_nor_tensorboard():
    script = (
        "import sys, smorl.runs.log\n"
        "assert not {'torch', 'tensorboard'} & set(sys.modules), 'imported at the top'"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_progress_writes_a_line_now_and_then():
    clock, stream = Clock(), io.StringIO()
    with Progress(10_000, stream=stream, clock=clock) as progress:
        for second in range(0, 101, 10):
            clock.now = 1000.0 + second
            progress.update(100 * second // 2, 25 * second // 2, distance=0.0832)
    lines = stream.getvalue().splitlines()
    assert lines[0] == (
        "step 1500/10000 (15 %), 50 env steps/s, 12 updates/s, distance 0.083 m, ETA 2:50"
    )
    assert len(lines) == 4, "after 30, 60 and 90 seconds, and at the end"
    assert lines[-1].startswith("step 5000/10000 (50 %)")


def test_speeds_are_of_this_session_and_recent():
    clock = Clock()
    progress = Progress(100_000, stream=io.StringIO(), clock=clock)
    progress.update(50_000, 10_000)
    assert progress.describe() == "step 50000/100000 (50 %)"
    for _ in range(50):
        clock.now += 10
        progress.update(50_000 + int(clock.now - 1000), 10_000)
    for second in range(10):
        clock.now += 10
        progress.update(60_000 + 1000 * second, 20_000)
    assert "100 env steps/s, 0 updates/s" in progress.describe()
    assert progress.describe().endswith("ETA 5:10")


def test_progress_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "160")
    clock, stream = Clock(), Terminal()
    with Progress(1000, stream=stream, clock=clock) as progress:
        progress.update(0, 0)
        clock.now += 2
        progress.update(500, 100, distance=0.05)
        progress.note("evaluated [0.05]")
    text = stream.getvalue()
    for part in ("50 %", "step 500/1000", "250 env steps/s", "50 updates/s", "0.050 m", "ETA 0:02"):
        assert part in text
    assert "evaluated [0.05]" in text


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet_is_quiet(stream):
    clock = Clock()
    with Progress(10, quiet=True, stream=stream, clock=clock) as progress:
        progress.update(0, 0)
        clock.now += 100
        progress.update(5, 5)
        progress.note("nothing")
    assert stream.getvalue() == ""


def test_progress_without_any_update():
    stream = io.StringIO()
    with Progress(10, stream=stream):
        pass
    assert stream.getvalue() == ""


def test_progress_goes_to_standard_error(capsys):
    with Progress(10) as progress:
        progress.update(5, 0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "step 5/10 (50 %)\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
