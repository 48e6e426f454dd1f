"""Soft actor-critic over sets of objects: one class, one page for the update."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from smorl.devices import CPU
from smorl.learners import compiled
from smorl.learners.base import LearnerConfig
from smorl.learners.gradients import adam_step
from smorl.learners.networks import Folded, Inputs, NetworkConfig, Policy, TwinCritic
from smorl.learners.seen import Seen
from smorl.ranges import within
from smorl.types import Batch, ObjectLayout

if TYPE_CHECKING:
    from smorl.learners.compiled.engine import Engine


@dataclass(frozen=True)
class SacConfig(LearnerConfig):
    """The learner. Defaults follow the paper's table where it says anything."""

    kind: Literal["sac"] = "sac"  # pyright: ignore[reportIncompatibleVariableOverride]
    target_rate: float = 0.05  # soft update of the target critics, every update
    # What the temperature drives the policy's entropy to; None: minus the length of an action.
    target_entropy: float | None = None
    initial_temperature: float = 1.0  # the weight of entropy at the start
    reward_scale: float = 1.0  # factor on the reward
    policy_every: int = 1  # critic updates per policy update
    # How much of the critics' disagreement is held against an action: 1 is the smaller of the two
    # (Paper), 0 their mean, which is ours (docs/learner.md).
    pessimism: float = 1.0
    lr_end: float = 1.0  # ours: share of `lr` left at the end of the run, reached linearly
    # Who does the arithmetic of an update: the same numbers up to rounding (docs/learner.md).
    engine: Literal["compiled", "torch"] = "compiled"

    def __post_init__(self) -> None:
        super().__post_init__()
        within(self, {
            "target_rate": (0, 1), "target_entropy": (-1000, 1000),
            "initial_temperature": (1e-6, 1e6), "reward_scale": (1e-6, 1e6),
            "policy_every": (1, 1_000_000), "pessimism": (0, 1), "lr_end": (0, 1),
        })  # fmt: skip

    def target_entropy_of(self, actions: int) -> float:
        """Return the target entropy of a policy of that many actions."""
        return -float(actions) if self.target_entropy is None else self.target_entropy

    def build(
        self,
        networks: NetworkConfig,
        layout: ObjectLayout,
        actions: int,
        *,
        seed: int,
        centre: tuple[float, ...],
        spread: tuple[float, ...],
        device: torch.device = CPU,
    ) -> Sac:
        """Return the learner at its start."""
        where = {"centre": centre, "spread": spread, "device": device}
        return Sac(self, networks, layout, actions, seed=seed, **where)


class Sac:
    """Policy, twin critics, targets, temperature, and their optimisers."""

    def __init__(
        self,
        config: SacConfig,
        networks: NetworkConfig,
        layout: ObjectLayout,
        actions: int,
        *,
        seed: int,
        centre: tuple[float, ...] = (0.0, 0.0),
        spread: tuple[float, ...] = (1.0, 1.0),
        device: torch.device = CPU,
    ) -> None:
        """`seed` initialises the networks; `centre` and `spread` describe usual positions."""
        self.config, self.layout, self.actions = config, layout, actions
        self.target_entropy = config.target_entropy_of(actions)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.inputs = Inputs(networks, layout, centre, spread, device)
            self.policy = Policy(networks, self.inputs, actions).to(device)
            self.critic = TwinCritic(networks, self.inputs, actions).to(device)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        initial = torch.tensor(math.log(config.initial_temperature))
        self.log_temperature = initial.to(device).requires_grad_()
        adam = {"lr": config.lr, "fused": True}
        self._learned = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimizers: dict[str, torch.optim.Optimizer] = {
            "networks": torch.optim.Adam(self._learned, **adam),
            "temperature": torch.optim.Adam([self.log_temperature], **adam),
        }
        self._followed = list(self.target.parameters()), list(self.critic.parameters())
        self.updates = 0
        self.engine: Engine | None = None  # made by the first compiled update
        self.is_compiled = config.engine == "compiled" and compiled.knows(networks, device)
        if self.is_compiled:
            compiled.lay_out(self)
        self._candidates = candidate_offsets(actions).to(device)

    def combine_critics(self, q: Tensor) -> Tensor:
        """Make one value (B,) of those of the twin critics (2, B)."""
        if self.config.pessimism == 1.0:
            return q.min(0).values
        return q.mean(0) - self.config.pessimism * 0.5 * (q[0] - q[1]).abs()

    def tensors(self) -> dict[str, Tensor]:
        """Return everything learned, by the names of a checkpoint."""
        modules = {"policy": self.policy, "critic": self.critic, "target": self.target}
        found = {f"{n}/{k}": v for n, m in modules.items() for k, v in m.state_dict().items()}
        return {**found, "temperature/log": self.log_temperature}

    @property
    def temperature(self) -> float:
        """The entropy weight alpha."""
        return self.log_temperature.exp().item()

    def set_progress(self, share: float) -> None:
        """Set the learning rate for the `share` (0 to 1) of the run that is behind us."""
        lr = self.config.lr * (1 + (self.config.lr_end - 1) * min(share, 1.0))
        for group in self.optimizers["networks"].param_groups:
            group["lr"] = lr

    @torch.no_grad()
    def act(
        self, objects: Tensor, present: Tensor, goal: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Return actions (B, A): stochastic with `noise` ~ N(0, 1), the mode without."""
        mean, log_std = self.policy(self.inputs(objects, present, goal))
        return torch.tanh(mean if noise is None else mean + log_std.exp() * noise)

    @torch.no_grad()
    def act_best(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return the action (B, A) the critics like best among the mode and some around it.

        A Gaussian policy can rest at a spot where waiting looks nearly as good as acting; the
        critics know better, but only about actions like those they have seen: the candidates lie
        about one standard deviation from the mode. They are fixed, so the choice is deterministic.
        """
        seen = self.inputs(objects, present, goal)
        mean, log_std = self.policy(seen)
        actions = torch.tanh(mean + self._candidates[:, None] * log_std.exp())
        encoded = self.critic.encode(seen)
        q = torch.stack(
            [self.combine_critics(self.critic.values(encoded, action)) for action in actions]
        )
        return actions[q.argmax(0), torch.arange(len(mean), device=mean.device)]

    @torch.no_grad()
    def value(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return Q at the policy's mode, (B,): how well the goal can be reached from here."""
        seen = self.inputs(objects, present, goal)
        mode = torch.tanh(self.policy(seen)[0])
        return self.combine_critics(self.critic(seen, mode))

    def update(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        """One gradient step of temperature, policy and critics; `noise` is (2, B, A) ~ N(0, 1).

        Release: the temperature steps first and its new value enters both other losses; policy
        and critics step after both losses are known.
        """
        update = compiled.update if self.is_compiled else Sac.update_in_torch
        return update(self, batch, noise)

    def update_in_torch(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        """`update`, operation by operation: what the compiled one is tested against."""
        now, following = self.look(batch)
        encoded = self.critic.encode(now)
        info: dict[str, Tensor] = {}
        losses: list[Tensor] = []
        due = self.updates % self.config.policy_every == 0
        with torch.set_grad_enabled(due):
            folded = self.policy.net.fold()
        if due:
            action, log_prob = self.policy.sample(now, noise[0], folded)
            self.step_temperature(log_prob)
            losses.append(self.policy_loss(encoded, action, log_prob))
            info["policy/loss"] = losses[0].detach()
            info["policy/entropy"] = -log_prob.detach().mean()
            info["temperature/value"] = self.log_temperature.detach().exp()
        target = self.critic_target(following, batch.reward, noise[1], folded)
        q = self.critic.values(encoded, batch.action)
        error = q.detach() - target
        info |= {"critic/loss": error.square().sum() / len(target), "critic/q": q.detach().mean()}
        for parameter in self._learned:
            parameter.grad = None
        # One backward pass serves both losses, which share no parameters. The critics' is a mean
        # of squares, so its gradient is known.
        torch.autograd.backward([q, *losses], [error * (2 / len(target)), *[None] * len(losses)])
        adam_step(self.optimizers["networks"])
        with torch.no_grad():
            torch._foreach_lerp_(  # pyright: ignore
                *self._followed, self.config.target_rate
            )
        self.updates += 1
        return info

    def look(self, batch: Batch) -> tuple[Seen, Seen]:
        """What the networks see of the batch, now and next."""
        size = len(batch.reward)
        both = self.inputs(
            torch.cat([batch.objects, batch.next_objects]),
            torch.cat([batch.present, batch.next_present]),
            batch.goal.repeat(2, 1),
        )
        return both.rows(slice(size)), both.rows(slice(size, None))

    @torch.no_grad()
    def critic_target(
        self, following: Seen, reward: Tensor, noise: Tensor, folded: Folded | None = None
    ) -> Tensor:
        """r + discount (target Q(z', z_g, a') - alpha log pi(a')); episodes never end.

        `folded`, if it is known already, is the policy's.
        """
        action, log_prob = self.policy.sample(following, noise, folded)
        q = (
            self.combine_critics(self.target(following, action))
            - self.log_temperature.exp() * log_prob
        )
        return self.config.reward_scale * reward + self.config.discount * q

    def step_temperature(self, log_prob: Tensor) -> None:
        """Descend -log alpha (log pi + target entropy): alpha falls while pi is random enough."""
        gap = log_prob.detach().mean() + self.target_entropy
        self.log_temperature.grad = -gap  # the loss is linear, so this is its gradient
        adam_step(self.optimizers["temperature"])

    def policy_loss(self, encoded: Tensor, action: Tensor, log_prob: Tensor) -> Tensor:
        """alpha log pi - Q; the gradient passes through the critics, not into them."""
        q = self.combine_critics(self.critic.values(encoded.detach(), action, frozen=True))
        return (self.log_temperature.detach().exp() * log_prob - q).mean()


def candidate_offsets(actions: int) -> Tensor:
    """Return offsets from the mode in standard deviations, (16, A); the first is the mode."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(16, actions, generator=generator) * torch.linspace(0, 1, 16)[:, None]
