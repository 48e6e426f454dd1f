"""Runs of the project's own trainer on the point-mass world."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from smorl.config import to_json
from smorl.evaluation.evaluate import Evaluation
from smorl.goals.base import GoalConfig
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.learners.sac import SacConfig
from smorl.planning.subgoals import SubgoalConfig
from smorl.replay.relabel import RelabelConfig
from smorl.runs.folder import RunDir
from smorl.training.loop import Trainer
from smorl.training.settings import CollectConfig, EvaluationConfig, RunConfig
from tests.learning import point_mass

HORIZON, ATTEMPTS = 12, 7  # Paper: 2 (n + 1) - 1 attempts for n = 3 discs
BUDGET = 24_000  # environment steps of every method


def smorl_config(seed: int = 0, steps: int = BUDGET) -> RunConfig:
    """SMORL with attention and sub-goals, in the manner of the fast presets but smaller."""
    return RunConfig(
        method="smorl-gt",
        env=point_mass.ENV_ID,
        seed=seed,
        collect=CollectConfig(
            total_steps=steps,
            initial_steps=10 * 32 * HORIZON,
            num_envs=32,
            horizon=HORIZON,
            replay_steps=100_000,
            updates_per_step=0.4,
        ),
        goals=GoalConfig(low=(point_mass.LOW,) * 2, high=(point_mass.HIGH,) * 2),
        relabel=RelabelConfig(any_object=0.9, moved=0.03),
        networks=NetworkConfig(
            torso=TorsoConfig(embedding=24, heads=3),
            policy_hidden=(64, 64),
            critic_hidden=(64, 64),
            normalise_positions=True,
            relative=True,
            matched=True,
        ),
        learner=SacConfig(
            batch_size=256,
            lr=2e-3,
            discount=0.85,  # a sub-goal takes about five steps
            initial_temperature=0.1,
            reward_scale=5.0,
            policy_every=2,
        ),
        evaluation=EvaluationConfig(
            every=10 * steps,
            episodes=50,
            final_episodes=100,
            subgoals=SubgoalConfig(HORIZON, ATTEMPTS),
        ),
    )


def flat_config(seed: int = 0, steps: int = BUDGET) -> RunConfig:
    """SAC+HER on the flat state with the same environment steps, updates and batches."""
    base = smorl_config(seed, steps)
    subgoals = SubgoalConfig(HORIZON * ATTEMPTS, attempts=1, stop_when_solved=False)
    return replace(
        base,
        method="sac-her",
        collect=replace(base.collect, num_envs=16, horizon=2 * HORIZON),
        relabel=RelabelConfig(),
        networks=NetworkConfig(
            torso=TorsoConfig(kind="flat"),
            policy_hidden=(128, 128),
            critic_hidden=(128, 128),
            normalise_positions=True,
        ),
        evaluation=replace(base.evaluation, subgoals=subgoals),
    )


class Watcher:
    """Is told about every round; `after_round(trainer, rounds)` may stop or break the run."""

    def __init__(self, after_round: Callable[[Trainer, int], None] | None = None) -> None:
        self.after_round, self.trainer = after_round, None

    def update(self, env_steps: int, updates: int, distance: float | None) -> None:
        if self.after_round is not None and self.trainer is not None:
            self.after_round(self.trainer, self.trainer.state.counters.rounds)

    def stage(self, name: str, done: int, total: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass


def train(
    config: RunConfig,
    folder: Path,
    after_round: Callable[[Trainer, int], None] | None = None,
) -> tuple[Trainer, Evaluation | None]:
    """Start the run in `folder`, or resume it, and train to the end or until it is stopped."""
    point_mass.register()
    watcher = Watcher(after_round)
    with RunDir.open(folder, to_json(config), "test") as run:
        trainer = Trainer(config, run, watcher)
        watcher.trainer = trainer
        trainer.resume()
        try:
            return trainer, trainer.train()
        finally:
            trainer.logger.close()
            trainer.envs.close()
