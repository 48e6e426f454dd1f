"""Open a trained run for acting: its config, encoder, agent and goal space."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from smorl.agents.agent import PassiveAgent, SacAgent
from smorl.config import from_json
from smorl.errors import InvalidInput
from smorl.goals.spaces import GoalSpace
from smorl.methods import Senses, get_method, make_envs
from smorl.perception.encoder import Encoder
from smorl.perception.scalor.weights import load_weights
from smorl.training.checkpoint import load_latest
from smorl.training.run_dir import RunDir
from smorl.training.run_state import RunState, count_items
from smorl.training.senses import PERCEPTION
from smorl.training.settings import RunConfig


@dataclass(frozen=True)
class LoadedRun:
    """A run that can act in `env` (its own, or one with another number of pucks)."""

    config: RunConfig
    env: str
    encoder: Encoder
    agent: SacAgent | PassiveAgent
    space: GoalSpace
    env_steps: int
    notes: list[str]


def load_run(path: Path, env: str | None = None) -> LoadedRun:
    """Load the newest good checkpoint of a run."""
    config = from_json(RunConfig, RunDir.load(path).config)
    checkpoint = load_latest(Path(path) / "checkpoints")
    if checkpoint is None:
        raise InvalidInput(f"{path} has no checkpoint yet; let `smorl train` run a little longer.")
    method = get_method(config.method)
    perception = load_weights(Path(path) / PERCEPTION) if method.pixels else None
    state = RunState.create(config, Senses(_items(config.env, method.pixels), None, perception))
    state.load_agent(checkpoint)
    encoder = state.encoder
    if env is not None and env != config.env:
        senses = Senses(_items(env, method.pixels), encoder.layout.what, perception)
        encoder = method.encoder(senses)
        if encoder.layout.position != state.encoder.layout.position:
            raise InvalidInput(
                f"{path} is a {config.method} run: its state is one vector of "
                f"{state.encoder.layout.position} numbers, {env} has "
                f"{encoder.layout.position}. Only object-centric agents transfer."
            )
    return LoadedRun(
        config,
        env or config.env,
        encoder,
        state.agent(config),
        state.space,
        checkpoint.step,
        checkpoint.damaged,
    )


def _items(env: str, pixels: bool) -> int:
    envs = make_envs(env, 1, 1)
    items = count_items(envs, pixels)
    envs.close()
    return items
