"""How RIG and Skew-Fit learn to see: a VAE of replayed pictures, and goals in its latent space.

RIG trains its VAE once, on random data, and samples goals from the VAE's prior. Skew-Fit trains it
along with the agent; pictures the VAE finds unlikely are drawn more often, to train on and as
goals. Whenever the VAE has changed, every latent of the replay is encoded anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from smorl.config import JSON
from smorl.goals.base import GoalSpace
from smorl.goals.priors import EmpiricalPrior
from smorl.goals.skew import candidates, effective_count, skew_at, skewed_weights
from smorl.replay.buffer import Replay
from smorl.replay.images import Pictures
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.fit import make_optimizer, train_vae
from smorl.representations.vae.settings import batches_due
from smorl.runs.checkpoint import (
    Checkpoint,
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)
from smorl.seeding import stream, torch_seed
from smorl.training.settings import LatentConfig
from smorl.types import Episode

CHUNK = 50  # batches between two looks at the clock and at Ctrl-C: some seconds


@dataclass(frozen=True)
class Draw:
    """Which of the stored pictures are drawn, as indices (M,) into all of them, and how often."""

    index: np.ndarray
    weights: np.ndarray  # (M,) probabilities


def _nothing() -> Draw:
    return Draw(np.zeros(0, np.int64), np.zeros(0, np.float64))


@dataclass
class OnlineVae:
    """The VAE of a run: its optimiser, its pictures, and the batches it still has to train."""

    config: LatentConfig
    encoder: VaeEncoder
    optimizer: torch.optim.Optimizer
    generator: torch.Generator  # of batches, of the latents sampled in the loss and in p(x)
    rng: np.random.Generator  # of the pictures that are weighed
    pictures: Pictures | None  # None once there is nothing left to train
    pending_batches: int = 0  # batches to train before the next round
    trained: int = 0
    ready: bool = False  # the random data is complete and has been trained on
    draw: Draw = field(default_factory=_nothing)  # what the pending batches are drawn from
    name: str = "VAE"

    @classmethod
    def create(cls, config: LatentConfig, encoder: VaeEncoder, replay: Replay, seed: int):
        """Return the state at step 0; `encoder` holds the untrained model."""
        return cls(
            config,
            encoder,
            make_optimizer(encoder.model, config.training),
            torch.Generator().manual_seed(torch_seed(seed, "vae batches")),
            stream(seed, "skew"),
            Pictures(replay.capacity, replay.horizon, encoder.model.config.image_size),
        )

    def add(self, episodes: Episode, frames: np.ndarray, pursued: bool) -> None:
        """Keep the pictures (K, H + 1, S, S, 3) of episodes, and what their goals look like.

        Nobody pursues the goals of random data, and the VAE that set them knows nothing yet. So
        that they mean something later, each is replaced by the end of another episode.
        """
        if self.pictures is None:
            return
        # Release: goals are kept as the pictures they decode to, and encoded anew with the rest.
        goals = (
            self.encoder.draw(episodes.goal.position)
            if pursued
            else np.roll(frames[:, -1], 1, axis=0)
        )
        self.pictures.add(frames, goals)

    def owe(self, before: int, after: int) -> None:
        """Account for learning steps: env steps after the random data went `before` -> `after`."""
        due = batches_due(self.config.training.phases, max(0, before), max(0, after))
        if due and not self.pending_batches:
            self.draw = self._weigh(after)
        self.pending_batches += due

    def start(self) -> None:
        """The random data is complete: train on all of it alike, the model has no opinion yet."""
        self.pending_batches = self.config.training.initial
        self.draw = _nothing()

    def advance(self) -> dict[str, float]:
        """Train some of the pending batches; return the means of the loss and its terms.

        With weights, also the share of pictures that are effectively drawn.
        """
        assert self.pictures is not None, "a frozen VAE owes nothing"
        batches = min(self.pending_batches, CHUNK)
        images, weights = self.pictures.flat(), None
        if len(self.draw.index):
            weights = self.draw.weights
            images = images if len(weights) == len(images) else images[self.draw.index]
        terms = train_vae(
            self.encoder.model,
            self.optimizer,
            images,
            self.config.training,
            batches,
            self.generator,
            weights,
        )
        self.pending_batches -= batches
        self.trained += batches
        if weights is not None:
            # Near 0 the skew leaves a handful of pictures, at 1 it prefers none.
            terms["effective"] = effective_count(weights) / len(weights)
        return terms

    def refresh(self, replay: Replay, space: GoalSpace, steps: int) -> GoalSpace:
        """Bring everything up to the VAE as it is now: latents, goals, and where goals come from.

        `steps` are env steps after the random data. Returns the goal space.
        """
        assert self.pictures is not None, "a frozen VAE does not change"
        size, frames = self.pictures.size, self.pictures.flat()
        position = replay.episodes.objects.position
        latents = self.encoder.encode(frames)
        position[:size] = latents.reshape(position[:size].shape)
        replay.episodes.goal.position[:size] = self.encoder.encode(self.pictures.goals[:size])
        if self.config.goals == "replay":
            # The weights of a phase serve its goals too; before the first one nothing was weighed.
            draw = self.draw if self.ready and len(self.draw.index) else self._weigh(steps)
            space = space.fitted(EmpiricalPrior(latents[draw.index], draw.weights), space.rest)
        self.ready = True
        if not self.config.training.phases:
            self.forget()
        return space

    def forget(self) -> None:
        """Let the pictures go: nothing will be trained or encoded anew any more."""
        self.pictures, self.draw, self.pending_batches = None, _nothing(), 0

    def _weigh(self, steps: int) -> Draw:
        """Choose pictures and weigh them by p(x)^power, if the skew is in force by now."""
        assert self.pictures is not None
        images, skew = self.pictures.flat(), skew_at(self.config.skew, steps)
        index = candidates(len(images), self.config.skew, self.rng)
        chosen = images if len(index) == len(images) else images[index]
        return Draw(index, skewed_weights(self.encoder.model, chosen, skew, self.generator))

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the weights of the VAE by their names in a checkpoint."""
        return {f"vae/{name}": value for name, value in self.encoder.model.state_dict().items()}

    def save(self) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray], dict[str, JSON]]:
        """Return tensors, arrays and JSON for a checkpoint; pictures have files of their own."""
        tensors, optimizer = optimizer_tensors("optimizer/vae", self.optimizer)
        tensors |= self.tensors()
        tensors["optimizer/vae_generator"] = self.generator.get_state()
        state = {
            "pending_batches": self.pending_batches,
            "trained": self.trained,
            "ready": self.ready,
        }
        state["added"] = None if self.pictures is None else self.pictures.added
        state |= {"optimizer": optimizer, "stream": generator_state(self.rng)}
        return tensors, {"replay/draw": self.draw.index, "replay/weights": self.draw.weights}, state

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore `save`, except for the model and the pictures themselves."""
        tensors, state = checkpoint.tensors, checkpoint.state["representation"]
        load_optimizer("optimizer/vae", self.optimizer, tensors, state["optimizer"])
        self.generator.set_state(tensors["optimizer/vae_generator"])
        self.rng = restore_generator(state["stream"])
        self.pending_batches, self.trained, self.ready = (
            state[k] for k in ("pending_batches", "trained", "ready")
        )
        arrays = checkpoint.arrays
        self.draw = Draw(arrays["replay/draw"], arrays["replay/weights"])
        if state["added"] is None:
            self.pictures = None
        elif self.pictures is not None:
            self.pictures.added = state["added"]
