# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""The scene: table, invisible walls, n pucks, the Sawyer arm and its mocap weld (metres).

World frame: the robot's base is the origin, +y points from the robot over the table, +z up.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from smorl.envs.sawyer import (
    BOX,
    CYLINDER,
    GROUP_COLLISION,
    GROUP_PUCK,
    GROUP_STATIC,
    INVISIBLE,
    add_arm,
)
from smorl.errors import InvalidInput

MAX_PUCKS = 6
PUCK_RADIUS = 0.04
PUCK_HALF_HEIGHT = 0.015
# Release: pucks are placed 5 mm above the table and drop.
PUCK_PLACEMENT_Z = 0.02
STEP_SECONDS = 0.1
HAND_BODY = "leftclaw"
# The inverse of the gripper's mounting: fingers point down, y stays y.
HAND_QUAT = (0.5**0.5, 0.0, 0.5**0.5, 0.0)

# Half-sizes and centres of the walls; inner faces at x = +-0.245, y = 0.355 and y = 0.755.
_WALLS = (
    ("wall_right", (0.005, 0.3, 0.15), (-0.25, 0.6, 0.025)),
    ("wall_left", (0.005, 0.3, 0.1), (0.25, 0.6, 0.025)),
    ("wall_far", (0.5, 0.005, 0.15), (0.0, 0.76, 0.025)),
    ("wall_near", (0.5, 0.005, 0.15), (0.0, 0.35, 0.025)),
)


@dataclass(frozen=True)
class Physics:
    """How the scene is integrated; `docs/decisions/0001-physics-settings.md` has the measurements.

    `timestep` in seconds must divide the 0.1 s of one env step.
    """

    timestep: float = 0.002
    integrator: mujoco.mjtIntegrator = mujoco.mjtIntegrator.mjINT_EULER
    iterations: int = 50
    tolerance: float = 1e-8
    collide_links: bool = True

    @property
    def substeps(self) -> int:
        """Simulator steps in one env step."""
        return round(STEP_SECONDS / self.timestep)


# Release: Euler, 2 ms, 50 iterations, 50 substeps per env step.
REFERENCE_PHYSICS = Physics()
FAST_PHYSICS = Physics()


def build_scene(n_pucks: int, physics: Physics = FAST_PHYSICS) -> mujoco.MjModel:
    """Compile the scene with `n_pucks` pucks (1 to 6)."""
    if not 1 <= n_pucks <= MAX_PUCKS:
        raise InvalidInput(f"num_objects={n_pucks} is not supported; use 1 to {MAX_PUCKS} pucks.")
    if abs(physics.substeps * physics.timestep - STEP_SECONDS) > 1e-9:
        raise InvalidInput(
            f"timestep={physics.timestep} does not divide the env step of {STEP_SECONDS} s; "
            "use for example 0.002, 0.004 or 0.005."
        )
    spec = mujoco.MjSpec()
    spec.modelname = f"tabletop-{n_pucks}"
    _set_options(spec, physics)
    _add_table(spec)
    add_arm(spec, physics.collide_links)
    for index in range(n_pucks):
        _add_puck(spec, index)
    _add_mocap(spec)
    model = spec.compile()
    # The compiled weld remembers the start offset; the release overwrites it with identity.
    model.eq_data[0, :10] = (0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
    return model


def _set_options(spec: mujoco.MjSpec, physics: Physics) -> None:
    spec.compiler.degree = False
    spec.option.timestep = physics.timestep
    spec.option.integrator = physics.integrator
    spec.option.iterations = physics.iterations
    spec.option.tolerance = physics.tolerance
    # Divergence must show up as NaN so that the env can report it, not as a silent reset.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value
    geom = spec.default.geom
    geom.solref = [0.008, 1.0]
    geom.solimp[:3] = [0.95, 0.95, 0.01]
    geom.margin = 0.001
    spec.visual.headlight.ambient = [0.5, 0.5, 0.5]


def _add_table(spec: mujoco.MjSpec) -> None:
    table = spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE)
    table.size, table.pos = [0.4, 0.25, 0.01], [0.0, 0.6, 0.0]
    table.rgba, table.group = [0.9, 0.9, 0.9, 1.0], GROUP_STATIC
    table.contype = table.conaffinity = 15
    table.friction = [1.0, 0.005, 0.001]
    for name, half_size, centre in _WALLS:
        wall = spec.worldbody.add_geom(name=name, type=BOX, size=half_size, pos=centre)
        wall.rgba, wall.group = INVISIBLE, GROUP_COLLISION
        wall.contype = wall.conaffinity = 2
        wall.friction = [1.0, 0.005, 0.001]


def _add_puck(spec: mujoco.MjSpec, index: int) -> None:
    body = spec.worldbody.add_body(name=f"object{index}")
    body.add_freejoint(name=f"object{index}")
    body.explicitinertial = True
    # Release: an absurd rotational inertia, so that pucks only translate.
    body.mass, body.inertia = 0.1, [1e5, 1e5, 1e5]
    geom = body.add_geom(name=f"puck{index}", type=CYLINDER)
    geom.size = [PUCK_RADIUS, PUCK_HALF_HEIGHT, 0.0]
    geom.contype, geom.conaffinity = 18, 20
    geom.group, geom.rgba = GROUP_PUCK, [0.5, 0.5, 0.5, 1.0]


def _add_mocap(spec: mujoco.MjSpec) -> None:
    body = spec.worldbody.add_body(name="mocap", mocap=True)
    geom = body.add_geom(type=BOX, size=[0.1, 0.02, 0.02])
    geom.rgba, geom.group = INVISIBLE, GROUP_COLLISION
    geom.contype = geom.conaffinity = 0
    weld = spec.add_equality(type=mujoco.mjtEq.mjEQ_WELD)
    weld.objtype = mujoco.mjtObj.mjOBJ_BODY
    weld.name1, weld.name2 = "mocap", HAND_BODY
    weld.solref = [0.01, 1.0]


def puck_qpos_columns(model: mujoco.MjModel, n_pucks: int) -> np.ndarray:
    """Return the (n,) qpos address of each puck's free joint (x, y, z, then quaternion)."""
    return np.array([model.joint(f"object{i}").qposadr[0] for i in range(n_pucks)])
