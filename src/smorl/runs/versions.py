"""Which program on which machine: recorded with every run."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from smorl.config import JSON


def current_versions(command: str) -> dict[str, JSON]:
    """Describe the program and the machine."""
    found: dict[str, JSON] = {
        "command": command,
        "date": datetime.now(UTC).isoformat("T", "seconds"),
    }
    for name in ("smorl", "torch", "numpy", "mujoco"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found | {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "commit": _commit(),
    }


def changed_versions(old: dict[str, JSON], new: dict[str, JSON]) -> list[str]:
    """List the libraries that changed since the run was started."""
    names = ("smorl", "python", "torch", "numpy", "mujoco", "machine", "commit")
    return [
        f"{name}: run has {old.get(name)}, now {new[name]}"
        for name in names
        if old.get(name) != new[name]
    ]


def _commit() -> str | None:
    """Return the commit of the package, "-dirty" appended, when it runs from a checkout."""
    # An installed package may lie inside a checkout of something else, which says nothing.
    if _git("ls-files", "--error-unmatch", __file__) is None:
        return None
    # Not `describe --dirty`: it writes the index of somebody's checkout.
    changed = _git("--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
    commit = _git("rev-parse", "HEAD")
    return commit and f"{commit}-dirty" if changed else commit


def _git(*args: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
