"""From a set of objects and a goal to one vector: goal attention (Eq. 5), DeepSets, flat.

Every encoder maps objects (B, N, F), present (B, N) bool and goal (B, F) to (C, B, size) for an
ensemble of C networks with separate parameters. Absent slots never change the result, nor does
the order of slots.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.learners.layers import EnsembleLinear


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

    def pool(self, weights: Tensor, features: Tensor) -> Tensor:
        """Weights (B, N, C Q h) -> weighted sums of raw features, (C, B, Q h F)."""
        pooled = weights.transpose(1, 2) @ features  # B CQh F
        return pooled.view(len(features), self.members, -1).transpose(0, 1)

    def project(self, embed: EnsembleLinear) -> tuple[Tensor, Tensor]:
        """Value and output projection of one query's pooled features: (C, hF, E), (C, 1, E)."""
        value = self._split(embed.weight @ self.value.weight)  # C h F d
        out = self.out.weight.unflatten(1, (self.heads, -1))  # C h d E
        constant = embed.bias @ self.value.weight + self.value.bias
        return (value @ out).flatten(1, 2), torch.baddbmm(self.out.bias, constant, self.out.weight)


def attention_mask(present: Tensor) -> Tensor:
    """Additive mask (B, N, 1): 0 where an object is, a very negative number where none is.

    A finite number instead of -inf keeps an empty set defined: all weights are then equal, and
    the features they weigh are zero.
    """
    return (~present).to(torch.float32).mul_(-1e9).unsqueeze(2)


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
        return torch.baddbmm(bias, self.pool(objects, present, goal), weight)

    def pool(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Everything nonlinear: pooled raw features per query and head, and the goal's."""
        mask = attention_mask(present)
        parts = []
        if self.conditional is not None:
            weights = self._conditional_weights(self.conditional, objects, mask, goal)
            parts.append(self.conditional.pool(weights, objects))
        if self.free is not None:
            weights = self._free_weights(self.free, objects, mask)
            parts.append(self.free.pool(weights, objects))
        return torch.cat([*parts, goal.expand(self.members, -1, -1)], dim=-1)

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

    def _conditional_weights(
        self, heads: AttentionHeads, objects: Tensor, mask: Tensor, goal: Tensor
    ) -> Tensor:
        """softmax over objects of the goal's queries, (B, N, C h)."""
        # The query is linear in the goal: fold its weights and its constant part as rows.
        rows = torch.cat([self.embed.weight, self.embed.bias], 1)
        offset = F.pad(heads.query.bias, (0, 0, goal.shape[1], 0))
        seen = heads.see(torch.baddbmm(offset, rows, heads.query.weight), self.embed)
        seen = seen.permute(2, 0, 1, 3).flatten(1)  # F+1 (C h F)
        seen = torch.addmm(seen[-1:], goal, seen[:-1])  # B (C h F)
        scores = objects @ seen.view(len(goal), -1, goal.shape[1]).transpose(1, 2)
        return (scores + mask).softmax(1)

    def _free_weights(self, heads: AttentionHeads, objects: Tensor, mask: Tensor) -> Tensor:
        """softmax over objects of the learned queries, (B, N, C M h)."""
        seen = heads.see(heads.query(self.queries), self.embed)
        seen = seen.transpose(1, 2).flatten(0, 2)  # C h M F -> CMh F
        return (objects @ seen.T + mask).softmax(1)

    @torch.no_grad()
    def attention(self, objects: Tensor, present: Tensor, goal: Tensor) -> dict[str, Tensor]:
        """Weights per head for pictures: name -> (C, B, queries, heads, N)."""
        mask = attention_mask(present)
        result = {}
        if self.conditional is not None:
            w = self._conditional_weights(self.conditional, objects, mask, goal)
            result["conditional"] = self._by_head(w, 1)
        if self.free is not None:
            w = self._free_weights(self.free, objects, mask)
            result["unconditional"] = self._by_head(w, self.queries.shape[1])
        return result

    def _by_head(self, weights: Tensor, queries: int) -> Tensor:
        batch, slots, _ = weights.shape
        split = weights.transpose(1, 2).reshape(batch, self.members, queries, -1, slots)
        return split.transpose(0, 1)


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

    def pool(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """There is nothing to fold: the same as `forward`."""
        return self(objects, present, goal)

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

    def pool(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """There is nothing to fold: the same as `forward`."""
        return self(objects, present, goal)

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
