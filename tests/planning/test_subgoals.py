"""Alg. 3 as a state machine, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smorl.planning.subgoals import SubgoalConfig, SubgoalCycle
from smorl.presets import PRESETS


def run(config, valid, script, first=0, scores=None):
    """Feed `script` (steps, G) solved flags to one episode; return visited goals and end."""
    cycle = SubgoalCycle(config, np.array([valid]), np.array([first]))
    visited = []
    for solved in script:
        if cycle.finished[0]:
            break
        visited.append(int(cycle.current[0]))
        cycle.update(np.array([solved]), None if scores is None else lambda: np.array([scores]))
    return visited, bool(cycle.finished[0])


NONE = [False, False, False]


def test_unsolved_goals_are_cycled_until_attempts_run_out():
    visited, finished = run(SubgoalConfig(2, 4), [True] * 3, [NONE] * 20, first=1)
    assert visited == [1, 1, 2, 2, 0, 0, 1, 1]
    assert finished


def test_solved_goals_are_skipped_and_rechecked():
    # Goal 1 is solved at first and undone later: it gets its turn again.
    script = [[False, True, False]] * 2 + [[True, False, False]] * 2 + [[True, False, True]] * 4
    visited, _ = run(SubgoalConfig(2, 5), [True] * 3, script)
    assert visited == [0, 0, 2, 2, 1, 1, 1, 1]


def test_stops_only_when_all_are_solved_at_the_end_of_an_attempt():
    all_but_first = [[False, True, True]] * 3
    visited, finished = run(SubgoalConfig(3, 5), [True] * 3, all_but_first + [[True] * 3] * 9)
    assert visited == [0] * 6  # the only open goal keeps its turn; then everything is solved
    assert finished


def test_a_goal_solved_in_passing_is_not_left_before_its_attempt_ends():
    visited, _ = run(SubgoalConfig(3, 2), [True] * 3, [[True, False, False]] * 6)
    assert visited == [0, 0, 0, 1, 1, 1]


def test_switch_when_solved_moves_on_at_once():
    config = SubgoalConfig(3, 5, switch_when_solved=True)
    visited, finished = run(config, [True] * 3, [NONE, [True, False, False], [True, True, True]])
    assert visited == [0, 0, 1]
    assert finished


def test_without_stopping_the_episode_uses_all_its_steps():
    config = SubgoalConfig(2, 3, switch_when_solved=True, stop_when_solved=False)
    visited, finished = run(config, [True] * 3, [[True] * 3] * 10)
    assert len(visited) == 6
    assert finished


def test_order_by_scores():
    config = SubgoalConfig(1, 6, order="easiest")
    visited, _ = run(config, [True] * 3, [NONE] * 6, scores=[0.1, 0.9, 0.5])
    assert visited == [0, 1, 2, 1, 2, 1]  # the best of the others


def test_invalid_goals_are_never_chosen_and_an_empty_image_ends_at_once():
    visited, _ = run(SubgoalConfig(1, 4), [True, False, True], [NONE] * 4)
    assert visited == [0, 2, 0, 2]
    visited, finished = run(SubgoalConfig(1, 4), [False] * 3, [NONE] * 4)
    assert visited == []
    assert finished


def test_episodes_are_independent():
    rng = np.random.default_rng(0)
    script = rng.random((30, 8, 4)) < 0.4
    config, first = SubgoalConfig(3, 10), rng.integers(0, 4, 8)
    together = SubgoalCycle(config, np.ones((8, 4), bool), first)
    alone = [SubgoalCycle(config, np.ones((1, 4), bool), first[i : i + 1]) for i in range(8)]
    for solved in script:
        together.update(solved)
        for i, cycle in enumerate(alone):
            cycle.update(solved[i : i + 1])
            if not cycle.finished[0]:
                assert cycle.current[0] == together.current[i]
            assert cycle.finished[0] == together.finished[i]


def as_printed(length, attempts, script):
    """Alg. 3 as the paper prints it, one episode: the goal of every step, and whether it stops."""
    count = len(script[0])
    visited, m, t = [], 0, 0
    for _ in range(attempts):
        for _ in range(length):
            visited.append(m)
            t += 1
        solved = script[t - 1]
        if all(solved):
            return visited, True
        m = (m + 1) % count
        while solved[m]:
            m = (m + 1) % count
    return visited, False


@given(
    length=st.integers(1, 4),
    attempts=st.integers(1, 5),
    goals=st.integers(1, 4),
    data=st.data(),
)
def test_the_defaults_are_the_algorithm_as_printed(length, attempts, goals, data):
    flags = st.lists(st.booleans(), min_size=goals, max_size=goals)
    steps = length * attempts
    script = data.draw(st.lists(flags, min_size=steps, max_size=steps))
    visited, finished = run(SubgoalConfig(length, attempts), [True] * goals, script)
    expected, _ = as_printed(length, attempts, script)
    assert visited == expected
    assert finished  # solved, or out of steps


@pytest.mark.parametrize("name", [n for n in PRESETS if n.startswith(("paper-", "lite-"))])
def test_presets_of_the_paper_evaluate_as_printed(name):
    config = PRESETS[name].build()
    ours = config.evaluation.subgoals
    if config.method not in ("smorl", "smorl-gt"):  # others have one goal, and nothing to choose
        assert ours.order == "cycle"
        assert not ours.switch_when_solved
        return
    assert ours == SubgoalConfig(ours.length, ours.attempts)
