"""How kernels are compiled: when first called, once per machine, into a cache of machine code.

Every kernel calls only what stands in its own file. Numba notices that a cached kernel is old by
the age of that file alone, so a helper changed elsewhere would not reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# Sums may be reordered, which lets loops use vector registers; the order is then fixed for good.
# Nothing is assumed about infinities and NaN: who diverges has to see it.
_REORDER = {"contract", "nsz", "reassoc"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of arrays; sums may be reordered."""
    return _compiled(function, _REORDER)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of arrays to what it says, operation by operation."""
    return _compiled(function, False)


def _compiled(function: Callable[..., Any], fastmath: Any) -> Callable[..., Any]:
    options = {"error_model": "numpy", "fastmath": fastmath}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to write the machine code to: compile in every process
        return njit(**options)(function)
