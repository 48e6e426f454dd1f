"""The rings that mark goals."""

import numpy as np
import pytest

shapes = pytest.importorskip("smorl.page.shapes")


def test_a_ring_stands_on_the_table_around_its_middle():
    vertices, faces = shapes.tube(0.04, 0.008, 0.003)
    away = np.hypot(vertices[:, 0], vertices[:, 1])
    assert away.min() == pytest.approx(0.032, abs=1e-3)
    assert away.max() == pytest.approx(0.04, abs=1e-3)
    assert (vertices[:, 2].min(), vertices[:, 2].max()) == pytest.approx((0.0, 0.003))
    assert faces.max() < len(vertices)


def test_a_ghost_fills_its_ring():
    vertices, _ = shapes.disc(0.03, 0.006)
    assert np.hypot(vertices[:, 0], vertices[:, 1]).max() == pytest.approx(0.03)
    assert (vertices[:, 2].min(), vertices[:, 2].max()) == pytest.approx((-0.003, 0.003))
