"""Films of what was seen, and runs that are followed while they train."""

import time

import imageio.v3 as iio
import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.page.charts import learning
from smorl.page.film import SIDE, Film
from smorl.page.following import Follower, Progress, look_at
from smorl.page.players import Nobody
from smorl.page.table import Setup, Table
from smorl.runs.folder import RunDir


def snapshot(pucks=1):
    return Table(Setup("rearrange", pucks), Nobody(), np.random.default_rng(0)).snapshot()


def test_a_film_keeps_what_was_seen(tmp_path):
    film = Film(tmp_path / "film.gif")
    film.add((snapshot(),))
    film.add((snapshot(), snapshot(2)))  # somebody compares two
    assert film.close() == 2
    assert iio.imread(film.path, index=0).shape[:2] == (SIDE, 2 * SIDE)


def test_no_visitor_no_film(tmp_path):
    film = Film(tmp_path / "film.mp4")
    assert film.close() == 0
    assert not film.path.exists()


def test_a_film_that_cannot_be_written_is_refused_before_anybody_comes(tmp_path):
    with pytest.raises(InvalidInput, match="suffix"):
        Film(tmp_path / "film.doc")


def test_a_film_never_makes_anybody_wait(tmp_path):
    film = Film(tmp_path / "film.gif")
    moment = (snapshot(),)
    start = time.monotonic()
    for _ in range(500):
        film.add(moment)
    assert time.monotonic() - start < 1.0
    film._moments.queue.clear()  # what waits would only take time here
    film.close()
    assert film.left_out > 400


def run_folder(path):
    with RunDir.open(path, {"name": "test"}, "smorl train test") as run:
        run.checkpoints.mkdir(exist_ok=True)
        (run.checkpoints / "000001000").mkdir()
        run.evaluations.write_text("env_steps,object_distance\n0,0.17\n1000,0.12\n2000,0.1")
    return path


def test_a_run_in_training_is_followed(tmp_path):
    path = run_folder(tmp_path / "run")
    seen, renewed = [], []
    follower = Follower(path, lambda: renewed.append(True), seen.append, period=0.01)
    assert seen[0].checkpoint == 1000
    assert seen[0].distances == pytest.approx([0.17, 0.12, 0.1])
    (path / "checkpoints" / "000002000").mkdir()
    (path / "checkpoints" / ".tmp-000003000").mkdir()
    deadline = time.monotonic() + 10
    while not renewed and time.monotonic() < deadline:
        time.sleep(0.01)
    follower.close()
    assert renewed == [True]
    assert seen[-1].checkpoint == 2000


def test_damaged_rows_are_left_for_next_time(tmp_path):
    path = run_folder(tmp_path / "run")
    with RunDir.load(path).evaluations.open("a") as file:
        file.write("\n3000,\nnonsense")
    assert len(look_at(path).steps) == 3


def test_the_learning_curve_is_said_in_words():
    nothing = Progress(None, np.zeros(0), np.zeros(0), False)
    assert "no checkpoint" in learning(nothing)
    some = Progress(2000, np.array([0.0, 2000.0]), np.array([0.17, 0.1]), True)
    assert "2,000 steps" in learning(some)
    assert "<svg" in learning(some)
