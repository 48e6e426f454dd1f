"""The scaling benchmark: exponents of known laws, and a whole report in small."""

import json

import numpy as np
import pytest

from smorl.bench import scaling


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law(power):
    sizes = (1, 2, 8, 32)
    assert scaling.exponent(sizes, 3 * np.array(sizes) ** power) == pytest.approx(power)


def test_report_table_and_figure(monkeypatch, capsys, tmp_path):
    small = {"slots": (2, 4), "batch": (8, 16), "rows": (1, 2), "objects": (1, 2)}
    monkeypatch.setattr(scaling, "SIZES", small)
    monkeypatch.setattr(scaling, "FAST", "debug-scalor")
    report = scaling.measure((1,), repeats=1)
    assert {row["axis"]: tuple(row["sizes"]) for row in report["axes"]} == small
    assert all(min(row["cpu_ms"]) > 0 and len(row["ms"]) == 2 for row in report["axes"])
    monkeypatch.setattr(scaling, "measure", lambda threads, repeats: report)
    assert scaling.main(["--json", "--figure", str(tmp_path / "scaling.png")]) == 0
    assert json.loads(capsys.readouterr().out) == report
    assert (tmp_path / "scaling.png").stat().st_size > 1000
    assert "exponent" in scaling.as_text(report)
