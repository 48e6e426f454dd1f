# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""The scene: table, invisible walls, n pucks, the Sawyer arm and its mocap weld (metres).

World frame: the robot's base is the origin, +y points from the robot over the table, +z up.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from smorl.envs.tabletop.sawyer import (
    BOX,
    CYLINDER,
    GROUP_COLLISION,
    GROUP_PUCK,
    GROUP_STATIC,
    INVISIBLE,
    LINKS,
    SPHERE,
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

    Attributes:
        phases: (timestep in seconds, number of substeps) pairs that make up one env step of 0.1 s.
        tolerance: of the Newton solver.
        islands: whether the solver looks for independent groups of contacts first.
        link_shapes: arm links that keep their collision shape.
        free_pucks: pucks on free joints as in the release; otherwise on three slides, which is
            the same motion because pucks cannot turn.
        flat_contact: pucks stand on three or four contact points of their rim as in the release;
            otherwise on one, which carries the same weight and friction.
    """

    phases: tuple[tuple[float, int], ...]
    tolerance: float
    islands: bool
    link_shapes: tuple[str, ...]
    free_pucks: bool
    flat_contact: bool


# Release: 50 substeps of 2 ms per env step, every link with its collision shape.
REFERENCE_PHYSICS = Physics(
    phases=((0.002, 50),),
    tolerance=1e-8,
    islands=True,
    link_shapes=tuple(link.name for link in LINKS),
    free_pucks=True,
    flat_contact=True,
)
# The hand covers most of its way in the first 40 ms and then creeps, so the second phase is
# coarser. 4 ms is the longest step that leaves the contacts' 8 ms time constant untouched.
FAST_PHYSICS = Physics(
    phases=((0.0025, 16), (0.004, 15)),
    tolerance=1e-6,
    islands=False,
    link_shapes=("right_arm_base_link", "right_l0", "head", "right_l2"),
    free_pucks=False,
    flat_contact=False,
)


def build_scene(
    n_pucks: int, physics: Physics = FAST_PHYSICS, drawing: bool = True
) -> mujoco.MjModel:
    """Compile the scene with `n_pucks` pucks (1 to 6).

    Without `drawing`, shapes that only please the eye are left out; `qpos` keeps its layout.
    """
    if not 1 <= n_pucks <= MAX_PUCKS:
        raise InvalidInput(f"num_objects={n_pucks} is not supported; use 1 to {MAX_PUCKS} pucks.")
    spec = mujoco.MjSpec()
    spec.modelname = f"tabletop-{n_pucks}"
    _set_options(spec, physics)
    _add_table(spec, physics)
    add_arm(spec, physics.link_shapes, drawing)
    for index in range(n_pucks):
        _add_puck(spec, index, physics)
    _add_mocap(spec)
    model = spec.compile()
    # The compiled weld remembers the start offset; the release overwrites it with identity.
    model.eq_data[0, :10] = (0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
    return model


def _set_options(spec: mujoco.MjSpec, physics: Physics) -> None:
    spec.compiler.degree = False
    spec.option.timestep = physics.phases[0][0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.iterations = 50
    spec.option.tolerance = physics.tolerance
    # Divergence must show up as NaN so that the env can report it, not as a silent reset.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value
    if not physics.islands:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND.value
    geom = spec.default.geom
    geom.solref = [0.008, 1.0]
    geom.solimp[:3] = [0.95, 0.95, 0.01]
    geom.margin = 0.001
    spec.visual.headlight.ambient = [0.5, 0.5, 0.5]


def _add_table(spec: mujoco.MjSpec, physics: Physics) -> None:
    table = spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE)
    table.size, table.pos = [0.4, 0.25, 0.01], [0.0, 0.6, 0.0]
    table.rgba, table.group = [0.9, 0.9, 0.9, 1.0], GROUP_STATIC
    table.contype = table.conaffinity = 15
    if not physics.flat_contact:
        # Leave puck rims (bits 2 and 16) to the walls; their feet (bit 8) stand on the table.
        table.contype, table.conaffinity = 0, 13
    table.friction = [1.0, 0.005, 0.001]
    for name, half_size, centre in _WALLS:
        wall = spec.worldbody.add_geom(name=name, type=BOX, size=half_size, pos=centre)
        wall.rgba, wall.group = INVISIBLE, GROUP_COLLISION
        wall.contype = wall.conaffinity = 2
        wall.friction = [1.0, 0.005, 0.001]


def _add_puck(spec: mujoco.MjSpec, index: int, physics: Physics) -> None:
    body = spec.worldbody.add_body(name=f"object{index}")
    if physics.free_pucks:
        body.add_freejoint(name=f"object{index}")
    else:
        for axis, suffix in zip(np.eye(3), ("", "_y", "_z"), strict=True):
            joint = body.add_joint(name=f"object{index}{suffix}", axis=axis)
            joint.type = mujoco.mjtJoint.mjJNT_SLIDE
    body.explicitinertial = True
    # Release: an absurd rotational inertia, so that pucks only translate.
    body.mass, body.inertia = 0.1, [1e5, 1e5, 1e5]
    geom = body.add_geom(name=f"puck{index}", type=CYLINDER)
    geom.size = [PUCK_RADIUS, PUCK_HALF_HEIGHT, 0.0]
    geom.contype, geom.conaffinity = 18, 20
    geom.group, geom.rgba = GROUP_PUCK, [0.5, 0.5, 0.5, 1.0]
    if not physics.flat_contact:
        foot = body.add_geom(type=SPHERE, size=[PUCK_HALF_HEIGHT, 0, 0])
        foot.rgba, foot.group = INVISIBLE, GROUP_COLLISION
        foot.contype, foot.conaffinity = 8, 0


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
    """Return the (n,) qpos address of each puck's x; y and z follow."""
    return np.array([model.joint(f"object{i}").qposadr[0] for i in range(n_pucks)])
