"""Collectors in processes of their own on this machine: they play while the learner learns."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection

from smorl.config import to_json
from smorl.errors import SmorlError
from smorl.representations.base import Perception
from smorl.training.ahead import Order, RoundPlayer, rows_of
from smorl.training.settings import RunConfig
from smorl.types import Episode


class ProcessCollectors:
    """As many processes as the settings say; each plays its part of every round.

    They start anew instead of being copied (spawn), because a process with threads, as torch has
    them, cannot be copied safely. What passes between us is pickled by the standard library: both
    ends are ours, and nothing of it is ever a file.
    """

    def __init__(self, config: RunConfig, perception: Perception | None) -> None:
        context = multiprocessing.get_context("spawn")
        given = (to_json(config), rows_of(config), perception)
        self._ends, self._processes = [], []
        for part in range(config.collect.collectors):
            ours, theirs = context.Pipe()
            name = f"collector {part}"
            process = context.Process(target=_play, args=(theirs, *given), name=name, daemon=True)
            process.start()
            theirs.close()  # so that the death of the process is noticed at our end
            self._ends.append(ours)
            self._processes.append(process)

    def begin(self, orders: Sequence[Order]) -> None:
        for end, order in zip(self._ends, orders, strict=True):
            end.send(order)

    def finish(self) -> list[Episode]:
        return [self._part(index) for index in range(len(self._ends))]

    def _part(self, index: int) -> Episode:
        try:
            played = self._ends[index].recv()
        except (EOFError, ConnectionError):
            process = self._processes[index]
            process.join(timeout=5)
            raise SmorlError(
                f"{process.name} ended with exit code {process.exitcode}; the last checkpoint is "
                "whole, and the same command goes on from there."
            ) from None
        if isinstance(played, Exception):
            raise played
        return played

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for end, process in zip(self._ends, self._processes, strict=True):
            end.close()
            process.terminate()
            process.join(timeout=5)


def _play(end: Connection, config: dict, rows: int, perception: Perception | None) -> None:
    """Play orders until the other end is closed. An error is an answer too: it is raised there."""
    # Ctrl-C reaches every process of the terminal; the learner decides what it means, and waits
    # for the round in flight to save it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    player: RoundPlayer | None = None
    while True:
        try:
            order = end.recv()
        except (EOFError, ConnectionError):
            return
        try:
            player = player or RoundPlayer(config, rows, perception)
            end.send(player.play(order))
        except Exception as error:
            end.send(error)
