"""The compiled update of SAC, step by step; `Sac.update_in_torch` is the same in torch.

Rows 0 to B of a network that sees both are what follows, rows B to 2 B what is now. Of the critics
rows 0 to B are the batch's actions and rows B to 2 B the policy's, both of what is now.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from smorl.learners.compiled.losses import (
    critic_loss,
    mean_of,
    policy_loss,
    sample,
    sample_back,
    targets,
)
from smorl.learners.compiled.memory import Arrays, Block, Learned
from smorl.learners.compiled.network import CompiledNetwork
from smorl.learners.compiled.seen import Sides
from smorl.learners.compiled.steps import adam, follow
from smorl.machine_code import BlasThreads
from smorl.types import Batch

if TYPE_CHECKING:
    from smorl.learners.sac import Sac


class Engine:
    """The memory of a learner and the kernels that update it, for batches of one size."""

    def __init__(self, sac: Sac, batch: int) -> None:
        self._sac, self.batch = sac, batch
        networks, temperature = sac.optimizers["networks"], sac.optimizers["temperature"]
        self._policy = Learned([*sac.policy.parameters()], networks)
        self._critic = Learned([*sac.critic.parameters()], networks)
        self._temperature = Learned([sac.log_temperature], temperature)
        followers = [*sac.target.parameters()]
        self._target = Block(followers).adopt(followers).numpy()
        self._landmarks = [sac.log_temperature] + [
            next(network.parameters()) for network in (sac.policy, sac.critic, sac.target)
        ]
        self._where = self._addresses()
        dtype = self._policy.values.dtype
        self._sides = Sides(sac.inputs, batch, sac.layout.slots, Arrays(dtype))
        arrays, side = Arrays(dtype), self._sides.now
        parts = sac.inputs, _numbers, side
        self.policy = CompiledNetwork(sac.policy.net, *parts, Arrays(dtype))
        self.critic = CompiledNetwork(sac.critic.net, *parts, arrays)
        arrays.again()  # the critics begin when their targets are done
        self.target = CompiledNetwork(sac.target.net, *parts, arrays)
        for network in (self.policy, self.critic):
            network.learn(_gradient)
        rows = 2 * batch
        self._action, self._step = (np.zeros((rows, sac.actions), dtype) for _ in range(2))
        self._log_prob, self._wanted = np.zeros(rows, dtype), np.zeros(batch, dtype)
        self._to_action = np.zeros((batch, sac.actions), dtype)
        self._squash = sac.policy.log_std_offset, *sac.policy.LOG_STD_RANGE
        self._threads = BlasThreads()

    def fits(self, batch: int) -> bool:
        """Is this for batches of that size, and does the learner still lie in its memory?

        It does not in a copy of a learner.
        """
        for part in (self._policy, self._critic, self._temperature):
            part.take_in_state()
        return batch == self.batch and self._addresses() == self._where

    def _addresses(self) -> list[int]:
        return [tensor.data_ptr() for tensor in self._landmarks]

    def update(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        """See `Sac.update`."""
        self._threads.limit(torch.get_num_threads())
        sac, size = self._sac, self.batch
        config, due = sac.config, sac.updates % sac.config.policy_every == 0
        array = self._array
        action, reward = array(batch.action), array(batch.reward)
        self._sides.look(
            (array(batch.next_objects), array(batch.next_present)),
            (array(batch.objects), array(batch.present)),
            array(batch.goal),
        )
        report: dict[str, float] = {}
        self._act(array(noise), due)
        if due:
            report["policy/entropy"] = -mean_of(self._log_prob, size)
            self._step_temperature(-report["policy/entropy"])
        temperature = math.exp(self._temperature.values[0])
        self.target.fold()
        self.target.encode(self._sides.following)
        self.target.join(self._action[:size], 0)
        self.target.go_on(size)
        targets(
            self.target.output, reward, self._log_prob, temperature, config.reward_scale,
            config.discount, config.pessimism, self._wanted,
        )  # fmt: skip
        rows = 2 * size if due else size
        self.critic.fold()
        self.critic.encode(self._sides.now)
        self.critic.join(action, 0)
        if due:
            self.critic.join(self._action[size:], size)
        self.critic.go_on(rows)
        q, to_q = self.critic.output, self.critic.to_output
        if due:
            report["policy/loss"] = policy_loss(
                q, self._log_prob, temperature, config.pessimism, to_q, size
            )
            report["temperature/value"] = temperature
        report["critic/loss"], report["critic/q"] = critic_loss(q, self._wanted, to_q)
        self.critic.back(0, rows, size)
        self.critic.back_to_torso(self._sides.now, 0)
        self.critic.back_to_joining(action)
        if due:
            self._learn_policy(temperature)
        self._descend(self._critic)
        follow(self._target, self._critic.values, config.target_rate)
        sac.updates += 1
        values = torch.from_numpy(np.array([*report.values()], self._action.dtype))
        return dict(zip(report, values.unbind(), strict=True))

    def _act(self, noise: np.ndarray, due: bool) -> None:
        """Draw the policy's actions for what follows, and for what is now if they are needed."""
        size = self.batch
        self.policy.fold()
        sides = [self._sides.following, self._sides.now]
        self.policy.forward(sides if due else sides[:1])
        kept = self._action, self._log_prob, self._step
        sample(self.policy.output[0], noise[1], *self._squash, *kept, 0)
        if due:
            sample(self.policy.output[0], noise[0], *self._squash, *kept, size)

    def _step_temperature(self, log_prob: float) -> None:
        self._temperature.grads[0] = -(log_prob + self._sac.target_entropy)
        self._descend(self._temperature)

    def _learn_policy(self, temperature: float) -> None:
        """Gradients of the policy by way of the critics and of the entropy, and its step."""
        size = self.batch
        self.critic.back_to_joined(self._to_action, size)
        sample_back(
            self._to_action, temperature / size, self.policy.output[0], self._action, self._step,
            *self._squash, self.policy.to_output[0], size,
        )  # fmt: skip
        self.policy.back(size, 2 * size, 2 * size)
        self.policy.back_to_torso(self._sides.now, size)
        self._descend(self._policy)

    def _descend(self, learned: Learned) -> None:
        (group,) = learned.optimizer.param_groups
        adam(
            learned.values, learned.grads, learned.first, learned.second, learned.steps,
            learned.block.begins, learned.block.ends, group["lr"], *group["betas"], group["eps"],
        )  # fmt: skip

    def _array(self, tensor: Tensor) -> np.ndarray:
        array = tensor.numpy()
        dtype = np.bool_ if array.dtype == np.bool_ else self._action.dtype
        return np.ascontiguousarray(array, dtype)


def _numbers(parameter: Tensor) -> np.ndarray:
    return parameter.detach().numpy()


def _gradient(parameter: Tensor) -> np.ndarray:
    assert parameter.grad is not None
    return parameter.grad.numpy()
