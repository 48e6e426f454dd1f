"""Pictures, films, figures and copies on disks that are full, read-only or not there."""

import contextlib
import errno
import os
import resource
import shutil

import imageio_ffmpeg
import numpy as np
import pytest

from smorl.cli import main
from smorl.errors import CannotWrite, DamagedFile, InvalidInput
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.settings import ScalorConfig
from smorl.representations.scalor.weights import (
    FORMAT,
    KIND,
    PerceptionWeights,
    load_weights,
    save_weights,
)
from smorl.runs.progress import Progress
from smorl.visualise.video import write_png, write_video
from tests.faults.conftest import train
from tests.faults.forge import forge_weights
from tests.faults.kills import forked

FRAMES = [np.full((16, 16, 3), value, np.uint8) for value in range(0, 250, 25)]
SMALL = ScalorConfig(
    image_size=32, cells=2, glimpse=8, what=3, slots=2, channels=16, hidden=8, tracker=8,
    proposals=2,
)  # fmt: skip


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_film_that_did_not_arrive_on_the_disk_is_no_film(tmp_path, monkeypatch):
    film = write_video(tmp_path / "film.mp4", FRAMES)
    before = film.read_bytes()
    real = imageio_ffmpeg.write_frames

    def cut_short(path, *args, **kwargs):
        """An encoder on a full disk: it takes every frame and says nothing."""
        writer = real(path, *args, **kwargs)
        writer.send(None)
        try:
            while True:
                writer.send((yield))
        except GeneratorExit:
            writer.close()
            os.truncate(path, os.path.getsize(path) // 2)

    monkeypatch.setattr(imageio_ffmpeg, "write_frames", cut_short)
    with pytest.raises(CannotWrite, match="frames arrived"):
        write_video(film, FRAMES)
    assert film.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["film.gif", "picture.png"])
def test_pictures_on_a_full_disk_leave_the_old_ones(tmp_path, monkeypatch, name):
    def write():
        path = tmp_path / name
        return write_video(path, FRAMES) if name.endswith("gif") else write_png(path, FRAMES[0])

    before = write().read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="free some space"):
        write()
    assert (tmp_path / name).read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


WRITING = [
    ["play", "Push1-v0", "--episodes", "1", "--video", "{}/no/film.mp4"],
    ["perception", "collect", "smorl/VisualPush1-v0", "--episodes", "1", "--steps", "1", "--out",
     "{}/no/data"],
    ["perception", "collect", "smorl/VisualPush1-v0", "--episodes", "1", "--steps", "1", "--out",
     "{}/a\0b"],
    ["perception", "collect", "smorl/VisualPush1-v0", "--episodes", "1", "--steps", "1", "--out",
     "{}/" + "a" * 300],
    ["perception", "show", "shipped:scalor-1", "--out", "{}/no/picture.png"],
    ["evaluate", "shipped:visual-rearrange-1", "--video", "{}/no/film.mp4"],
    ["curves", "{}", "--out", "{}/no/curves.png"],
    ["analyse", "clusters", "--out", "{}/no/clusters.png"],
    ["figures", "gt", "--out", "/proc/nowhere"],
    ["figures", "--report", "/proc/nowhere/page.md"],
    ["study", "tracking", "shipped:visual-rearrange-1", "--film", "{}/no/film.png"],
]  # fmt: skip


@pytest.mark.parametrize("words", WRITING, ids=[" ".join(w[:2]) for w in WRITING])
def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path, capsys, words):
    assert main([word.format(tmp_path) for word in words]) == 2
    assert "Cannot write" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_kept_results_are_whole_or_not_there(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "fsync", full)
    kept = tmp_path / "kept"
    assert main(["results", str(finished), "--keep", str(kept)]) == 2
    assert "free some space" in capsys.readouterr().err
    assert not [path for path in kept.rglob("*") if path.is_file()]


def test_a_figure_on_a_full_disk_leaves_the_old_one(finished, tmp_path, monkeypatch, capsys):
    out = tmp_path / "curves.png"
    out.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    assert main(["curves", str(finished), "--out", str(out)]) == 2
    assert out.read_bytes() == b"old"


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_a_perception_where_files_cannot_grow_is_refused_without_a_traceback(tmp_path, size):
    """The system itself refuses, in whatever call the file is written; the child has the limit."""

    @contextlib.contextmanager
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        yield

    assert forked(("perception", "train", "debug-scalor"), tmp_path / "eyes", limited) == 2


def test_a_file_too_large_for_the_disk_is_called_so(tmp_path, monkeypatch, capsys):
    def too_large(*_):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(os, "fsync", too_large)
    assert train(tmp_path / "run") == 2
    told = capsys.readouterr().err
    assert "files of this size" in told
    assert "writable" not in told


def test_show_has_a_name_for_its_picture(tmp_path, monkeypatch, capsys):
    """As docs/results.md prints the command."""
    monkeypatch.chdir(tmp_path)
    assert main(["perception", "show", "shipped:scalor-3"]) == 0
    assert (tmp_path / "perception.png").stat().st_size


def test_progress_ends_at_a_hundred_percent():
    progress = Progress(100, quiet=True)
    progress.update(60, 1)
    progress.update(160, 2)
    assert "(100 %)" in progress.describe()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    what = SMALL.what
    found = PerceptionWeights(
        SMALL, Scalor(SMALL, 2), np.zeros(what, np.float32), np.eye(what, dtype=np.float32),
        {}, 0.5, {"env": "smorl/VisualPush1-v0"},
    )  # fmt: skip
    return save_weights(tmp_path_factory.mktemp("weights") / "weights.safetensors", found)


@pytest.mark.parametrize("old", [b"threshold", b"VisualPush1", b"0.5"])
def test_every_byte_of_scalor_s_header_is_covered_by_the_hash(weights, tmp_path, old):
    data = weights.read_bytes()
    assert data.count(old) >= 1
    new = old[:-1] + bytes([old[-1] ^ 1])
    (tmp_path / "weights.safetensors").write_bytes(data.replace(old, new, 1))
    with pytest.raises(DamagedFile):
        load_weights(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("field", ["hidden", "channels", "tracker", "lstm_layers"])
def test_weights_that_claim_gigabytes_are_refused_before_they_are_made(weights, tmp_path, field):
    path = tmp_path / "weights.safetensors"
    shutil.copy(weights, path)
    huge = {field: 10**9}
    forge_weights(path, KIND, FORMAT, lambda arrays, header: header["config"].update(huge))
    with pytest.raises((DamagedFile, InvalidInput), match=field):
        load_weights(path)
