"""A scripted pusher: solves Push and Rearrange from the state, which proves them solvable.

One puck at a time. The hand walks around the pucks to a place behind the chosen one, then pushes
it along a path around the others. All positions are in metres on the table.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smorl.envs.tabletop.paths import clearance, detour, turn_within, unit
from smorl.envs.tabletop.scene import PUCK_RADIUS
from smorl.errors import InvalidInput

Array = NDArray[np.float64]

# Measured: metres of hand motion per unit of action, beyond the KNEE and, because the fingers rub
# on the table, below it.
METRES_PER_ACTION, KNEE, METRES_BELOW_KNEE = 0.1, 0.25, 0.052
# Where the hand and the puck centres can be: the walls, less the size of what moves. At large x
# the arm meets a joint limit before the hand meets the wall.
HAND_LOW, HAND_HIGH = np.array([-0.233, 0.417]), np.array([0.212, 0.733])
PUCK_LOW, PUCK_HIGH = np.array([-0.205, 0.395]), np.array([0.205, 0.715])
# The fingers' footprint is 1 cm by 1.5 cm, its centre 2.5 mm nearer to the robot than the hand.
FINGER_CENTRE = np.array([0.0, -0.0025])
FINGER_HALF = np.array([0.005, 0.0075])
# Distances between centres at which the fingers, or another puck, pass a puck at ease.
HAND_CLEARANCE, PUCK_CLEARANCE = PUCK_RADIUS + 0.022, 2 * PUCK_RADIUS + 0.008
# Nearer than TIGHT the fingers may touch a puck, so they go slowly; within BACK_OFF of contact they
# touch it already and leave it straight.
TIGHT, BACK_OFF = PUCK_RADIUS + 0.016, 0.004
# The hand waits this far from contact before it pushes.
APPROACH_GAP = 0.012
# Measured: a puck sticks to the hand up to an action of 0.22; at 0.28 it is now and then kicked
# 2 cm ahead, which does no harm while the goal is still FAR (metres); at 0.4 it flies.
FAR_PUSH, NEAR_PUSH, FAR = 0.27, 0.2, 0.06
# A push starts, or goes on, while the hand stands behind the puck about as well as it could
# (difference of cosines); the puck follows the hand within CONE radians of the contact normal.
SLACK_STARTING, SLACK_PUSHING = 0.1, 0.2
CONE = np.radians(40)
# A hand that moves less than this in a step (metres) is wedged.
STALLED = 0.004
# A puck is left alone when this near to its goal, and taken up again when this far from it.
ARRIVED, ASTRAY = 0.010, 0.025
# The largest correction of the action for an arm that does not follow.
MAX_BIAS = 0.4
# Steps spent on one puck before another gets a turn.
PATIENCE = 40

_ANGLES = np.radians(np.arange(0, 360, 10))
_NORMALS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=-1)


@dataclass
class _Memory:
    """What the pusher remembers of one table between steps."""

    goal: Array
    target: int | None = None
    steps: int = 0
    pushing: bool = False
    hand: Array | None = None
    action: Array = field(default_factory=lambda: np.zeros(2))
    bias: Array = field(default_factory=lambda: np.zeros(2))
    tired_of: list[int] = field(default_factory=list)


class ScriptedPusher:
    """Actions from state observations; deterministic, any number of tables, any number of pucks.

    A new episode is noticed by its new goal; call `reset` to start afresh explicitly.
    """

    def __init__(self) -> None:
        self._memory: dict[int, _Memory] = {}

    def reset(self) -> None:
        """Forget every table."""
        self._memory = {}

    def act(self, observation: NDArray, desired_goal: NDArray) -> NDArray[np.float32]:
        """Map hand-and-pucks vectors (2(n+1),) or (K, 2(n+1)) to actions (2,) or (K, 2)."""
        state = np.asarray(observation, dtype=np.float64)
        goal = np.asarray(desired_goal, dtype=np.float64)
        if state.shape != goal.shape or state.ndim not in (1, 2) or state.shape[-1] % 2:
            raise InvalidInput(
                f"observation has shape {state.shape} and desired_goal {goal.shape}; both must be "
                "(2(n+1),) or (K, 2(n+1)): use the state environments."
            )
        rows = zip(np.atleast_2d(state), np.atleast_2d(goal), strict=True)
        actions = [self._act_row(row, *vectors) for row, vectors in enumerate(rows)]
        return np.array(actions, dtype=np.float32).reshape(*state.shape[:-1], 2)

    def _act_row(self, row: int, state: Array, goal: Array) -> Array:
        memory = self._memory.get(row)
        if memory is None or not np.array_equal(memory.goal, goal):
            memory = self._memory[row] = _Memory(goal.copy())
        hand, pucks = state[:2], state[2:].reshape(-1, 2)
        goals = goal[2:].reshape(-1, 2)
        target = _choose(memory, hand, pucks, goals)
        if target is None:
            action = _walk(hand, goal[:2], pucks)
        else:
            action = _push(memory, hand, pucks, target, goals[target])
        return _compensate(memory, hand, action)


def _compensate(memory: _Memory, hand: Array, action: Array) -> Array:
    """Add what the arm lately failed to follow: near a joint limit it lags by centimetres."""
    if memory.hand is not None:
        missed = (_displacement(memory.action) - (hand - memory.hand)) / METRES_PER_ACTION
        memory.bias = np.clip(memory.bias + 0.4 * missed, -MAX_BIAS, MAX_BIAS)
    memory.hand, memory.action = hand.copy(), action
    return np.clip(action + memory.bias, -1.0, 1.0)


def _choose(memory: _Memory, hand: Array, pucks: Array, goals: Array) -> int | None:
    """Return the puck to work on: the current one until it has arrived, else the cheapest."""
    distance = np.linalg.norm(pucks - goals, axis=-1)
    current = memory.target
    if current is not None:
        memory.steps += 1
        if distance[current] < ARRIVED:
            memory.target = None
        elif memory.steps > PATIENCE:
            memory.tired_of.append(current)
            memory.target = None
    if memory.target is None:
        memory.steps, memory.pushing = 0, False
        open_tasks = [i for i in range(len(pucks)) if distance[i] > ASTRAY]
        fresh = [i for i in open_tasks if i not in memory.tired_of]
        if open_tasks and not fresh:
            memory.tired_of.clear()
        costs = {i: _task_cost(hand, pucks, i, goals[i]) for i in fresh or open_tasks}
        memory.target = min(costs, key=costs.__getitem__) if costs else None
    return memory.target


def _task_cost(hand: Array, pucks: Array, index: int, goal: Array) -> float:
    """Return how long puck `index` would take, in metres of hand motion; taken goals cost most."""
    others = np.delete(pucks, index, axis=0)
    puck = pucks[index]
    waypoint, cost = _puck_path(puck, goal, others)
    behind = puck - unit(waypoint - puck) * (PUCK_RADIUS + APPROACH_GAP)
    # Pushing is slower than walking by the ratio of the actions.
    return cost / FAR_PUSH + float(np.linalg.norm(behind - hand))


def _puck_path(puck: Array, goal: Array, others: Array) -> tuple[Array, float]:
    """Return the first waypoint of the puck around the others, and the cost of its path."""
    radii = np.full(len(others), PUCK_CLEARANCE)
    return detour(puck, goal, others, radii, PUCK_LOW, PUCK_HIGH)


def _push(memory: _Memory, hand: Array, pucks: Array, target: int, goal: Array) -> Array:
    """Return the action that brings the puck nearer to its goal, or the hand behind the puck."""
    puck, others = pucks[target], np.delete(pucks, target, axis=0)
    direction = unit(_puck_path(puck, goal, others)[0] - puck)
    offset = puck - hand - FINGER_CENTRE
    normal = unit(offset)
    gap = float(np.linalg.norm(offset) - _contact_distance(normal))
    spot, best_normal = _behind(hand, puck, others, direction)
    slack = SLACK_PUSHING if memory.pushing else SLACK_STARTING
    good = normal @ direction > best_normal @ direction - slack
    if memory.hand is not None and np.linalg.norm(hand - memory.hand) < STALLED:
        # Wedged between the puck and a wall: any push forward is better than waiting.
        good = good or normal @ direction > 0.3
    memory.pushing = bool(good and gap < 2 * APPROACH_GAP)
    if not memory.pushing:
        return _walk(hand, spot, pucks)
    heading = turn_within(normal, direction, CONE)
    # Steering keeps the hand on the line behind the puck, where pushing is stable.
    line = puck - heading * _contact_distance(heading) - FINGER_CENTRE
    line = np.clip(line, HAND_LOW, HAND_HIGH) - hand
    across = line - (line @ heading) * heading
    left = float(np.linalg.norm(goal - puck))
    limit = FAR_PUSH if left > FAR else NEAR_PUSH
    move = heading * (max(gap, 0.0) + min(left, 0.04)) + 0.5 * across
    return _action(move, limit)


def _behind(hand: Array, puck: Array, others: Array, direction: Array) -> tuple[Array, Array]:
    """Return the best place to start pushing from, and the contact normal it gives.

    Straight behind if possible; near walls and other pucks the best reachable angle, from which
    friction still carries the puck in about the right direction.
    """
    reach = _contact_distance(_NORMALS) + APPROACH_GAP
    spots = puck - FINGER_CENTRE - _NORMALS * reach[:, None]
    spots = np.clip(spots, HAND_LOW, HAND_HIGH)
    # A spot cut off by a wall has another normal, and may be too near to stand there.
    offset = puck - FINGER_CENTRE - spots
    distance = np.linalg.norm(offset, axis=-1)
    normals = offset / distance[:, None]
    blocked = np.maximum(_contact_distance(normals) + 0.003 - distance, 0.0)
    if len(others):
        apart = np.linalg.norm((spots + FINGER_CENTRE)[:, None] - others, axis=-1).min(-1)
        blocked = blocked + np.maximum(PUCK_RADIUS + 0.011 - apart, 0.0)
    travel = np.linalg.norm(spots - hand, axis=-1)
    score = normals @ direction - 40 * blocked - 0.3 * travel
    best = int(score.argmax())
    return spots[best], normals[best]


def _walk(hand: Array, place: Array, pucks: Array) -> Array:
    """Return the action towards `place` around all pucks, slowly where one might be touched."""
    finger, place = hand + FINGER_CENTRE, place + FINGER_CENTRE
    offset = finger - pucks
    distance = np.linalg.norm(offset, axis=-1)
    nearest = int(distance.argmin())
    away = unit(offset[nearest])
    touching = distance[nearest] < _contact_distance(away) + BACK_OFF
    if touching and unit(place - finger) @ away < 0.7:
        return _action(away * (HAND_CLEARANCE - distance[nearest]), NEAR_PUSH)
    radii = np.full(len(pucks), HAND_CLEARANCE)
    waypoint, _ = detour(finger, place, pucks, radii, HAND_LOW, HAND_HIGH)
    step = waypoint - finger
    reach = finger + step * min(1.0, 0.1 / max(float(np.linalg.norm(step)), 1e-9))
    passes = clearance(finger, reach, pucks)
    tight = (passes < distance - 1e-6) & (passes < TIGHT)
    return _action(step, NEAR_PUSH if tight.any() else 1.0)


def _contact_distance(normal: Array) -> Array:
    """Distance from finger centre to puck centre when they touch along `normal` (..., 2)."""
    return PUCK_RADIUS + np.abs(normal) @ FINGER_HALF


def _action(move: Array, limit: float) -> Array:
    """Turn a hand displacement in metres into an action no longer than `limit`."""
    length = float(np.linalg.norm(move))
    if length < 1e-9:
        return np.zeros(2)
    slow, fast = length / METRES_BELOW_KNEE, length - KNEE * METRES_BELOW_KNEE
    size = min(slow, KNEE) + max(fast, 0.0) / METRES_PER_ACTION
    return move / length * min(size, limit)


def _displacement(action: Array) -> Array:
    """Return how far the hand usually goes, in metres: the inverse of `_action`."""
    size = float(np.linalg.norm(action))
    length = METRES_BELOW_KNEE * min(size, KNEE) + METRES_PER_ACTION * max(size - KNEE, 0.0)
    return action * (length / max(size, 1e-9))
