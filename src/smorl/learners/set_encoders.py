"""From a set of objects and a goal to one vector: goal attention (Eq. 5), DeepSets, flat.

Every encoder maps objects (B, N, F), present (B, N) bool and goal (B, F) to (C, B, size) for an
ensemble of C networks with separate parameters. Neither absent slots nor their order change it.
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
from smorl.ranges import require, within


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

    def __post_init__(self) -> None:
        within(self, {
            "embedding": (1, 4096), "heads": (0, 64), "free_heads": (1, 64), "queries": (0, 64),
            "aggregate": (1, 4096),
        })  # fmt: skip
        if self.kind == "attention":
            share, free = self.embedding % max(1, self.heads), self.embedding % self.free_heads
            whole = f"a divisor of embedding, {self.embedding}"
            require(self, {
                "heads": (share == 0 and self.heads + self.queries > 0, f"{whole}, or queries > 0"),
                "free_heads": (free == 0 or not self.queries, whole),
            })  # fmt: skip


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

    def see(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Show projected queries (C, R, E) in the objects' feature space: (C, h, R, F).

        `keys` (C h, F, d) are those of the features.
        """
        (q,) = self.by_head(queries)
        seen = torch.bmm(q * q.shape[-1] ** -0.5, keys.transpose(1, 2))
        return seen.view(self.members, self.heads, *seen.shape[1:])

    def keys_values(self, rows: Tensor) -> Tensor:
        """Keys and values (2, C h, R, d) of the rows (C, R, E), without the values' bias."""
        return self.by_head(torch.bmm(rows, torch.cat([self.key, self.value.weight], 2)))

    def by_head(self, x: Tensor) -> Tensor:
        """(C, R, n E) -> (n, C h, R, d)."""
        size = self.size // self.heads
        split = x.view(*x.shape[:2], -1, self.heads, size).permute(2, 0, 3, 1, 4)
        return split.reshape(len(split), -1, x.shape[1], size)

    def project(self, values: Tensor, following: Tensor) -> tuple[Tensor, Tensor]:
        """Fold what comes after the weighted sum into the layer that follows, (C, M E, H).

        That layer meets the outputs of M queries. `values` (C h, F + 1, d) are those of every
        feature and of the constant part. Returns (C, M h F, H) and a bias (C, 1, H).
        """
        members, _, hidden = following.shape
        out = torch.bmm(values, self.out.weight.view(len(values), -1, self.size))
        constant = torch.baddbmm(self.out.bias, self.value.bias, self.out.weight)
        every = torch.cat([out.view(members, -1, self.size), constant], 1)
        blocks = following.reshape(members, -1, self.size, hidden).transpose(1, 2)
        met = torch.bmm(every, blocks.flatten(2)).unflatten(2, (-1, hidden))  # C h(F+1)+1 M H
        grid = met[:, :-1].unflatten(1, (self.heads, -1)).permute(0, 3, 1, 2, 4)  # C M h F+1 H
        bias = grid[:, :, :, -1].sum((1, 2)) + met[:, -1].sum(1)
        return grid[:, :, :, :-1].flatten(1, 3), bias.unsqueeze(1)


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
        self.size, self.members, self._asked = size * (1 + bool(heads) + queries), members, queries

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return [conditional; unconditional; goal embedding], (C, B, size)."""
        plain = torch.eye(self.size).to(goal).expand(self.members, -1, -1)
        queries, weight, bias = self.fold(plain)
        return torch.baddbmm(bias, self.pool(Seen.of(objects, present, goal), queries), weight)

    def pool(self, seen: Seen, queries: Tensor) -> Tensor:
        """Everything nonlinear: pooled raw features per query and head, and the seen tail."""
        return attend(queries, seen.objects, seen.mask, seen.goal, seen.tail, self.members)

    def fold(self, following: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Everything linear, folded: queries for `pool`, and weight and bias of what follows it.

        Queries are linear in the goal (see `attend`). Pooled features times the weight plus the
        bias is the input sum of the layer that follows, (C, size, H), so nothing per sample ever
        has the embedding's width. All is made of weights alone and serves any number of batches.
        """
        rows, size = torch.cat([self.embed.weight, self.embed.bias], 1), self.embed.weight.shape[2]
        features = rows.shape[1] - 1
        sizes = [size] * (self.conditional is not None), [size * self._asked] * bool(self._asked)
        *blocks, last = following.split([*sizes[0], *sizes[1], size], dim=1)
        end = torch.bmm(rows, last)
        queries, weights, biases = [], [], [end[:, -1:]]
        for heads in (self.conditional, self.free):
            if heads is None:
                continue
            keys, values = heads.keys_values(rows)
            if heads is self.conditional:
                # The query's weights are the first rows, its constant part is the last one.
                offset = F.pad(heads.query.bias, (0, 0, features, 0))
                asked = torch.baddbmm(offset, rows, heads.query.weight)
                seen = heads.see(asked, keys[:, :-1]).permute(2, 0, 1, 3)  # F+1 C h F
            else:
                seen = heads.see(heads.query(self.queries), keys[:, :-1])  # C h M F
                seen = F.pad(seen.transpose(1, 2).flatten(1, 2)[None], (0, 0) * 3 + (features, 0))
            queries.append(seen)
            weight, bias = heads.project(values, blocks[len(weights)])
            weights.append(weight)
            biases.append(bias)
        folded = torch.cat([*weights, end[:, :-1]], dim=1)
        return torch.cat(queries, 2).flatten(1), folded, torch.cat(biases, 1).sum(1, keepdim=True)

    @torch.no_grad()
    def attention(self, objects: Tensor, present: Tensor, goal: Tensor) -> dict[str, Tensor]:
        """Weights per head for pictures: name -> (C, B, queries, heads, N)."""
        queries, *_ = self.fold(torch.eye(self.size).to(goal).expand(self.members, -1, -1))
        weights = attention_weights(queries, objects, attention_mask(present), goal)
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

    def pool(self, seen: Seen, queries: None) -> Tensor:
        """There is nothing to fold: `forward`, and what was seen besides."""
        return with_matched(self(seen.objects, seen.present, seen.goal), seen)

    def fold(self, following: Tensor) -> tuple[None, Tensor, float]:
        """Leave the following layer as it is."""
        return None, following, 0.0


class Flat(nn.Module):
    """A state that is one vector (a set of one object): [state; goal], no parameters."""

    def __init__(self, members: int, features: int) -> None:
        super().__init__()
        self.members, self.size = members, 2 * features

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        return torch.cat([objects[:, 0], goal], dim=-1).expand(self.members, -1, -1)

    def pool(self, seen: Seen, queries: None) -> Tensor:
        """There is nothing to fold: `forward`, and what was seen besides."""
        return with_matched(self(seen.objects, seen.present, seen.goal), seen)

    def fold(self, following: Tensor) -> tuple[None, Tensor, float]:
        """Leave the following layer as it is."""
        return None, following, 0.0


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
