"""The pages people read, taken apart: fenced blocks, inline commands, links."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^ {4}((?:smorl|make|python) .*)$", re.MULTILINE)
_INLINE = re.compile(r"`((?:smorl|make) [^`]+)`")


def name_of(page: Path) -> str:
    """Return the page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def snippets(page: Path) -> list[str]:
    """Return the Python blocks of a page, in order."""
    return [text for kind, text in _FENCED.findall(page.read_text("utf-8")) if kind == "python"]


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every command in a block, one for each side of `&&`."""
    text = page.read_text("utf-8")
    blocks = [block for kind, block in _FENCED.findall(text) if kind in ("", "sh", "bash")]
    lines = [line for block in blocks if not _is_drawing(block) for line in block.splitlines()]
    for line in [*lines, *_INDENTED.findall(text)]:
        words: list[str] = []
        for word in shlex.split(line, comments=True):
            if word == "&&":
                yield words
                words = []
            else:
                words.append(word)
        if words:
            yield words


def inline_commands(page: Path) -> list[str]:
    """Return the commands that stand in sentences; placeholders and braces allowed."""
    found = _INLINE.findall(page.read_text("utf-8"))
    return [" ".join(command.split()) for command in found]


def targets(page: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield every link of a page and the file it means; None if it leads elsewhere."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path = target.partition("#")[0]
        if ours := re.match(rf"{re.escape(REPOSITORY)}/(?:blob|tree|raw)/main/(.*)", path):
            yield target, ROOT / ours[1]
        elif path.startswith(("http:", "https:", "mailto:")):
            yield target, None
        else:
            yield target, page.parent / path if path else page


def _is_drawing(block: str) -> bool:
    """Whether a block is a tree of files or data, not commands."""
    return block.startswith(("src/", "video "))
