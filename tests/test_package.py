"""What the package says of itself is complete, and the same everywhere."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from smorl.cli import figures
from smorl.errors import InvalidInput
from tests import check_package

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_citation_has_the_version_and_address_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]
    assert citation["preferred-citation"]["url"] == PROJECT["urls"]["Paper"]
    assert citation["license"] == PROJECT["license"]


def test_the_changelog_has_the_version_of_the_package():
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == PROJECT["version"]


def test_every_extra_is_pinned_and_every_extra_that_a_message_names_exists():
    pins = (ROOT / "constraints.txt").read_text("utf-8").lower().replace("_", "-")
    for extra in PROJECT["optional-dependencies"].values():
        for requirement in extra:
            name = re.split(r"[\[><=]", requirement)[0].lower()
            assert f"\n{name}==" in pins, f"pin {name} in constraints.txt"
    for path in (ROOT / "src").rglob("*.py"):
        for extra in re.findall(r"smorl\[(\w+)\]", path.read_text("utf-8")):
            assert extra in PROJECT["optional-dependencies"], f"{path} names {extra}"


def test_figures_without_results_say_where_those_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"git clone .*--results smorl/results"):
        figures.main([])


def test_the_check_of_a_wheel_sees_what_is_missing_and_what_is_strange(tmp_path):
    wheel = tmp_path / "smorl-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tests/secret.py", "")
    problems = check_package.check_wheel(wheel)
    assert "smorl-0-py3-none-any.whl lacks smorl/py.typed" in problems
    assert "smorl-0-py3-none-any.whl lacks smorl/shipped/scalor-1.safetensors" in problems
    assert "smorl-0-py3-none-any.whl holds tests/secret.py" in problems
