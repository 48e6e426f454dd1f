"""The recipe of the paper and the release in plain PyTorch: what our learner is measured against.

Five separate networks (policy, two critics, two targets), each with its own embedding and its own
`nn.MultiheadAttention`, one Adam optimiser per trained network. It computes the same losses and
the same steps as `smorl.learners.sac.Sac` (tested), only without folding or batching anything.
"""

import copy
import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.learners.networks import NetworkConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.types import Batch, ObjectLayout


class Attention(nn.Module):
    """Eq. 5: embed objects and goal alike, attend from the goal and from learned queries."""

    def __init__(self, networks: NetworkConfig, features: int) -> None:
        super().__init__()
        torso = networks.torso
        size = torso.embedding
        self.embed = nn.Linear(features, size)
        self.conditional = nn.MultiheadAttention(size, torso.heads, batch_first=True)
        self.free = nn.MultiheadAttention(size, torso.free_heads, batch_first=True)
        self.queries = nn.Parameter(torch.randn(torso.queries, size) * 0.02)
        self.size = size * (2 + torso.queries)

    def forward(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        keys, query, absent = self.embed(objects), self.embed(goal), ~present
        learned = self.queries.expand(len(goal), -1, -1)
        # Without asking for the weights the module takes its fastest path.
        options = {"key_padding_mask": absent, "need_weights": False}
        conditional, _ = self.conditional(query[:, None], keys, keys, **options)
        free, _ = self.free(learned, keys, keys, **options)
        return torch.cat([conditional[:, 0], free.flatten(1), query], dim=-1)


class Network(nn.Module):
    """Attention, then a ReLU network with linear heads; `tail` inputs (the action) join between."""

    def __init__(
        self,
        networks: NetworkConfig,
        features: int,
        hidden: tuple[int, ...],
        tail: int,
        heads: tuple[int, ...],
    ) -> None:
        super().__init__()
        self.torso = Attention(networks, features)
        sizes = (self.torso.size + tail, *hidden)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        # Release: mean and log standard deviation are separate layers.
        self.heads = nn.ModuleList(nn.Linear(sizes[-1], size) for size in heads)

    def forward(
        self, objects: Tensor, present: Tensor, goal: Tensor, *tail: Tensor
    ) -> tuple[Tensor, ...]:
        x = torch.cat([self.torso(objects, present, goal), *tail], dim=-1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return tuple(head(x) for head in self.heads)


class ReferenceSac:
    """One `update` is one step of temperature, policy and both critics, as the release does it."""

    def __init__(
        self, config: SacConfig, networks: NetworkConfig, layout: ObjectLayout, actions: int
    ) -> None:
        self.config, self.actions = config, actions
        self.log_std_offset = math.log(math.atanh(networks.initial_std))
        features, heads = layout.features, (actions, actions)
        self.policy = Network(networks, features, networks.policy_hidden, 0, heads)
        self.critics = [
            Network(networks, features, networks.critic_hidden, actions, (1,)) for _ in range(2)
        ]
        self.targets = [copy.deepcopy(critic).requires_grad_(False) for critic in self.critics]
        self.log_temperature = torch.zeros((), requires_grad=True)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=config.lr)
        self.critic_optimizers = [
            torch.optim.Adam(critic.parameters(), lr=config.lr) for critic in self.critics
        ]
        self.temperature_optimizer = torch.optim.Adam([self.log_temperature], lr=config.lr)

    def sample(self, state: tuple[Tensor, ...], noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return squashed Gaussian actions (B, A) and their log density (B,)."""
        mean, log_std = self.policy(*state)
        log_std = (log_std + self.log_std_offset).clamp(-20, 2)
        normal = torch.distributions.Normal(mean, log_std.exp(), validate_args=False)
        before = mean + log_std.exp() * noise
        action = torch.tanh(before)
        log_prob = normal.log_prob(before) - torch.log(1 - action**2 + 1e-6)
        return action, log_prob.sum(-1)

    def update(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        """One gradient step of everything; `noise` is (2, B, A) ~ N(0, 1)."""
        now = (batch.objects, batch.present, batch.goal)
        action, log_prob = self.sample(now, noise[0])
        gap = (log_prob + self.config.target_entropy_of(self.actions)).detach()
        _step(self.temperature_optimizer, -(self.log_temperature * gap).mean())
        alpha = self.log_temperature.detach().exp()

        for critic in self.critics:
            critic.requires_grad_(False)
        q = torch.min(*(critic(*now, action)[0].squeeze(-1) for critic in self.critics))
        policy_loss = (alpha * log_prob - q).mean()
        for critic in self.critics:
            critic.requires_grad_(True)

        target = self.critic_target(batch, alpha, noise[1])
        critic_losses = [
            F.mse_loss(critic(*now, batch.action)[0].squeeze(-1), target) for critic in self.critics
        ]
        _step(self.policy_optimizer, policy_loss)
        for optimizer, loss in zip(self.critic_optimizers, critic_losses, strict=True):
            _step(optimizer, loss)
        self._soft_update()
        return {
            "policy/loss": policy_loss.detach(),
            "critic/loss": torch.stack(critic_losses).detach().sum(),
            "temperature/value": alpha,
        }

    @torch.no_grad()
    def critic_target(self, batch: Batch, alpha: Tensor, noise: Tensor) -> Tensor:
        """r + discount (min target Q - alpha log pi) at the next state, (B,)."""
        following = (batch.next_objects, batch.next_present, batch.goal)
        action, log_prob = self.sample(following, noise)
        q = torch.min(*(target(*following, action)[0].squeeze(-1) for target in self.targets))
        value = q - alpha * log_prob
        return self.config.reward_scale * batch.reward + self.config.discount * value

    @torch.no_grad()
    def _soft_update(self) -> None:
        rate = self.config.target_rate
        for target, critic in zip(self.targets, self.critics, strict=True):
            for old, new in zip(target.parameters(), critic.parameters(), strict=True):
                old.copy_(old * (1 - rate) + new * rate)

    @torch.no_grad()
    def copy_weights(self, sac: Sac) -> None:
        """Take over the weights of our learner, so that both compute the same function."""
        _copy_network(self.policy, sac.policy.net, 0)
        for member in range(2):
            _copy_network(self.critics[member], sac.critic.net, member)
            _copy_network(self.targets[member], sac.target.net, member)
        self.log_temperature.copy_(sac.log_temperature)


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _copy_network(network: Network, source: nn.Module, member: int) -> None:
    """Copy one member of an ensemble; its layers keep weights as (members, inputs, outputs)."""
    ours = {name: value[member] for name, value in source.state_dict().items()}
    _copy_linear(network.torso.embed, ours, "torso.embed")
    network.torso.queries.copy_(ours["torso.queries"])
    for name in ("conditional", "free"):
        attention: nn.MultiheadAttention = getattr(network.torso, name)
        path = f"torso.{name}"
        parts = (f"{path}.query.weight", f"{path}.key", f"{path}.value.weight")
        attention.in_proj_weight.copy_(torch.cat([ours[part].T for part in parts]))
        query, value = ours[f"{path}.query.bias"], ours[f"{path}.value.bias"]
        # The folded attention has no key bias, because softmax cannot see one.
        bias = torch.cat([query, torch.zeros_like(query), value], dim=-1)
        attention.in_proj_bias.copy_(bias.view(-1))
        _copy_linear(attention.out_proj, ours, f"{path}.out")
    for index, layer in enumerate(network.layers):
        _copy_linear(layer, ours, f"mlp.layers.{index}")
    head = {
        key: ours[f"mlp.head.{key}"].chunk(len(network.heads), -1) for key in ("weight", "bias")
    }
    for index, layer in enumerate(network.heads):
        _copy_linear(layer, {f"head.{key}": parts[index] for key, parts in head.items()}, "head")


def _copy_linear(layer: nn.Module, source: dict[str, Tensor], name: str) -> None:
    assert isinstance(layer, nn.Linear)
    layer.weight.copy_(source[f"{name}.weight"].T)
    layer.bias.copy_(source[f"{name}.bias"].view(-1))
