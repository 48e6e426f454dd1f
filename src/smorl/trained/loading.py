"""Open a trained run for acting: its config, encoder, agent and goal space."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym

from smorl import shipped
from smorl.errors import InvalidInput
from smorl.goals.space import GoalSpace
from smorl.learners.acting import PassiveAgent, SacAgent
from smorl.methods import EncoderInputs, get_method, make_envs
from smorl.planning.actor import Actor
from smorl.planning.controllers import ControllerName
from smorl.representations.base import Encoder
from smorl.trained.agent_file import SavedAgent, open_file, open_folder
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState, count_items


@dataclass(frozen=True)
class LoadedRun:
    """A run that can act in `env` (its own, or one with another number of pucks)."""

    config: RunConfig
    env: str
    encoder: Encoder
    state: TrainState
    env_steps: int
    notes: list[str]

    @property
    def agent(self) -> SacAgent | PassiveAgent:
        """Who has learned."""
        return self.state.agent(self.config)

    @property
    def space(self) -> GoalSpace:
        """What goals are, with the thresholds of training."""
        return self.state.space

    def actor(
        self, controller: ControllerName | None = None, encoder: Encoder | None = None
    ) -> Actor:
        """Return who plays in `env`: by the run's own settings, or another controller or encoder.

        Another number of pucks gets 2 (n + 1) - 1 attempts. The number is the environment's: how
        many objects are detected differs from image to image. A state in one vector is one goal,
        whatever the number of pucks.
        """
        attempts = None
        if self.env != self.config.env and self.encoder.layout.what:
            attempts = 2 * _items(self.env, get_method(self.config.method).visual) - 1
        encoder = self.encoder if encoder is None else encoder
        return self.state.actor(
            self.config, encoder=encoder, controller=controller, attempts=attempts
        )

    def envs(self, rows: int, threads: int = 1) -> gym.vector.VectorEnv:
        """Return an environment to act in, with goal images where there are any."""
        return make_envs(self.env, rows, threads, view=self.config.view)


def load_run(name: Path | str, env: str | None = None, *, agents: Path | None = None) -> LoadedRun:
    """Open a run folder, a file of `smorl export`, or `shipped:visual-rearrange-1` to act.

    `agents` is the folder of shipped agents, if not the package's own.
    """
    saved = _open(name, agents)
    config, checkpoint, perception = saved.config, saved.checkpoint, saved.perception
    method = get_method(config.method)
    state = TrainState.create(
        config, EncoderInputs(_items(config.env, method.visual), None, perception)
    )
    state.load_agent(checkpoint)
    encoder = state.encoder
    if env is not None and env != config.env:
        items = _items(env, method.visual)
        inputs = EncoderInputs(items, encoder.layout.what, perception, state.vae, config.tracker)
        encoder = method.encoder(inputs)
        if encoder.layout.position != state.encoder.layout.position:
            raise InvalidInput(
                f"{name} is a {config.method} run: its state is one vector of "
                f"{state.encoder.layout.position} numbers, {env} has "
                f"{encoder.layout.position}. Only object-centric agents transfer."
            )
    return LoadedRun(
        config,
        env or config.env,
        encoder,
        state,
        checkpoint.step,
        checkpoint.damaged,
    )


def _open(name: Path | str, agents: Path | None) -> SavedAgent:
    if shipped.is_shipped(str(name)):
        return open_file(shipped.resolve_agent(str(name), agents))
    path = Path(name)
    return open_file(path) if path.is_file() else open_folder(path)


def _items(env: str, pixels: bool) -> int:
    envs = make_envs(env, 1, 1)
    items = count_items(envs, pixels)
    envs.close()
    return items
