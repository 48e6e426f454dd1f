"""What counts as finished, what is refused, and what is left to do."""

import json
from dataclasses import replace

import pytest

from smorl.errors import DamagedFile, RunConflict
from smorl.paper.jobs import (
    Job,
    Training,
    conflicts,
    pending,
    state_of,
    train,
    with_tensorboard,
)
from smorl.paper.record import put_on_record

RESULT = {"env_steps": 240, "updates": 60, "object_distance": 0.1, "passive_distance": 0.2,
          "seconds": 3.0, "pucks_within_5cm": 0.5, "distances": [0.1]}  # fmt: skip


@pytest.fixture
def job(tmp_path):
    """A run that does not exist yet, to be kept."""
    keep = (tmp_path / "results" / "gt",)
    return train(Training("debug", 3, (("threads", "1"),)), tmp_path / "runs" / "a", keep=keep)


def write(folder, config, result=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evaluations.csv").write_text("env_steps\n")
    (folder / "versions.json").write_text("{}")
    if result is not None:
        (folder / "result.json").write_text(json.dumps(result))


def test_the_command_is_what_one_would_type(job, tmp_path):
    assert job.line() == f"smorl train debug --seed 3 --threads 1 --out {tmp_path}/runs/a"
    file = Job(("smorl", "evaluate", "x", "--json"), tmp_path / "new" / "x.json", printed=True)
    folder = tmp_path / "new"
    assert file.line() == f"mkdir -p {folder} && smorl evaluate x --json > {folder}/x.json"
    folder.mkdir()
    assert file.line() == f"smorl evaluate x --json > {folder}/x.json"


def test_agents_can_log_for_tensorboard_and_nothing_else_can(job, tmp_path):
    assert with_tensorboard(job).command == (*job.command, "--tensorboard")
    eyes = train(Training("debug-scalor", 0, perception=True), tmp_path / "eyes")
    file = Job(("smorl", "x"), tmp_path / "x.json")
    assert (with_tensorboard(eyes), with_tensorboard(file)) == (eyes, file)


def test_states_of_a_run(job):
    config = job.training.config()
    assert state_of(job) == "new"
    write(job.writes, config)
    assert state_of(job) == "begun"
    (job.writes / "result.json").write_text('{"half')
    assert state_of(job) == "begun"
    write(job.writes, config, RESULT)
    assert state_of(job) == "finished"


def test_another_config_is_refused_in_one_sentence(job):
    config = job.training.config()
    write(job.writes, config | {"seed": 4}, RESULT)
    with pytest.raises(RunConflict, match=r"runs/a was made .*seed: run has 4, asked 3.*--out"):
        state_of(job)
    states, sentences = conflicts([job])
    assert (states, len(sentences)) == (["new"], 1)
    write(job.writes, config, RESULT)
    write(job.keep[0] / "a", config | {"seed": 4}, RESULT)
    with pytest.raises(RunConflict, match=r"results/gt/a was made .*another --results"):
        state_of(job)
    (job.writes / "config.json").write_text("{")
    (job.keep[0] / "a" / "config.json").unlink()
    with pytest.raises(DamagedFile, match="cannot be read"):
        state_of(job)


def test_what_is_finished_counts_even_if_older_than_some_options(job):
    config = job.training.config()
    del config["tracker"]["memory"]
    write(job.keep[0] / "a", config, RESULT)
    assert state_of(job) == "kept"
    write(job.writes, config, RESULT)
    assert state_of(job) == "finished"
    (job.writes / "result.json").unlink()  # but nothing is resumed with other settings
    with pytest.raises(RunConflict, match=r"tracker\.memory"):
        state_of(job)


def test_states_of_a_file(tmp_path):
    file = Job(("smorl", "x"), tmp_path / "x.json", about=("seed0", "seed1"))
    assert state_of(file) == "new"
    file.writes.write_text('{"models": ["seed0"]')
    assert state_of(file) == "new"
    file.writes.write_text('{"models": ["seed0"]}')
    assert state_of(file) == "new"  # made from fewer runs
    file.writes.write_text('{"models": ["seed0", "seed1"]}')
    assert state_of(file) == "finished"
    picture = Job(("smorl", "x"), tmp_path / "x.png")
    picture.writes.write_bytes(b"")
    assert state_of(picture) == "new"
    picture.writes.write_bytes(b"x")
    assert state_of(picture) == "finished"


def test_what_is_left_to_do(tmp_path):
    eyes = Job(("eyes",), tmp_path / "eyes", wanted=False)
    run = Job(("run",), tmp_path / "run", needs=(eyes.writes,))
    test = Job(("test",), tmp_path / "test", needs=(run.writes,))
    jobs = [eyes, run, test]
    assert pending(jobs, ["new", "new", "new"]) == jobs
    assert pending(jobs, ["new", "finished", "finished"]) == []
    assert pending(jobs, ["new", "kept", "finished"]) == []
    # Of a kept run there are only numbers, and the test needs the run.
    assert pending(jobs, ["new", "kept", "new"]) == jobs
    assert pending(jobs, ["finished", "begun", "new"]) == [run, test]
    assert pending(jobs, ["new", "finished", "new"]) == [test]


def test_finished_runs_are_put_on_record_once(job):
    assert put_on_record([job]) == ([], [])
    write(job.writes, job.training.config(), RESULT)
    other = replace(job, keep=(*job.keep, job.keep[0].with_name("tracking")))
    kept, notes = put_on_record([other])
    assert (kept, notes) == ([folder / "a" for folder in other.keep], [])
    assert put_on_record([other]) == ([], [])
    write(job.writes, job.training.config(), RESULT | {"seconds": 4.0})
    kept, notes = put_on_record([job])
    assert not kept
    assert "stays as it was" in notes[0]
    assert json.loads((job.keep[0] / "a" / "result.json").read_text()) == RESULT


def test_a_record_without_single_episodes_is_named(job):
    old = {name: value for name, value in RESULT.items() if name != "distances"}
    write(job.keep[0] / "a", job.training.config(), old)
    kept, notes = put_on_record([job])
    assert not kept
    assert "older than the record of single episodes" in notes[0]
