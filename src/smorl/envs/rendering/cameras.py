"""Cameras, and the map between the world (metres) and pictures (image coordinates).

Image coordinates are `(x, y)` in [-1, 1]: x runs left to right, y runs TOP to BOTTOM, so they grow
with the column and the row of an ordinary picture (row 0 on top). The centre of pixel i out of N
lies at `(2 i + 1) / N - 1`; (0, 0) is the middle of the picture.

Release: its pictures are upside down and transposed, so that its `tx` is our `-y` and its `ty` is
our `x`.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smorl.errors import InvalidInput, did_you_mean

# Height of a resting puck's centre above the table, in metres.
PUCK_CENTRE_HEIGHT = 0.015


@dataclass(frozen=True)
class Camera:
    """A pinhole camera in MuJoCo's free-camera convention.

    `lookat` (metres) is the point in the middle of the picture, seen from `distance` metres.
    `elevation`, `azimuth` and the vertical field of view `fovy` are in degrees; azimuth 270 looks
    along -y, a negative elevation looks down.
    """

    lookat: tuple[float, float, float]
    distance: float
    elevation: float
    azimuth: float
    fovy: float = 45.0

    def __post_init__(self) -> None:
        if not self.distance > 0:
            raise InvalidInput(f"Camera distance is {self.distance}; it must be above 0 metres.")
        if not 0 < self.fovy < 180:
            raise InvalidInput(f"Camera fovy is {self.fovy}; it must be between 0 and 180 degrees.")

    @property
    def axes(self) -> NDArray[np.float64]:
        """Unit vectors (right, up, forward) of the picture in the world, as rows of a (3, 3)."""
        azimuth, elevation = np.radians(self.azimuth), np.radians(self.elevation)
        cos_a, sin_a = np.cos(azimuth), np.sin(azimuth)
        cos_e, sin_e = np.cos(elevation), np.sin(elevation)
        right = (sin_a, -cos_a, 0.0)
        up = (-sin_e * cos_a, -sin_e * sin_a, cos_e)
        forward = (cos_e * cos_a, cos_e * sin_a, sin_e)
        return np.array([right, up, forward], dtype=np.float64)

    @property
    def position(self) -> NDArray[np.float64]:
        """Where the camera is, in metres."""
        return np.asarray(self.lookat, dtype=np.float64) - self.distance * self.axes[2]

    @property
    def half_height(self) -> float:
        """Half the height of the picture at unit depth (tangent of half the field of view)."""
        return float(np.tan(np.radians(self.fovy) / 2))


CAMERAS = MappingProxyType(
    {
        # Release: SCALOR's data and visual SMORL, 64x64.
        "zoomed_in": Camera((0.0, 0.85, 0.2), distance=0.3, elevation=-45.0, azimuth=270.0),
        # Release: RIG and Skew-Fit, 48x48.
        "multiobject_push": Camera((0.0, 0.81, 0.2), distance=0.4, elevation=-52.0, azimuth=270.0),
        # Ours: the whole robot and the table, for people.
        "overview": Camera((0.0, 0.43, 0.19), distance=1.42, elevation=-32.0, azimuth=204.0),
    }
)


def get_camera(camera: str | Camera) -> Camera:
    """Return a camera by name, or the camera itself."""
    if isinstance(camera, Camera):
        return camera
    if not isinstance(camera, str) or camera not in CAMERAS:
        raise InvalidInput(
            f"Unknown camera {camera!r:.80}.{did_you_mean(str(camera), CAMERAS)} "
            f"Known cameras: {', '.join(CAMERAS)}; or pass a Camera."
        )
    return CAMERAS[camera]


def pixel_centres(count: int) -> NDArray[np.float64]:
    """Return the image coordinates of `count` pixel centres along one side of a picture."""
    return (2 * np.arange(count) + 1) / count - 1


def ray_directions(camera: Camera, height: int, width: int) -> NDArray[np.float64]:
    """Return unit vectors (height, width, 3) from the camera through the pixel centres."""
    x, y = np.meshgrid(pixel_centres(width), pixel_centres(height))
    rays = _directions(np.stack([x, y], axis=-1), camera, width / height)
    return rays / np.linalg.norm(rays, axis=-1, keepdims=True)


def project(points: ArrayLike, camera: Camera, aspect: float = 1.0) -> NDArray[np.float64]:
    """Map world points (..., 3) in metres to image coordinates (..., 2).

    `aspect` is the picture's width over its height. Points outside the picture come out beyond
    [-1, 1]; points beside or behind the camera have no image and come out as NaN.
    """
    offset = np.asarray(points, dtype=np.float64) - camera.position
    right, up, depth = np.moveaxis(offset @ camera.axes.T, -1, 0)
    scale = camera.half_height * np.where(depth > 0, depth, np.nan)
    return np.stack([right / (scale * aspect), -up / scale], axis=-1)


def project_onto_table(places: ArrayLike, camera: Camera) -> NDArray[np.float64]:
    """Map places (..., 2) of puck centres on the table, metres, to image coordinates (..., 2)."""
    xy = np.asarray(places, dtype=np.float64)
    height = np.full((*xy.shape[:-1], 1), PUCK_CENTRE_HEIGHT)
    return project(np.concatenate([xy, height], -1), camera)


def unproject(
    xy: ArrayLike, camera: Camera, height: float = PUCK_CENTRE_HEIGHT, aspect: float = 1.0
) -> NDArray[np.float64]:
    """Map image coordinates (..., 2) to the world points (..., 3) at z = `height` seen there.

    The inverse of `project` on a horizontal plane. Where the line of sight never meets the plane
    (at or above the horizon) the answer is NaN.
    """
    rays = _directions(np.asarray(xy, dtype=np.float64), camera, aspect)
    down = rays[..., 2]
    travel = np.divide(
        height - camera.position[2], down, out=np.full_like(down, np.nan), where=down != 0
    )
    travel = np.where(travel > 0, travel, np.nan)
    points = camera.position + travel[..., None] * rays
    points[..., 2] = np.where(np.isnan(travel), np.nan, height)
    return points


def _directions(xy: NDArray[np.float64], camera: Camera, aspect: float) -> NDArray[np.float64]:
    """Return vectors of unit depth from the camera through image coordinates (..., 2)."""
    right, up, forward = camera.axes
    across = xy[..., 0, None] * (camera.half_height * aspect)
    downward = xy[..., 1, None] * camera.half_height
    return forward + across * right - downward * up
