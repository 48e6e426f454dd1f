# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""The Sawyer arm: true kinematics, masses and inertias, drawn from primitives (metres, kg).

One row of `LINKS` is one rigid link. Collision shapes are invisible; the drawing follows the
link offsets with capsules, does not collide and weighs nothing, so looks never change physics.
"""

from collections.abc import Container
from dataclasses import dataclass
from itertools import pairwise

import mujoco

Vector = tuple[float, ...]

# Joint angles (rad) that put the gripper upright at the near edge of the table.
# Release: the arm is started from these angles and then settles on the mocap weld.
START_ANGLES: Vector = (
    1.78026069,
    -0.684415781,
    -0.154549231,
    2.30672090,
    1.93111471,
    0.127854012,
    1.49353907,
)

ARM_RED = (0.5, 0.1, 0.1, 1.0)
PEDESTAL_GREY = (0.2, 0.2, 0.2, 1.0)
GRIPPER_BEIGE = (0.7, 0.6, 0.55, 1.0)
FINGER_GREEN = (0.0, 1.0, 0.0, 1.0)
INVISIBLE = (0.0, 0.0, 0.0, 0.0)

# Geom groups: what the renderer draws is 0 to 2, what only collides is 3.
GROUP_STATIC, GROUP_ARM, GROUP_PUCK, GROUP_COLLISION = 0, 1, 2, 3

SPHERE = mujoco.mjtGeom.mjGEOM_SPHERE
CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
CYLINDER = mujoco.mjtGeom.mjGEOM_CYLINDER
BOX = mujoco.mjtGeom.mjGEOM_BOX


@dataclass(frozen=True)
class Shape:
    """A primitive in its link's frame; a capsule or cylinder may be given by its two ends."""

    kind: mujoco.mjtGeom
    size: Vector
    pos: Vector = (0.0, 0.0, 0.0)
    ends: Vector | None = None


@dataclass(frozen=True)
class Link:
    """One rigid link: pose in its parent, joint range (None: fixed), inertia, shapes."""

    name: str
    parent: str
    pos: Vector
    quat: Vector
    joint_range: tuple[float, float] | None
    mass: float
    inertial_pos: Vector
    inertial_quat: Vector
    inertia: Vector
    collision: tuple[Shape, ...]
    drawing: tuple[Shape, ...]


def _tube(radius: float, *points: Vector) -> tuple[Shape, ...]:
    """Capsules of one radius along a polyline."""
    return tuple(Shape(CAPSULE, (radius,), ends=(*start, *end)) for start, end in pairwise(points))


_HALF = 0.707107
_UNIT = (1.0, 0.0, 0.0, 0.0)

LINKS: tuple[Link, ...] = (
    Link(
        "right_arm_base_link", "base", (0, 0, 0), _UNIT, None,
        2.0687, (-0.0006241, -2.8025e-05, 0.065404),
        (-0.209285, 0.674441, 0.227335, 0.670558), (0.00740351, 0.00681776, 0.00672942),
        (Shape(CYLINDER, (0.08, 0.12), (0, 0, 0.12)),),
        (Shape(CYLINDER, (0.09, 0.05), (0, 0, 0.05)),),
    ),
    Link(
        "right_l0", "right_arm_base_link", (0, 0, 0.08), _UNIT, (-3.0503, 3.0503),
        5.3213, (0.024366, 0.010969, 0.14363),
        (0.894823, 0.00899958, -0.170275, 0.412573), (0.0651588, 0.0510944, 0.0186218),
        (Shape(SPHERE, (0.07,), (0.08, 0, 0.23)),),
        (
            Shape(CYLINDER, (0.08, 0.1), (0, 0, 0.1)),
            *_tube(0.075, (0, 0, 0.19), (0.081, 0, 0.237), (0.081, 0.05, 0.237)),
        ),
    ),
    Link(
        "head", "right_l0", (0, 0, 0.2965), _UNIT, None,
        1.5795, (0.0053207, -2.6549e-05, 0.1021),
        (0.999993, 7.08405e-05, -0.00359857, -0.000626247), (0.0118334, 0.00827089, 0.00496574),
        (Shape(SPHERE, (0.18,), (0, 0, 0.08)),),
        (
            Shape(CAPSULE, (0.05,), ends=(0, 0, -0.03, 0, 0, 0.09)),
            Shape(BOX, (0.02, 0.13, 0.08), (0.04, 0, 0.12)),
        ),
    ),
    Link(
        "right_l1", "right_l0", (0.081, 0.05, 0.237), (0.5, -0.5, 0.5, 0.5), (-3.8, -0.5),
        4.505, (-0.0030849, -0.026811, 0.092521),
        (0.424888, 0.891987, 0.132364, -0.0794296), (0.0224339, 0.0221624, 0.0097097),
        (
            Shape(SPHERE, (0.07,), (0, 0, 0.1225)),
            # Release: a massless helper body of the first shoulder link carries this one.
            Shape(CYLINDER, (0.07, 0.07), (0, 0, 0.035)),
        ),
        _tube(0.068, (0, 0, 0), (0, 0, 0.1425), (0, -0.14, 0.1425)),
    ),
    Link(
        "right_l2", "right_l1", (0, -0.14, 0.1425), (_HALF, _HALF, 0, 0), (-3.0426, 3.0426),
        1.745, (-0.00016044, -0.014967, 0.13582),
        (0.707831, -0.0524761, 0.0516007, 0.702537), (0.0257928, 0.025506, 0.00292515),
        (Shape(CYLINDER, (0.06, 0.17), (0, 0, 0.08)),),
        _tube(0.058, (0, 0, 0), (0, 0, 0.26), (0, -0.042, 0.26)),
    ),
    Link(
        "right_l3", "right_l2", (0, -0.042, 0.26), (_HALF, -_HALF, 0, 0), (-3.0439, 3.0439),
        2.5097, (-0.0048135, -0.0281, -0.084154),
        (0.902999, 0.385391, -0.0880901, 0.168247), (0.0102404, 0.0096997, 0.00369622),
        (Shape(SPHERE, (0.06,), (0, -0.01, -0.12)),),
        _tube(0.055, (0, 0, 0), (0, 0, -0.1265), (0, -0.125, -0.1265)),
    ),
    Link(
        "right_l4", "right_l3", (0, -0.125, -0.1265), (_HALF, _HALF, 0, 0), (-2.9761, 2.9761),
        1.1136, (-0.0018844, 0.0069001, 0.1341),
        (0.803612, 0.031257, -0.0298334, 0.593582), (0.0136549, 0.0135493, 0.00127353),
        (Shape(CYLINDER, (0.045, 0.15), (0, 0, 0.11)),),
        _tube(0.045, (0, 0, 0), (0, 0, 0.275), (0, 0.031, 0.275)),
    ),
    Link(
        "right_l5", "right_l4", (0, 0.031, 0.275), (_HALF, -_HALF, 0, 0), (-2.9761, 2.9761),
        1.5625, (0.0061133, -0.023697, 0.076416),
        (0.404076, 0.9135, 0.0473125, 0.00158335), (0.00474131, 0.00422857, 0.00190672),
        (Shape(SPHERE, (0.06,), (0, 0, 0.1)),),
        _tube(0.045, (0, 0, 0), (0, 0, 0.1053), (0, -0.08, 0.1053)),
    ),
    Link(
        "right_l6", "right_l5", (0, -0.11, 0.1053),
        (0.0616248, 0.06163, -0.704416, 0.704416), (-4.7124, 4.7124),
        0.3292, (-8.0726e-06, 0.0085838, -0.0049566),
        (0.479044, 0.515636, -0.513069, 0.491322), (0.000360258, 0.000311068, 0.000214974),
        (Shape(CYLINDER, (0.055, 0.025), (0, 0.015, -0.01)),),
        (Shape(CYLINDER, (0.045, 0.027), (0, 0, -0.005)),),
    ),
    Link(
        "right_hand", "right_l6", (0, 0, 0.0245), (_HALF, 0, 0, _HALF), None,
        1e-8, (1e-8, 1e-8, 1e-8), _UNIT, (1e-8, 1e-8, 1e-8),
        (Shape(CYLINDER, (0.035, 0.015), (0, 0, 0.02)),),
        (Shape(CYLINDER, (0.03, 0.012), (0, 0, 0.0)),),
    ),
)  # fmt: skip

PEDESTAL = (
    Shape(CYLINDER, (0.12, 0.44), (-0.02, 0, -0.445)),
    Shape(BOX, (0.3, 0.3, 0.03), (-0.02, 0, -0.89)),
)


def _add_shape(body: mujoco.MjsBody, shape: Shape) -> mujoco.MjsGeom:
    geom = body.add_geom(type=shape.kind)
    if shape.ends is None:
        geom.size = [*shape.size, 0.0, 0.0][:3]
        geom.pos = shape.pos
    else:
        geom.size = [shape.size[0], 0.0, 0.0]
        geom.fromto = shape.ends
    return geom


def _draw(body: mujoco.MjsBody, shape: Shape, rgba: Vector, group: int) -> mujoco.MjsGeom:
    """Add a visible shape that neither collides nor weighs anything."""
    geom = _add_shape(body, shape)
    geom.rgba = rgba
    geom.group = group
    geom.contype = geom.conaffinity = 0
    geom.mass = 0.0
    return geom


def add_arm(spec: mujoco.MjSpec, link_shapes: Container[str], drawing: bool) -> None:
    """Add the arm and its gripper at the world origin.

    Links named in `link_shapes` keep the collision shape of the release; those shapes touch only
    each other and the table, never pucks or walls. `drawing` adds what only the eye needs.
    """
    base = spec.worldbody.add_body(name="base")
    bodies = {"base": base}
    for link in LINKS:
        body = _add_link(bodies[link.parent], link)
        bodies[link.name] = body
        for shape in link.collision if link.name in link_shapes else ():
            geom = _add_shape(body, shape)
            geom.rgba = INVISIBLE
            geom.group = GROUP_COLLISION
        for shape in link.drawing if drawing else ():
            _draw(body, shape, ARM_RED, GROUP_ARM)
    if drawing:
        for shape in PEDESTAL:
            _draw(base, shape, PEDESTAL_GREY, GROUP_STATIC)
    _add_gripper(bodies["right_hand"])


def _add_link(parent: mujoco.MjsBody, link: Link) -> mujoco.MjsBody:
    body = parent.add_body(name=link.name, pos=link.pos, quat=link.quat)
    body.explicitinertial = True
    body.mass = link.mass
    body.ipos, body.iquat, body.inertia = link.inertial_pos, link.inertial_quat, link.inertia
    if link.joint_range is not None:
        joint = body.add_joint(name=link.name.replace("right_l", "right_j"))
        joint.type = mujoco.mjtJoint.mjJNT_HINGE
        joint.axis = (0, 0, 1)
        joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.range = link.joint_range
        joint.damping = [10.0, 0.0, 0.0]
        joint.armature = 0.1
    return body


def _add_gripper(hand: mujoco.MjsBody) -> None:
    """Add the palm and two fixed fingers; "the hand" of observations is body `leftclaw`."""
    claw = hand.add_body(name="claw", quat=(-_HALF, 0, _HALF, 0))
    palm = Shape(BOX, (0.01, 0.04, 0.01))
    finger = Shape(BOX, (0.05, 0.005, 0.005))
    # Release: the fingers' own friction of 0.001 has no effect, because a contact takes the
    # larger friction of its pair; it is kept so that the pair rule stays visible.
    parts = (
        (claw, palm, (1.0, 0.005, 0.001), GRIPPER_BEIGE),
        (claw.add_body(name="rightclaw", pos=(0.01, 0.015, 0)), finger, (0.001, 0.005, 0.0001),
         FINGER_GREEN),
        (claw.add_body(name="leftclaw", pos=(0.01, 0.02, 0)), finger, (0.001, 0.005, 0.0001),
         FINGER_GREEN),
    )  # fmt: skip
    for body, shape, friction, rgba in parts:
        geom = _add_shape(body, shape)
        geom.name = body.name
        geom.rgba, geom.friction = rgba, friction
        geom.contype, geom.conaffinity = 4, 2
        geom.group = GROUP_ARM
