"""Progress of something that comes first, on the same line."""

import io

from smorl.runs.progress import Progress


def test_a_stage_has_its_own_count_and_eta_and_leaves_no_trace():
    now = [0.0]
    progress = Progress(1000, stream=io.StringIO(), clock=lambda: now[0])
    progress.update(100, 0, 0.2)
    for batches in (50, 100, 150):
        now[0] += 10
        progress.stage("VAE", batches, 550)
    line = "VAE batch 150/550 (27 %), 5 batches/s, distance 0.200 m, ETA 1:20"
    assert progress.describe() == line
    progress.update(100, 0)
    assert progress.describe() == "step 100/1000 (10 %), distance 0.200 m"
    now[0] += 5
    progress.update(200, 50)
    assert "20 env steps/s, 10 updates/s" in progress.describe()
