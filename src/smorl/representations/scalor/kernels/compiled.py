"""How kernels are compiled: once, when first called; the machine code is kept beside the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function as machine code for the types that it is called with."""
    return njit(cache=True)(function)
