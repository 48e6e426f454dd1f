"""Collectors in processes of their own play what one plays here, and say what became of them."""

import pytest

from smorl.errors import DamagedFile, SmorlError
from smorl.training.ahead import Order
from smorl.training.processes import ProcessCollectors
from tests.cli.same_run import assert_same_checkpoints, assert_same_files
from tests.training.test_ahead import Here, config, train


@pytest.mark.slow
def test_a_run_with_another_process_is_the_same_run(tmp_path):
    settings = config(1)
    train(tmp_path / "here", Here(settings, late=True), settings)
    collectors = ProcessCollectors(settings, None)
    try:
        train(tmp_path / "there", collectors, settings, stop_after=2)
        train(tmp_path / "there", collectors, settings)
    finally:
        collectors.close()
    assert_same_files(tmp_path / "here", tmp_path / "there", "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_errors_and_deaths_are_told():
    collectors = ProcessCollectors(config(1), None)
    try:
        collectors.begin([Order(0, 0, False, {}, {})])  # an agent without weights
        with pytest.raises(DamagedFile):
            collectors.finish()
        collectors._processes[0].kill()
        with pytest.raises(SmorlError, match="exit code -9"):
            collectors.finish()
    finally:
        collectors.close()
