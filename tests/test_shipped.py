"""Names of weights that come with the package."""

import pytest

from smorl import shipped
from smorl.errors import InvalidInput


def test_names_are_those_of_the_files(tmp_path):
    for name in ("scalor-1.safetensors", "scalor-2.safetensors", "readme.txt"):
        (tmp_path / name).touch()
    assert shipped.names(tmp_path) == ["scalor-1", "scalor-2"]
    assert shipped.resolve("shipped:scalor-2", tmp_path) == tmp_path / "scalor-2.safetensors"


def test_an_unknown_name_lists_what_exists(tmp_path):
    (tmp_path / "scalor-1.safetensors").touch()
    with pytest.raises(InvalidInput, match=r"Did you mean 'scalor-1'.*shipped:scalor-1"):
        shipped.resolve("shipped:scalar-1", tmp_path)


def test_all_of_them_load_and_say_what_they_are():
    from smorl.perception.scalor.weights import load_perception

    for name in shipped.names():
        path = shipped.resolve(f"shipped:{name}")
        assert path.stat().st_size < 20e6
        weights = load_perception(f"shipped:{name}")
        assert weights.env.startswith("smorl/Visual")
        assert weights.meta["command"].startswith("smorl perception train")
