"""What happens around a run: full and read-only disks, removed folders, two processes, signals."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.inject import patched
from tests.faults.kills import RUNS, SMALL, forked, remains, writes_of
from tests.faults.outcomes import REFUSED, SURVIVED, Tally, command

_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES)
_REFUSED = 2


def run(folder: Path, stride: int, signals: int) -> list[Tally]:
    """Try every kind of surroundings on the cheapest run."""
    words = RUNS["smorl-gt"]
    count = writes_of(words, folder / "whole")
    expected = remains(folder / "whole")
    return [
        _failing_disk(words, folder, expected, count, stride),
        _removed(words, folder),
        _two_processes(words, folder, expected),
        _signals(words, folder, expected, signals),
        *_full_disk(words, folder),
    ]


@contextlib.contextmanager
def failing(at: int, number: int) -> Iterator[None]:
    """Let every write from the `at`-th on fail with an error of the system."""
    count = 0

    def wrap(call: Callable) -> Callable:
        def counted(*args: object, **kwargs: object) -> object:
            nonlocal count
            count += 1
            if count >= at:
                raise OSError(number, os.strerror(number))
            return call(*args, **kwargs)

        return counted

    with patched(wrap):
        yield


def _failing_disk(
    words: tuple[str, ...], folder: Path, expected: dict, count: int, stride: int
) -> Tally:
    """The disk fails at a write and for good; on a good one the run goes on and ends the same."""
    tally, out = Tally("disk fails at a write"), folder / "failing"
    for at in range(1, count + 1, stride):
        number = _ERRORS[at % len(_ERRORS)]
        shutil.rmtree(out, ignore_errors=True)
        code = forked(words, out, lambda at=at, number=number: failing(at, number))
        name = f"{errno.errorcode[number]} at write {at}"
        tally.add(name, REFUSED if code == _REFUSED else f"ended with {code}")
        again = forked(words, out)
        same = again == 0 and remains(out) == expected
        tally.add(f"{name}, resumed", SURVIVED if same else f"ended with {again}, or differs")
    return tally


def _removed(words: tuple[str, ...], folder: Path) -> Tally:
    """The folder is removed or renamed while the run is going on."""
    tally, out = Tally("folder removed or renamed"), folder / "removed"
    for removal in ("removed", "renamed", "replaced"):
        for after in (0.5, 1.0, 2.0):
            shutil.rmtree(out, ignore_errors=True)
            shutil.rmtree(folder / "elsewhere", ignore_errors=True)
            child = _child([*words, "--collect.total_steps", "100000"], out)
            _wait_for(out / "metrics.jsonl")
            time.sleep(after)
            out.rename(folder / "elsewhere")
            if removal == "removed":
                shutil.rmtree(folder / "elsewhere")
            elif removal == "replaced":
                out.mkdir()
            tally.add(f"{removal} after {after} s", _end(child))
    return tally


def _two_processes(words: tuple[str, ...], folder: Path, expected: dict) -> Tally:
    """A second process is refused while the first one runs, and takes nothing from it."""
    tally, out = Tally("two processes"), folder / "two"
    child = _child(list(words), out)
    _wait_for(out / "config.json")
    for number in range(5):
        if child.poll() is None:
            tally.add(f"second #{number}", command([*words, *SMALL, "--out", str(out)]))
    child.wait()
    tally.add("first", SURVIVED if remains(out) == expected else "differs")
    return tally


def _signals(words: tuple[str, ...], folder: Path, expected: dict, tries: int) -> Tally:
    """Signals at moments of every stage: no traceback, and the run goes on to the same end."""
    tally, out = Tally("signals"), folder / "signals"
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in range(tries):
        shutil.rmtree(out, ignore_errors=True)
        child = _child(list(words), out)
        chosen, twice = numbers[number % 3], number % 2
        _wait_for(out if number % 4 == 0 else out / "metrics.jsonl")
        time.sleep(0.1 * (number % 7))
        for _ in range(1 + twice):
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(chosen)
            time.sleep(0.02)
        outcome = _end(child, (0, 130, -chosen))
        again = forked(words, out)
        same = again == 0 and remains(out) == expected
        name = f"{chosen.name}{' twice' if twice else ''} #{number}"
        tally.add(name, outcome if same else f"resumed: {again}, or differs")
    return tally


def _full_disk(words: tuple[str, ...], folder: Path) -> list[Tally]:
    """Real disks of a few kilobytes, and a read-only one, where mounting is allowed."""
    tally, disk, whole = (
        Tally("a disk that is full or read-only"),
        folder / "disk",
        folder / "whole",
    )
    disk.mkdir()
    film = ["play", "Push1-v0", "--episodes", "1", "--policy", "passive", "--size", "64", "--video"]
    collect = ["perception", "collect", "smorl/VisualPush1-v0", "--episodes", "1", "--steps", "3"]
    made = {
        "film.mp4": film,
        "film.gif": film,
        "curves.png": ["curves", str(whole), "--out"],
        "agent.safetensors": ["export", str(whole)],
        "kept": ["results", str(whole), "--keep"],
        "data": [*collect, "--quiet", "--out"],
    }
    for size in ("4k", "16k", "64k", "256k", "600k", "1000k", "ro"):
        options = "ro" if size == "ro" else f"size={size}"
        mount = ["mount", "-t", "tmpfs", "-o", options, "smorl-faults", str(disk)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            return []
        try:
            for name, command_words in made.items():
                path, old = disk / name, b""
                if name in ("film.mp4", "curves.png") and size != "ro":
                    old = b"old"
                    path.write_bytes(old)
                outcome = command([*command_words, str(path)])
                if outcome == REFUSED and path.is_file() and path.read_bytes() != old:
                    outcome = "refused, and there is a file"
                elif outcome == SURVIVED and not path.exists():
                    outcome = "done, and there is no file"
                tally.add(f"{name} on a disk of {size}", outcome)
                if path.exists():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            code = forked(words, disk / "run")
            tally.add(f"train on {size}", SURVIVED if code == 0 else _refusal(code))
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    return [tally]


def _refusal(code: int) -> str:
    return REFUSED if code == _REFUSED else f"ended with {code}"


def _child(words: list[str], out: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "smorl", *words, *SMALL, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _wait_for(path: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def _end(child: subprocess.Popen, good: tuple[int, ...] = ()) -> str:
    """Return the outcome of a child: a good exit code, or a refusal without a traceback."""
    try:
        _, said = child.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        child.kill()
        return "does not end"
    if "Traceback" in said:
        return said[-300:]
    return SURVIVED if child.returncode in good else _refusal(child.returncode)
