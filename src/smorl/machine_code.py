"""How kernels are compiled: when first called, once per machine, into a cache of machine code.

Every kernel calls only what stands in its own file. Numba notices that a cached kernel is old by
the age of that file alone, so a part changed elsewhere would not reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from threadpoolctl import threadpool_limits

# Sums may be reordered, which lets loops use vector registers; the order is then fixed for good.
# Nothing is assumed about infinities and NaN: who diverges has to see it.
_REORDER = {"contract", "nsz", "reassoc"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of arrays for Python to call; sums may be reordered."""
    return _cached(function, _REORDER)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of arrays to what it says, operation by operation."""
    return _cached(function, False)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile what only kernels of the same file call; sums may be reordered."""
    return _njit(function, _REORDER, no_cpython_wrapper=True)


def exact_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile what only kernels of the same file call to what it says."""
    return _njit(function, False, no_cpython_wrapper=True)


class BlasThreads:
    """Products of matrices in kernels are BLAS's, whose threads are its own: so many, not more."""

    def __init__(self) -> None:
        self._threads = 0

    def limit(self, threads: int) -> None:
        """Let BLAS have so many threads from now on; asking again costs nothing."""
        if threads != self._threads:
            threadpool_limits(threads, user_api="blas")
            self._threads = threads


def _cached(function: Callable[..., Any], fastmath: Any) -> Callable[..., Any]:
    try:
        compiled = _njit(function, fastmath, cache=True)
    except RuntimeError:  # no folder to write the machine code to: compile in every process
        return _njit(function, fastmath)
    cache: Any = getattr(compiled, "_cache", None)
    for name in ("load_overload", "save_overload"):
        if hasattr(cache, name):
            setattr(cache, name, _or_none(getattr(cache, name)))
    return compiled


def _or_none(function: Callable[..., Any]) -> Callable[..., Any]:
    """A cache on a full disk, or a damaged one, is as good as none: compile."""

    def tried(*args: Any) -> Any:
        try:
            return function(*args)
        except Exception:
            return None

    return tried


def _njit(function: Callable[..., Any], fastmath: Any, **options: Any) -> Callable[..., Any]:
    options |= {"error_model": "numpy", "fastmath": fastmath, "no_cfunc_wrapper": True}
    return njit(**options)(function)
