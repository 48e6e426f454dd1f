"""The settings of a run: one frozen tree, composed from the parts' own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from smorl.agents.networks import NetworkConfig
from smorl.agents.sac import SacConfig
from smorl.config import require
from smorl.evaluation.subgoals import SubgoalConfig
from smorl.goals.spaces import GoalConfig
from smorl.replay.relabel import RelabelConfig


@dataclass(frozen=True)
class CollectConfig:
    """How experience is gathered; steps are environment steps summed over all rows."""

    total_steps: int = 600_000
    initial_steps: int = 10_000  # uniformly random actions before learning starts
    num_envs: int = 10
    horizon: int = 20  # training path length
    goals_per_reset: int = 1  # ours: more than one tries the next goal where the last one ended
    replay_steps: int = 100_000
    updates_per_step: float = 1.0  # gradient steps per environment step


@dataclass(frozen=True)
class EvaluationConfig:
    """Evaluation during and after training, on episodes fixed by `seed`."""

    every: int = 30_000  # environment steps between evaluations
    episodes: int = 50
    final_episodes: int = 100
    seed: int = 1_000_000
    solved_threshold: float = 0.05  # metres: when a sub-goal counts as solved here
    consult_critic: bool = False  # ours: act by the best of several actions, not by the mode
    subgoals: SubgoalConfig = field(default_factory=SubgoalConfig)


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run. The same config and seed give the same run."""

    method: Literal["smorl", "smorl-gt", "sac-her", "passive"] = "smorl-gt"
    env: str = "smorl/Rearrange2-v0"
    # Where methods that see pixels get their perception: a preset to train first (scalor-2), a
    # perception run, or shipped:scalor-2.
    perception: str | None = None
    seed: int = 0
    threads: int = 1  # CPU threads of physics and of the learner
    checkpoint_minutes: float = 2.0
    collect: CollectConfig = field(default_factory=CollectConfig)
    goals: GoalConfig = field(default_factory=GoalConfig)
    relabel: RelabelConfig = field(default_factory=RelabelConfig)
    networks: NetworkConfig = field(default_factory=NetworkConfig)
    sac: SacConfig = field(default_factory=SacConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        checks = {
            "seed": self.seed >= 0,
            "threads": self.threads >= 1,
            "collect.num_envs": self.collect.num_envs >= 1,
            "collect.horizon": self.collect.horizon >= 2,
            "collect.goals_per_reset": self.collect.goals_per_reset >= 1,
            "collect.updates_per_step": self.collect.updates_per_step >= 0,
            "sac.batch_size": self.sac.batch_size >= 1,
            "sac.lr": self.sac.lr > 0,
            "sac.discount": 0 <= self.sac.discount < 1,
            "evaluation.every": self.evaluation.every >= 1,
            "evaluation.episodes": self.evaluation.episodes >= 1,
        }
        require(self, checks)
