"""Three pieces of an update whose gradients are written out by hand, and a step of Adam.

At a batch of 256 the bookkeeping of automatic differentiation costs more than the arithmetic, and
nearly all of it is spent in these three. Each is one node of the graph instead of ten to thirty.
They are exact: `tests/learners/test_gradients.py` compares 20 updates with every option against
the same formulas differentiated automatically. Only networks have gradients here, data have none.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

_aten = torch.ops.aten


def relu_mlp(
    begun: Tensor,
    rest: Tensor | None,
    rest_weight: Tensor | None,
    weights: list[Tensor],
    biases: list[Tensor],
) -> Tensor:
    """ReLU layers and a linear head, (C, B, out), from the first layer's sum `begun` (C, B, H).

    `rest` (B, R), if any, are inputs that are still missing from that sum, for all members.
    `weights` (C, in, out) and `biases` (C, 1, out) are those of the layers after the first.
    """
    return _ReluMlp.apply(begun, rest, rest_weight, *weights, *biases)  # pyright: ignore


class _ReluMlp(Function):
    @staticmethod
    def forward(ctx: Any, begun: Tensor, rest: Tensor | None, rest_weight: Tensor, *layers: Tensor):
        count = len(layers) // 2
        weights, biases = layers[:count], layers[count:]
        if rest is None:
            x = torch.relu(begun)
        else:
            x = torch.baddbmm(begun, rest.expand(len(begun), -1, -1), rest_weight).relu_()
        inputs = [x]
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            x = torch.bmm(x, weight).add_(bias).relu_()
            inputs.append(x)
        ctx.save_for_backward(rest, rest_weight, *weights, *inputs)
        return _product(x, weights[-1]).add_(biases[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        rest, rest_weight, *saved = ctx.saved_tensors
        count = len(saved) // 2
        needs_begun, needs_rest, needs_rest_weight, *needs = ctx.needs_input_grad
        grads: list[Tensor | None] = [None] * (2 * count)
        for i in reversed(range(count)):
            weight, inputs = saved[i], saved[count + i]
            if needs[i]:
                grads[i] = _product(inputs.transpose(1, 2), grad)
                grads[count + i] = grad.sum(1, keepdim=True)
            single = weight.shape[2] == 1
            turned = weight.transpose(1, 2)
            grad = grad * turned if single else torch.bmm(grad, turned)
            grad = _aten.threshold_backward(grad, inputs, 0)
        to_rest = to_rest_weight = None
        if needs_rest:
            to_rest = torch.bmm(grad, rest_weight.transpose(1, 2)).sum(0)
        if needs_rest_weight:
            to_rest_weight = torch.bmm(rest.t().expand(len(grad), -1, -1), grad)
        return grad if needs_begun else None, to_rest, to_rest_weight, *grads


def _product(x: Tensor, y: Tensor) -> Tensor:
    """x @ y for (C, I, J) and (C, J, K); `bmm` is four times slower where K is 1."""
    if y.shape[2] > 1:
        return torch.bmm(x, y)
    return (x * y.transpose(1, 2)).sum(2, keepdim=True)


def attend(
    queries: Tensor, objects: Tensor, mask: Tensor, goal: Tensor, tail: Tensor, members: int
) -> Tensor:
    """Pool objects (B, N, F) by softmax attention: [weighted sums of features; tail], (C, B, .).

    `queries` (F + 1, C R F) show R queries of each of the C members in the space of features, as
    linear functions of the goal (B, F): one row per feature of the goal and a constant one.
    `mask` (B, N, 1) is added to the scores; `tail` (B, T) is appended for every member.
    """
    return _Attend.apply(queries, objects, mask, goal, tail, members)  # pyright: ignore


def attention_weights(queries: Tensor, objects: Tensor, mask: Tensor, goal: Tensor) -> Tensor:
    """Softmax over the objects of every query's scores, (B, N, C R)."""
    seen = torch.addmm(queries[-1], goal, queries[:-1]).view(len(goal), -1, objects.shape[2])
    return torch.bmm(objects, seen.transpose(1, 2)).add_(mask).softmax(1)


class _Attend(Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        objects: Tensor,
        mask: Tensor,
        goal: Tensor,
        tail: Tensor,
        members: int,
    ) -> Tensor:
        weights = attention_weights(queries, objects, mask, goal)
        pooled = torch.bmm(weights.transpose(1, 2), objects)  # B CR F
        batch, width = len(goal), pooled.shape[1] * pooled.shape[2] // members
        result = objects.new_empty(members, batch, width + tail.shape[1])
        result[:, :, :width] = pooled.view(batch, members, width).transpose(0, 1)
        result[:, :, width:] = tail
        ctx.save_for_backward(objects, goal, weights)
        ctx.width = width
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        objects, goal, weights = ctx.saved_tensors
        shape = (len(goal), weights.shape[2], objects.shape[2])
        pooled = grad[:, :, : ctx.width].transpose(0, 1).reshape(shape)
        to_weights = torch.bmm(objects, pooled.transpose(1, 2))
        scores = _aten._softmax_backward_data(to_weights, weights, 1, weights.dtype)
        seen = torch.bmm(scores.transpose(1, 2), objects).flatten(1)
        to_queries = torch.cat([goal.t() @ seen, seen.sum(0, keepdim=True)])
        return to_queries, None, None, None, None, None


def squashed_sample(
    output: Tensor, noise: Tensor, offset: float, log_std_range: tuple[float, float]
) -> tuple[Tensor, Tensor]:
    """Actions tanh(mean + std noise) (B, A) and their log density (B,).

    `output` (B, 2 A) are mean and log standard deviation; `offset` is added to the latter, which
    then stays in `log_std_range`.
    """
    return _SquashedSample.apply(output, noise, offset, log_std_range)  # pyright: ignore


def squashed_log_prob(action: Tensor, log_std: Tensor, noise: Tensor) -> Tensor:
    """Log density of tanh(mean + std * noise); Release: 1e-6 inside the log of the Jacobian."""
    normal = -0.5 * (noise.square() + math.log(2 * math.pi)) - log_std
    return (normal - torch.log(1 - action.square() + 1e-6)).sum(-1)


class _SquashedSample(Function):
    @staticmethod
    def forward(
        ctx: Any, output: Tensor, noise: Tensor, offset: float, log_std_range: tuple[float, float]
    ):
        mean, raw = output.chunk(2, dim=-1)
        shifted = raw + offset
        log_std = shifted.clamp(*log_std_range)
        step = log_std.exp().mul_(noise)
        action = torch.tanh(mean + step)
        ctx.save_for_backward(action, step, log_std == shifted)
        return action, squashed_log_prob(action, log_std, noise)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, to_action: Tensor, to_log_prob: Tensor
    ):
        action, step, free = ctx.saved_tensors
        to_log_prob = to_log_prob.unsqueeze(-1)
        slope = 1 - action.square()
        # The density's part by way of the action, then both through the tanh.
        to_sum = (to_action + to_log_prob * (2 * action / (slope + 1e-6))).mul_(slope)
        to_log_std = (to_sum * step - to_log_prob).mul_(free)
        return torch.cat([to_sum, to_log_std], dim=-1), None, None, None


def adam_step(optimizer: torch.optim.Optimizer) -> None:
    """`optimizer.step()`, bit for bit, without its bookkeeping: that costs more than the step."""
    (group,) = optimizer.param_groups
    parameters = [p for p in group["params"] if p.grad is not None]
    states = [optimizer.state[p] for p in parameters]
    if not all(states):  # the first time the optimiser makes its state
        optimizer.step()
        return
    steps, first, second = ([s[k] for s in states] for k in ("step", "exp_avg", "exp_avg_sq"))
    with torch.no_grad():
        torch._foreach_add_(steps, 1)  # pyright: ignore[reportPrivateImportUsage]
        torch._fused_adam_(  # pyright: ignore[reportPrivateImportUsage]
            parameters,
            [p.grad for p in parameters],
            first,
            second,
            [],
            steps,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )
