"""How kernels are compiled: when first called, once per machine, into a cache of machine code.

A kernel calls only what stands in its own file: Numba tells by the age of that file alone whether
what it has kept is still right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of arrays for Python to call."""
    try:
        found: Any = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder to write the machine code to: compile in every process
        return njit(**_OPTIONS)(function)
    for name in ("load_overload", "save_overload"):
        setattr(found._cache, name, _or_none(getattr(found._cache, name)))
    return found


def part(function: Callable[..., Any]) -> Any:
    """Compile what only kernels of the same file call."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, **_OPTIONS}
    return njit(**options)(function)


def _or_none(function: Callable[..., Any]) -> Callable[..., Any]:
    """A cache on a full disk, or a damaged one, is as good as none: compile."""

    def tried(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception:
            return None

    return tried
