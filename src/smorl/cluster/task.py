"""One job on one node: fetch what it needs, run it in a scratch folder, copy what it writes.

The shared folder is the truth. A task that is cut off at any moment leaves there the newest
checkpoint that was whole, and the next one, on whatever node, goes on from it: training from a
checkpoint repeats exactly what an undisturbed run does, so the result is the same.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import smorl
from smorl.cluster.mirror import Mirror
from smorl.cluster.shared import OWN, Shared
from smorl.errors import SmorlError
from smorl.paper.runner import STOPPED, Ended, last_line

_TICK = 0.1  # seconds between looks at the process
_LOOK, _LOOK_FAR = 1.0, 5.0  # seconds between looks for a stop or a checkpoint; by address
SCRATCH = "SMORL_SCRATCH"  # where nodes work; default: the system's folder for temporary files
_PREFIX = "smorl-task-"


@dataclass(frozen=True)
class Task:
    """What a node needs to know, in plain text and numbers; paths are below the shared folder."""

    command: tuple[str, ...]  # without `smorl`
    writes: str
    inputs: tuple[str, ...]
    log: str
    shared: str
    campaign: str  # who asked: names the folder of the file that asks the task to stop
    token: str  # of this attempt: the newest one owns the run
    printed: bool = False
    every: float = 10.0  # seconds between copies of the records


class TakenOver(SmorlError):
    """A newer attempt at the same run owns it now; this one must not write any more."""


def run(task: Task) -> Ended:
    """Do the task; return how its command ended. What goes wrong around it is raised."""
    shared = Shared(task.shared)
    if asked_to_stop(shared, task):  # while it waited for a core
        return Ended(STOPPED, "asked to stop before it began")
    owner = owner_file(task.writes)
    shared.write(owner, task.token)
    shared.clear_partial(task.writes)
    with _scratch() as work:
        known = _fetch(shared, task, work)
        mirror = Mirror(shared, task.writes, work / task.writes, known)
        log = work / task.log
        log.parent.mkdir(parents=True, exist_ok=True)
        (work / task.writes).parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as said, _output(task, work, said) as out:
            began = time.monotonic()
            child = _start(task, work, out, said)
            try:
                _attend(child, task, shared, mirror, log)
            finally:
                _end(child)
            seconds = time.monotonic() - began
        _refuse_taken(shared, task)
        _deliver(task, shared, mirror, work, child.returncode)
        shared.put(log, task.log)
        shared.remove(owner)
        words = last_line(log) + (f" (all it said: {task.log})" if child.returncode else "")
        return Ended(child.returncode, words, False, seconds, socket.gethostname())


def _fetch(shared: Shared, task: Task, work: Path) -> dict[str, int]:
    for path in (*task.inputs, task.log):
        if shared.exists(path):
            shared.fetch(path, work / path)
    if task.printed or not shared.exists(task.writes):
        return {}
    known = shared.fetch(task.writes, work / task.writes)
    return {} if "" in known else known


def _start(task: Task, work: Path, out, said) -> subprocess.Popen:
    # The same package as ours, wherever the node found it.
    package = str(Path(smorl.__file__).parents[1])
    python_path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "smorl.cli.child", *task.command],
        cwd=work,
        stdin=subprocess.PIPE,  # held open: its end tells the child that we are gone
        stdout=out,
        stderr=said,
        start_new_session=True,
        env={"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": python_path},
    )


def _attend(child: subprocess.Popen, task: Task, shared: Shared, mirror: Mirror, log: Path) -> None:
    """Copy what the child writes until it ends, and tell it when it is asked to stop."""
    told, copied, looked = False, time.monotonic(), time.monotonic()
    look = _LOOK if shared.is_path else _LOOK_FAR
    while child.poll() is None:
        time.sleep(_TICK)
        now = time.monotonic()
        if now - looked < look:
            continue
        looked = now
        if not told and asked_to_stop(shared, task):
            child.send_signal(signal.SIGINT)
            told = True
        if mirror.due() or now - copied > task.every:
            _refuse_taken(shared, task)
            mirror.push()
            shared.put(log, task.log)
            copied = now


def _deliver(task: Task, shared: Shared, mirror: Mirror, work: Path, code: int) -> None:
    """Copy the end: the rest of a run folder, or the files that the command was to write."""
    own = work / task.writes
    if own.is_dir():
        mirror.push()
    elif code == 0 and own.exists():
        shared.put(own, task.writes)
    for word in task.command:  # what it wrote beside, such as the picture of a study
        beside = word not in (*task.inputs, task.writes) and not Path(word).is_absolute()
        if code == 0 and beside and (work / word).is_file():
            shared.put(work / word, word)


def _end(child: subprocess.Popen) -> None:
    """Whatever happened to us, nothing goes on unseen."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin is not None:
        child.stdin.close()


@contextmanager
def _output(task: Task, work: Path, otherwise) -> Iterator:
    if not task.printed:
        yield otherwise
        return
    with (work / task.writes).open("wb") as file:
        yield file


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder of this process that is removed at the end, also those of processes long dead."""
    base = Path(os.environ.get(SCRATCH) or tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    for left in base.glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _refuse_taken(shared: Shared, task: Task) -> None:
    if shared.read(owner_file(task.writes)) != task.token:
        raise TakenOver(f"{task.writes} was taken over by a newer attempt; this one has ended.")


def owner_file(path: str) -> str:
    """Return the file that says which attempt owns a run."""
    return f"{OWN}/owners/{path.replace('/', '+')}"


def stop_file(campaign: str, token: str) -> str:
    """Return the file whose existence asks a task to save and stop."""
    return f"{OWN}/{campaign}/stop-{token}"


def asked_to_stop(shared: Shared, task: Task) -> bool:
    """Whether the task was asked to save and stop."""
    return shared.exists(stop_file(task.campaign, task.token))
