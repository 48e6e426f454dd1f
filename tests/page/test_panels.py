"""What stands beside the scene."""

import pytest

panels = pytest.importorskip("smorl.page.panels")


def test_agents_have_short_names_where_these_tell_them_apart():
    names = ["runs/a/seed0", "runs/b/seed0", "shipped:visual-push-1", "/home/me/best/"]
    assert list(panels.labels(names).values()) == [
        "runs/a/seed0",
        "runs/b/seed0",
        "visual-push-1",
        "best",
    ]
