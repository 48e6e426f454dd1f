"""A perception of another kind than SCALOR, in one file: trained first, kept, used by a run."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import smorl
from smorl.errors import InvalidInput
from smorl.plugins import load, trust
from smorl.presets import get_preset
from smorl.presets.perception import PERCEPTION_PRESETS, PerceptionPreset
from smorl.representations.perceptions import FILE, KINDS, Kind, TrackerSettings, read_perception
from smorl.representations.pretraining import PerceptionConfig
from smorl.representations.scalor.model.scalor import Scalor
from smorl.runs.tensor_file import read_tensors, write_tensors
from smorl.training.settings import RunConfig

EXAMPLE = str(Path(__file__).parents[2] / "examples/own_encoder.py")
PLACES = {"low": np.float32([-1, -1]), "high": np.float32([1, 1])}


@dataclass(frozen=True)
class ColourSettings(TrackerSettings):
    kind: str = "colour"
    fewest: int = 3


class Colours:
    """The encoder of examples/own_encoder.py as something that was trained before."""

    env, actions, image_size, threshold = "smorl/VisualRearrange1-v0", 2, 64, 0.5

    def __init__(self, path, data=None):
        arrays, header = read_tensors(path, "colour", 1, data)
        self.digest, self.seed, self.prior = "of this file", header["seed"], arrays

    def tracker(self, config=None, device=None):
        assert config is None or isinstance(config, ColourSettings)
        trust(EXAMPLE)
        return load(f"{EXAMPLE}:ByColour")()


class ColourTrainer:
    stop_requested, iteration = False, 0

    def __init__(self, config, run, reporter):
        self.config, self.run, self.reporter = config, run, reporter

    def start(self):
        return False

    def train(self):
        for _ in range(self.config.steps):
            self.iteration += 1
            self.reporter.update(self.iteration, self.iteration, None)
        write_tensors(self.run.path / FILE, "colour", 1, PLACES, {"seed": self.config.seed})
        return {"learned": self.iteration}

    def clean(self):
        (self.run.path / "cleaned").touch()


@dataclass(frozen=True)
class ColourTraining(PerceptionConfig):
    steps: int = 3  # gradient steps, so to speak

    frames = property(lambda self: self.steps)
    seconds = property(lambda self: 1.0)

    def fitted(self, source):
        return self if source.video is None else replace(self, env="video")

    def trainer(self, run, reporter, source, command):
        return ColourTrainer(self, run, reporter)

    def untrained(self, actions):
        raise NotImplementedError


@pytest.fixture
def colours(monkeypatch):
    """The kind in both tables; SCALOR is out of reach."""
    here = __name__
    monkeypatch.setitem(KINDS, "colour", Kind(f"{here}:Colours", f"{here}:ColourSettings"))
    preset = PerceptionPreset("by colour", lambda: ColourTraining())
    monkeypatch.setitem(PERCEPTION_PRESETS, "colour", preset)

    def refused(*args, **options):
        raise AssertionError("somebody asked for SCALOR")

    monkeypatch.setattr(Scalor, "__init__", refused)


def test_it_is_trained_like_any_other(colours, tmp_path):
    out = tmp_path / "run"
    result = smorl.train_perception("colour", out=out, progress=False, steps=5, seed=7)
    assert result == {"learned": 5}
    assert (out / "cleaned").exists()
    assert smorl.load_perception(out).seed == 7  # pyright: ignore[reportAttributeAccessIssue]
    again = smorl.train_perception("colour", out=out, progress=False, steps=5, seed=7)
    assert again == {"learned": 5}


def test_a_run_trains_it_first_and_sees_by_it(colours, tmp_path):
    usual = get_preset("debug-visual").build()
    config = replace(usual, perception="colour", tracker=ColourSettings(fewest=4), seed=3)
    collect = replace(usual.collect, total_steps=80, initial_steps=40)
    evaluation = replace(usual.evaluation, final_episodes=1, controller="policy")
    config = replace(config, collect=collect, evaluation=evaluation)
    result = smorl.train(config, out=tmp_path / "run", progress=False)
    assert result is not None
    assert read_perception(tmp_path / "run" / "perception.safetensors").seed == 3  # pyright: ignore
    agent = smorl.load(tmp_path / "run")
    assert agent.config.tracker == ColourSettings(fewest=4)
    assert agent.encoder.layout.what == 2  # two colours
    assert agent.evaluate(episodes=1).summary()["object_distance"] >= 0


def test_settings_of_a_tracker_are_those_of_its_kind(colours):
    from smorl.config import from_json, override, to_json

    usual = get_preset("debug-visual").build()
    other = override(usual, {"tracker.kind": "colour", "tracker.fewest": "9"})
    assert other.tracker == ColourSettings(fewest=9)
    assert from_json(RunConfig, to_json(other)) == other
    assert from_json(RunConfig, to_json(usual)) == usual
    with pytest.raises(InvalidInput, match=r"tracker\.kind 'colours' is unknown"):
        override(usual, {"tracker.kind": "colours"})
