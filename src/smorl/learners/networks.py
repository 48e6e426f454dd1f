"""The policy pi(a | z, z_g) = f(A, z_g) and the twin critics Q(z, z_g, a), as ensembles.

Both have their own torso (Paper: separate attention for policy and Q-function).
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.devices import CPU, to_tensor
from smorl.learners.gradients import squashed_sample
from smorl.learners.layers import EnsembleMLP
from smorl.learners.seen import Seen
from smorl.learners.set_encoders import TorsoConfig, build_torso
from smorl.ranges import require, within
from smorl.types import ObjectLayout


@dataclass(frozen=True)
class NetworkConfig:
    """Shapes of policy and critics. Defaults are the release's ground-truth settings."""

    torso: TorsoConfig = field(default_factory=TorsoConfig)
    policy_hidden: tuple[int, ...] = (128, 128)  # widths of the policy's layers
    critic_hidden: tuple[int, ...] = (128, 128, 128)  # widths of the critics' layers
    activation: Literal["relu", "elu", "silu"] = "relu"  # of hidden layers
    hidden_bias: float = 0.1  # initial bias of hidden layers
    initial_std: float = 0.2  # of the action before tanh, measured after it
    # Ours, off in the paper presets; docs/learner.md says why.
    normalise_positions: bool = False  # shift and scale positions to about [-1, 1]
    relative: bool = False  # give every object its offsets to the goal and to the goal's object
    matched: bool = False  # hand the matched object to the network beside the attention
    body: bool = False  # hand the agent's own body to the network beside the attention
    motion: bool = False  # let the network see how far objects have gone since the last frame
    critic_norm: bool = False  # layer normalisation in the critics
    policy_norm: bool = False  # layer normalisation in the policy

    def __post_init__(self) -> None:
        within(self, {
            "policy_hidden": (1, 4096), "critic_hidden": (1, 4096), "hidden_bias": (-10, 10),
            "initial_std": (1e-12, 0.999),
        })  # fmt: skip
        layers = {name: len(getattr(self, name)) for name in ("policy_hidden", "critic_hidden")}
        require(self, {n: (1 <= count <= 16, "1 to 16 layers") for n, count in layers.items()})


@dataclass(frozen=True)
class Folded:
    """A network's weights as its inputs meet them; made of weights alone, so for any batch."""

    queries: Tensor | None  # of `attend`
    weight: Tensor  # (C, ., H) from what the torso pools to the MLP's first layer
    bias: Tensor  # (C, 1, H)


class Inputs:
    """Optional changes to the features before the torso; the identity in the paper presets.

    It has no parameters, so each batch passes through it once, whatever networks follow.
    """

    def __init__(
        self,
        config: NetworkConfig,
        layout: ObjectLayout,
        centre: tuple[float, ...],
        spread: tuple[float, ...],
        device: torch.device = CPU,
    ) -> None:
        self.device = device  # where batches must be
        self.what = slice(0, layout.what)
        self.position = slice(layout.what, layout.what + layout.position)
        self.normalise, self.relative = config.normalise_positions, config.relative
        used = layout.features - (0 if config.motion else layout.motion)
        self.used = slice(0, used)
        self.shift, self.scale = torch.zeros(used, device=device), torch.ones(used, device=device)
        if self.normalise:
            self.shift[self.position] = torch.tensor(centre)
            self.scale[self.position] = 1.0 / torch.tensor(spread)
            if config.motion and layout.motion:
                # An object goes a fraction of the table in a step.
                self.scale[-layout.motion :] = 2.0 / torch.tensor(spread)
        # Offsets to the goal and to the goal's object, each plain and sharpened.
        self.features = used + (4 * layout.position if config.relative else 0)
        self.extra = self.features * (config.matched + config.body)
        self.matched, self.body = config.matched, config.body
        # Appearance clusters (C, W) and how often each rests (C,); nothing is known at first.
        empty = ((1, layout.what), (1,), (layout.position,))
        self.centres, self.rest, self.reach = (torch.zeros(s, device=device) for s in empty)

    def __call__(self, objects: Tensor, present: Tensor, goal: Tensor) -> Seen:
        objects, goal = objects[..., self.used], goal[..., self.used]
        if self.normalise:
            # Absent slots stay zero, so that an empty set pools to zero.
            objects = (objects - self.shift) * self.scale * present.unsqueeze(-1)
            goal = (goal - self.shift) * self.scale
        if not (self.relative or self.extra):
            return Seen.of(objects, present, goal)
        index = self._match(objects, present, goal)
        if self.relative:
            objects, goal = self._offsets(objects, present, goal, index)
        rows = torch.arange(len(objects), device=objects.device)
        parts = [objects[rows, index]] if self.matched else []
        if self.body:
            parts.append(objects[rows, self._own(objects, present)])
        return Seen.of(objects, present, goal, torch.cat(parts, -1) if parts else None)

    def know_rest(self, centres: np.ndarray, rest: np.ndarray) -> None:
        """Learn how often appearances rest under random actions; see `smorl.goals.own_body`."""
        self.centres, self.rest = (to_tensor(a, self.device) for a in (centres, rest))

    def know_reach(self, reach: np.ndarray) -> None:
        """Learn where (P,) the body touches, from its middle; see `smorl.planning.gentle`."""
        self.reach = to_tensor(reach, self.device) / self.scale[self.position]

    def _own(self, objects: Tensor, present: Tensor) -> Tensor:
        """Slot (B,) of the agent's hand.

        Of what rests less often than not it is the part farthest along `reach`, if that is known;
        otherwise it is the present object that rests least.
        """
        what = objects[..., self.what]
        cluster = torch.cdist(what, self.centres.expand(len(what), -1, -1)).argmin(-1)
        rest = self.rest[cluster].masked_fill(~present, math.inf)
        if not self.reach.any():
            return rest.argmin(1)
        along = (objects[..., self.position] @ self.reach).masked_fill(rest >= 0.5, -math.inf)
        return torch.where((rest < 0.5).any(1), along.argmax(1), rest.argmin(1))

    def _match(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Slot (B,) of the present object that looks most like the goal's."""
        offset = objects[..., self.what] - goal[:, None, self.what]
        return offset.square().sum(-1).masked_fill(~present, math.inf).argmin(1)

    def _offsets(
        self, objects: Tensor, present: Tensor, goal: Tensor, index: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Append to every object its offsets to the goal's place and to the goal's object.

        Contact is decided within centimetres, a small part of the table: tanh(4 x) spreads these.
        """
        place = objects[..., self.position]
        centre = place[torch.arange(len(place), device=place.device), index]
        towards = torch.cat([goal[:, self.position], centre], dim=-1)[:, None]
        offset = (towards - place.repeat(1, 1, 2)) * present.unsqueeze(-1)
        added = torch.cat([offset, torch.tanh(4 * offset)], dim=-1)
        return torch.cat([objects, added], dim=-1), F.pad(goal, (0, added.shape[-1]))


class Network(nn.Module):
    """Torso and MLP; `tail` extra inputs (the action) join before the MLP."""

    def __init__(
        self,
        config: NetworkConfig,
        inputs: Inputs,
        members: int,
        hidden: tuple[int, ...],
        tail: int,
        outputs: int,
        norm: bool,
    ) -> None:
        super().__init__()
        self.torso = build_torso(config.torso, inputs.features, members)
        self.mlp = EnsembleMLP(
            members,
            self.torso.size + inputs.extra + tail,
            hidden,
            outputs,
            activation=config.activation,
            norm=norm,
            hidden_bias=config.hidden_bias,
        )
        self.extra = inputs.extra

    def fold(self) -> Folded:
        """Fold the torso's linear end into the MLP's first layer, see `GoalAttention.fold`."""
        first, size, extra = self.mlp.first, self.torso.size, self.extra
        parts = first.weight.split([size, extra, first.weight.shape[1] - size - extra], dim=1)
        queries, weight, bias = self.torso.fold(parts[0])
        if extra:
            weight = torch.cat([weight, parts[1]], dim=1)
        return Folded(queries, weight, first.bias + bias)

    def encode(self, seen: Seen, folded: Folded | None = None) -> Tensor:
        """Return what state and goal add to the MLP's first layer, (C, B, H).

        `folded`, if it is known already, is `fold`.
        """
        folded = folded or self.fold()
        pooled = self.torso.pool(seen, folded.queries)  # pyright: ignore[reportArgumentType]
        return torch.bmm(pooled, folded.weight).add_(folded.bias)

    def forward(self, seen: Seen, folded: Folded | None = None) -> Tensor:
        return self.mlp(self.encode(seen, folded))


class Policy(nn.Module):
    """A tanh-squashed Gaussian policy."""

    LOG_STD_RANGE = (-20.0, 2.0)

    def __init__(self, config: NetworkConfig, inputs: Inputs, actions: int) -> None:
        super().__init__()
        self.net = Network(
            config, inputs, 1, config.policy_hidden, 0, 2 * actions, config.policy_norm
        )
        with torch.no_grad():
            self.net.mlp.head.bias.uniform_(-1e-3, 1e-3)  # Release: small biases at the end
        self.log_std_offset = math.log(math.atanh(config.initial_std))

    def forward(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Return mean and log standard deviation before the squashing, (B, A) each."""
        mean, log_std = self.net(seen)[0].chunk(2, dim=-1)
        return mean, (log_std + self.log_std_offset).clamp(*self.LOG_STD_RANGE)

    def sample(
        self, seen: Seen, noise: Tensor, folded: Folded | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return squashed actions (B, A) and their log density (B,); `noise` ~ N(0, 1)."""
        output = self.net(seen, folded)[0]
        return squashed_sample(output, noise, self.log_std_offset, self.LOG_STD_RANGE)


class TwinCritic(nn.Module):
    """Two critics with separate parameters, evaluated as one batched network."""

    def __init__(self, config: NetworkConfig, inputs: Inputs, actions: int) -> None:
        super().__init__()
        self.net = Network(config, inputs, 2, config.critic_hidden, actions, 1, config.critic_norm)

    def forward(self, seen: Seen, action: Tensor) -> Tensor:
        """Return Q of both critics, (2, B)."""
        return self.values(self.encode(seen), action)

    def encode(self, seen: Seen) -> Tensor:
        """Return what state and goal add to the first layer, (2, B, H): it serves all actions."""
        return self.net.encode(seen)

    def values(self, encoded: Tensor, action: Tensor, *, frozen: bool = False) -> Tensor:
        """Return Q (2, B) of actions (B, A) in encoded states.

        `frozen`: the gradient passes through the critics, not into them.
        """
        return self.net.mlp(encoded, action, frozen=frozen).squeeze(-1)
