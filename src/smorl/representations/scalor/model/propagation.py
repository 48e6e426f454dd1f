"""Following tracked objects from frame to frame, and the learned prior of how they move."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from smorl.devices import to_array, to_tensor
from smorl.representations.scalor.kernels import boxes
from smorl.representations.scalor.model.distributions import Normal, Sampler, bernoulli_kl
from smorl.representations.scalor.model.geometry import box, crop
from smorl.representations.scalor.model.networks import GlimpseDecoder, GlimpseEncoder, conv, mlp
from smorl.representations.scalor.model.settings import ScalorConfig
from smorl.representations.scalor.model.slots import PRIOR_STATE, Slots, each

Cut = Callable[[Tensor, Tensor, int], Tensor]  # boxes out of pictures, as `geometry.crop`

_ATTENTION = 128
_EDGE = 1.05  # Release: places are clamped to this.
_STAYS = 2.0  # Release: added to the presence output, since tracked objects usually stay.
_HIDDEN_PRIOR = 1e-8  # presence prior of an object behind another, as for rejected proposals
_PRIOR_STAYS = 5.0  # Release: the same in the prior.


@dataclass(frozen=True)
class Inference:
    """What a frame tells about tracked objects: latents (..., .), and what they were drawn from."""

    what: Tensor
    where: Tensor
    depth: Tensor
    bias: Tensor
    state: Tensor
    logit: Tensor  # of presence
    what_q: Normal
    bias_q: Normal
    depth_q: Normal


@dataclass(frozen=True)
class Prediction:
    """The prior's view of the next frame, per slot."""

    what: Normal
    bias: Normal
    depth: Normal
    presence: Tensor  # logit (B, N, 1)
    state: Tensor


class PropagationPrior(nn.Module):
    """p(z_t | z_{<t}, a_t) per object. Release: without the action, which we add, so that
    imagined rollouts obey actions."""

    def __init__(self, config: ScalorConfig, actions: int) -> None:
        super().__init__()
        w = config.what
        self.sizes = (2 * w, 8, 2, 1)
        self.inputs = nn.Linear(w + 4 + 4 + 1 + 1 + actions, 128)
        self.cell = nn.LSTMCell(128, PRIOR_STATE)
        self.heads = nn.Linear(PRIOR_STATE, sum(self.sizes))

    def advance(self, slots: Slots, moved: Tensor) -> tuple[Tensor, Tensor]:
        """Return hidden and cell state of objects (..., .), each given the action (..., A)."""
        inputs = [slots.what, slots.where, slots.bias, slots.depth, slots.presence, moved]
        hidden, cell = slots.prior.flatten(0, -2).chunk(2, -1)
        return self.cell(self.inputs(torch.cat(inputs, -1)).flatten(0, -2), (hidden, cell))

    def forward(self, slots: Slots, action: Tensor) -> Prediction:
        both = self.advance(slots, each(action, slots))
        batch, count = slots.alive.shape
        out = self.heads(both[0]).reshape(batch, count, -1)
        what, bias, depth, presence = out.split(self.sizes, -1)
        state = torch.cat(both, -1).reshape(batch, count, -1)
        return Prediction(
            # What an object looks like persists: the prior predicts the change.
            Normal.of(torch.cat([slots.what, torch.zeros_like(slots.what)], -1) + what),
            Normal.of(bias),
            Normal.of(torch.cat([slots.depth, torch.zeros_like(slots.depth)], -1) + depth),
            presence + _PRIOR_STAYS,
            state,
        )


class Propagation(nn.Module):
    """q(z_t | z_{<t}, o_t, a_t) per tracked object."""

    def __init__(
        self,
        config: ScalorConfig,
        actions: int,
        encoder: GlimpseEncoder,
        decoder: GlimpseDecoder,
        pictures: int,
    ) -> None:
        super().__init__()
        self.config = config
        # A tuple, so that these shared networks are the model's parameters alone.
        self.glimpses = encoder, decoder
        c, w, h, state = config.channels, config.what, config.hidden, config.tracker
        self.near = conv(c, c, 1)
        self.attend = nn.Linear(4 * c, _ATTENTION)
        self.window = GlimpseEncoder(config, pictures, _ATTENTION) if config.window else None
        self.inputs = nn.Linear(4 + 1 + w + 4 + _ATTENTION + actions, 128)
        self.cell = nn.GRUCell(128, state)
        self.bias = mlp(state + w + 4 + 4 + _ATTENTION, h, 8)
        self.recall = mlp(state, 64, 2 * w)
        self.gate = mlp(state + _ATTENTION, 64, 2)
        self.depth = mlp(state + w + _ATTENTION, h, 2)
        self.presence = mlp(state + 8 + w, 64, 1)
        self.prior = PropagationPrior(config, actions)

    def forward(
        self,
        slots: Slots,
        image: Tensor,
        pictures: Tensor,
        encoding: Tensor,
        action: Tensor,
        sampler: Sampler,
        paint: bool = True,
    ) -> tuple[Slots, Tensor | None, Tensor, dict[str, Tensor]]:
        """Follow objects into picture `image` (B, 3, S, S).

        `pictures` is what attention sees (the image, with its difference to the background in
        the fast model). Returns slots, their colours (None unless asked to `paint`) and masks,
        and the KL terms (B,).
        """
        config, moved = self.config, each(action, slots)
        found = self.infer(slots, image, pictures, encoding, moved, sampler, crop)
        what, where, depth, logit = found.what, found.where, found.depth, found.logit
        presence = sampler.presence(logit)
        absence = slots.absence + 1 - presence.detach()
        alive = slots.alive & (absence[..., 0] < config.dies)
        decoder = self.glimpses[1]
        colours, masks = decoder(what) if paint else (None, decoder.masks(what))
        hidden = self._hidden(masks, where, depth, alive)
        alive = alive & ~hidden
        presence = presence * alive[..., None]
        prior = self.prior(slots, action)
        stays = torch.where(
            hidden[..., None], logit.new_full((), _HIDDEN_PRIOR).logit(), prior.presence
        )
        weight, exists = presence[..., 0], slots.alive
        kl = {
            "what": (weight * found.what_q.kl(prior.what)).sum(1),
            "where": (weight * found.bias_q.kl(prior.bias)).sum(1),
            "depth": (weight * found.depth_q.kl(prior.depth)).sum(1),
            "presence": (exists * bernoulli_kl(logit, stays)[..., 0]).sum(1),
        }
        latents = what, where, depth, presence, found.bias, found.state
        new = Slots(*latents, prior.state, absence, alive, slots.ids)
        return new, colours, masks, kl

    def infer(
        self,
        slots: Slots,
        image: Tensor,
        pictures: Tensor,
        encoding: Tensor,
        moved: Tensor,
        sampler: Sampler,
        cut: Cut,
    ) -> Inference:
        """What is seen of objects (..., .), each given the action (..., A) that led there.

        `cut` cuts their boxes out of pictures.
        """
        seen = self._attention(slots, pictures, encoding, cut)
        inputs = [slots.where, slots.presence, slots.what, slots.bias, seen, moved]
        state = self.cell(
            self.inputs(torch.cat(inputs, -1)).flatten(0, -2), slots.state.flatten(0, -2)
        ).reshape(slots.state.shape)
        bias_q = Normal.of(
            self.bias(torch.cat([state, slots.what, slots.where, slots.bias, seen], -1)), -2.0
        )
        bias = sampler.normal(bias_q.mean, bias_q.std)
        where = self.move(slots.where, bias)
        what_q = self._look(cut(image, where, self.config.glimpse), state, seen)
        what = sampler.normal(what_q.mean, what_q.std)
        depth_q = Normal.of(self.depth(torch.cat([state, what, seen], -1)))
        depth = sampler.normal(depth_q.mean, depth_q.std)
        logit = self.config.presence_logit * torch.tanh(
            self.presence(torch.cat([state, where, bias, what], -1)) + _STAYS
        )
        return Inference(what, where, depth, bias, state, logit, what_q, bias_q, depth_q)

    @torch.no_grad()
    def _hidden(self, masks: Tensor, where: Tensor, depth: Tensor, alive: Tensor) -> Tensor:
        """Which objects (B, N) lie almost wholly behind a nearer one.

        They are either out of sight or follow the wrong object: two objects cannot be in one
        place. (Release: nothing is done, and lost objects gather on the arm.)
        """
        if self.config.coexist >= 1:
            return torch.zeros_like(alive)
        batch, count = alive.shape
        rows = torch.arange(batch, device=alive.device).repeat_interleave(count)
        flat = (part.flatten(0, 1) for part in (masks[:, :, :, 0], where, depth, alive))
        arrays = (to_array(part.contiguous()) for part in (rows, *flat))
        found = boxes.behind(*arrays, self.config.image_size // 2, self.config.coexist)
        return to_tensor(found, alive.device).view(batch, count)

    def move(self, where: Tensor, bias: Tensor) -> Tensor:
        """Apply a change of place (B, N, 4): scales anew, the place by a bounded step."""
        c = self.config
        scale = box(bias[..., :2], c.size, c.size_range, c.ratio, c.ratio_range)
        place = where[..., 2:] + c.step_range * torch.tanh(bias[..., 2:])
        return torch.cat([scale, place.clamp(-_EDGE, _EDGE)], -1)

    def imagine(self, slots: Slots, action: Tensor, sampler: Sampler) -> Slots:
        """Advance objects by the prior alone (generation)."""
        prior = self.prior(slots, action)
        bias = sampler.normal(prior.bias.mean, prior.bias.std)
        presence = sampler.presence(prior.presence)
        absence = slots.absence + 1 - presence
        alive = slots.alive & (absence[..., 0] < self.config.dies)
        return replace(
            slots,
            what=sampler.normal(prior.what.mean, prior.what.std),
            where=self.move(slots.where, bias),
            depth=sampler.normal(prior.depth.mean, prior.depth.std),
            presence=presence * alive[..., None],
            bias=bias,
            prior=prior.state,
            absence=absence,
            alive=alive,
        )

    def _attention(self, slots: Slots, pictures: Tensor, encoding: Tensor, cut: Cut) -> Tensor:
        """What is around each object's last place, (..., 128)."""
        place = slots.where[..., 2:]
        around = torch.cat([torch.full_like(place, 0.5), place], -1)
        near = cut(self.near(encoding), around, 2)  # Release: 2x2 cells of the encoding
        seen = self.attend(near.flatten(-3))
        if self.window is None:
            return seen
        # The encoding is too coarse to place an object within a pixel; the picture is not.
        around = torch.cat([torch.full_like(place, self.config.window), place], -1)
        return seen + self.window(cut(pictures, around, self.config.glimpse))

    def _look(self, glimpse: Tensor, state: Tensor, seen: Tensor) -> Normal:
        """Posterior of what: the glimpse and the memory of it, gated (Release)."""
        look = Normal.of(self.glimpses[0](glimpse))
        memory = Normal.of(self.recall(state))
        forget, enter = torch.sigmoid(self.gate(torch.cat([state, seen], -1))).chunk(2, -1)
        mean = enter * look.mean + forget * memory.mean
        return Normal(mean, nn.functional.softplus(enter * look.std + forget * memory.std))
