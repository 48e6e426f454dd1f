"""What a run is made of, and how all of it goes into a checkpoint and comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import gymnasium as gym
import numpy as np
import torch

from smorl.errors import InvalidInput
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import (
    from_arrays,
)
from smorl.goals.space import GoalSpace
from smorl.learners.acting import PassiveAgent, SacAgent
from smorl.learners.sac import Sac
from smorl.methods import EncoderInputs, get_method
from smorl.planning.actor import Actor
from smorl.planning.controllers import ControllerName, make_controller
from smorl.planning.gentle import GentleContact
from smorl.replay.buffer import Replay
from smorl.representations.base import Encoder
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.runs.checkpoint import (
    Checkpoint,
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)
from smorl.runs.tensor_file import under
from smorl.seeding import stream, torch_seed
from smorl.training.initial_prior import initial_prior
from smorl.training.online_vae import OnlineVae, model_tensors
from smorl.training.random_data import fit_prior, fit_rest, needs_rest
from smorl.training.scores import evaluation_space
from smorl.training.settings import RunConfig

ACTIONS = 2  # hand motion in x and y
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
    learner: Sac
    replay: Replay
    space: GoalSpace
    streams: dict[str, np.random.Generator]
    counters: Counters = field(default_factory=Counters)
    online_vae: OnlineVae | None = None  # of methods that train a VAE along
    gentle: GentleContact | None = None  # known once random data has been seen

    @classmethod
    def create(cls, config: RunConfig, inputs: EncoderInputs) -> TrainState:
        """Return the state at step 0."""
        if config.latent is not None:
            vae = BetaVae(config.latent.model, seed=torch_seed(config.seed, "vae"))
            inputs = replace(inputs, vae=vae)
        goals = config.goals
        inputs = replace(inputs, tracker=config.tracker)
        encoder = get_method(config.method).encoder(inputs)
        prior = initial_prior(config, encoder.layout, inputs.perception)
        if inputs.perception is not None and goals.match_threshold is None:
            goals = replace(goals, match_threshold=inputs.perception.threshold)
        low, high = prior.box()
        # A perception that sees everything in one place must not make inputs infinite.
        centre, spread = (low + high) / 2, np.maximum((high - low) / 2, SMALLEST_SPREAD)
        sac = Sac(
            config.learner,
            config.networks,
            encoder.layout,
            ACTIONS,
            seed=torch_seed(config.seed, "networks"),
            centre=tuple(centre.tolist()),
            spread=tuple(spread.tolist()),
        )
        replay = Replay(
            config.collect.replay_steps, config.collect.horizon, encoder.layout, ACTIONS
        )
        streams = {name: stream(config.seed, name) for name in ("collect", "learn")}
        state = cls(encoder, sac, replay, GoalSpace(goals, prior), streams)
        if isinstance(encoder, VaeEncoder) and config.latent is not None:
            state.online_vae = OnlineVae.create(config.latent, encoder, replay, config.seed)
        return state

    @property
    def vae(self) -> BetaVae | None:
        """The run's own VAE, of methods that have one."""
        return None if self.online_vae is None else self.online_vae.encoder.model

    def agent(self, config: RunConfig) -> SacAgent | PassiveAgent:
        """Return who acts."""
        if not get_method(config.method).learns:
            return PassiveAgent(ACTIONS)
        return SacAgent(self.learner)

    def actor(
        self,
        config: RunConfig,
        *,
        encoder: Encoder | None = None,
        controller: ControllerName | None = None,
        attempts: int | None = None,
    ) -> Actor:
        """Return who plays evaluation episodes, by the run's settings or by those given."""
        settings, agent = config.evaluation, self.agent(config)
        subgoals = settings.subgoals
        return Actor(
            self.encoder if encoder is None else encoder,
            agent,
            evaluation_space(self.space, settings.solved_threshold),
            subgoals if attempts is None else replace(subgoals, attempts=attempts),
            actions=ACTIONS,
            controller=make_controller(controller or settings.controller, agent),
            gentle=self.gentle,
        )

    def begin(self, config: RunConfig) -> None:
        """The random data is complete: fit to it what the method needs before it learns."""
        seen = self.replay.episodes.objects[: self.replay.size]
        if config.goals.prior == "fitted" and not get_method(config.method).pixels:
            prior = fit_prior(seen, self.encoder.layout.slots, config.seed)
            self.space = replace(self.space, prior=prior)
        if needs_rest(config):
            rest = fit_rest(seen, self.space, config.seed, config.relabel.moved)
            self.space = replace(self.space, rest=rest)
        if config.gentle is not None and self.space.rest is not None:
            self.gentle = GentleContact.fit(seen, self.space.rest, config.gentle)
        self._tell_learner()
        if self.online_vae is not None:
            self.online_vae.start()
            if not self.online_vae.pending_batches:
                self.refresh(config)

    def refresh(self, config: RunConfig) -> None:
        """The VAE has been trained: encode anew, and set goals by what it knows now."""
        assert self.online_vae is not None
        steps = self.counters.env_steps - config.collect.initial_steps
        self.space = self.online_vae.refresh(self.replay, self.space, steps)

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
        }
        if self.online_vae is not None:
            more = self.online_vae.save()
            tensors, arrays, state["online_vae"] = tensors | more[0], arrays | more[1], more[2]
        return tensors, arrays, state

    def save_agent(self) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray]]:
        """Return what `load_agent` needs: networks, and what goals and acting are fitted to."""
        tensors = {f"{name}/{key}": value for name, key, value in _parameters(self.learner)}
        arrays = {f"prior/{k}": v for k, v in self.space.prior.to_arrays().items()}
        if self.space.rest is not None:
            arrays |= {f"rest/{k}": v for k, v in self.space.rest.to_arrays().items()}
        if self.gentle is not None:
            arrays |= {f"gentle/{k}": v for k, v in self.gentle.to_arrays().items()}
        return tensors, arrays

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore `save` from a verified checkpoint."""
        tensors, arrays, state = checkpoint.tensors, checkpoint.arrays, checkpoint.state
        self.load_agent(checkpoint)
        for name, optimizer in self.learner.optimizers.items():
            load_optimizer(f"optimizer/{name}", optimizer, tensors, state["optimizers"][name])
        self.replay.load(under("replay/", arrays), state["replay"])
        self.streams = {name: restore_generator(s) for name, s in state["streams"].items()}
        self.counters = Counters(**state["counters"])
        self.learner.updates = state["learner_updates"]
        if self.online_vae is not None:
            self.online_vae.load(checkpoint)

    def load_agent(self, checkpoint: Checkpoint) -> None:
        """Restore only what acting and judging need: networks, VAE and prior."""
        parameters = {f"{name}/{key}": value for name, key, value in _parameters(self.learner)}
        if self.online_vae is not None:
            parameters |= model_tensors(self.online_vae.encoder)
        with torch.no_grad():
            for name, value in parameters.items():
                value.copy_(checkpoint.tensors[name])
        prior, rest = (under(name, checkpoint.arrays) for name in ("prior/", "rest/"))
        self.space = replace(
            self.space, prior=from_arrays(prior), rest=StillnessModel(**rest) if rest else None
        )
        gentle = under("gentle/", checkpoint.arrays)
        self.gentle = GentleContact(**gentle) if gentle else None
        self._tell_learner()

    def _tell_learner(self) -> None:
        """Let the networks know which object is the own body, as far as that is known."""
        if self.space.rest is not None:
            self.learner.inputs.know_rest(self.space.rest.centres, self.space.rest.rest)
        if self.gentle is not None:
            self.learner.inputs.know_reach(self.gentle.reach)


def count_items(envs: gym.vector.VectorEnv, pixels: bool = False) -> int:
    """Return how many items, arm and pucks, there are; check that the method can see them."""
    space = envs.single_observation_space
    shape = space["observation"].shape or () if isinstance(space, gym.spaces.Dict) else ()
    if pixels and len(shape) == 3:
        world = envs.unwrapped.world  # pyright: ignore[reportAttributeAccessIssue]
        return world.task.num_objects + 1
    if pixels or len(shape) != 1:
        needs = "images, e.g. smorl/VisualRearrange2-v0" if pixels else "smorl/Rearrange2-v0"
        raise InvalidInput(
            f"this method needs {'' if pixels else 'state observations, e.g. '}{needs}, and this "
            f"environment shows observations of shape {shape}."
        )
    return shape[0] // 2


def _parameters(sac: Sac) -> list[tuple[str, str, torch.Tensor]]:
    modules = {"policy": sac.policy, "critic": sac.critic, "target": sac.target}
    found = [
        (name, key, value)
        for name, module in modules.items()
        for key, value in module.state_dict().items()
    ]
    return [*found, ("temperature", "log", sac.log_temperature)]
