"""`make package`: build wheel and sdist, install the wheel elsewhere, use it as a stranger would.

    python -m tests.check_package                              # the Python that runs this
    python -m tests.check_package python3.12 python3.13        # others, each in a venv of its own

Every command is printed with its time and its last words. Everything but `dist/` is temporary.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SDIST = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml")
# What a stranger tries: words, expected exit code, what the answer must hold.
COMMANDS: tuple[tuple[str, int, str], ...] = (
    ("--version", 0, "smorl 0."),
    ("presets", 0, "visual-rearrange-1"),
    ("envs", 0, "smorl/Rearrange2-v0"),
    ("evaluate shipped:visual-rearrange-1 --episodes 2", 0, "object_distance"),
    ("train debug --quiet --out run", 0, "object_distance"),
    ("evaluate run --episodes 2", 0, "object_distance"),
    ("figures", 2, "git clone"),
    ("figures clusters --results {results} --out figures", 0, "clusters.png"),
    ("view --help", 0, "page"),
)


def main(pythons: Sequence[str]) -> int:
    """Build, look inside, install and use; return the exit code."""
    wheel, sdist = build(ROOT / "dist")
    missing = [*check_wheel(wheel), *check_sdist(sdist)]
    for problem in missing:
        say(f"package: {problem}")
    if missing:
        return 1
    return max(use(python, wheel) for python in pythons or [sys.executable])


def build(folder: Path) -> tuple[Path, Path]:
    """Return a fresh wheel and a fresh sdist; the wheel is made from the sdist."""
    for old in [*folder.glob("smorl-*.whl"), *folder.glob("smorl-*.tar.gz")]:
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], ROOT)
    (wheel,), (sdist,) = folder.glob("smorl-*.whl"), folder.glob("smorl-*.tar.gz")
    say(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {sdist.name}: "
        f"{sdist.stat().st_size / 1e6:.1f} MB")  # fmt: skip
    return wheel, sdist


def check_wheel(wheel: Path) -> list[str]:
    """Every module and weight is in it, and nothing that is not the package's."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    kinds = ("*.py", "*.safetensors", "py.typed")
    source = ROOT / "src"
    wanted = {str(p.relative_to(source)) for kind in kinds for p in source.rglob(kind)}
    strange = {name for name in inside if not name.startswith(("smorl/", "smorl-"))}
    return [*lacking(wheel, wanted - inside), *(f"{wheel.name} holds {s}" for s in strange)]


def check_sdist(sdist: Path) -> list[str]:
    """What a packager needs is in it."""
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    return lacking(sdist, set(SDIST) - inside)


def lacking(archive: Path, names: Iterable[str]) -> list[str]:
    return [f"{archive.name} lacks {name}" for name in sorted(names)]


def use(python: str, wheel: Path) -> int:
    """Install the wheel for `python` in a venv of its own and try every command."""
    with tempfile.TemporaryDirectory(prefix="smorl-package-") as folder:
        here = Path(folder)
        seconds, words, code = run([python, "-m", "venv", "venv"], here)
        if code:
            say(f"{python}: no venv, left out: {words.strip().splitlines()[-1]}")
            return 1
        inside = here / "venv" / "bin"
        _, version, _ = run([str(inside / "python"), "--version"], here)
        say(f"\n{version.strip()}")
        install = [str(inside / "python"), "-m", "pip", "install", "--quiet"]
        install += ["--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"), str(wheel)]
        seconds, words, code = run(install, here)
        say(f"{seconds:6.1f} s  pip install -c constraints.txt {wheel.name}")
        if code:
            say(words)
            return 1
        return int(sum(tried(inside / "smorl", command, here) for command in COMMANDS) > 0)


def tried(smorl: Path, command: tuple[str, int, str], here: Path) -> bool:
    """Run one command of the package; whether it went wrong."""
    words, expected, holds = command
    given = words.format(results=ROOT / "results").split()
    seconds, answer, code = run([str(smorl), *given], here)
    wrong = code != expected or holds not in answer or "Traceback" in answer
    last = answer.strip().splitlines()[-1] if answer.strip() else "(nothing)"
    say(f"{seconds:6.1f} s  smorl {words.format(results='results')}\n          {last[:150]}")
    if wrong:
        say(f"          WRONG: exit code {code}, expected {expected} and {holds!r} in:\n{answer}")
    return wrong


def run(command: Sequence[str], folder: Path) -> tuple[float, str, int]:
    """Run a command in `folder`, without this checkout on Python's path; time, output, code."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    surroundings = {name: value for name, value in os.environ.items() if name not in hidden}
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=surroundings, text=True, check=False, timeout=1800,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return time.monotonic() - started, done.stdout, done.returncode


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
