"""What MkDocs cannot do by itself: links out of docs/, and equations without a foreign script.

The pages also read well as plain files of the repository, so they link to code and results by
relative paths. On the site these become addresses of the repository; pictures are taken along.
A link to nothing stops the build.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(!?)(\[[^\]]*\])\(([^)\s]+)\)")
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
FOREIGN = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links out of docs/ to the repository."""
    source = DOCS / page.file.src_uri

    def lead(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        path, mark, anchor = target.partition("#")
        if not path.startswith("../"):
            return found[0]
        place = (source.parent / path).resolve()
        if place.is_relative_to(DOCS):
            return found[0]
        if not place.exists():
            raise PluginError(f"{page.file.src_uri} links to {target}, which is not there.")
        inside = place.relative_to(ROOT).as_posix()
        if picture:
            return f"{picture}{label}({_take_along(inside, page, config, files)})"
        kind = "tree" if place.is_dir() else "blob"
        return f"{label}({config.extra['repository']}/{kind}/main/{inside}{mark}{anchor})"

    return LINK.sub(lead, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Turn equations into MathML, which browsers draw by themselves."""

    def draw(found: re.Match[str]) -> str:
        display = "block" if found[2] == "[" else "inline"
        return convert(unescape(found[3]).strip(), display=display)

    return EQUATION.sub(draw, html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that would load scripts, styles or fonts from elsewhere."""
    if foreign := FOREIGN.search(output):
        raise PluginError(f"{page.file.src_uri} loads {foreign[0]} from elsewhere.")
    return output


def _take_along(inside: str, page: Any, config: Any, files: Any) -> str:
    uri = f"site/{inside}"
    if files.get_file_from_path(uri) is None:
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / inside)))
    return "../" * page.file.src_uri.count("/") + uri
