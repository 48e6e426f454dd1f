"""The environment API called with anything at all, by hypothesis: one call is one try."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import smorl  # noqa: F401  registers the environments
from tests.faults.outcomes import Tally

IDS = ("smorl/Push1-v0", "smorl/Rearrange2-v0")
ROWS = 2
_NUMBERS = st.one_of(
    st.integers(), st.floats(), st.just(10**400), st.booleans(), st.just(math.nan),
    st.sampled_from([0, -1, 1, 1e308, -1e308, 2**31, 2**63, 2**64]),
)  # fmt: skip
_ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8, bool, complex, "U3", object]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=5),
)
ANYTHING = st.one_of(
    st.none(), _NUMBERS, st.text(max_size=4), st.binary(max_size=4), _ARRAYS,
    st.lists(_NUMBERS, max_size=5), st.lists(st.lists(_NUMBERS, max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), _NUMBERS, max_size=2), st.just(object()),
)  # fmt: skip
_PLACES = hnp.arrays(np.float64, (1, 2), elements=st.floats(-1, 1, width=32))
_OPTIONS = st.one_of(
    ANYTHING,
    st.dictionaries(
        st.sampled_from(["objects", "goal_objects", "goal_hand", "reset_mask", "nothing"]),
        st.one_of(ANYTHING, _PLACES),
        max_size=3,
    ),
)
_PAIRS = st.tuples(ANYTHING, ANYTHING)
_STATES = st.sampled_from(["simulation", "goal_hand", "goal_objects", "puck_rgb", "elapsed_steps"])


def run(tries: int) -> Tally:
    """Make about `tries` calls, spread over the methods of single and vector environments."""
    tally = Tally("environment API")
    single = {name: gymnasium.make(name).unwrapped for name in IDS}
    vector: Any = gymnasium.make_vec(
        IDS[0], num_envs=ROWS, vectorization_mode="vector_entry_point", threads=1
    )
    vector.reset(seed=0)
    good = vector.get_state()
    calls = {
        "reset(seed)": (ANYTHING, lambda env, v: env.reset(seed=v)),
        "reset(options)": (_OPTIONS, lambda env, v: env.reset(options=v)),
        "step": (ANYTHING, lambda env, v: _after_reset(env).step(v)),
        "compute_reward": (
            st.tuples(ANYTHING, ANYTHING),
            lambda env, v: env.compute_reward(*v, {}),
        ),
    }
    each = max(1, tries // (2 * len(calls) + 4))
    for name, (values, call) in calls.items():
        for env in (single[IDS[0]], vector):
            _given(tally, f"{type(env).__name__}.{name}", values, each, env, call)
    _given(tally, "set_state", _broken(good), each, vector, lambda env, v: env.set_state(*v))
    _given(tally, "set_state(anything)", _PAIRS, each, vector,
           lambda env, v: env.set_state(*v))  # fmt: skip
    names = ["task", "num_objects", "observation", "camera", "colours", "physics", "render_mode",
             "image_size", "goal_images", "unknown"]  # fmt: skip
    made = st.tuples(st.sampled_from(names), ANYTHING)
    _given(tally, "make", made, each, None, _make)
    _given(tally, "settings of the vector env", made, each, None, _make_vector)
    return tally


def _given(tally: Tally, name: str, values: Any, count: int, env: Any, call: Any) -> None:
    """Let hypothesis draw `count` values and try each."""

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(values)
    def tried(value: Any) -> None:
        with np.errstate(all="ignore"):
            tally.attempt(f"{name} {value!r:.120}", lambda: call(env, value), _sane)

    tried()


def _sane(result: Any) -> bool:
    """An observation that comes back is finite, whatever was passed in."""
    if isinstance(result, tuple) and isinstance(result[0], dict):
        return all(np.isfinite(array).all() for array in result[0].values())
    return True


def _after_reset(env: Any) -> Any:
    if not np.all(env._ready):
        env.reset(seed=0)
    return env


def _broken(good: tuple[dict, list]) -> Any:
    """States with one entry missing, of another kind, of another shape, or not finite."""
    arrays, generators = good

    def change(name: str, value: Any, missing: bool) -> tuple[dict, list]:
        changed = {k: v for k, v in arrays.items() if k != name}
        if not missing:
            changed[name] = np.full_like(arrays[name], np.nan) if value is None and (
                arrays[name].dtype.kind == "f") else value  # fmt: skip
        return changed, generators

    return st.builds(change, _STATES, ANYTHING, st.booleans())


def _make(_: Any, chosen: tuple[str, Any]) -> None:
    name, value = chosen
    if name in ("image_size", "observation") and isinstance(value, int) and value > 64:
        value = -value  # large pictures are fine, and slow
    if name == "render_mode" and not isinstance(value, str | None):
        value = str(value)  # Gymnasium reads it before us, and takes a text for granted
    gymnasium.make(IDS[0], **{name: value}).unwrapped.reset(seed=0)


def _make_vector(_: Any, chosen: tuple[str, Any]) -> None:
    name, value = chosen
    name = {"render_mode": "num_envs", "camera": "threads"}.get(name, name)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and 8 < value < 10**6:
        value = -value
    gymnasium.make_vec(
        IDS[0], vectorization_mode="vector_entry_point", **{"num_envs": 1, name: value}
    ).close()
