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
    from smorl.representations.perceptions import load_perception

    for name in shipped.names():
        path = shipped.resolve(f"shipped:{name}")
        assert path.stat().st_size < 20e6
        weights = load_perception(f"shipped:{name}")
        assert weights.env.startswith("smorl/Visual")
        assert weights.meta["command"].startswith("smorl perception train")


def test_agents_have_a_folder_of_their_own(tmp_path):
    (tmp_path / "visual-push-1.safetensors").touch()
    assert shipped.agent_names(tmp_path) == ["visual-push-1"]
    found = shipped.resolve_agent("shipped:visual-push-1", tmp_path)
    assert found == tmp_path / "visual-push-1.safetensors"
    with pytest.raises(InvalidInput, match=r"no agents called 'shipped:scalor-1' come"):
        shipped.resolve_agent("shipped:scalor-1", tmp_path)


@pytest.mark.skipif(not shipped.agent_names(), reason="this package ships no agents")
def test_all_agents_act_and_are_named_after_their_presets():
    from smorl.cli.demo import AGENT
    from smorl.presets import get_preset
    from smorl.trained.loading import load_run

    assert AGENT.removeprefix(shipped.PREFIX) in shipped.agent_names()
    for name in shipped.agent_names():
        assert shipped.resolve_agent(name).stat().st_size < 20e6
        run = load_run(shipped.PREFIX + name)
        preset = get_preset(name).build()
        assert (run.config.method, run.config.env) == (preset.method, preset.env)
        assert run.env_steps >= preset.collect.total_steps, "trained to the end"
