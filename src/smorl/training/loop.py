"""The training loop of every method (Alg. 1 and 2): collect, store, relabel, update, evaluate.

A round collects one whole episode per environment row and then makes the gradient steps those
steps have earned. Checkpoints fall between rounds, where no episode is in flight, so a resumed
run repeats exactly what an uninterrupted one would have done.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from smorl.envs.contract import check_goals, spaces_of
from smorl.envs.factory import View, make_envs
from smorl.errors import Diverged, InvalidInput
from smorl.evaluation.evaluate import Evaluation, evaluate
from smorl.methods import EncoderInputs, get_method
from smorl.replay.image_files import PictureFiles
from smorl.representations.base import Perception
from smorl.runs.boards import NO_BOARDS, Boards
from smorl.runs.checkpoint import Checkpoint
from smorl.runs.folder import RunDir
from smorl.runs.reporter import Reporter
from smorl.runs.resumable import Resumable, Snapshot
from smorl.runs.tensor_file import under
from smorl.training.acting import make_actor, make_explorer
from smorl.training.ahead import Collectors, open_ahead
from smorl.training.collector import collect
from smorl.training.scores import (
    EVALUATION_COLUMNS,
    MAX_EVALUATION_ROWS,
    divergence,
    rollout_rewards,
)
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState
from smorl.training.updates import foresee, learn
from smorl.types import Episode

EMPTY_ROUNDS = 5  # rounds without a whole episode after which training gives up

_KINDS = {"distance": int | float | None, "seconds": int | float}


class Trainer(Resumable):
    """A run: its state, its environments, its folder."""

    def __init__(
        self,
        config: RunConfig,
        run: RunDir,
        reporter: Reporter,
        *,
        perception: Perception | None = None,
        boards: Boards = NO_BOARDS,
        collectors: Collectors | None = None,
    ) -> None:
        self.config, self.learns = config, get_method(config.method).learns
        rows = config.collect.num_envs
        self.view = config.view
        if perception is not None:
            self.view = View(image_size=perception.image_size)
        self.envs = make_envs(config.env, rows, config.threads, goal_images=False, view=self.view)
        check_goals(self.envs, config.env)
        self.spaces = spaces_of(self.envs)
        self.state = TrainState.create(config, EncoderInputs(self.spaces, perception=perception))
        self.ahead = open_ahead(config, collectors)
        if note := getattr(self.envs, "note", ""):
            reporter.note(note)
        super().__init__(
            run, reporter, EVALUATION_COLUMNS, minutes=config.checkpoint_minutes,
            perception=None if perception is None else perception.digest, boards=boards,
        )  # fmt: skip
        self.pictures = PictureFiles(run.path / "pictures")
        self.distance: float | None = None
        self._started, self._earlier = time.monotonic(), 0.0
        self._empty_rounds = 0

    def resume(self) -> bool:
        """Continue from the newest good checkpoint, if there is one."""
        return self._restore("a run", _KINDS, self._load)

    def _load(self, checkpoint: Checkpoint) -> None:
        self.state.load(checkpoint)
        pictures = self.state.representation.pictures
        if pictures is not None:
            self.pictures.load(pictures, checkpoint.state["pictures"])
        if self.ahead is not None:
            self.ahead.load(under("ahead/", checkpoint.arrays))
        self.distance = checkpoint.state["distance"]
        self._earlier = checkpoint.state["seconds"]

    def train(self) -> Evaluation | None:
        """Run to the end and evaluate; None if `stop_requested` ended it, with a checkpoint."""
        torch.set_num_threads(self.config.threads)
        if not self._go_on(self._advance):
            return None
        self.state.representation.forget()
        # Before the evaluation: a run that is killed in it, or before its result is written,
        # resumes from here and evaluates once.
        self.checkpoint()
        self.pictures.remove()
        return self.evaluate(self.config.evaluation.final_episodes)

    def _advance(self) -> bool:
        """Train what is pending, or play a round; False if all steps have been made."""
        counters, total = self.state.counters, self.config.collect.total_steps
        if not self.learns or counters.env_steps >= total:
            return False
        if self.state.representation.pending_batches:
            self.train_representation()
        else:
            self.round()
        due = counters.env_steps - counters.evaluated >= self.config.evaluation.every
        if due and counters.env_steps < total:
            self.evaluate(self.config.evaluation.episodes)
        self._report()
        return True

    def round(self) -> None:
        """Collect one episode per row, then learn from replay."""
        state, counters = self.state, self.state.counters
        first = counters.env_steps < self.config.collect.initial_steps
        frames = None if state.representation.pictures is None else []
        with self._timed("collect"):
            if self.ahead is None:
                episodes = self._collect(first, frames)
            else:
                episodes = self.ahead.next_round(state)
            state.replay.add(episodes)
            if frames:
                state.representation.add(episodes, frames[0], pursued=not first)
        self._refuse_short_episodes(len(episodes.actions))
        steps = episodes.actions.shape[0] * episodes.actions.shape[1]
        counters.env_steps += steps
        counters.rounds += 1
        if counters.env_steps < self.config.collect.initial_steps:
            return
        if first:  # the random data is complete
            state.begin(self.config)
        counters.credit += steps * self.config.collect.updates_per_step
        learning = counters.env_steps - self.config.collect.initial_steps
        state.representation.owe(learning - steps, learning)
        if not state.representation.ready:
            return  # the updates wait until there is something to see
        updates, counters.credit = int(counters.credit), counters.credit % 1
        if updates:
            means = {
                **learn(state, self.config, updates, self._timed),
                **rollout_rewards(state.space, episodes),
            }
            with self._timed("dynamics"):
                means |= foresee(state, self.config, steps)
            self._refuse_divergence(means)
            self._log(means)

    def _collect(self, random: bool, frames: list[np.ndarray] | None) -> Episode:
        state, settings, rng = self.state, self.config.collect, self.state.streams["collect"]
        act = make_explorer(state, self.config, rng, self.envs.num_envs, random)
        return collect(
            self.envs, state.encoder, act, state.space, settings.horizon, rng,
            settings.goals_per_reset, frames, state.gentle,
        )  # fmt: skip

    def train_representation(self) -> None:
        """Train some of the batches that are pending before the next round."""
        representation = self.state.representation
        name = representation.name.lower()
        with self._timed(name):
            terms = representation.advance()
            if not representation.pending_batches:
                self.state.refresh(self.config)
        means = {f"{name}/{term}": value for term, value in terms.items()}
        self._log({f"{name}/batches": representation.trained, **means})

    def _report(self) -> None:
        counters, seeing = self.state.counters, self.state.representation
        if seeing.pending_batches and not seeing.ready:
            total = seeing.trained + seeing.pending_batches
            self.reporter.stage(seeing.name, seeing.trained, total)
        else:
            self.reporter.update(counters.env_steps, counters.updates, self.distance)

    def _log(self, means: dict[str, float]) -> None:
        counters = self.state.counters
        steps = {"env_steps": counters.env_steps}
        self.logger.metrics({**steps, "updates": counters.updates, **means})
        self.logger.timing({**steps, **self._seconds})

    def _refuse_short_episodes(self, whole: int) -> None:
        """An environment that never lets an episode last gives nothing to learn from."""
        self._empty_rounds = 0 if whole else self._empty_rounds + 1
        if self._empty_rounds >= EMPTY_ROUNDS:
            raise InvalidInput(
                f"every episode of {self.config.env} ended before its "
                f"{self.config.collect.horizon} steps, {EMPTY_ROUNDS} rounds in a row; choose a "
                "smaller --collect.horizon, or an environment that does not end by itself."
            )

    def _refuse_divergence(self, means: dict[str, float]) -> None:
        wrong, step = divergence(means), self.state.counters.env_steps
        if wrong is None:
            return
        path = self._save_diverged()
        raise Diverged(
            f"training diverged at step {step} ({wrong}); the state is in {path}. Try a smaller "
            f"--learner.lr or a larger --learner.batch_size in a new run folder."
        )

    def evaluate(self, episodes: int) -> Evaluation:
        """Evaluate on the fixed episodes, log the row, remember the distance."""
        settings, counters = self.config.evaluation, self.state.counters
        rows = min(episodes, MAX_EVALUATION_ROWS)
        with self._timed("evaluate"):
            envs = make_envs(self.config.env, rows, self.config.threads, view=self.view)
            actor = make_actor(self.state, self.config)
            result = evaluate(envs, actor, episodes=episodes, seed=settings.seed)
            envs.close()
        summary = result.summary()
        self.distance = summary["object_distance"]
        counters.evaluated = counters.env_steps
        self.logger.evaluation(
            {"env_steps": counters.env_steps, "updates": counters.updates, **summary}
        )
        return result

    def checkpoint(self) -> None:
        """Save everything, atomically."""
        super().checkpoint()
        with self._timed("checkpoint"):
            self.pictures.prune()

    def _position(self) -> int:
        return self.state.counters.env_steps

    def _snapshot(self) -> Snapshot:
        tensors, arrays, state = self.state.save()
        if self.ahead is not None:
            arrays |= self.ahead.save()
        pictures = self.pictures.save(self.state.representation.pictures)
        extra = {"distance": self.distance, "pictures": pictures, "seconds": self.seconds()}
        return tensors, arrays, {**state, **extra}

    def seconds(self) -> float:
        """Wall-clock seconds of the run so far, those before a resume included."""
        return self._earlier + time.monotonic() - self._started
