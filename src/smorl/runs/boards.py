"""Where numbers of a run can be watched besides its own files: TensorBoard, Weights & Biases.

Both are optional and only listen. Nothing is read back from them, and a run without them is the
same run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from smorl.errors import InvalidInput
from smorl.runs.folder import RunDir


@dataclass(frozen=True)
class Boards:
    """Which boards a run shows its numbers on; `wandb` names a project there."""

    tensorboard: bool = False
    wandb: str | None = None

    def open(self, run: RunDir) -> list[Board]:
        """Open those that are wanted; one that is not installed is an `InvalidInput`."""
        opened: list[Board] = [_TensorBoard(run)] if self.tensorboard else []
        return opened if self.wandb is None else [*opened, _WeightsAndBiases(run, self.wandb)]


NO_BOARDS = Boards()


class Board(Protocol):
    """Takes numbers by name, at a step."""

    def show(self, numbers: Mapping[str, float], step: int) -> None: ...

    def close(self) -> None: ...


class _TensorBoard:
    """Event files in the folder `tensorboard` of the run."""

    def __init__(self, run: RunDir) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InvalidInput(
                "TensorBoard is not installed; `pip install 'smorl[tensorboard]'`, or train "
                "without."
            ) from error
        self._writer = SummaryWriter(str(run.path / "tensorboard"))

    def show(self, numbers: Mapping[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _WeightsAndBiases:
    """A run of a project at Weights & Biases; its files lie in the folder `wandb` of the run.

    A resumed run goes on under the same id. `WANDB_MODE=offline` keeps everything here.
    """

    def __init__(self, run: RunDir, project: str) -> None:
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise InvalidInput(
                "Weights & Biases is not installed; `pip install 'smorl[wandb]'`, or train without."
            ) from error
        identity = json.dumps([run.config, run.versions.get("date")], sort_keys=True)
        try:
            self._run = wandb.init(
                project=project,
                name=run.path.name,
                id=hashlib.sha256(identity.encode()).hexdigest()[:16],
                resume="allow",
                dir=str(run.path),
                config=run.config,
            )
        except wandb.Error as error:
            raise InvalidInput(
                f"Weights & Biases refuses: {error} `wandb login` signs in, WANDB_MODE=offline "
                "keeps everything on this machine."
            ) from error
        # Steps are the environment's; their own counter refuses rows that a resume repeats.
        self._run.define_metric("*", step_metric="env_steps")

    def show(self, numbers: Mapping[str, float], step: int) -> None:
        self._run.log({**numbers, "env_steps": step})

    def close(self) -> None:
        self._run.finish()
