"""What a run is made of, and how all of it goes into a checkpoint and comes back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
import torch

from smorl import devices
from smorl.formats import check_kinds
from smorl.goals.base import GoalSpace
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import from_arrays
from smorl.goals.space import make_goal_space
from smorl.learners.acting import LearnedAgent, PassiveAgent
from smorl.learners.base import Learner
from smorl.methods import EncoderInputs, get_method
from smorl.planning.gentle import GentleContact
from smorl.replay.buffer import Replay
from smorl.representations.base import Encoder, Fixed, Representation
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.runs.checkpoint import (
    Checkpoint,
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)
from smorl.runs.serialise import refuse_misfit
from smorl.runs.tensor_file import under
from smorl.seeding import stream, torch_seed
from smorl.training.foresight import Foresight
from smorl.training.initial_prior import initial_prior
from smorl.training.online_vae import OnlineVae
from smorl.training.random_data import check_rest, fit_prior, fit_rest, needs_rest
from smorl.training.settings import RunConfig
from smorl.types import Spaces

_KINDS = {
    "counters": {"env_steps": int, "updates": int, "rounds": int, "evaluated": int,
                 "credit": int | float},
    "replay": {"next": int, "size": int},
    "learner_updates": int,
}  # fmt: skip
SMALLEST_SPREAD = 0.02  # of positions, metres or image coordinates


@dataclass
class Counters:
    """Where a run is. `credit` is the fraction of an update owed to the steps taken so far."""

    env_steps: int = 0
    updates: int = 0
    rounds: int = 0
    evaluated: int = 0  # environment steps at the last evaluation
    credit: float = 0.0


@dataclass
class TrainState:
    """Everything that changes during a run and decides how it goes on."""

    encoder: Encoder
    learner: Learner
    replay: Replay
    space: GoalSpace
    streams: dict[str, np.random.Generator]
    spaces: Spaces
    counters: Counters = field(default_factory=Counters)
    representation: Representation = field(default_factory=Fixed)
    gentle: GentleContact | None = None  # known once random data has been seen
    foresight: Foresight | None = None  # of runs with a model of objects

    @classmethod
    def create(
        cls, config: RunConfig, inputs: EncoderInputs, *, acting: bool = False
    ) -> TrainState:
        """Return the state at step 0; with `acting` there is next to no replay."""
        device = devices.place(config.device)
        if config.latent is not None:
            vae = BetaVae(config.latent.model, seed=torch_seed(config.seed, "vae"))
            inputs = replace(inputs, vae=vae.to(device))
        goals, slices = config.goals, config.state_objects
        inputs = replace(inputs, tracker=config.tracker, slices=slices, device=device)
        method = get_method(config.method)
        method.check(inputs.spaces)
        encoder = method.encoder(inputs)
        check_rest(config, encoder.layout)
        prior = initial_prior(config, encoder.layout, inputs.perception)
        if inputs.perception is not None and goals.match_threshold is None:
            goals = replace(goals, match_threshold=inputs.perception.threshold)
        low, high = prior.box()
        # A perception that sees everything in one place must not make inputs infinite.
        centre, spread = (low + high) / 2, np.maximum((high - low) / 2, SMALLEST_SPREAD)
        learner = config.learner.build(
            config.networks,
            encoder.layout,
            inputs.spaces.actions,
            seed=torch_seed(config.seed, "networks"),
            centre=tuple(centre.tolist()),
            spread=tuple(spread.tolist()),
            device=device,
        )
        horizon = config.collect.horizon
        replay = Replay(
            horizon if acting else config.collect.replay_steps,
            horizon,
            encoder.layout,
            inputs.spaces.actions,
        )
        streams = {name: stream(config.seed, name) for name in ("collect", "learn")}
        space = make_goal_space(goals, prior, encoder.layout)
        state = cls(encoder, learner, replay, space, streams, inputs.spaces)
        if isinstance(encoder, VaeEncoder) and config.latent is not None:
            state.representation = OnlineVae.create(config.latent, encoder, replay, config.seed)
        if config.dynamics is not None:
            sizes = encoder.layout, inputs.spaces.actions
            state.foresight = Foresight(config.dynamics, *sizes, config.seed, device)
        return state

    @property
    def vae(self) -> BetaVae | None:
        """The run's own VAE, of methods that have one."""
        return self.encoder.model if isinstance(self.encoder, VaeEncoder) else None

    def agent(self, config: RunConfig) -> LearnedAgent | PassiveAgent:
        """Return who acts."""
        if not get_method(config.method).learns:
            return PassiveAgent(self.spaces.actions)
        return LearnedAgent(self.learner)

    def begin(self, config: RunConfig) -> None:
        """The random data is complete: fit to it what the method needs before it learns."""
        seen = self.replay.episodes.objects[: self.replay.size]
        if config.goals.prior == "fitted" and not get_method(config.method).needs_perception:
            prior = fit_prior(seen, self.encoder.layout.slots, config.seed)
            self.space = self.space.fitted(prior, self.space.rest)
        if needs_rest(config):
            rest = fit_rest(seen, self.space, config.seed, config.relabel.moved)
            self.space = self.space.fitted(self.space.prior, rest)
        if config.gentle is not None and self.space.rest is not None:
            self.gentle = GentleContact.fit(seen, self.space.rest, config.gentle)
        self._tell_body()
        if self.foresight is not None:
            self.foresight.begin(seen)
        self.representation.start()
        if not self.representation.pending_batches:
            self.refresh(config)

    def refresh(self, config: RunConfig) -> None:
        """The representation has been trained: encode anew, and set goals by what it knows now."""
        steps = self.counters.env_steps - config.collect.initial_steps
        self.space = self.representation.refresh(self.replay, self.space, steps)

    def save(self) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray], dict]:
        """Return tensors, arrays and JSON for `save_checkpoint`."""
        tensors, agent_arrays = self.save_agent()
        optimizers = {}
        for name, optimizer in self.learner.optimizers.items():
            found, optimizers[name] = optimizer_tensors(f"optimizer/{name}", optimizer)
            tensors |= found
        arrays, pointers = self.replay.state()
        arrays = {f"replay/{name}": array for name, array in arrays.items()} | agent_arrays
        state = {
            "counters": vars(self.counters),
            "replay": pointers,
            "optimizers": optimizers,
            "streams": {name: generator_state(rng) for name, rng in self.streams.items()},
            "learner_updates": self.learner.updates,
            "spaces": asdict(self.spaces),
        }
        more = self.representation.save()
        tensors, arrays, state["representation"] = tensors | more[0], arrays | more[1], more[2]
        if self.foresight is not None:
            fitted, state["foresight"] = self.foresight.save()
            tensors = tensors | fitted
        return tensors, arrays, state

    def save_agent(self) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray]]:
        """Return what `load_agent` needs: networks, and what goals and acting are fitted to."""
        tensors = dict(self.learner.tensors())
        arrays = {f"prior/{k}": v for k, v in self.space.prior.to_arrays().items()}
        if self.space.rest is not None:
            arrays |= {f"rest/{k}": v for k, v in self.space.rest.to_arrays().items()}
        if self.gentle is not None:
            arrays |= {f"gentle/{k}": v for k, v in self.gentle.to_arrays().items()}
        if self.foresight is not None:
            tensors |= self.foresight.tensors()
        return tensors, arrays

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore `save` from a verified checkpoint."""
        tensors, arrays, state = checkpoint.tensors, checkpoint.arrays, checkpoint.state
        self.load_agent(checkpoint)
        check_kinds(state, _KINDS, "state")
        for name, optimizer in self.learner.optimizers.items():
            load_optimizer(f"optimizer/{name}", optimizer, tensors, state["optimizers"][name])
        self.replay.load(under("replay/", arrays), state["replay"])
        self.streams = {name: restore_generator(state["streams"][name]) for name in self.streams}
        self.counters = Counters(**state["counters"])
        self.learner.updates = state["learner_updates"]
        self.representation.load(checkpoint)
        if self.foresight is not None:
            self.foresight.load(checkpoint)

    def load_agent(self, checkpoint: Checkpoint) -> None:
        """Restore only what acting and judging need: networks, VAE and prior."""
        parameters = self.learner.tensors() | self.representation.tensors()
        if self.foresight is not None:
            parameters |= self.foresight.tensors()
        for name, value in parameters.items():
            refuse_misfit(checkpoint.path, name, value, checkpoint.tensors.get(name))
        with torch.no_grad():
            for name, value in parameters.items():
                value.copy_(checkpoint.tensors[name])
        prior, rest = (under(name, checkpoint.arrays) for name in ("prior/", "rest/"))
        known = StillnessModel(**rest) if rest else None
        if known is not None and known.centres.shape[1] != self.encoder.layout.what:
            raise ValueError(
                f"clusters of {known.centres.shape[1]} numbers, not {self.encoder.layout.what}"
            )
        self.space = self.space.fitted(from_arrays(prior), known)
        gentle = under("gentle/", checkpoint.arrays)
        self.gentle = None
        if gentle and self.space.rest is not None:
            self.gentle = GentleContact(self.space.rest, **gentle)
        self._tell_body()

    def _tell_body(self) -> None:
        """Let networks and model know which object is the own body, as far as that is known."""
        if self.space.rest is not None:
            self.learner.inputs.know_rest(self.space.rest.centres, self.space.rest.rest)
        if self.gentle is not None:
            self.learner.inputs.know_reach(self.gentle.reach)
        if self.foresight is not None:
            self.foresight.look(self.space.rest, self.gentle)
