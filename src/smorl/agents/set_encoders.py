"""From a set of objects and a goal to one vector: goal attention (Eq. 5), DeepSets, flat.

Every encoder maps objects (B, N, F), present (B, N) bool and goal (B, F) to (C, B, size) for an
ensemble of C networks with separate parameters. Absent slots never change the result, nor does
the order of slots.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.agents.layers import EnsembleLinear


class AttentionHeads(nn.Module):
    """Multi-head attention whose keys and values are linear in low-dimensional features.

    Equal to `nn.MultiheadAttention` on embedded objects, but folded: softmax ignores what is
    constant over keys, so the key projection (and the embedding before it) is applied to the
    query once, and the value projection is applied after the weighted sum. Objects are therefore
    only ever touched in their raw feature space, and cost hardly grows with their number.
    """

    def __init__(self, members: int, size: int, heads: int) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"embedding size {size} is not divisible by {heads} heads")
        self.heads, self.size = heads, size
        self.query = EnsembleLinear(members, size, size)
        self.value = EnsembleLinear(members, size, size)
        self.out = EnsembleLinear(members, size, size)
        # A bias of the keys would add the same to every score, so there is none.
        self.key = nn.Parameter(torch.empty(members, size, size))
        # nn.MultiheadAttention draws the three projections as one (size, 3 size) matrix.
        bound = math.sqrt(1.5 / size)
        for weight in (self.query.weight, self.key, self.value.weight):
            nn.init.uniform_(weight, -bound, bound)

    def weights(self, query: Tensor, features: Tensor, mask: Tensor, embed: Tensor) -> Tensor:
        """Attention weights (C, B, Q, h, N) of queries (C, B, Q, E) over objects (B, N, F)."""
        members, batch, count, _ = query.shape  # batch is 1 for queries that ignore the goal
        head = self.size // self.heads
        q = self.query(query.reshape(members, batch * count, self.size))
        q = q.view(members, batch * count, self.heads, head).transpose(1, 2)  # C h BQ d
        key = self.key.view(members, self.size, self.heads, head).permute(0, 2, 1, 3)
        folded = (embed.unsqueeze(1) @ key).transpose(-1, -2)  # C h d F
        u = (q @ folded) / math.sqrt(head)  # C h BQ F: the query seen in feature space
        u = u.view(members, self.heads, batch, count, -1).permute(2, 0, 3, 1, 4)
        u = u.reshape(batch, members * count * self.heads, -1)
        if batch == 1:
            scores = (features @ u[0].T).transpose(1, 2) + mask
        else:
            scores = torch.baddbmm(mask, u, features.transpose(1, 2))  # B CQh N
        return scores.softmax(-1)

    def forward(self, query: Tensor, features: Tensor, mask: Tensor, embed: EnsembleLinear):
        members, _, count, _ = query.shape
        batch = features.shape[0]
        attention = self.weights(query, features, mask, embed.weight)
        pooled = attention @ features  # B CQh F
        # A set without any object attends to nothing: its pooled features are zero.
        pooled = pooled.view(batch, members, count, self.heads, -1)
        pooled = pooled.permute(1, 0, 2, 3, 4).reshape(members, batch * count * self.heads, -1)
        head = self.size // self.heads
        value = self.value.weight.view(members, self.size, self.heads, head).permute(0, 2, 1, 3)
        folded = embed.weight.unsqueeze(1) @ value  # C h F d
        bias = (embed.bias @ self.value.weight + self.value.bias).view(members, self.heads, 1, head)
        pooled = pooled.view(members, batch * count, self.heads, -1).transpose(1, 2)
        values = pooled @ folded + bias  # C h BQ d
        values = values.transpose(1, 2).reshape(members, batch * count, self.size)
        return self.out(values).view(members, batch, count * self.size)


def attention_mask(present: Tensor) -> Tensor:
    """Additive mask (B, 1, N): 0 where an object is, a very negative number where none is.

    A finite number instead of -inf keeps an empty set defined: all weights are then equal, and
    the features they weigh are zero.
    """
    return (~present).to(torch.float32).mul_(-1e9).unsqueeze(1)


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
            self.queries = nn.Parameter(torch.randn(members, 1, queries, size) * 0.02)
        self.size = size * (1 + bool(heads) + queries)
        self.members = members

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        mask = attention_mask(present)
        embedded_goal = self.embed(goal)
        parts = []
        if self.conditional is not None:
            query = embedded_goal.unsqueeze(2)
            parts.append(self.conditional(query, objects, mask, self.embed))
        if self.free is not None:
            parts.append(self.free(self.queries, objects, mask, self.embed))
        return torch.cat([*parts, embedded_goal], dim=-1)

    @torch.no_grad()
    def attention(self, objects: Tensor, present: Tensor, goal: Tensor) -> dict[str, Tensor]:
        """Weights per head for pictures: name -> (C, B, queries, heads, N)."""
        mask = attention_mask(present)
        slots = present.shape[1]
        result = {}
        if self.conditional is not None:
            query = self.embed(goal).unsqueeze(2)
            w = self.conditional.weights(query, objects, mask, self.embed.weight)
            result["conditional"] = _by_head(w, self.members, 1, slots)
        if self.free is not None:
            w = self.free.weights(self.queries, objects, mask, self.embed.weight)
            result["unconditional"] = _by_head(w, self.members, self.queries.shape[2], slots)
        return result


def _by_head(weights: Tensor, members: int, queries: int, slots: int) -> Tensor:
    batch = weights.shape[0]
    return weights.view(batch, members, queries, -1, slots).transpose(0, 1)


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


class Flat(nn.Module):
    """A state that is one vector (a set of one object): [state; goal], no parameters."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.size = 2 * features

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        return torch.cat([objects[:, 0], goal], dim=-1)
