"""Push and Rearrange: where pucks start and where they should go (metres), nothing else.

Both tasks are the same table; they differ only in their start and goal distributions.
"""

from dataclasses import dataclass

import numpy as np

from smorl.envs.registration import SUBTASK_STEPS, episode_steps
from smorl.envs.tabletop.scene import MAX_PUCKS
from smorl.errors import InvalidInput, did_you_mean

# Release: all rejection distances are multiples of a nominal puck radius of 0.05,
# although the drawn and simulated puck has radius 0.04.
START_HAND_CLEARANCE, START_SEPARATION = 0.06, 0.10
GOAL_HAND_CLEARANCE, GOAL_SEPARATION = 0.075, 0.125

_BLUE_GREEN_RED = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
_SET6 = (
    (0.175, 0.825, 0.214),
    (0.214, 0.175, 0.825),
    (0.825, 0.214, 0.175),
    (0.175, 0.786, 0.825),
    (0.825, 0.175, 0.786),
    (0.786, 0.825, 0.175),
)

_PUSH_STARTS = {
    1: ((0.0, 0.52),),
    2: ((-0.1, 0.5), (0.1, 0.5)),
    3: ((-0.14, 0.5), (0.0, 0.5), (0.14, 0.5)),
}
_PUSH_GOALS = {
    1: (((-0.2, 0.52), (0.2, 0.70)),),
    2: (((-0.2, 0.5), (0.0, 0.7)), ((0.0, 0.5), (0.2, 0.7))),
    3: (((-0.2, 0.5), (-0.07, 0.7)), ((-0.07, 0.5), (0.07, 0.7)), ((0.07, 0.5), (0.2, 0.7))),
}
_REARRANGE_BOX = ((-0.2, 0.45), (0.2, 0.7))

# Candidate sets drawn at once. More pucks fit rarely, so they need more candidates per try.
_CANDIDATES = {1: 4, 2: 8, 3: 16, 4: 32, 5: 128, 6: 512}
# Six goals are accepted once in 4500 sets, so this many tries practically never fail.
_MAX_TRIES = 2000


@dataclass(frozen=True)
class Task:
    """The start and goal distributions of `num_objects` pucks.

    `starts` is (n, 2), or None for uniform starts in the box `start_low` to `start_high`;
    the goal of puck i is uniform in `goal_low[i]` to `goal_high[i]`, all (n, 2), metres.
    """

    name: str
    num_objects: int
    starts: np.ndarray | None
    start_low: np.ndarray
    start_high: np.ndarray
    goal_low: np.ndarray
    goal_high: np.ndarray
    colours: np.ndarray

    @property
    def subtask_steps(self) -> int:
        """Steps the paper gives to one sub-goal."""
        return SUBTASK_STEPS[self.name]

    @property
    def episode_steps(self) -> int:
        """Evaluation length of the paper, in env steps."""
        return episode_steps(self.name, self.num_objects)

    def sample_starts(self, rng: np.random.Generator, hand: np.ndarray) -> np.ndarray:
        """Draw (n, 2) start positions, clear of the `hand` at (2,) and of each other."""
        if self.starts is not None:
            return self.starts.copy()
        return sample_apart(
            rng, self.start_low, self.start_high, hand, START_HAND_CLEARANCE, START_SEPARATION
        )

    def sample_goals(self, rng: np.random.Generator, goal_hand: np.ndarray) -> np.ndarray:
        """Draw (n, 2) goal positions, clear of the `goal_hand` at (2,) and of each other."""
        return sample_apart(
            rng, self.goal_low, self.goal_high, goal_hand, GOAL_HAND_CLEARANCE, GOAL_SEPARATION
        )


def make_task(name: str, num_objects: int) -> Task:
    """Return the task `name` ("push" or "rearrange") with `num_objects` pucks."""
    if not isinstance(name, str) or name not in SUBTASK_STEPS:
        hint = did_you_mean(str(name), SUBTASK_STEPS)
        raise InvalidInput(f"Unknown task {name!r:.80}; use 'push' or 'rearrange'.{hint}")
    limit = len(_PUSH_STARTS) if name == "push" else MAX_PUCKS
    whole = isinstance(num_objects, int | np.integer) and not isinstance(num_objects, bool)
    if not whole or not 1 <= num_objects <= limit:
        raise InvalidInput(f"num_objects={num_objects!r:.80} with task {name!r}; use 1 to {limit}.")
    n = int(num_objects)
    if name == "push":
        starts = np.array(_PUSH_STARTS[n])
        start_low = start_high = starts
        goals = np.array(_PUSH_GOALS[n])
    else:
        starts = None
        goals = np.array([_REARRANGE_BOX] * n)
        start_low, start_high = goals[:, 0], goals[:, 1]
    colours = np.array((_BLUE_GREEN_RED if n <= 2 else _SET6)[:n])
    return Task(name, n, starts, start_low, start_high, goals[:, 0], goals[:, 1], colours)


def sample_apart(
    rng: np.random.Generator,
    low: np.ndarray,
    high: np.ndarray,
    keep_out: np.ndarray,
    clearance: float,
    separation: float,
) -> np.ndarray:
    """Draw n points, point i uniform in its box, given that all keep their distances.

    Joint rejection as in the release: a set counts only if every point is `clearance` from
    `keep_out` and every pair `separation` apart. A candidate set is dropped at its first
    offending point, which leaves the distribution unchanged and saves most of the draws.
    """
    n = len(low)
    for _ in range(_MAX_TRIES):
        sets = np.empty((_CANDIDATES[n], 0, 2))
        for i in range(n):
            point = rng.uniform(low[i], high[i], size=(len(sets), 2))
            apart = _distance(point, keep_out) >= clearance
            apart &= (_distance(sets, point[:, None]) >= separation).all(axis=1)
            sets = np.concatenate([sets[apart], point[apart, None]], axis=1)
        if len(sets):
            return sets[0]
    raise InvalidInput(
        f"Found no place for {n} pucks at least {separation} m apart and {clearance} m from the "
        f"hand at {np.round(keep_out, 3).tolist()}; move the hand goal or use fewer pucks."
    )


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    difference = a - b
    return np.hypot(difference[..., 0], difference[..., 1])
