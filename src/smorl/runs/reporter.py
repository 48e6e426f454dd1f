"""Who is told how a run goes."""

from typing import Protocol


class Reporter(Protocol):
    """Who is told how it goes: the terminal's progress bar, or nobody."""

    def update(self, env_steps: int, updates: int, distance: float | None) -> None:
        """Called after every round."""
        ...

    def stage(self, name: str, done: int, total: int) -> None:
        """Called instead while the run does something else first, `done` of `total` batches."""
        ...

    def note(self, text: str) -> None:
        """Called with things worth a line of their own."""
        ...
