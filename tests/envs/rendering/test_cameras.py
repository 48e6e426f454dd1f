"""The pixel/world convention: against the facts of the release and against itself."""

import numpy as np
import pytest

from smorl.envs.rendering.cameras import (
    CAMERAS,
    PUCK_CENTRE_HEIGHT,
    Camera,
    get_camera,
    pixel_centres,
    project,
    ray_directions,
    unproject,
)
from smorl.errors import InvalidInput

ZOOMED = CAMERAS["zoomed_in"]


def on_table(x, y):
    return np.stack(np.broadcast_arrays(x, y, PUCK_CENTRE_HEIGHT), axis=-1).astype(float)


def test_camera_positions_of_the_release():
    np.testing.assert_allclose(ZOOMED.position, (0, 1.0621, 0.4121), atol=1e-4)
    np.testing.assert_allclose(CAMERAS["multiobject_push"].position, (0, 1.0563, 0.5152), atol=1e-4)


def test_zoomed_in_numbers_of_the_release():
    # Release: its axes are flipped, tx = -y and ty = x of ours.
    y = np.arange(0.40, 0.76, 0.05)
    tx = (0.604, 0.514, 0.415, 0.305, 0.183, 0.045, -0.111, -0.289)
    slope = (-3.22, -3.38, -3.56, -3.76, -3.97, -4.22, -4.50, -4.81)
    np.testing.assert_allclose(-project(on_table(0.0, y), ZOOMED)[:, 1], tx, atol=1e-3)
    moved = project(on_table(0.1, y), ZOOMED)[:, 0] - project(on_table(0.0, y), ZOOMED)[:, 0]
    np.testing.assert_allclose(moved / 0.1, slope, atol=1e-2)
    assert -project((0, 0.4, 0.05), ZOOMED)[1] == pytest.approx(0.71, abs=0.01)


@pytest.mark.parametrize("name", sorted(CAMERAS))
@pytest.mark.parametrize("aspect", [1.0, 1.5])
def test_unproject_is_the_inverse_of_project(name, aspect):
    camera = CAMERAS[name]
    rng = np.random.default_rng(0)
    points = on_table(rng.uniform(-0.2, 0.2, (5, 7)), rng.uniform(0.4, 0.72, (5, 7)))
    image = project(points, camera, aspect)
    assert image.shape == (5, 7, 2)
    np.testing.assert_allclose(unproject(image, camera, aspect=aspect), points, atol=1e-12)
    lifted = points + np.array((0, 0, 0.1))
    back = unproject(project(lifted, camera, aspect), camera, 0.1 + PUCK_CENTRE_HEIGHT, aspect)
    np.testing.assert_allclose(back, lifted, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CAMERAS))
def test_axes_are_a_right_handed_frame_and_lookat_is_the_middle(name):
    camera = CAMERAS[name]
    right, up, forward = camera.axes
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, up), -forward, atol=1e-12)
    assert up[2] > 0
    np.testing.assert_allclose(project(camera.lookat, camera), (0, 0), atol=1e-12)
    above = np.add(camera.lookat, (0, 0, 0.01))
    assert project(above, camera)[1] < 0, "row 0 is the top of the picture"


def test_rays_pass_through_pixel_centres():
    rays = ray_directions(ZOOMED, 6, 8)
    assert rays.shape == (6, 8, 3)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1)
    image = project(ZOOMED.position + 0.7 * rays, ZOOMED, aspect=8 / 6)
    np.testing.assert_allclose(image[0, :, 0], pixel_centres(8), atol=1e-12)
    np.testing.assert_allclose(image[:, 0, 1], pixel_centres(6), atol=1e-12)
    np.testing.assert_allclose(pixel_centres(4), (-0.75, -0.25, 0.25, 0.75))


def test_what_has_no_image_is_nan():
    behind = ZOOMED.position - ZOOMED.axes[2]
    assert np.isnan(project(behind, ZOOMED)).all()
    level = Camera((0, 0, 1), distance=1, elevation=0, azimuth=90)
    assert np.isnan(unproject((0.0, -0.5), level)).all(), "above the horizon"
    assert np.isnan(unproject((0.0, 0.0), level)).all(), "on the horizon"
    assert np.isfinite(unproject((0.0, 0.5), level)).all()


def test_bad_cameras_are_refused_with_a_remedy():
    with pytest.raises(InvalidInput, match=r"'zoomedin'.*Did you mean 'zoomed_in'"):
        get_camera("zoomedin")
    with pytest.raises(InvalidInput, match="distance is 0"):
        Camera((0, 0, 0), distance=0, elevation=0, azimuth=0)
    with pytest.raises(InvalidInput, match="fovy is 180"):
        Camera((0, 0, 0), distance=1, elevation=0, azimuth=0, fovy=180)
    assert get_camera(ZOOMED) is ZOOMED
