"""The training loop of every method (Alg. 1 and 2): collect, store, relabel, update, evaluate.

A round collects one whole episode per environment row and then makes the gradient steps those
steps have earned. Checkpoints fall between rounds, where no episode is in flight, so a resumed
run repeats exactly what an uninterrupted one would have done.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch

from smorl.errors import Diverged
from smorl.evaluation.evaluate import Evaluation, evaluate
from smorl.goals.spaces import GoalSpace
from smorl.methods import Senses, get_method, make_envs
from smorl.perception.scalor.weights import PerceptionWeights
from smorl.replay.relabel import sample_batch
from smorl.training.checkpoint import load_latest, save_checkpoint
from smorl.training.collector import collect
from smorl.training.logger import RunLogger
from smorl.training.run_dir import RunDir
from smorl.training.run_state import ACTIONS, RunState, count_items
from smorl.training.settings import RunConfig
from smorl.types import Episode

EVALUATION_COLUMNS = (
    "env_steps",
    "updates",
    "object_distance",
    "object_distance_std",
    "object_distance_median",
    "success",
    "pucks_within_5cm",
    "subgoals_solved",
    "goals_detected",
    "goals_matched",
    "false_solved",
    "passive_distance",
    "mean_length",
    "episodes",
)
MAX_EVALUATION_ROWS = 50


class Reporter(Protocol):
    """Who is told how it goes: the terminal's progress bar, or nobody."""

    def update(self, env_steps: int, updates: int, distance: float | None) -> None:
        """Called after every round."""
        ...

    def note(self, text: str) -> None:
        """Called with things worth a line of their own."""
        ...


class Trainer:
    """A run: its state, its environments, its folder."""

    def __init__(
        self,
        config: RunConfig,
        run: RunDir,
        reporter: Reporter,
        *,
        perception: PerceptionWeights | None = None,
        tensorboard: bool = False,
    ) -> None:
        self.config, self.run, self.reporter = config, run, reporter
        method = get_method(config.method)
        self.learns = method.learns
        rows = config.collect.num_envs
        self.envs = make_envs(config.env, rows, config.threads, goal_images=False)
        senses = Senses(count_items(self.envs, method.pixels), perception=perception)
        self.state = RunState.create(config, senses)
        self.agent = self.state.agent(config)
        self.logger = RunLogger(run, EVALUATION_COLUMNS, tensorboard)
        self.distance: float | None = None
        self._started, self._earlier = time.monotonic(), 0.0
        self.stop_requested = False  # set from outside; honoured between rounds
        self._seconds: dict[str, float] = {}

    def resume(self) -> bool:
        """Continue from the newest good checkpoint, if there is one."""
        checkpoint = load_latest(self.run.checkpoints)
        if checkpoint is None:
            self.logger.truncate(None)
            return False
        for sentence in checkpoint.damaged:
            self.reporter.note(sentence)
        self.state.load(checkpoint)
        self.agent = self.state.agent(self.config)
        self.distance = checkpoint.state["distance"]
        self._earlier = checkpoint.state["seconds"]
        self.logger.truncate(checkpoint.state["log"])
        return True

    def train(self) -> Evaluation | None:
        """Run to the end and evaluate; None if `stop_requested` ended it, with a checkpoint."""
        torch.set_num_threads(self.config.threads)
        counters, total = self.state.counters, self.config.collect.total_steps
        saved = time.monotonic()
        while self.learns and counters.env_steps < total:
            self.round()
            due = counters.env_steps - counters.evaluated >= self.config.evaluation.every
            if due and counters.env_steps < total:
                self.evaluate(self.config.evaluation.episodes)
            self.reporter.update(counters.env_steps, counters.updates, self.distance)
            minutes = (time.monotonic() - saved) / 60
            if self.stop_requested or minutes > self.config.checkpoint_minutes:
                self.checkpoint()
                saved = time.monotonic()
            if self.stop_requested:
                return None
        result = self.evaluate(self.config.evaluation.final_episodes)
        self.checkpoint()
        return result

    def round(self) -> None:
        """Collect one episode per row, then learn from replay."""
        state, counters = self.state, self.state.counters
        first = counters.env_steps < self.config.collect.initial_steps
        with self._timed("collect"):
            episodes = collect(
                self.envs,
                state.encoder,
                self._random if first else self._explore,
                state.space,
                self.config.collect.horizon,
                state.streams["collect"],
                self.config.collect.goals_per_reset,
            )
            state.replay.add(episodes)
        steps = episodes.actions.shape[0] * episodes.actions.shape[1]
        counters.env_steps += steps
        counters.rounds += 1
        done = counters.env_steps >= self.config.collect.initial_steps
        if first and done:  # the random data is complete
            if self.config.goals.prior == "fitted" and not get_method(self.config.method).pixels:
                state.fit_prior(self.config.seed)
            if self.config.goals.disturb:
                state.fit_rest(self.config.seed, self.config.relabel.moved)
        if not done:
            return
        counters.credit += steps * self.config.collect.updates_per_step
        updates, counters.credit = int(counters.credit), counters.credit % 1
        if updates:
            self._log({**self._learn(updates), **self._judge(episodes)})

    def _learn(self, updates: int) -> dict[str, float]:
        state, rng, size = self.state, self.state.streams["learn"], self.config.sac.batch_size
        state.sac.set_progress(state.counters.env_steps / self.config.collect.total_steps)
        history: dict[str, list[torch.Tensor]] = {}
        for _ in range(updates):
            with self._timed("relabel"):
                batch = sample_batch(
                    state.replay.episodes,
                    state.replay.size,
                    size,
                    state.space,
                    self.config.relabel,
                    rng,
                ).map(torch.from_numpy)
                noise = torch.from_numpy(rng.standard_normal((2, size, ACTIONS), np.float32))
            with self._timed("update"):
                info = state.sac.update(batch, noise)
            info["reward/mean"] = batch.reward.mean()
            for name, value in info.items():
                history.setdefault(name, []).append(value)
        state.counters.updates += updates
        return {name: float(torch.stack(values).mean()) for name, values in history.items()}

    def _judge(self, episodes: Episode) -> dict[str, float]:
        """How the exploring policy itself fared, by the agent's own reward (unscaled)."""
        last = self.state.space.reward(episodes.objects[:, -1], episodes.goal)
        first = self.state.space.reward(episodes.objects[:, 0], episodes.goal)
        return {
            "rollout/first_reward": float(first.mean()),
            "rollout/last_reward": float(last.mean()),
        }

    def _log(self, means: dict[str, float]) -> None:
        counters = self.state.counters
        row = {"env_steps": counters.env_steps, "updates": counters.updates, **means}
        bad = [name for name, value in means.items() if not math.isfinite(value)]
        if bad or abs(means["critic/q"]) > 1e6:
            path = save_checkpoint(
                self.run.path / "diverged", counters.env_steps, *self._snapshot(), keep=1
            )
            raise Diverged(
                f"training diverged at step {counters.env_steps} ({', '.join(bad) or 'critic/q'} "
                f"is {means[bad[0]] if bad else means['critic/q']}); the state is in {path}. "
                f"Try a smaller --sac.lr or a larger --sac.batch_size in a new run folder."
            )
        self.logger.metrics(row)
        self.logger.timing({"env_steps": counters.env_steps, **self._seconds})

    def evaluate(self, episodes: int) -> Evaluation:
        """Evaluate on the fixed episodes, log the row, remember the distance."""
        settings, counters = self.config.evaluation, self.state.counters
        rows = min(episodes, MAX_EVALUATION_ROWS)
        with self._timed("evaluate"):
            envs = make_envs(self.config.env, rows, self.config.threads)
            result = evaluate(
                envs,
                self.state.encoder,
                self.agent,
                evaluation_space(self.state.space, settings.solved_threshold),
                settings.subgoals,
                episodes=episodes,
                seed=settings.seed,
            )
            envs.close()
        summary = result.summary()
        self.distance = float(summary["object_distance"])
        counters.evaluated = counters.env_steps
        self.logger.evaluation(
            {"env_steps": counters.env_steps, "updates": counters.updates, **summary}
        )
        return result

    def checkpoint(self) -> None:
        """Save everything, atomically."""
        with self._timed("checkpoint"):
            save_checkpoint(self.run.checkpoints, self.state.counters.env_steps, *self._snapshot())

    def _snapshot(self):
        tensors, arrays, state = self.state.save()
        extra = {"log": self.logger.position(), "distance": self.distance}
        return tensors, arrays, {**state, **extra, "seconds": self.seconds()}

    def seconds(self) -> float:
        """Wall-clock seconds of the run so far, those before a resume included."""
        return self._earlier + time.monotonic() - self._started

    def _random(self, objects, goal) -> np.ndarray:
        rng = self.state.streams["collect"]
        return rng.uniform(-1, 1, (self.envs.num_envs, ACTIONS)).astype(np.float32)

    def _explore(self, objects, goal) -> np.ndarray:
        rng = self.state.streams["collect"]
        noise = rng.standard_normal((self.envs.num_envs, ACTIONS), np.float32)
        return self.agent.act(objects, goal, noise)

    def _timed(self, name: str) -> _Timer:
        return _Timer(self._seconds, name)


class _Timer:
    """Adds the seconds of a `with` block to a table."""

    def __init__(self, table: dict[str, float], name: str) -> None:
        self.table, self.name = table, name

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self.start
        self.table[self.name] = self.table.get(self.name, 0.0) + elapsed


def evaluation_space(space: GoalSpace, solved_threshold: float) -> GoalSpace:
    """Return the goal space with the threshold evaluation uses."""
    return replace(space, config=replace(space.config, solved_threshold=solved_threshold))
