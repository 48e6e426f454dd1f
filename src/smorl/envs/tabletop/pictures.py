"""Who draws the tables of a simulation through one camera: made when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from smorl.envs.tabletop.scene import build_scene
from smorl.envs.tabletop.simulation import Simulation

if TYPE_CHECKING:
    from smorl.envs.rendering.cameras import Camera
    from smorl.envs.rendering.renderer import RayRenderer
    from smorl.envs.rendering.segmentation import Segmenter


class Pictures:
    """Renderers and segmenters by the size of their pictures, for one model and one camera."""

    def __init__(self, simulation: Simulation, camera: str | Camera) -> None:
        self._simulation, self._camera = simulation, camera
        self._renderers: dict[tuple[int, int], RayRenderer] = {}
        self._segmenters: dict[int, Segmenter] = {}

    def renderer(self, height: int, width: int) -> RayRenderer:
        """Return who draws pictures of this size."""
        if (height, width) not in self._renderers:
            from smorl.envs.rendering.renderer import RayRenderer

            threads = min(self._simulation.threads, self._simulation.num)
            self._renderers[height, width] = RayRenderer(
                self._model, self._camera, height, width, threads=threads
            )
        return self._renderers[height, width]

    def segmenter(self, size: int) -> Segmenter:
        """Return who says what the pixels of square pictures show."""
        if size not in self._segmenters:
            from smorl.envs.rendering.segmentation import Segmenter

            self._segmenters[size] = Segmenter(self._model, self._camera, size, size)
        return self._segmenters[size]

    @cached_property
    def _model(self) -> Any:
        """The model with the shapes that are drawn, compiled once."""
        return build_scene(self._simulation.n_pucks, self._simulation.physics)
