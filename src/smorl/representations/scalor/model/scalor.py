"""SCALOR: a video as objects over a background, trained by the ELBO (Eq. 4, App. on SCALOR)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from smorl.devices import uniform
from smorl.representations.scalor.model.background import LATENTS, Background
from smorl.representations.scalor.model.compose import Layers, blend, layers
from smorl.representations.scalor.model.discovery import Discovery, Proposals
from smorl.representations.scalor.model.distributions import Normal, Sampler, log_normal
from smorl.representations.scalor.model.networks import (
    ConvLstm,
    GlimpseDecoder,
    GlimpseEncoder,
    ImageEncoder,
)
from smorl.representations.scalor.model.propagation import Propagation
from smorl.representations.scalor.model.settings import ScalorConfig, Schedule, schedule
from smorl.representations.scalor.model.slots import Slots, merge


@dataclass(frozen=True)
class State:
    """Everything carried from frame to frame, (B, .)."""

    slots: Slots
    new: Tensor  # (B, N) bool: found in the last frame
    next_id: Tensor  # (B,)
    memory: Tensor  # of the convolutional LSTM
    background: Tensor  # (B, 1) last latent
    background_memory: Tensor
    started: Tensor  # (B,) bool: whether a frame has been seen


@dataclass(frozen=True)
class Frame:
    """What the model makes of one frame: picture parts (B, ., S, S) and ELBO terms (B,)."""

    picture: Tensor
    foreground: Tensor
    background: Tensor
    alpha: Tensor
    terms: dict[str, Tensor]


class Scalor(nn.Module):
    """The whole model; `step` takes one frame, `elbo` a batch of sequences."""

    def __init__(
        self, config: ScalorConfig, actions: int, background: np.ndarray | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.static = config.background == "static"
        pictures = 6 if self.static else 3
        self.background = Background(config, background)
        self.image_encoder = ImageEncoder(config, pictures)
        self.actions = actions  # how many numbers an action has
        self.lstm = ConvLstm(config, actions)
        self.encoder = GlimpseEncoder(config, 3, 2 * config.what)
        self.decoder = GlimpseDecoder(config)
        self.discovery = Discovery(config, self.encoder, self.decoder)
        self.propagation = Propagation(config, actions, self.encoder, self.decoder, pictures)

    def init(self, batch: int) -> State:
        """Return the state before the first frame."""
        memory = self.lstm.init(batch)
        slots = Slots.empty(self.config, batch, memory.device)
        return State(
            slots,
            torch.zeros_like(slots.alive),
            memory.new_zeros(batch, dtype=torch.int64),
            memory,
            memory.new_zeros(batch, LATENTS),
            memory.new_zeros(batch, self.background.prior.hidden),
            memory.new_zeros(batch, dtype=torch.bool),
        )

    def schedule(self, step: int) -> Schedule:
        """Return the annealed values at a training iteration."""
        return schedule(self.config, step)

    def pictures(self, images: Tensor) -> Tensor:
        """Return what the encoders see: images, and how they differ from a static background."""
        if not self.static:
            return images
        return torch.cat([images, images - self.background.base], -3)

    def encode(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the encoders see of pictures (B, 3, S, S), and the image encoding of it."""
        pictures = self.pictures(image)
        return pictures, self.image_encoder(pictures)

    def step(
        self,
        state: State,
        image: Tensor,
        action: Tensor,
        sampler: Sampler,
        annealed: Schedule,
        *,
        first: bool,
        encoded: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[State, Frame]:
        """Infer the objects of one frame (B, 3, S, S) from the state and the action that led there.

        `first` says that no row tracks anything yet. `encoded` is (pictures, output of the LSTM) if
        the caller has computed them for many frames at once; the LSTM's state is left alone then.
        """
        if encoded is None:
            pictures, encoding = self.encode(image)
            encoding, memory = self.lstm(encoding, action, state.memory)
        else:
            (pictures, encoding), memory = encoded, state.memory
        size = self.config.image_size
        slots, shown, kls = state.slots, None, []
        if not first:
            slots, colours, masks, kl = self.propagation(
                slots, image, pictures, encoding, action, sampler
            )
            shown = layers(colours, masks, slots.presence, slots.depth, slots.where, size)
            kls.append(kl)
        free = self.config.slots - slots.alive.sum(1)
        explained = None if shown is None else shown.alpha
        found = self.discovery(image, encoding, explained, free, sampler, annealed)
        kls.append(found.kl)
        more = layers(found.colours, found.masks, found.presence, found.depth, found.where, size)
        shown = more if shown is None else shown + more
        frame, latent, background_memory = self._explain(
            image, encoding, shown, state, sampler, kls, first
        )
        return self.after(state, slots, found, memory, latent, background_memory), frame

    def after(
        self,
        state: State,
        slots: Slots,
        found: Proposals,
        memory: Tensor,
        latent: Tensor,
        background_memory: Tensor,
    ) -> State:
        """Return the state after a frame: tracked `slots` and what was `found` become one set."""
        born = Slots.born(self.config, found.what, found.where, found.depth, found.presence)
        slots, new, next_id = merge(slots, born, state.next_id)
        started = torch.ones_like(state.started)
        return State(slots, new, next_id, memory, latent, background_memory, started)

    def _explain(
        self,
        image: Tensor,
        encoding: Tensor,
        shown: Layers,
        state: State,
        sampler: Sampler,
        kls: list[dict[str, Tensor]],
        first: bool,
    ) -> tuple[Frame, Tensor, Tensor]:
        """Add the background and judge the picture: the terms of the ELBO."""
        alpha = shown.alpha.detach().clamp(0, 1)
        posterior, latent = self.background.infer(image, encoding, alpha, sampler)
        memory = state.background_memory
        if first:
            kl_background = posterior.kl_standard()
        else:
            prior, memory = self.background.prior(state.background, memory)
            kl_background = posterior.kl(prior)
        background = self.background.decode(latent)
        picture, foreground, alpha = blend(shown, background)
        terms = {f"kl/{name}": torch.stack([kl[name] for kl in kls]).sum(0) for name in kls[0]}
        terms["kl/background"] = kl_background
        # An exponential prior on the masks. Without it nothing keeps an object from painting
        # pieces of table in the table's colour.
        terms["kl/mask"] = self.config.paint * shown.alpha.sum((1, 2, 3))
        terms["log_likelihood"] = log_normal(image, picture, self.config.sigma)
        return Frame(picture, foreground, background, alpha, terms), latent, memory

    def elbo(
        self, images: Tensor, actions: Tensor, annealed: Schedule, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Return the loss (negative ELBO, mean over frames) and its parts, as 0-dim tensors.

        images (B, T, 3, S, S) in [0, 1]; actions (B, T, A), actions[:, t] led to frame t.
        """
        sampler = Sampler(generator, annealed.temperature)
        length = images.shape[1]
        pictures = self.pictures(images)
        encoded = self.image_encoder(pictures.flatten(0, 1)).unflatten(0, images.shape[:2])
        encodings = self.lstm.run(encoded, actions).unbind(1)
        state = self.init(len(images))
        frames, counts, found = [], [], []
        for t in range(length):
            state = self._lose(state, generator) if t else state
            state, frame = self.step(
                state, images[:, t], actions[:, t], sampler, annealed,
                first=t == 0, encoded=(pictures[:, t], encodings[t]),
            )  # fmt: skip
            frames.append(frame)
            counts.append(state.slots.alive.float().sum(1).mean())
            found.append(state.new.float().sum(1).mean())
        terms = {
            name: torch.stack([frame.terms[name].mean() for frame in frames]).mean()
            for name in frames[0].terms
        }
        total = sum(value for name, value in terms.items() if name.startswith("kl/"))
        with torch.no_grad():
            mse = [((f.picture - images[:, t]) ** 2).mean() for t, f in enumerate(frames)]
        return {
            "loss": total - terms["log_likelihood"],
            **terms,
            "mse": torch.stack(mse).mean(),
            "objects": torch.stack(counts).mean(),
            "discovered": torch.stack(found[1:] or found).mean(),
            "foreground": torch.stack([f.alpha.mean() for f in frames]).mean().detach(),
        }

    def _lose(self, state: State, generator: torch.Generator) -> State:
        """Lose some tracked objects, so that discovery learns to find what tracking has lost."""
        if not self.config.forget:
            return state
        lost = uniform(state.slots.alive.shape, generator, state.background) < self.config.forget
        slots = replace(state.slots, alive=state.slots.alive & ~lost)
        return replace(state, slots=slots)

    @torch.no_grad()
    def imagine(
        self, state: State, actions: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Slots, Tensor]:
        """Roll the prior forward under actions (B, H, A): slots (B, H, N, .), pictures.

        Without a generator every latent takes its mean.
        """
        sampler = Sampler(generator, self.config.temperature_end)
        slots, latent, memory = state.slots, state.background, state.background_memory
        size, found, pictures = self.config.image_size, [], []
        for t in range(actions.shape[1]):
            slots = self.propagation.imagine(slots, actions[:, t], sampler)
            prior, memory = self.background.prior(latent, memory)
            latent = sampler.normal(prior.mean, prior.std)
            colours, masks = self.decoder(slots.what)
            shown = layers(colours, masks, slots.presence, slots.depth, slots.where, size)
            pictures.append(blend(shown, self.background.decode(latent))[0])
            found.append(slots)
        stacked = {n: torch.stack([getattr(s, n) for s in found], 1) for n in vars(slots)}
        return Slots(**stacked), torch.stack(pictures, 1)


__all__ = ["Frame", "Normal", "Scalor", "State"]
