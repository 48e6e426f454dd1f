"""The ray caster: equal to casting everything, a pure function, and true to the projection."""

import mujoco
import numpy as np
import pytest

from smorl.envs.rendering.cameras import CAMERAS, Camera, project, ray_directions
from smorl.envs.rendering.raycast import DRAWN_GROUPS, shade
from smorl.envs.rendering.renderer import RayRenderer, upscale
from smorl.envs.tabletop.sawyer import START_ANGLES
from smorl.envs.tabletop.scene import PUCK_HALF_HEIGHT, PUCK_RADIUS, build_scene, puck_qpos_columns
from smorl.errors import InvalidInput

BLUE = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def model():
    return build_scene(3)


def states(model, count, seed=0, spread=0.15):
    """Arm poses around the start and pucks anywhere on the table."""
    rng = np.random.default_rng(seed)
    qpos = np.tile(model.qpos0, (count, 1))
    qpos[:, :7] = np.asarray(START_ANGLES) + rng.normal(0, spread, (count, 7))
    for column in puck_qpos_columns(model, 3):
        qpos[:, column : column + 2] = rng.uniform((-0.2, 0.45), (0.2, 0.7), (count, 2))
        qpos[:, column + 2] = PUCK_HALF_HEIGHT
    return qpos, rng.uniform(0, 1, (count, 3, 3))


def cast_everything(model, camera, qpos, rgb, height, width):
    """The plain way: every ray at every visible geom, nothing kept between pictures."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    rays = ray_directions(camera, height, width).reshape(-1)
    count = height * width
    geom, distance = np.empty(count, np.int32), np.empty(count)
    normal = np.empty(3 * count)
    mujoco.mj_multiRay(
        model, data, camera.position, rays, DRAWN_GROUPS, True, -1,
        geom, distance, normal, count, 1e9,
    )  # fmt: skip
    colours = model.geom_rgba[:, :3].copy()
    for index, colour in enumerate(rgb):
        colours[model.geom(f"puck{index}").id] = colour
    image = shade(colours.astype(np.float32)[geom], normal.reshape(-1, 3), camera.axes[2])
    image[geom < 0] = 0
    return image.reshape(height, width, 3)


@pytest.mark.parametrize("name", sorted(CAMERAS))
def test_equals_casting_every_ray_at_every_geom(model, name):
    qpos, rgb = states(model, 12, spread=0.3)
    frames = RayRenderer(model, name, 40, 56).render(qpos, rgb)
    for row in range(len(qpos)):
        expected = cast_everything(model, CAMERAS[name], qpos[row], rgb[row], 40, 56)
        np.testing.assert_array_equal(frames[row], expected)


def test_equals_casting_everything_with_the_camera_inside_the_arm_and_beside_pucks(model):
    qpos, rgb = states(model, 4, spread=0.0)
    for lookat in [(0.0, 0.4, 0.2), (0.0, 0.55, 0.02)]:
        camera = Camera(lookat, distance=0.05, elevation=-10, azimuth=200)
        frames = RayRenderer(model, camera, 32, 32).render(qpos, rgb)
        for row in range(len(qpos)):
            expected = cast_everything(model, camera, qpos[row], rgb[row], 32, 32)
            np.testing.assert_array_equal(frames[row], expected)


def test_pictures_do_not_depend_on_threads_batch_or_history(model):
    qpos, rgb = states(model, 21)
    frames = RayRenderer(model, "zoomed_in", 64, 64).render(qpos, rgb)
    assert frames.shape == (21, 64, 64, 3)
    assert frames.dtype == np.uint8
    threaded = RayRenderer(model, "zoomed_in", 64, 64, threads=4)
    np.testing.assert_array_equal(threaded.render(qpos, rgb), frames)
    np.testing.assert_array_equal(threaded.render(qpos[::-1], rgb[::-1]), frames[::-1])
    np.testing.assert_array_equal(threaded.render(qpos[3:4], rgb[3:4])[0], frames[3])
    threaded.close()


def test_later_edits_of_the_model_do_not_change_the_pictures():
    own = build_scene(3)
    qpos, rgb = states(own, 1)
    renderer = RayRenderer(own, "zoomed_in", 32, 32)
    before = renderer.render(qpos, rgb)
    own.geom_rgba[:] = 1
    np.testing.assert_array_equal(renderer.render(qpos, rgb), before)


@pytest.mark.parametrize("name", ["zoomed_in", "multiobject_push"])
def test_rendered_pucks_are_where_project_says(model, name):
    # Rows of pixels map to y top to bottom and columns to x left to right: a mirrored or flipped
    # picture would put the centroid elsewhere.
    camera, size = CAMERAS[name], 256
    qpos, _ = states(model, 6, seed=3, spread=0.0)
    columns = puck_qpos_columns(model, 3)
    qpos[:, columns[1:]] += 10  # only puck 0 stays in view
    rgb = np.tile(np.stack([BLUE] * 3), (6, 1, 1))
    frames = RayRenderer(model, camera, size, size).render(qpos, rgb).astype(int)
    for row in range(6):
        mask = (frames[row, ..., 2] > 100) & (frames[row, ..., 0] < 30)
        rows, cols = np.nonzero(mask)
        assert len(rows) > 300
        centroid = (2 * np.array([cols.mean(), rows.mean()]) + 1) / size - 1
        centre = qpos[row, columns[0] : columns[0] + 3]
        np.testing.assert_allclose(centroid, project(centre, camera), atol=0.02)
        edges = project(centre + np.outer((1, -1), (PUCK_RADIUS, 0, 0)), camera)[:, 0]
        half_width = (cols.max() - cols.min() + 1) / size
        assert half_width == pytest.approx(abs(edges[0] - edges[1]) / 2, abs=0.02)


def test_table_is_drawn_only_inside_its_half_extents(model):
    # The plane is endless for contact; a picture from above shows 0.8 by 0.5 metres of it.
    above = Camera((0, 0.6, 0), distance=3, elevation=-90, azimuth=90)
    qpos, rgb = states(model, 1)
    qpos[:, puck_qpos_columns(model, 3)] += 10
    image = RayRenderer(model, above, 300, 300).render(qpos, rgb)[0].astype(int)
    white = (image.min(-1) > 150).nonzero()
    pixel = 2 * 3 * above.half_height / 300
    height, width = (np.ptp(axis) + 1 for axis in white)
    assert width * pixel == pytest.approx(0.8, abs=2 * pixel)
    assert height * pixel == pytest.approx(0.5, abs=2 * pixel)
    assert (image[0] == 0).all(), "black outside"


def test_headlight_shading_of_the_table(model):
    # Release: ambient 0.5, diffuse 0.4 and a table of 0.9 seen at 45 degrees.
    qpos, rgb = states(model, 1)
    image = RayRenderer(model, "zoomed_in", 64, 64).render(qpos, rgb)[0]
    expected = round(255 * 0.9 * (0.5 + 0.4 * np.cos(np.pi / 4)))
    assert tuple(image[50, 0]) == (expected,) * 3


def test_samples_average_the_finer_picture_and_background_fills_the_rest(model):
    qpos, rgb = states(model, 2)
    fine = RayRenderer(model, "overview", 40, 40).render(qpos, rgb).astype(float)
    smooth = RayRenderer(model, "overview", 20, 20, samples=2).render(qpos, rgb)
    expected = fine.reshape(2, 20, 2, 20, 2, 3).mean(axis=(2, 4))
    assert np.abs(smooth - expected).max() <= 0.5
    sky = RayRenderer(model, "overview", 40, 40, background=(1, 0.5, 0)).render(qpos, rgb)
    assert tuple(sky[0, 0, 0]) == (255, 128, 0)
    np.testing.assert_array_equal(sky[fine.sum(-1) > 0], fine[fine.sum(-1) > 0])


def test_upscale_repeats_pixels():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    big = upscale(image, 3)
    assert big.shape == (6, 6, 3)
    np.testing.assert_array_equal(big[::3, ::3], image)
    np.testing.assert_array_equal(big[2::3, 2::3], image)


def test_bad_input_is_refused_with_a_remedy(model):
    qpos, rgb = states(model, 2)
    renderer = RayRenderer(model, "zoomed_in", 16, 16)
    with pytest.raises(InvalidInput, match=rf"shape \({model.nq},\)"):
        renderer.render(qpos[0], rgb)
    with pytest.raises(InvalidInput, match=r"pass \(2, 3, 3\)"):
        renderer.render(qpos, rgb[:1])
    with pytest.raises(InvalidInput, match="NaN"):
        renderer.render(np.full_like(qpos, np.nan), rgb)
    with pytest.raises(InvalidInput, match=r"outside \[0, 1\]"):
        renderer.render(qpos, rgb * 255)
    with pytest.raises(InvalidInput, match="samples is 0"):
        RayRenderer(model, "zoomed_in", 16, 16, samples=0)
    with pytest.raises(InvalidInput, match="Known cameras"):
        RayRenderer(model, "top", 16, 16)
    assert renderer.render(qpos[:0], rgb[:0]).shape == (0, 16, 16, 3)
