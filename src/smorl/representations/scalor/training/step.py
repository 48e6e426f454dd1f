"""One gradient step of perception on a batch of windows."""

from __future__ import annotations

import math

import torch

from smorl.devices import device_of, to_tensor
from smorl.representations.scalor.training.settings import (
    ScalorTrainingConfig,
    learning_rate,
    window_length,
)
from smorl.representations.scalor.training.state import PerceptionState, Window
from smorl.representations.video import Sequences, sample_batch


def train_step(
    config: ScalorTrainingConfig, state: PerceptionState, data: Sequences
) -> dict[str, float]:
    """Make one gradient step on a batch of windows; return the terms of the ELBO.

    When a term or the gradient is not finite, the parameters are left as they were.
    """
    settings, model = config.optimise, state.model
    images, actions = sample_batch(
        data,
        settings.batch,
        window_length(settings, state.iteration),
        state.batches,
        config.data.first_frames,
    )
    device = device_of(model)
    frames = to_tensor(images, device).permute(0, 1, 4, 2, 3).float().div_(255)
    moves = to_tensor(actions, device)
    schedule = model.schedule(state.iteration)
    # Release: rotated by 90, 180, 270 and 360 degrees, actions unrotated. The release adds up
    # running totals, so that the first rotation counts four times; here all count alike.
    turns = (1, 2, 3, 4) if settings.rotations else (0,)
    state.optimizer.zero_grad(set_to_none=True)
    window = Window()
    for turn in turns:
        terms = model.elbo(torch.rot90(frames, turn, (3, 4)), moves, schedule, state.noise)
        (terms["loss"] / len(turns)).backward()
        window.add({name: float(value.detach()) for name, value in terms.items()})
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    found = {**window.means(), "gradient": float(norm)}
    if all(map(math.isfinite, found.values())):
        for group in state.optimizer.param_groups:
            group["lr"] = learning_rate(settings, state.iteration)
        state.optimizer.step()
        state.frames += images.shape[0] * images.shape[1] * len(turns)
    return found
