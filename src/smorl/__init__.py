"""Self-supervised multi-object visual reinforcement learning (SMORL, ICLR 2021).

Importing the package registers its Gymnasium environments (`smorl envs` lists them). What it
offers is imported when it is used, so that environments alone need no torch:

    smorl.train("gt-rearrange-2", seed=0)          train, or resume
    smorl.load("shipped:visual-rearrange-1")       an agent: .evaluate(...), .actor()
    smorl.load_perception("shipped:scalor-2")      objects in pictures: .track(frames)
    smorl.train_perception("scalor-2", video=...)  the same for a person's own pictures

docs/library.md shows each of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smorl.envs.registration import register_all

if TYPE_CHECKING:
    from smorl.library import load, load_perception, train, train_perception
    from smorl.planning.actor import Actor
    from smorl.plugins import trust

__all__ = [
    "Actor", "load", "load_perception", "register_all", "train", "train_perception", "trust"
]  # fmt: skip
_HOMES = {"Actor": "smorl.planning.actor", "trust": "smorl.plugins"}

register_all()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'smorl' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "smorl.library")), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
