"""`smorl study parts`: the tracker's parts, switched off one at a time."""

import json

import numpy as np
import pytest

from smorl.cli import parts, study
from smorl.representations.scalor.tracking.settings import PLAIN, TrackerConfig


def test_every_part_is_switched_off_alone_and_then_all():
    usual, without = TrackerConfig(), TrackerConfig.without()
    assert list(without) == [*PLAIN, "all"]
    for name, off in PLAIN.items():
        changed = {k for k, v in vars(without[name]).items() if v != getattr(usual, k)}
        assert changed == {name}
        assert getattr(without[name], name) == off
    assert without["all"] == TrackerConfig.plain()


def test_the_table_shows_what_parts_are_worth(monkeypatch, tmp_path, capsys):
    some = ("settle", "hand", "all")
    cases = {name: s for name, s in TrackerConfig.without().items() if name in some}
    monkeypatch.setattr(TrackerConfig, "without", classmethod(lambda cls: cases))
    kept = tmp_path / "parts.json"
    words = ["parts", "shipped:scalor-2", "--episodes", "4", "--steps", "15"]
    assert study.main([*words, "--keep", str(kept)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 1 + len(some)
    report = json.loads(kept.read_text())
    rows = {row["without"]: row for row in report["rows"]}
    as_is = rows[parts.AS_IS]
    assert rows["settle"]["jitter"] > 1.2 * as_is["jitter"]
    assert rows["hand"]["hand_near"] < as_is["hand_near"]
    assert rows["all"]["hand_near"] < as_is["hand_near"] - 0.2
    assert report["made"]["command"].startswith("smorl study parts shipped:scalor-2")


def test_means_are_over_perceptions():
    rows = [
        {"without": "memory", **dict.fromkeys(parts.COLUMNS, value)} for value in (0.5, 0.7, None)
    ]
    cells = parts.table(rows).splitlines()[2].split("|")[2:-1]
    np.testing.assert_allclose([float(cell) for cell in cells], 0.6)


def test_perceptions_of_another_kind_have_no_parts(monkeypatch):
    from smorl.errors import InvalidInput
    from smorl.representations import perceptions

    monkeypatch.setattr(perceptions, "settings_for", lambda name: perceptions.TrackerSettings)
    with pytest.raises(InvalidInput, match="no parts of ours"):
        parts.main(["shipped:scalor-1"])
