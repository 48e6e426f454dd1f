"""A learner of one's own: TD3 (Fujimoto et al. 2018) in the place of SAC, in one file.

    smorl train gt-rearrange-1 --learner.kind examples/own_learner.py:Td3Config --out runs/td3

The networks over sets of objects are smorl's; only what is done with them is new.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from smorl.learners.base import LearnerConfig
from smorl.learners.networks import Inputs, Policy, TwinCritic
from smorl.types import Batch


@dataclass(frozen=True)
class Td3Config(LearnerConfig):
    """TD3's settings; `kind` names this class in this file."""

    target_rate: float = 0.05
    policy_every: int = 2
    exploration: float = 0.3  # standard deviation of the noise on actions while exploring
    smoothing: float = 0.2  # of the noise on the target's actions
    largest_noise: float = 0.5
    reward_scale: float = 1.0

    def build(self, networks, layout, actions, *, seed, centre, spread, device) -> Td3:
        """Return the learner at its start."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = Inputs(networks, layout, centre, spread, device)
            policy, critic = (kind(networks, inputs, actions) for kind in (Policy, TwinCritic))
        return Td3(self, inputs, policy.to(device), critic.to(device))


class Td3:
    """A deterministic policy, twin critics, and targets of both (smorl.learners.base.Learner)."""

    def __init__(
        self, config: Td3Config, inputs: Inputs, policy: Policy, critic: TwinCritic
    ) -> None:
        self.config, self.inputs, self.policy, self.critic = config, inputs, policy, critic
        self.targets = copy.deepcopy((policy, critic))
        self.optimizers: dict[str, torch.optim.Optimizer] = {
            "policy": torch.optim.Adam(policy.parameters(), lr=config.lr),
            "critic": torch.optim.Adam(critic.parameters(), lr=config.lr),
        }
        self.updates = 0

    @torch.no_grad()
    def act(
        self, objects: Tensor, present: Tensor, goal: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        action = torch.tanh(self.policy(self.inputs(objects, present, goal))[0])
        extra = 0.0 if noise is None else self.config.exploration * noise
        return (action + extra).clamp(-1, 1)

    @torch.no_grad()
    def value(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        seen = self.inputs(objects, present, goal)
        return self.critic(seen, torch.tanh(self.policy(seen)[0])).min(0).values

    def update(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        now = self.inputs(batch.objects, batch.present, batch.goal)
        q = self.critic(now, batch.action)
        loss = (q - self._target(batch, noise[0])).square().mean(1).sum()
        self._descend("critic", loss)
        info = {"critic/loss": loss.detach(), "critic/q": q.detach().mean()}
        if self.updates % self.config.policy_every == 0:
            policy_loss = -self.critic(now, torch.tanh(self.policy(now)[0]))[0].mean()
            self._descend("policy", policy_loss)
            info["policy/loss"] = policy_loss.detach()
            self._follow()
        self.updates += 1
        return info

    def tensors(self) -> dict[str, Tensor]:
        named = {
            "policy": self.policy,
            "critic": self.critic,
            "target/policy": self.targets[0],
            "target/critic": self.targets[1],
        }
        return {f"{n}/{k}": v for n, m in named.items() for k, v in m.state_dict().items()}

    def set_progress(self, share: float) -> None:
        """The learning rate stays as it is."""

    @torch.no_grad()
    def _target(self, batch: Batch, noise: Tensor) -> Tensor:
        policy, critic = self.targets
        following = self.inputs(batch.next_objects, batch.next_present, batch.goal)
        largest = self.config.largest_noise
        smooth = (self.config.smoothing * noise).clamp(-largest, largest)
        action = (torch.tanh(policy(following)[0]) + smooth).clamp(-1, 1)
        q = critic(following, action).min(0).values
        return self.config.reward_scale * batch.reward + self.config.discount * q

    def _descend(self, name: str, loss: Tensor) -> None:
        # The policy's loss goes through the critics; what it leaves there is thrown away.
        for optimizer in self.optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizers[name].step()

    @torch.no_grad()
    def _follow(self) -> None:
        for target, source in zip(self.targets, (self.policy, self.critic), strict=True):
            for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
                slow.lerp_(fast, self.config.target_rate)
