"""Checks of what users pass to an environment; each error names the value and the remedy."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from smorl.envs.tabletop.scene import PUCK_RADIUS
from smorl.envs.tabletop.simulation import HAND_HIGH, HAND_LOW
from smorl.errors import InvalidInput, did_you_mean

RESET_OPTIONS = ("objects", "goal_objects", "goal_hand")

# Puck centres between the walls; the walls' inner faces are one puck radius further out.
TABLE_LOW, TABLE_HIGH = np.array((-0.205, 0.395)), np.array((0.205, 0.715))
# Half the width of a finger plus a puck radius: nearer, the puck would start inside the gripper.
_HAND_CONTACT = PUCK_RADIUS + 0.01


def check_actions(actions: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `actions` as float64 clipped to [-1, 1], or raise if shape or values are wrong."""
    array = _as_array(actions, "action")
    if array.shape != shape:
        raise InvalidInput(
            f"The action has shape {array.shape}; pass shape {shape}, "
            "the wanted hand motion (x, y) in [-1, 1] for each table."
        )
    if not np.isfinite(array).all():
        raise InvalidInput(f"The action {array.tolist()} is not finite; pass numbers in [-1, 1].")
    return np.clip(array, -1.0, 1.0)


def check_options(options: Mapping[str, Any] | None, extra: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the reset options as a dict without unknown names; None values count as absent."""
    known = (*RESET_OPTIONS, *extra)
    if not isinstance(options, Mapping | None):
        raise InvalidInput(f"options={options!r:.80}; pass a dict of {', '.join(known)}, or None.")
    for name in options or {}:
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise InvalidInput(f"Unknown reset option {name!r}; use {', '.join(known)}.{hint}")
    return {name: value for name, value in (options or {}).items() if value is not None}


def refuse_unknown(unknown: Mapping[str, Any], owner: type) -> None:
    """Raise for keyword arguments that `owner`'s constructor does not name."""
    for name in unknown:
        known = [k for k in inspect.signature(owner).parameters if k not in ("num", "unknown")]
        raise InvalidInput(
            f"unknown setting {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}."
        )


def check_objects(value: Any, name: str, rows: int, n: int, hand: np.ndarray | None) -> np.ndarray:
    """Return puck positions as (rows, n, 2), given as (n, 2) or (rows, n, 2) metres.

    With `hand` (2,), pucks may not touch the gripper standing there.
    """
    positions = _per_row(value, name, rows, (n, 2))
    outside = ((positions < TABLE_LOW) | (positions > TABLE_HIGH)).any(axis=-1)
    if outside.any():
        raise InvalidInput(
            f"{name} places a puck at {positions[outside][0].tolist()}, outside the table; puck "
            f"centres must lie between {TABLE_LOW.tolist()} and {TABLE_HIGH.tolist()} metres."
        )
    for i in range(n):
        for j in range(i):
            gap = np.linalg.norm(positions[:, i] - positions[:, j], axis=-1).min()
            if gap < 2 * PUCK_RADIUS:
                raise InvalidInput(
                    f"{name} places pucks {j} and {i} {gap:.3f} m apart, so they overlap; "
                    f"keep centres at least {2 * PUCK_RADIUS} m apart."
                )
    if hand is not None:
        gap = np.linalg.norm(positions - hand, axis=-1).min()
        if gap < _HAND_CONTACT:
            raise InvalidInput(
                f"{name} places a puck {gap:.3f} m from the hand at {np.round(hand, 3).tolist()}, "
                f"inside the gripper; keep at least {_HAND_CONTACT} m."
            )
    return positions


def check_place(value: Any, name: str) -> np.ndarray:
    """Return one place (2,) between the walls, in metres."""
    return check_objects(np.reshape(_as_array(value, name), (1, -1)), name, 1, 1, None)[0, 0]


def check_goal_hand(value: Any, rows: int) -> np.ndarray:
    """Return hand goals as (rows, 2), given as (2,) or (rows, 2) metres."""
    positions = _per_row(value, "goal_hand", rows, (2,))
    low, high = HAND_LOW[:2], HAND_HIGH[:2]
    if ((positions < low) | (positions > high)).any():
        raise InvalidInput(
            f"goal_hand={np.asarray(value).tolist()} is out of the arm's reach; "
            f"stay between {low.tolist()} and {high.tolist()} metres."
        )
    return positions


def check_colours(colours: Any, default: np.ndarray) -> np.ndarray:
    """Return (n, 3) RGB in [0, 1]: `default` for None, else the given colours."""
    if colours is None:
        return default
    array = _as_array(colours, "colours")
    if array.shape != default.shape or not ((array >= 0) & (array <= 1)).all():
        raise InvalidInput(
            f"colours={colours!r}; pass {len(default)} RGB triples in [0, 1], 'random', or None "
            "for the paper's colours."
        )
    return array


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`, else raise with the nearest choice."""
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(str(value), choices)
        raise InvalidInput(f"{name}={value!r:.80}; use {' or '.join(map(repr, choices))}.{hint}")
    return value


def check_count(value: Any, name: str, least: int, most: int | None = None) -> int:
    """Return `value` as an int of at least `least` and at most `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limit = "" if most is None else f" and at most {most}"
        raise InvalidInput(f"{name}={value!r:.80}; use a whole number of at least {least}{limit}.")
    return int(value)


def check_seed(seed: Any) -> int | None:
    """Return a seed of `reset`: a whole number of at least 0, or None to go on as before."""
    return None if seed is None else check_count(seed, "seed", 0)


def check_rewarded(achieved: Any, desired: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return two goals as arrays of numbers of one shape, apart from leading axes."""
    arrays = [plain_array(value) for value in (achieved, desired)]
    for name, array in zip(("achieved_goal", "desired_goal"), arrays, strict=True):
        if array.dtype.kind not in "buif" or not array.ndim:
            raise InvalidInput(f"{name}={array!r:.80}; pass an array of numbers.")
    pictures = [array.dtype == np.uint8 for array in arrays]
    axes = 3 if pictures[0] else 1
    shapes = [array.shape[-axes:] for array in arrays]
    if pictures[0] != pictures[1] or shapes[0] != shapes[1] or len(shapes[0]) < axes:
        raise InvalidInput(
            f"goals of shapes {arrays[0].shape} and {arrays[1].shape} ({arrays[0].dtype} and "
            f"{arrays[1].dtype}) cannot be compared; pass two of this environment's goals."
        )
    try:
        np.broadcast_shapes(arrays[0].shape, arrays[1].shape)
    except ValueError as error:
        raise InvalidInput(
            f"{arrays[0].shape} and {arrays[1].shape} are not as many goals; pass one for each."
        ) from error
    return arrays[0], arrays[1]


def check_state(found: Any, own: Mapping[str, np.ndarray]) -> None:
    """Raise unless `found` has the names, shapes and kinds of `own`, and finite numbers."""
    if not isinstance(found, Mapping):
        raise InvalidInput(f"state={found!r:.80}; pass what get_state returned.")
    for name, wanted in own.items():
        array = plain_array(found[name]) if name in found else None
        if array is None or array.shape != wanted.shape or array.dtype.kind != wanted.dtype.kind:
            holds = "nothing" if array is None else f"{array.dtype} {array.shape}"
            raise InvalidInput(
                f"state[{name!r}] holds {holds}, not {wanted.dtype} {wanted.shape}; pass what "
                "get_state of such an environment returned."
            )
        if not np.isfinite(array).all():
            raise InvalidInput(f"state[{name!r}] is not finite; pass what get_state returned.")


def plain_array(value: Any) -> np.ndarray:
    """Return `value` as an array, one of objects where it is nothing regular."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return np.asarray(None)


def _as_array(value: Any, name: str) -> np.ndarray:
    try:
        # Not by casting from complex to real, which would drop a part of every number.
        return np.asarray(value).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name}={value!r:.80} is not an array of numbers.") from error


def _per_row(value: Any, name: str, rows: int, shape: tuple[int, ...]) -> np.ndarray:
    array = _as_array(value, name)
    if array.shape not in (shape, (rows, *shape)):
        raise InvalidInput(
            f"{name} has shape {array.shape}; pass shape {shape}"
            + (f", or {(rows, *shape)} for one per table." if rows > 1 else ".")
        )
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name}={array.tolist()} is not finite; pass positions in metres.")
    return np.broadcast_to(array, (rows, *shape)).copy()
