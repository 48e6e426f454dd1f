"""Code is imported because the user named it, never because a file from elsewhere names it."""

import json
import shutil

import pytest

import smorl
from smorl import plugins
from smorl.cli import main
from smorl.errors import NotTrusted
from smorl.representations.scalor.weights import FORMAT, KIND
from smorl.shipped import resolve
from smorl.training.ahead import RoundPlayer
from tests.faults.forge import edit_json, forge_weights

PART = """
from pathlib import Path
Path(__file__).with_name("has-run").touch()
from smorl.learners.sac import SacConfig
from smorl.methods import METHODS
MINE = METHODS["smorl-gt"]
"""
TINY = {
    "collect__total_steps": 80,
    "collect__initial_steps": 40,
    "evaluation__episodes": 1,
    "learner__batch_size": 8,
}


@pytest.fixture(autouse=True)
def nothing_trusted(monkeypatch):
    monkeypatch.setattr(plugins, "_trusted", set())


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A file with a method, which notes that it was imported; the folder is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.py").write_text(PART)
    return tmp_path / "part.py"


def has_run(part):
    return part.with_name("has-run").exists()


@pytest.fixture(scope="module")
def run_once(tmp_path_factory):
    out = tmp_path_factory.mktemp("trust") / "run"
    smorl.train("debug", out=out, progress=False, **TINY)
    return out


@pytest.fixture
def received(run_once, part):
    """A run folder from elsewhere, which names a method in a file that lies beside it."""
    run = shutil.copytree(run_once, part.with_name("run"))
    edit_json(run / "config.json", lambda c: c.update(method="part.py:MINE"))
    return run


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "run", "--episodes", "1"],
        ["export", "run", "agent.safetensors"],
        ["gap", "run"],
        ["demo", "run"],
        ["study", "tracking", "run"],
        ["analyse", "mig", "--vae", "run", "--episodes", "2"],
        ["view", "run", "--no-open"],
        ["train", "debug", "--config", "run/config.json", "--out", "again"],
        ["results", "run"],
        ["curves", "run", "--out", "curves.png"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_verb_imports_what_a_received_run_names(received, part, capsys, words):
    main(words)
    assert not has_run(part)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("field", ["env", "method", "learner.kind"])
def test_every_field_that_names_code_is_asked_about(run_once, part, capsys, field):
    run = shutil.copytree(run_once, part.with_name("run"))

    def change(config):
        outer, _, inner = field.rpartition(".")
        (config[outer] if outer else config)[inner] = "part.py:MINE"

    edit_json(run / "config.json", change)
    assert main(["evaluate", "run", "--episodes", "1", "--env", "part.py2:X"]) == 2
    assert main(["evaluate", "run", "--episodes", "1"]) == 2
    assert not has_run(part)


def test_the_answer_says_what_would_run_and_how_to_allow_it(received, part, capsys):
    assert main(["evaluate", "run"]) == 2
    assert "--trust part.py" in capsys.readouterr().err
    with pytest.raises(NotTrusted, match=r"smorl\.trust\('part.py'\)"):
        smorl.load("run")
    assert not has_run(part)


def test_who_trusts_a_module_uses_it(received, part, capsys):
    assert main(["evaluate", "run", "--episodes", "1", "--trust", "part.py"]) == 2
    assert has_run(part)
    assert "config.json" in capsys.readouterr().err  # the next hurdle: settings that were edited


@pytest.mark.parametrize("how", ["--trust=part.py", "--trust=./part.py"])
def test_paths_are_trusted_however_they_are_written(received, part, how):
    main(["evaluate", "run", "--episodes", "1", how])
    assert has_run(part)


def test_trust_needs_a_name(capsys):
    assert main(["evaluate", "run", "--trust"]) == 2
    assert "--trust needs" in capsys.readouterr().err


def test_a_part_on_the_command_line_is_trusted_and_its_run_opens_with_a_word(part, capsys):
    words = ["--quiet", "--out", "run", "--method", "part.py:MINE"]
    for name, value in TINY.items():
        words += [f"--{name.replace('__', '.')}", str(value)]
    assert main(["train", "debug", *words]) == 0
    assert has_run(part)
    assert main(["evaluate", "run", "--episodes", "1"]) == 0  # the same process has seen it


def test_the_name_of_a_folder_is_no_trust(received, part):
    received.rename(part.with_name("part.py:MINE"))
    assert main(["evaluate", "part.py:MINE"]) == 2
    assert not has_run(part)


def test_weights_from_elsewhere_name_their_world_in_vain(part, capsys):
    weights = part.with_name("weights.safetensors")
    shutil.copy(resolve("shipped:scalor-1"), weights)
    forge_weights(
        weights, KIND, FORMAT, lambda arrays, header: header["meta"].update(env="part.py:X")
    )
    assert main(["perception", "evaluate", str(weights), "--episodes", "1"]) == 2
    assert main(["perception", "show", str(weights), "--out", "a.png"]) == 2
    assert not has_run(part)


def test_what_is_imported_already_needs_no_trust():
    assert plugins.load("json:dumps") is json.dumps
    with pytest.raises(NotTrusted):
        plugins.load("antigravity:x")
    assert not plugins.is_plugin("shipped:scalor-2")


def test_python_code_that_names_a_part_has_said_so(part):
    assert smorl.train("debug", method="part.py:MINE", out="run", progress=False, **TINY)
    assert has_run(part)


def test_a_collector_trusts_the_settings_it_was_sent(received, part):
    config = json.loads((received / "config.json").read_text())
    RoundPlayer(config, 1, None)
    assert has_run(part)
