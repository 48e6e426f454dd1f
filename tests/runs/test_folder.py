"""Run folders: self-describing, never shared, never overwritten."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smorl.errors import DamagedFile, InvalidInput, RunConflict, SmorlError
from smorl.files import write_text
from smorl.runs import versions
from smorl.runs.folder import RunDir

CONFIG = {"preset": "debug", "seed": 0, "agent": {"lr": 0.001, "hidden": [64, 64]}}
COMMAND = "smorl train debug"


def snapshot(path: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_a_new_run_describes_itself(tmp_path):
    with RunDir.open(tmp_path / "runs" / "a", CONFIG, COMMAND) as run:
        assert not run.resumed
        assert json.loads((run.path / "config.json").read_text()) == CONFIG
        described = json.loads((run.path / "versions.json").read_text())
        for name in ("smorl", "python", "torch", "numpy", "mujoco", "platform", "date", "cpus"):
            assert described[name], name
        assert described["command"] == COMMAND
        assert "commit" in described
        assert run.checkpoints.is_dir()
        assert run.result is None
        run.write_result({"object_distance": 0.05})
        assert run.result == {"object_distance": 0.05}
        assert not list(run.path.glob(".tmp-*"))


def test_reopening_resumes(tmp_path):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()
    before = snapshot(tmp_path)
    (tmp_path / ".tmp-config.json-1").write_text("half")
    with RunDir.open(str(tmp_path), json.loads(json.dumps(CONFIG)), "another command") as run:
        assert run.resumed
        assert run.config == CONFIG
        assert run.versions["command"] == COMMAND
        assert run.version_changes == []
    assert snapshot(tmp_path) == before | {tmp_path / ".lock": str(os.getpid()).encode()}


def test_changed_libraries_are_told(tmp_path, monkeypatch):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()
    monkeypatch.setattr(versions, "version", lambda name: "0.0.1")
    with RunDir.open(tmp_path, CONFIG, COMMAND) as run:
        assert any(line.startswith("torch: run has ") for line in run.version_changes)


def test_another_config_is_refused_with_the_fields(tmp_path):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()
    before = snapshot(tmp_path)
    other = {"preset": "debug", "seed": 1, "agent": {"lr": 0.0005, "hidden": [64, 64]}}
    with pytest.raises(RunConflict) as caught:
        RunDir.open(tmp_path, other, COMMAND)
    for part in ("agent.lr: run has 0.001, asked 0.0005", "seed: run has 0, asked 1", "--out"):
        assert part in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert snapshot(tmp_path) == before
    RunDir.open(tmp_path, CONFIG, COMMAND).close()


def test_two_processes_cannot_share_a_run(tmp_path):
    script = (
        "import sys\n"
        "from smorl.runs.folder import RunDir\n"
        f"run = RunDir.open({str(tmp_path)!r}, {CONFIG!r}, 'x')\n"
        "sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(RunConflict, match=f"pid {other.pid}"):
            RunDir.open(tmp_path, CONFIG, COMMAND)
        assert RunDir.load(tmp_path).config == CONFIG, "reading needs no lock"
        other.kill()
        other.wait()
    RunDir.open(tmp_path, CONFIG, COMMAND).close()


def test_the_lock_is_released_when_opening_fails(tmp_path):
    first = RunDir.open(tmp_path, CONFIG, COMMAND)
    with pytest.raises(RunConflict, match="in use"):
        RunDir.open(tmp_path, CONFIG, COMMAND)
    first.close()
    first.close()
    with pytest.raises(RunConflict, match="other settings"):
        RunDir.open(tmp_path, {}, COMMAND)
    RunDir.open(tmp_path, CONFIG, COMMAND).close()


@pytest.mark.parametrize("name", ["thesis.tex", ".hidden", "checkpoints", "versions.json"])
def test_a_folder_that_is_not_a_run_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text("precious")
    before = snapshot(tmp_path)
    with pytest.raises(RunConflict, match="not a run"):
        RunDir.open(tmp_path, CONFIG, COMMAND)
    assert snapshot(tmp_path) == before


def test_an_empty_folder_is_fine(tmp_path):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()


def test_a_file_is_not_a_run(tmp_path):
    (tmp_path / "a").write_text("precious")
    with pytest.raises(RunConflict, match="is a file"):
        RunDir.open(tmp_path / "a", CONFIG, COMMAND)
    with pytest.raises(SmorlError, match="Cannot write"):
        RunDir.open(tmp_path / "a" / "b", CONFIG, COMMAND)
    assert (tmp_path / "a").read_text() == "precious"


def test_a_kill_while_creating_leaves_a_folder_that_can_be_used(tmp_path, monkeypatch):
    real, calls = os.fsync, []

    class Killed(BaseException):
        pass

    for survive in range(4):
        path = tmp_path / str(survive)
        calls.clear()

        def fsync(descriptor, survive=survive):
            calls.append(descriptor)
            if len(calls) > survive:
                raise Killed
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(Killed):
            RunDir.open(path, CONFIG, COMMAND)
        monkeypatch.setattr(os, "fsync", real)
        with RunDir.open(path, CONFIG, COMMAND) as run:
            assert run.config == CONFIG
        assert not list(path.glob(".tmp-*"))


def test_a_full_disk_is_a_clear_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SmorlError, match="No space left"):
            RunDir.open(tmp_path / "a", CONFIG, COMMAND)
    with RunDir.open(tmp_path / "a", CONFIG, COMMAND) as run, monkeypatch.context() as patch:
        run.write_result({"a": 1})
        patch.setattr(os, "fsync", full)
        with pytest.raises(SmorlError, match=r"result\.json.*No space left"):
            run.write_result({"a": 2})
        assert run.result == {"a": 1}
        assert not list(run.path.glob(".tmp-*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_a_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(SmorlError, match="Permission denied"):
            RunDir.open(tmp_path / "a", CONFIG, COMMAND)
    finally:
        tmp_path.chmod(0o700)


def test_a_device_that_refuses_folders():
    with pytest.raises(SmorlError, match="Cannot write /proc/"):
        RunDir.open("/proc/smorl-run", CONFIG, COMMAND)


def test_loading_something_else(tmp_path):
    RunDir.open(tmp_path / "rearrange-2", CONFIG, COMMAND).close()
    with pytest.raises(InvalidInput, match="Did you mean 'rearrange-2'"):
        RunDir.load(tmp_path / "rearange-2")
    with pytest.raises(InvalidInput, match="not a run"):
        RunDir.load(tmp_path / "nowhere" / "else")


@pytest.mark.parametrize("text", ["", '{"a": ', "[1]", "\x80"])
@pytest.mark.parametrize("name", ["config.json", "versions.json"])
def test_damaged_files_are_named(tmp_path, name, text):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    for attempt in (lambda: RunDir.load(tmp_path), lambda: RunDir.open(tmp_path, CONFIG, "")):
        with pytest.raises(DamagedFile, match=name):
            attempt()


def test_a_loaded_run_cannot_be_written(tmp_path):
    RunDir.open(tmp_path, CONFIG, COMMAND).close()
    before = snapshot(tmp_path)
    with RunDir.load(tmp_path) as run, pytest.raises(SmorlError, match="for reading"):
        run.write_result({})
    assert snapshot(tmp_path) == before


def test_a_config_that_json_cannot_hold_writes_nothing(tmp_path):
    with pytest.raises(InvalidInput, match=r"config\.lr is nan"):
        RunDir.open(tmp_path / "a", {"lr": float("nan")}, COMMAND)
    assert not (tmp_path / "a").exists()


def test_atomic_write_keeps_text_exactly(tmp_path):
    for text in ("one\r\ntwo\n", "é", ""):
        write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_bytes() == text.encode()


def test_the_commit_is_of_this_package_only(monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "versions.py"))
    assert versions.current_versions("x")["commit"] is None


def test_the_checkout_is_read_and_never_written(monkeypatch, tmp_path):
    def git(*words):
        own = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(tmp_path))
        subprocess.run(["git", *own, *words], check=True, capture_output=True)

    code = write_text(tmp_path / "versions.py", "1")
    for words in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git(*words)
    monkeypatch.setattr(versions, "__file__", str(code))
    clean = versions.current_versions("x")["commit"]
    assert len(clean) == 40
    os.utime(code, (0, 0))  # the index now is out of date, which `git describe --dirty` mends
    before = snapshot(tmp_path / ".git")
    assert versions.current_versions("x")["commit"] == clean
    write_text(code, "2")
    assert versions.current_versions("x")["commit"] == f"{clean}-dirty"
    assert snapshot(tmp_path / ".git") == before
