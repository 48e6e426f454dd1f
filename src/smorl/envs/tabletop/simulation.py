# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""K simulations of one scene on a thread pool: control, reset and divergence (metres, radians).

Both the single env and the vector env are faces of this class, which is why row i of one equals
the other bit for bit. Reset restores the whole integration state, warm start included, so a
rollout depends on the seed and the actions only.
"""

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from smorl.envs.tabletop.sawyer import START_ANGLES
from smorl.envs.tabletop.scene import (
    FAST_PHYSICS,
    HAND_BODY,
    HAND_QUAT,
    PUCK_PLACEMENT_Z,
    Physics,
    build_scene,
    puck_qpos_columns,
)

ACTION_SCALE = 0.1
HAND_TARGET_Z = 0.02
HAND_LOW, HAND_HIGH = np.array((-0.245, 0.40, 0.0)), np.array((0.245, 0.75, 0.5))
PUCK_LOW, PUCK_HIGH = np.array((-0.24, 0.37, 0.0)), np.array((0.24, 0.75, 0.5))
INITIAL_HAND_TARGET = np.array((0.0, 0.4, HAND_TARGET_Z))
SETTLE_STEPS = 10

# Where pucks wait while an arm moves alone: on the table plane, far outside the walls.
_PARKED = (-10.0, -10.0)
# Beyond these the physics has exploded, even if every number is still finite.
_MAX_QPOS, _MAX_QVEL = 50.0, 1e4

_STAGE_POS = mujoco.mjtStage.mjSTAGE_POS.value


class Simulation:
    """`num` independent tables with `n_pucks` pucks each.

    Attributes:
        hand: (num, 3) position of the gripper, a function of the state.
        threads: worker threads in use (0 asks for one per core).
        initial_hand: (3,) where the hand rests after settling; every reset starts there.
    """

    def __init__(self, n_pucks: int, num: int, threads: int = 1, physics: Physics = FAST_PHYSICS):
        self.n_pucks, self.num = n_pucks, num
        self.physics = physics
        self.model = build_scene(n_pucks, physics, drawing=False)
        self._columns = puck_qpos_columns(self.model, n_pucks)
        pucks = [self.model.joint(f"object{i}") for i in range(n_pucks)]
        self._velocity_columns = [int(puck.dofadr[0]) for puck in pucks]
        self._xyz = self._columns[:, None] + np.arange(3)
        self._hand_body = self.model.body(HAND_BODY).id
        self._batch = Batch(self.model, num, threads)
        self.threads = self._batch.nthread
        self._state = self._batch.state
        self._bind()
        self._settled = self._settle()
        self.hand = np.tile(self.initial_hand, (num, 1))
        self._state[:] = self._settled
        self._last_sane, self._last_hand = self._state.copy(), self.hand.copy()

    def _bind(self) -> None:
        batch = self._batch
        self.qpos, self._qvel = batch.bind("qpos"), batch.bind("qvel")
        self._mocap_pos = batch.bind("mocap_pos")[:, 0]
        self._xpos = batch.bind("xpos")

    def _settle(self) -> np.ndarray:
        """Let the arm come to rest on its weld; return that state row, (nstate,).

        Release: one second of simulation from fixed joint angles; pucks coincide at the origin
        meanwhile, here they wait outside the walls. The mocap body then takes the pose of the
        hand, so that the first action is relative to the hand as every later one is.
        """
        batch = Batch(self.model, 1, 1)
        qpos = batch.bind("qpos")
        qpos[:, : len(START_ANGLES)] = START_ANGLES
        mocap_pos, xpos = batch.bind("mocap_pos")[:, 0], batch.bind("xpos")
        mocap_pos[:] = INITIAL_HAND_TARGET
        batch.bind("mocap_quat")[:, 0] = HAND_QUAT
        self._park(qpos)
        self._advance(batch, SETTLE_STEPS)
        self.initial_hand = xpos[0, self._hand_body].copy()
        self._settled_qpos = qpos[0].copy()
        mocap_pos[:] = self.initial_hand
        batch.bind("time")[:] = 0.0
        return batch.state[0].copy()

    def _park(self, qpos: np.ndarray) -> None:
        for i, column in enumerate(self._columns):
            qpos[:, column : column + 3] = (_PARKED[0], _PARKED[1] + i, PUCK_PLACEMENT_Z)

    @property
    def objects(self) -> np.ndarray:
        """(num, n, 3) puck positions, a copy."""
        return self.qpos[:, self._xyz]

    def reset(self, rows: np.ndarray, objects: np.ndarray) -> None:
        """Restore `rows` (indices) to the settled state with pucks at `objects` (rows, n, 2)."""
        self._state[rows] = self._settled
        self.hand[rows] = self.initial_hand
        velocity = self._qvel[rows]
        velocity[:, len(START_ANGLES) :] = 0.0
        self._qvel[rows] = velocity
        self.qpos[rows] = self._with_objects(self.qpos[rows], objects)
        self._remember(rows)

    def place(self, row: int, puck: int, place: np.ndarray) -> None:
        """Put one puck of a running table at rest on `place` (2,); everything else goes on."""
        column, velocity = self._columns[puck], self._velocity_columns[puck]
        self.qpos[row, column : column + 2] = place
        self.qpos[row, column + 2] = PUCK_PLACEMENT_Z
        self._qvel[row, velocity : velocity + 3] = 0.0
        self._remember(np.array([row]))

    def _with_objects(self, qpos: np.ndarray, objects: np.ndarray) -> np.ndarray:
        """Return `qpos` (rows, nq) with pucks at rest on `objects` (rows, n, 2)."""
        for i, column in enumerate(self._columns):
            qpos[:, column : column + 2] = objects[:, i]
            qpos[:, column + 2] = PUCK_PLACEMENT_Z
        return qpos

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Advance every table by 0.1 s; return the (num,) mask of tables whose physics diverged.

        `actions` is (num, 2) in [-1, 1]: the wanted hand motion in units of 0.1 m. A diverged
        table is put back into its last sane state, so it never holds a NaN.
        """
        # Release: the height command corrects the previous target, not the measured height.
        lift = HAND_TARGET_Z - self._mocap_pos[:, 2]
        target = self.hand.copy()
        target[:, :2] += ACTION_SCALE * actions
        target[:, 2] += lift
        self._mocap_pos[:] = np.clip(target, HAND_LOW, HAND_HIGH)
        diverged = np.zeros(self.num, dtype=bool)
        try:
            self._advance(self._batch)
        except SimulationError as error:
            diverged[error.ids] = True
        self.hand[:] = self._xpos[:, self._hand_body]
        # Release: pucks that leave the table are put back onto its edge, velocity untouched.
        self.qpos[:, self._xyz] = np.clip(self.objects, PUCK_LOW, PUCK_HIGH)
        diverged |= self._exploded()
        self._state[diverged] = self._last_sane[diverged]
        self.hand[diverged] = self._last_hand[diverged]
        self._remember(~diverged)
        return diverged

    def _remember(self, rows: np.ndarray) -> None:
        """Keep the state of `rows` as what they fall back to when physics diverges."""
        self._last_sane[rows] = self._state[rows]
        self._last_hand[rows] = self.hand[rows]

    def _advance(self, batch: Batch, env_steps: int = 1) -> None:
        """Simulate 0.1 s per env step; afterwards positions describe the new state."""
        timestep = batch.expand("opt.timestep")
        for _ in range(env_steps):
            for seconds, substeps in self.physics.phases[:-1]:
                timestep[:] = seconds
                batch.step(nstep=substeps)
            timestep[:], substeps = self.physics.phases[-1]
            batch.step(nstep=substeps, stage=_STAGE_POS)

    def _exploded(self) -> np.ndarray:
        # A comparison with NaN is false, so NaN counts as exploded.
        sane = (np.abs(self.qpos) < _MAX_QPOS).all(axis=1)
        sane &= (np.abs(self._qvel) < _MAX_QVEL).all(axis=1)
        sane &= (np.abs(self.hand) < _MAX_QPOS).all(axis=1)
        return np.logical_not(sane)

    def goal_qpos(self, goal_hand: np.ndarray, goal_objects: np.ndarray) -> np.ndarray:
        """Return (rows, nq) configurations with the hand at `goal_hand` and pucks at the goals.

        The tables themselves are not touched. A hand goal at the resting place needs no
        simulation; for any other, an arm without pucks moves there first.
        """
        qpos = np.tile(self._settled_qpos, (len(goal_hand), 1))
        moved = (goal_hand != self.initial_hand[:2]).any(axis=1)
        for row in np.flatnonzero(moved):
            qpos[row] = self._reach(goal_hand[row])
        return self._with_objects(qpos, goal_objects)

    def _reach(self, hand: np.ndarray) -> np.ndarray:
        """Return (nq,) after one second of pulling the hand towards `hand` (2,)."""
        batch = Batch(self.model, 1, 1)
        batch.state[:] = self._settled
        batch.bind("mocap_pos")[0, 0] = (*hand, HAND_TARGET_Z)
        self._advance(batch, SETTLE_STEPS)
        return batch.bind("qpos")[0].copy()

    def get_state(self) -> np.ndarray:
        """Return the (num, nstate + 3) state of every table, for an exact resume."""
        return np.concatenate([self._state, self.hand], axis=1)

    def set_state(self, state: np.ndarray) -> None:
        """Restore what `get_state` returned."""
        self._state[:] = state[:, :-3]
        self.hand[:] = state[:, -3:]
        self._remember(np.arange(self.num))
