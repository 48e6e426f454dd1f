"""Does the cheaper physics move things as the reference settings do? Distances in metres."""

import time
from typing import Any

import numpy as np

from smorl.envs.tabletop.scene import FAST_PHYSICS, REFERENCE_PHYSICS, Physics
from smorl.envs.tabletop.simulation import Simulation
from smorl.envs.tabletop.tasks import make_task

# A puck this high has been lifted off the table by the gripper (it rests at 0.015).
LIFTED = 0.03


def compare(
    rows: int = 128,
    steps: int = 60,
    num_objects: int = 2,
    physics: Physics = FAST_PHYSICS,
    reference: Physics = REFERENCE_PHYSICS,
) -> dict[str, Any]:
    """Run the same starts and random actions under both settings and describe both motions.

    Pushing pucks is chaotic, so single pucks part after some steps; what must agree are the hand's
    path, the first pushes, and the statistics of what has moved how far.
    """
    ours, theirs = (rollout(p, rows, steps, num_objects) for p in (physics, reference))
    hand_error = np.linalg.norm(ours["hand"] - theirs["hand"], axis=-1)
    puck_error = np.linalg.norm((ours["pucks"] - theirs["pucks"])[..., :2], axis=-1)
    early = min(4, steps - 1)
    return {
        "hand_error_step_1": float(hand_error[0].mean()),
        "hand_error_last_step": float(hand_error[-1].mean()),
        "puck_error_step_5": float(puck_error[early].mean()),
        "default": describe(ours),
        "reference": describe(theirs),
    }


def rollout(physics: Physics, rows: int, steps: int, num_objects: int) -> dict[str, Any]:
    """Step `rows` tables with random actions; return paths of hands and pucks, and the cost."""
    task, rng = make_task("rearrange", num_objects), np.random.default_rng(0)
    simulation = Simulation(num_objects, rows, 1, physics)
    starts = np.stack([task.sample_starts(rng, np.array((0.0, 0.414))) for _ in range(rows)])
    simulation.reset(np.arange(rows), starts)
    hand, pucks, diverged = [], [], 0
    cpu = time.process_time()
    for _ in range(steps):
        diverged += int(simulation.step(rng.uniform(-1, 1, (rows, 2))).sum())
        hand.append(simulation.hand.copy())
        pucks.append(simulation.objects)
    cpu = time.process_time() - cpu
    return {
        "hand": np.array(hand),
        "pucks": np.array(pucks),
        "starts": starts,
        "diverged": diverged,
        "cpu_ms_per_step": 1e3 * cpu / (rows * steps),
    }


def describe(motion: dict[str, Any]) -> dict[str, float | int]:
    """Return the statistics of a rollout that two settings should share."""
    pucks = motion["pucks"]
    moved = np.linalg.norm(pucks[-1, ..., :2] - motion["starts"], axis=-1)
    return {
        "cpu_ms_per_step": motion["cpu_ms_per_step"],
        "moved_1cm_share": float((moved > 0.01).mean()),
        "moved_mean": float(moved.mean()),
        "lifted_share": float((pucks[..., 2] > LIFTED).mean()),
        "hand_x_sd": float(motion["hand"][..., 0].std()),
        "hand_y_mean": float(motion["hand"][..., 1].mean()),
        "diverged": motion["diverged"],
    }
