"""SAC's update in machine code: the same numbers as `Sac.update_in_torch`, without its overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from smorl.learners.compiled.memory import Block
from smorl.learners.networks import NetworkConfig
from smorl.types import Batch

if TYPE_CHECKING:
    from smorl.learners.sac import Sac

# DeepSets are the paper's ablation, which hardly anybody trains: torch updates them.
TORSOS = ("attention", "flat")


def knows(networks: NetworkConfig, device: torch.device) -> bool:
    """Are there kernels for these networks there? If not, torch makes the updates."""
    return networks.torso.kind in TORSOS and device.type == "cpu"


def lay_out(sac: Sac) -> None:
    """Give a new learner's parameters the places in memory that its updates want.

    Done at once, so that whoever holds a tensor of the learner sees it learn.
    """
    parts = (sac.policy.parameters(), sac.critic.parameters(), sac.target.parameters())
    for tensors in (*map(list, parts), [sac.log_temperature]):
        Block(tensors).adopt(tensors)


def update(sac: Sac, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
    """See `Sac.update`."""
    # Imported here, because whoever only acts needs no compiler.
    from smorl.learners.compiled.engine import Engine

    size = len(batch.reward)
    if sac.engine is None or not sac.engine.fits(size):
        sac.engine = Engine(sac, size)
    return sac.engine.update(batch, noise)
