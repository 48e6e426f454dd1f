"""The settings of a run: one frozen tree, composed from the parts' own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from smorl.config import override
from smorl.devices import DeviceName
from smorl.dynamics.fitting import DynamicsConfig
from smorl.envs.factory import View
from smorl.envs.rendering.cameras import get_camera
from smorl.errors import InvalidInput
from smorl.goals.base import GoalConfig
from smorl.goals.skew import SkewConfig
from smorl.learners.base import LearnerConfig
from smorl.learners.networks import NetworkConfig
from smorl.learners.sac import SacConfig
from smorl.methods import get_method
from smorl.planning.controllers import ControllerName
from smorl.planning.gentle import GentleConfig
from smorl.planning.model_predictive import PlanConfig
from smorl.planning.subgoals import SubgoalConfig
from smorl.ranges import require, within
from smorl.replay.relabel import RelabelConfig
from smorl.representations.perceptions import TrackerSettings
from smorl.representations.vae.settings import VaeConfig, VaeTraining

PERCEPTION = "perception.safetensors"  # the copy of its perception that belongs to a run


@dataclass(frozen=True)
class CollectConfig:
    """How experience is gathered; steps are environment steps summed over all rows."""

    total_steps: int = 600_000  # environment steps of the whole run
    initial_steps: int = 10_000  # uniformly random actions before learning starts
    num_envs: int = 10  # tables played side by side
    horizon: int = 20  # training path length
    goals_per_reset: int = 1  # ours: more than one tries the next goal where the last one ended
    replay_steps: int = 100_000  # environment steps kept in replay
    updates_per_step: float = 1.0  # gradient steps per environment step
    # Ours: in which share of the tables the plan acts, instead of the policy with its noise.
    planned: float = 0.0
    # Ours: so many processes play rounds one ahead of the learner (training/ahead.py).
    collectors: int = 0

    def __post_init__(self) -> None:
        within(self, {
            "total_steps": (1, 10**12), "initial_steps": (0, 10**12), "num_envs": (1, 10_000),
            "horizon": (2, 10_000), "goals_per_reset": (1, 10_000), "replay_steps": (2, 10**15),
            "updates_per_step": (0, 1000), "planned": (0, 1), "collectors": (0, self.num_envs),
        })  # fmt: skip
        fits = self.replay_steps >= self.horizon
        shares = self.collectors == 0 or self.num_envs % self.collectors == 0
        require(self, {
            "replay_steps": (fits, f"at least one episode of {self.horizon} steps"),
            "collectors": (shares, f"a divisor of num_envs, {self.num_envs}, which they share"),
        })  # fmt: skip


@dataclass(frozen=True)
class EvaluationConfig:
    """Evaluation during and after training, on episodes fixed by `seed`."""

    every: int = 30_000  # environment steps between evaluations
    episodes: int = 50  # fixed episodes of every evaluation
    final_episodes: int = 100  # of the evaluation at the end
    seed: int = 1_000_000  # of the first episode
    # How near an object must be for the agent to count its sub-goal as solved; in metres, from
    # pixels in image coordinates.
    solved_threshold: float = 0.05
    # Who moves: the policy's mode (Paper), or ours, the best of several actions by the critic, or
    # the first action of a plan.
    controller: ControllerName = "policy"
    subgoals: SubgoalConfig = field(default_factory=SubgoalConfig)

    def __post_init__(self) -> None:
        within(self, {
            "every": (1, 10**12), "episodes": (1, 10**6), "final_episodes": (1, 10**6),
            "seed": (0, 2**31), "solved_threshold": (0, 1e6),
        })  # fmt: skip


@dataclass(frozen=True)
class LatentConfig:
    """How a method that sees a picture as one vector (RIG, Skew-Fit) learns to see."""

    model: VaeConfig = field(default_factory=VaeConfig)
    training: VaeTraining = field(default_factory=VaeTraining)
    camera: str = "multiobject_push"  # Release: the second camera
    # Where goals to try and to imagine come from: the VAE's prior Normal(0, 1), or replayed
    # pictures, drawn by `skew` (None: all alike).
    goals: Literal["prior", "replay"] = "prior"
    skew: SkewConfig | None = None

    def __post_init__(self) -> None:
        get_camera(self.camera)


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run. The same config and seed give the same run."""

    # A row of the table of methods, or one of your own, module:NAME (docs/extending.md).
    method: str = "smorl-gt"
    env: str = "smorl/Rearrange2-v0"  # any Gymnasium id, or module:Env-v0
    # Where methods that see pixels get their perception: a preset to train first (scalor-2), a
    # perception run, or shipped:scalor-2.
    perception: str | None = None
    # How methods that see objects in pictures follow them.
    tracker: TrackerSettings = field(default_factory=TrackerSettings.usual)
    # In state environments that are not ours: which numbers are which object, as slices of the
    # observation and of the goal, e.g. "0:3, 3:6=0:3" (smorl.representations.slices).
    state_objects: str | None = None
    # Of methods that train a VAE of their own. None: the method has no VAE.
    latent: LatentConfig | None = None
    seed: int = 0  # decides everything random
    threads: int = 1  # CPU threads of physics and of the learner
    device: DeviceName = "cpu"  # where networks compute (docs/speed.md)
    checkpoint_minutes: float = 2.0  # minutes between checkpoints
    collect: CollectConfig = field(default_factory=CollectConfig)
    goals: GoalConfig = field(default_factory=GoalConfig)
    # Ours, off in the paper presets: slow down near objects (docs/planning.md).
    gentle: GentleConfig | None = None
    # Ours, off in the paper presets: a model of objects, fitted along, and planning with it.
    dynamics: DynamicsConfig | None = None
    planning: PlanConfig = field(default_factory=PlanConfig)
    relabel: RelabelConfig = field(default_factory=RelabelConfig)
    networks: NetworkConfig = field(default_factory=NetworkConfig)
    learner: LearnerConfig = field(default_factory=SacConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        within(self, {
            "seed": (0, 2**63), "threads": (1, 1024), "checkpoint_minutes": (0, 10_000),
        })  # fmt: skip
        # A VAE is trained on the random data before anything else.
        enough = self.collect.initial_steps >= (self.latent is not None)
        require(self, {"collect.initial_steps": (enough, "at least 1 where a VAE is trained")})
        if self.collect.collectors and self.latent is not None:
            raise InvalidInput(
                f"method {self.method} trains its VAE along with the agent, which collectors "
                "elsewhere could not follow; leave --collectors out."
            )
        if self.evaluation.controller == "plan" and self.dynamics is None:
            raise InvalidInput(
                "evaluation.controller plan needs a model of objects; choose policy or critic, or "
                "set dynamics, e.g. --dynamics.width 128."
            )
        if self.collect.planned and self.dynamics is None:
            raise InvalidInput(
                f"collect.planned {self.collect.planned:g} needs a model of objects to plan with; "
                "leave it at 0, or set dynamics, e.g. --dynamics.width 128."
            )
        if get_method(self.method).trains_vae != (self.latent is not None):
            has = "no" if self.latent is None else "a"
            raise InvalidInput(
                f"method {self.method} with {has} VAE in `latent`: rig and skewfit need one, the "
                "others have no use for it; start from a preset of the method, e.g. rig-push-1."
            )

    @property
    def view(self) -> View | None:
        """Through which camera the method sees, if not through the environment's own."""
        if self.latent is None:
            return None
        return View(self.latent.camera, self.latent.model.image_size)


def customised(config: RunConfig, given: Mapping[str, str]) -> RunConfig:
    """Return the settings with fields replaced by their dotted names, read from text.

    Who changes the number of evaluation episodes means the evaluation at the end as well.
    """
    episodes = given.get("evaluation.episodes")
    final = {} if episodes is None else {"evaluation.final_episodes": episodes}
    return override(config, {**final, **given})
