"""From a set of objects and a goal to one vector: goal attention (Eq. 5), DeepSets, flat.

Every encoder maps objects (B, N, F), present (B, N) bool and goal (B, F) to (C, B, size) for an
ensemble of C networks with separate parameters. Absent slots never change the result, nor does
the order of slots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.learners.gradients import attend, attention_weights
from smorl.learners.layers import EnsembleLinear
from smorl.learners.seen import Seen, attention_mask, with_matched


@dataclass(frozen=True)
class TorsoConfig:
    """How a set of objects and a goal become one vector."""

    # Goal attention (Eq. 5), the sums of the ablations, or a plain vector.
    kind: Literal["attention", "deepsets", "deepsets-padded", "flat"] = "attention"
    embedding: int = 48  # d_e, split over the conditional heads
    heads: int = 3  # conditional heads
    free_heads: int = 1  # heads of the learned, goal-unconditional queries
    queries: int = 0  # M learned queries; 0 switches the unconditional part off
    aggregate: int = 128  # width of the DeepSets sum


class AttentionHeads(nn.Module):
    """Multi-head attention whose keys and values are linear in low-dimensional features.

    Equal to `nn.MultiheadAttention` on embedded objects, but folded. Softmax ignores what is
    constant over keys, so the key projection (and the embedding before it) moves to the query's
    side, and the value and output projections move behind the weighted sum. What remains per
    sample is one product that shows each query in the objects' feature space, the scores, the
    weighted sum of raw features, and one product to the output; the rest is a product of weights.
    """

    def __init__(self, members: int, size: int, heads: int) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"embedding size {size} is not divisible by {heads} heads")
        self.members, self.heads, self.size = members, heads, size
        self.query = EnsembleLinear(members, size, size)
        self.value = EnsembleLinear(members, size, size)
        self.out = EnsembleLinear(members, size, size)
        # A bias of the keys would add the same to every score, so there is none.
        self.key = nn.Parameter(torch.empty(members, size, size))
        # nn.MultiheadAttention draws the three projections as one (size, 3 size) matrix.
        bound = math.sqrt(1.5 / size)
        for weight in (self.query.weight, self.key, self.value.weight):
            nn.init.uniform_(weight, -bound, bound)

    def see(self, queries: Tensor, embed: EnsembleLinear) -> Tensor:
        """Show projected queries (C, R, E) in the objects' feature space: (C, h, R, F)."""
        q = self._split(queries)
        k = self._split(embed.weight @ self.key)
        return (q * (self.size // self.heads) ** -0.5) @ k.transpose(-1, -2)

    def _split(self, x: Tensor) -> Tensor:
        """(C, R, E) -> (C, h, R, d)."""
        return x.unflatten(-1, (self.heads, self.size // self.heads)).transpose(1, 2)

    def project(self, embed: EnsembleLinear) -> tuple[Tensor, Tensor]:
        """Value and output projection of one query's pooled features: (C, hF, E), (C, 1, E)."""
        value = self._split(embed.weight @ self.value.weight)  # C h F d
        out = self.out.weight.unflatten(1, (self.heads, -1))  # C h d E
        constant = embed.bias @ self.value.weight + self.value.bias
        return (value @ out).flatten(1, 2), torch.baddbmm(self.out.bias, constant, self.out.weight)


class GoalAttention(nn.Module):
    """Goal-conditioned attention (Eq. 5, Eq. 6 and App. "Details of Attention Mechanism").

    Conditional heads are asked by the embedded goal, unconditional heads by M learned queries;
    the two kinds have separate projections. Output: [conditional; unconditional; goal embedding].
    """

    def __init__(
        self, members: int, features: int, size: int, heads: int, free_heads: int, queries: int
    ) -> None:
        super().__init__()
        if heads == 0 and queries == 0:
            raise ValueError("goal attention needs conditional heads or unconditional queries")
        self.embed = EnsembleLinear(members, features, size)
        self.conditional = AttentionHeads(members, size, heads) if heads else None
        self.free = AttentionHeads(members, size, free_heads) if queries else None
        if queries:
            self.queries = nn.Parameter(torch.randn(members, queries, size) * 0.02)
        self.size = size * (1 + bool(heads) + queries)
        self.members = members

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return [conditional; unconditional; goal embedding], (C, B, size)."""
        identity = torch.eye(self.size).expand(self.members, -1, -1)
        weight, bias = self.project(identity)
        seen = Seen.of(objects, present, goal)
        return torch.baddbmm(bias, self.pool(seen, self.fold_queries()), weight)

    def pool(self, seen: Seen, queries: Tensor) -> Tensor:
        """Everything nonlinear: pooled raw features per query and head, and the seen tail.

        `queries` are `fold_queries`: made of weights alone, so they serve any number of batches.
        """
        return attend(queries, seen.objects, seen.mask, seen.goal, seen.tail, self.members)

    def fold_queries(self) -> Tensor:
        """Every query as a linear function of the goal, in the space of features; see `attend`."""
        kinds, features = [], self.embed.weight.shape[1]
        if self.conditional is not None:
            # The query is linear in the goal: fold its weights and its constant part as rows.
            heads = self.conditional
            rows = torch.cat([self.embed.weight, self.embed.bias], 1)
            offset = F.pad(heads.query.bias, (0, 0, features, 0))
            seen = heads.see(torch.baddbmm(offset, rows, heads.query.weight), self.embed)
            kinds.append(seen.permute(2, 0, 1, 3))  # F+1 C h F
        if self.free is not None:
            seen = self.free.see(self.free.query(self.queries), self.embed)  # C h M F
            constant = seen.transpose(1, 2).flatten(1, 2)[None]
            kinds.append(F.pad(constant, (0, 0) * 3 + (features, 0)))  # F+1 C Mh F
        return torch.cat(kinds, 2).flatten(1)

    def project(self, following: Tensor) -> tuple[Tensor, Tensor]:
        """Fold the linear rest into the layer that follows, (C, size, H): weight and bias.

        Pooled features times this weight plus this bias is the following layer's input sum, so
        nothing per sample ever has the embedding's width.
        """
        embedded = self.embed.weight.shape[-1]
        blocks = following.split(embedded, dim=1)
        rows, bias = [], self.embed.bias @ blocks[-1]
        kinds = [self.conditional] if self.conditional is not None else []
        kinds += [self.free] * (len(blocks) - 1 - len(kinds))
        known = {id(heads): heads.project(self.embed) for heads in kinds if heads is not None}
        for heads, block in zip(kinds, blocks[:-1], strict=True):
            weight, constant = known[id(heads)]
            rows.append(weight @ block)
            bias = bias + constant @ block
        return torch.cat([*rows, self.embed.weight @ blocks[-1]], dim=1), bias

    @torch.no_grad()
    def attention(self, objects: Tensor, present: Tensor, goal: Tensor) -> dict[str, Tensor]:
        """Weights per head for pictures: name -> (C, B, queries, heads, N)."""
        weights = attention_weights(self.fold_queries(), objects, attention_mask(present), goal)
        split = weights.unflatten(2, (self.members, -1)).permute(2, 0, 3, 1)  # C B heads N
        asked = 0 if self.conditional is None else self.conditional.heads
        result = {}
        if self.conditional is not None:
            result["conditional"] = split[:, :, :asked].unsqueeze(2)
        if self.free is not None:
            result["unconditional"] = split[:, :, asked:].unflatten(2, (-1, self.free.heads))
        return result


class DeepSets(nn.Module):
    """Embed, one-hidden-layer network per object, sum (App. on ablations; Zaheer et al. 2017).

    `masked=False` is the released variant, which also sums over empty slots.
    """

    def __init__(
        self, members: int, features: int, size: int, aggregate: int, *, masked: bool = True
    ) -> None:
        super().__init__()
        self.embed = EnsembleLinear(members, features, size)
        self.inner = EnsembleLinear(members, size, aggregate)
        self.outer = EnsembleLinear(members, aggregate, aggregate)
        self.masked = masked
        self.size = aggregate + size

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        batch, slots, features = objects.shape
        x = self.embed(objects.reshape(batch * slots, features))
        x = self.outer(F.relu(self.inner(x))).view(x.shape[0], batch, slots, -1)
        if self.masked:
            x = x * present.unsqueeze(-1)
        return torch.cat([x.sum(2), self.embed(goal)], dim=-1)

    def fold_queries(self) -> None:
        """There are none."""

    def pool(self, seen: Seen, queries: None) -> Tensor:
        """There is nothing to fold: `forward`, and what was seen besides."""
        return with_matched(self(seen.objects, seen.present, seen.goal), seen)

    def project(self, following: Tensor) -> tuple[Tensor, float]:
        """Leave the following layer as it is."""
        return following, 0.0


class Flat(nn.Module):
    """A state that is one vector (a set of one object): [state; goal], no parameters."""

    def __init__(self, members: int, features: int) -> None:
        super().__init__()
        self.members, self.size = members, 2 * features

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        return torch.cat([objects[:, 0], goal], dim=-1).expand(self.members, -1, -1)

    def fold_queries(self) -> None:
        """There are none."""

    def pool(self, seen: Seen, queries: None) -> Tensor:
        """There is nothing to fold: `forward`, and what was seen besides."""
        return with_matched(self(seen.objects, seen.present, seen.goal), seen)

    def project(self, following: Tensor) -> tuple[Tensor, float]:
        """Leave the following layer as it is."""
        return following, 0.0


def build_torso(
    config: TorsoConfig, features: int, members: int
) -> GoalAttention | DeepSets | Flat:
    """Return the set encoder that `config` names; it has an attribute `size`."""
    if config.kind == "attention":
        return GoalAttention(
            members, features, config.embedding, config.heads, config.free_heads, config.queries
        )
    if config.kind == "flat":
        return Flat(members, features)
    masked = config.kind == "deepsets"
    return DeepSets(members, features, config.embedding, config.aggregate, masked=masked)
