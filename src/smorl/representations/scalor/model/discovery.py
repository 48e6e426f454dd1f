"""Finding new objects: one proposal per cell of a grid, minus what is explained already."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from smorl.devices import to_array, to_tensor, uniform
from smorl.representations.scalor.kernels import boxes
from smorl.representations.scalor.model.distributions import Normal, Sampler, bernoulli_kl
from smorl.representations.scalor.model.geometry import box, cell_centres, crop
from smorl.representations.scalor.model.networks import (
    GlimpseDecoder,
    GlimpseEncoder,
    MaskEncoder,
    conv,
)
from smorl.representations.scalor.model.settings import ScalorConfig, Schedule

# Release: the presence prior of a rejected proposal is 1e-8, where others end at 1e-4. Here the
# prior falls further, and what is rejected must stay less likely than what is accepted.
REJECTED_PRIOR, REJECTED_SHARE = 1e-8, 1e-4
# Release: a proposal's pixels are where its mask exceeds the first of these, explained ones where
# the alpha of tracked objects exceeds the second.
FLOORS = 0.3, 0.1
_MASK_CHANNELS = 32


@dataclass(frozen=True)
class Proposals:
    """What discovery found: latents (B, D, .), whether accepted, glimpses, and the KL terms (B,).

    `presence` is zero where a proposal was rejected.
    """

    what: Tensor
    where: Tensor
    depth: Tensor
    presence: Tensor
    accepted: Tensor
    colours: Tensor | None
    masks: Tensor
    kl: dict[str, Tensor]


class Discovery(nn.Module):
    """Proposals from the image encoding and a map of what is explained."""

    def __init__(
        self, config: ScalorConfig, encoder: GlimpseEncoder, decoder: GlimpseDecoder
    ) -> None:
        super().__init__()
        self.config = config
        # A tuple, so that these shared networks are the model's parameters alone.
        self.glimpses = encoder, decoder
        c = config.channels
        self.mask_encoder = MaskEncoder(config, _MASK_CHANNELS)
        self.trunk = nn.Sequential(conv(c + _MASK_CHANNELS, c, 1, 1, 16), conv(c, c, 1, 1, 16))
        self.head = nn.Conv2d(c, 8 + 1 + 2, 1)
        with torch.no_grad():
            self.head.weight[8] *= 0.1
            self.head.bias[8] = config.presence_bias  # pyright: ignore[reportOptionalSubscript]
        self.register_buffer("centres", cell_centres(config.cells), persistent=False)
        self.centres: Tensor

    def forward(
        self,
        image: Tensor,
        encoding: Tensor,
        explained: Tensor | None,
        free: Tensor,
        sampler: Sampler,
        schedule: Schedule,
        paint: bool = True,
    ) -> Proposals:
        """Propose objects in picture (B, 3, S, S); at most `free` (B,) of them are accepted.

        `explained` (B, 1, S, S) is the alpha of tracked objects, None on a first frame. Colours
        are found only if asked to `paint`.
        """
        config, (encoder, decoder) = self.config, self.glimpses
        count = config.cells**2 if explained is None else config.proposals
        alpha = image.new_zeros(len(image), 1, *image.shape[2:]) if explained is None else explained
        out, logit = self.cells(encoding, alpha.detach())
        presence = sampler.presence(_dared(logit, sampler, config.dare))
        chosen = presence.detach()[..., 0].topk(count, 1).indices[..., None]

        def pick(values: Tensor) -> Tensor:
            return values.gather(1, chosen.expand(-1, -1, values.shape[-1]))

        centres = self.centres.expand(len(image), -1, -1)
        kept, presence = pick(out), pick(presence)
        place = Normal.of(kept[..., :8], config.where_std)
        where = self.place(sampler.normal(place.mean, place.std), pick(centres))
        look = Normal.of(encoder(crop(image, where, config.glimpse)))
        what = sampler.normal(look.mean, look.std)
        colours, masks = decoder(what) if paint else (None, decoder.masks(what))
        far = Normal.of(kept[..., 9:])
        depth = sampler.normal(far.mean, far.std)
        accepted, rejected = self._judge(masks, where, presence, explained, free)
        weight = presence[..., 0]
        kl = {
            "what": (weight * look.kl_standard()).sum(1),
            "where": (weight * place.kl_standard()).sum(1),
            "depth": (weight * far.kl_standard()).sum(1),
            "presence": self._presence_kl(logit, chosen, rejected, schedule),
        }
        shown = presence * accepted[..., None]
        return Proposals(what, where, depth, shown, accepted, colours, masks, kl)

    def cells(self, encoding: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """What each cell proposes (B, cells**2, 11), and its presence logits (B, cells**2, 1)."""
        features = self.trunk(torch.cat([encoding, self.mask_encoder(alpha)], 1))
        out = self.head(features).flatten(2).mT
        return out, self.config.presence_logit * torch.tanh(out[..., 8:9])

    def place(self, raw: Tensor, centres: Tensor) -> Tensor:
        """Map raw (..., 4) to a box: each cell reaches a cell's width around its centre."""
        c = self.config
        scale = box(raw[..., :2], c.size, c.size_range, c.ratio, c.ratio_range)
        return torch.cat([scale, centres + (2 / c.cells) * torch.tanh(raw[..., 2:])], -1)

    @torch.no_grad()
    def _judge(
        self, masks: Tensor, where: Tensor, presence: Tensor, explained: Tensor | None, free: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return which proposals (B, D) are accepted, and which are rejected as explained."""
        config, (batch, count) = self.config, presence.shape[:2]
        row = torch.arange(batch, device=masks.device)
        order = presence[..., 0].argsort(1, descending=True) + count * row[:, None]
        size, limit = config.image_size, config.explained
        if explained is None:
            explained, limit = masks.new_zeros(batch, 1, size, size), 2.0  # no share is that large
        rows = row.repeat_interleave(count)
        parts = rows, order.flatten(), masks.flatten(0, 1)[:, :, 0], where.flatten(0, 1)
        arrays = (to_array(part.contiguous()) for part in (*parts, explained, free))
        found = boxes.judge(*arrays, FLOORS, limit, config.overlap)
        accepted, rejected = (to_tensor(part, masks.device).view(batch, count) for part in found)
        return accepted, rejected

    def _presence_kl(
        self, logit: Tensor, chosen: Tensor, rejected: Tensor, schedule: Schedule
    ) -> Tensor:
        """KL of all cells' presence, (B,); rejected ones are pressed towards absence."""
        common = schedule.presence_prior
        against = min(REJECTED_PRIOR, REJECTED_SHARE * common)
        prior = torch.full_like(logit, common)
        prior = prior.scatter(1, chosen, torch.where(rejected[..., None], against, common))
        return bernoulli_kl(logit, torch.logit(prior)).sum((1, 2))


def _dared(logit: Tensor, sampler: Sampler, chance: float) -> Tensor:
    """Return presence logits of which some are 0, with the gradient of what they were.

    A cell that never proposes anything learns nothing: once in a while training tries it.
    """
    if sampler.generator is None or not chance:
        return logit
    tried = uniform(logit.shape, sampler.generator, logit) < chance
    return torch.where(tried, logit - logit.detach(), logit)
