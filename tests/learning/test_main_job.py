"""The main job from scratch, with a seed nobody has tried: `make check-main-job` (half an hour).

Everything else may pass while a fresh user's agent learns nothing, because other tests and results
reuse trained perceptions. Run it before a change to perception, goals or learner is called done.
"""

import json
import os
import time
from pathlib import Path

import pytest

from smorl.cli import main

WORST = 0.06  # metres; doing nothing ends at 0.188


@pytest.mark.main_job
def test_the_main_job_works_from_scratch_for_any_seed(tmp_path):
    seed = int(os.environ.get("SEED") or 100 + int(time.time()) % 1_000_000)
    out = Path(os.environ.get("OUT") or tmp_path / f"visual-rearrange-1-seed{seed}")
    assert main(["train", "visual-rearrange-1", "--seed", str(seed), "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    distance, within = result["object_distance"], result["pucks_within_5cm"]
    told = f"seed {seed}: {distance:.3f} m, {within:.0%} within 5 cm ({out})"
    assert distance <= WORST, f"{told}; at most {WORST} m is wanted"
