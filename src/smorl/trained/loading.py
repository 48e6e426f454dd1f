"""Open a trained run for acting: its config, encoder, agent and goal space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import gymnasium as gym

from smorl import devices, shipped
from smorl.config import override
from smorl.devices import DeviceName, check_device
from smorl.envs.contract import check_goals, spaces_of
from smorl.envs.factory import View, make_envs
from smorl.errors import InvalidInput
from smorl.evaluation.evaluate import Evaluation, Observer, evaluate
from smorl.formats import understood
from smorl.goals.base import GoalSpace
from smorl.learners.acting import LearnedAgent, PassiveAgent
from smorl.methods import EncoderInputs, get_method
from smorl.planning.actor import Actor
from smorl.planning.controllers import ControllerName
from smorl.representations.base import Encoder
from smorl.trained.agent_file import SavedAgent, open_file, open_folder
from smorl.training.acting import make_actor
from smorl.training.scores import MAX_EVALUATION_ROWS
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState
from smorl.types import Spaces

# What decides how an agent plays, and nothing about what it has learned.
_PLAYING = ("planning.", "evaluation.subgoals.", "evaluation.solved_threshold")


@dataclass(frozen=True)
class LoadedRun:
    """A run that can act in `env` (its own, or one with another number of pucks)."""

    config: RunConfig
    env: str
    spaces: Spaces  # of `env`
    encoder: Encoder
    state: TrainState
    env_steps: int
    notes: list[str]

    @property
    def agent(self) -> LearnedAgent | PassiveAgent:
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
        attempts, objects = None, self.spaces.objects
        if self.env != self.config.env and self.encoder.layout.what and objects is not None:
            attempts = 2 * objects - 1
        encoder = self.encoder if encoder is None else encoder
        return make_actor(
            self.state, self.config, encoder=encoder, controller=controller, attempts=attempts
        )

    def playing(self, settings: Mapping[str, str]) -> LoadedRun:
        """Return the same agent with other settings of how it plays, as text by dotted names.

        Those are `planning.*`, `evaluation.subgoals.*` and `evaluation.solved_threshold`.
        """
        for name, value in settings.items():
            if not name.startswith(_PLAYING):
                raise InvalidInput(
                    f"--{name} {value} is not about how an agent plays; once it is trained only "
                    f"{', '.join(f'{start}*' for start in _PLAYING[:2])} and {_PLAYING[2]} can be "
                    "changed. Train a run with the others."
                )
        return replace(self, config=override(self.config, dict(settings)))

    @property
    def view(self) -> View | None:
        """How the agent sees, if not through the environment's own camera in its own size."""
        return self.config.view or _same_size(self.spaces)

    def evaluate(
        self,
        episodes: int = 20,
        *,
        seed: int | None = None,
        threads: int = 1,
        controller: ControllerName | None = None,
        observer: Observer | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Evaluation:
        """Play the fixed episodes `seed`, `seed` + 1, ... (by default the run's own) in `env`."""
        envs = self.envs(min(episodes, MAX_EVALUATION_ROWS), threads)
        try:
            check_goals(envs, self.env)
            return evaluate(
                envs,
                self.actor(controller),
                episodes=episodes,
                seed=self.config.evaluation.seed if seed is None else seed,
                observer=observer,
                progress=progress,
            )
        finally:
            envs.close()

    def envs(self, rows: int, threads: int = 1) -> gym.vector.VectorEnv:
        """Return an environment to act in, with goal images where there are any."""
        return make_envs(self.env, rows, threads, view=self.view)


def load_run(
    name: Path | str,
    env: str | None = None,
    *,
    agents: Path | None = None,
    device: DeviceName = "cpu",
) -> LoadedRun:
    """Open a run folder, a file of `smorl export`, or `shipped:visual-rearrange-1` to act.

    `agents` is the folder of shipped agents, if not the package's own. It computes on `device`,
    wherever it was trained.
    """
    check_device(device)
    saved = _open(name, agents)
    config = replace(saved.config, device=device)
    checkpoint, perception = saved.checkpoint, saved.perception
    method = get_method(config.method)
    spaces = saved.spaces
    inputs = EncoderInputs(spaces, None, perception)
    with understood(checkpoint.path, "an agent"):
        state = TrainState.create(config, inputs, acting=True)
        state.load_agent(checkpoint)
    encoder = state.encoder
    if env is not None and env != config.env:
        spaces = _spaces(env, config.view or _same_size(spaces))
        _refuse_other_actions(saved.spaces, spaces, env)
        method.check(spaces)
        inputs = EncoderInputs(spaces, encoder.layout.what, perception, state.vae, config.tracker)
        encoder = method.encoder(replace(inputs, device=devices.place(device)))
        if encoder.layout.position != state.encoder.layout.position:
            raise InvalidInput(
                f"{name} is a {config.method} run: its state is one vector of "
                f"{state.encoder.layout.position} numbers, {env} has "
                f"{encoder.layout.position}. Only object-centric agents transfer."
            )
    return LoadedRun(
        config,
        env or config.env,
        spaces,
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


def _spaces(env: str, view: View | None) -> Spaces:
    envs = make_envs(env, 1, 1, view=view)
    spaces = spaces_of(envs)
    envs.close()
    return spaces


def _same_size(spaces: Spaces) -> View | None:
    return View(image_size=spaces.observation[0]) if spaces.visual else None


def _refuse_other_actions(own: Spaces, other: Spaces, env: str) -> None:
    if own.actions != other.actions:
        raise InvalidInput(
            f"the agent acts with {own.actions} numbers, {env} takes {other.actions}; evaluate it "
            "where actions mean the same."
        )
