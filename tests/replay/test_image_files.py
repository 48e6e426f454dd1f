"""Pictures on disk: written once, verified, and kept as long as a checkpoint needs them."""

import numpy as np
import pytest

from smorl.errors import CannotWrite, DamagedFile
from smorl.replay.image_files import PictureFiles
from smorl.replay.images import Pictures
from tests.replay.test_images import HORIZON, SIZE, pictures_of


@pytest.fixture
def files(tmp_path):
    return PictureFiles(tmp_path / "pictures")


def store(capacity=4):
    return Pictures(capacity, HORIZON, SIZE)


def add(pictures, *numbers):
    pictures.add(*pictures_of(numbers))


def loaded(files, like, entries):
    found = store(like.capacity)
    found.added = like.added
    PictureFiles(files.folder).load(found, entries)
    return found


def assert_same(a, b):
    np.testing.assert_array_equal(a.frames[: a.size], b.frames[: b.size])
    np.testing.assert_array_equal(a.goals[: a.size], b.goals[: b.size])


def test_every_checkpoint_writes_only_what_is_new(files):
    pictures = store()
    add(pictures, 1, 2)
    first = files.save(pictures)
    before = {p.name: p.stat().st_mtime_ns for p in files.folder.iterdir()}
    assert files.save(pictures) == first, "nothing is new"
    add(pictures, 3)
    second = files.save(pictures)
    assert [e["count"] for e in second] == [2, 1]
    assert {p.name: p.stat().st_mtime_ns for p in files.folder.iterdir()}.items() >= before.items()
    assert_same(loaded(files, pictures, second), pictures)


def test_files_go_when_two_checkpoints_do_without_them(files):
    pictures, listed = store(), []
    for number in range(1, 9):
        add(pictures, number)
        listed.append(files.save(pictures))
        files.prune()
        assert_same(loaded(files, pictures, listed[-1]), pictures)
    on_disk = {path.name for path in files.folder.iterdir()}
    assert on_disk == {entry["name"] for entries in listed[-2:] for entry in entries}
    assert len(on_disk) == 5
    # The checkpoint before the last is whole too.
    older = store()
    add(older, *range(1, 8))
    assert_same(loaded(files, older, listed[-2]), store_of(range(1, 8)))


def store_of(numbers):
    pictures = store()
    for number in numbers:
        add(pictures, number)
    return pictures


def test_a_file_whose_beginning_left_the_ring_restores_the_rest(files):
    pictures = store()
    add(pictures, 1, 2, 3)
    files.save(pictures)
    add(pictures, 4, 5)
    assert_same(loaded(files, pictures, files.save(pictures)), pictures)


def test_without_pictures_nothing_is_kept(files):
    pictures = store()
    add(pictures, 1)
    files.save(pictures)
    assert files.save(None) is None
    files.prune()
    assert len(list(files.folder.iterdir())) == 1, "the checkpoint before needs it"
    files.save(None)
    files.prune()
    assert not list(files.folder.iterdir())
    files.remove()
    assert not files.folder.exists()
    files.prune()


def test_files_newer_than_the_checkpoint_are_replaced(files):
    pictures = store()
    add(pictures, 1)
    entries = files.save(pictures)
    add(pictures, 2)
    files.save(pictures)  # and then the process is killed, before the checkpoint lists it
    again = store()
    add(again, 1)
    resumed = PictureFiles(files.folder)
    resumed.load(again, entries)
    add(again, 9)
    listed = resumed.save(again)
    resumed.prune()
    assert_same(loaded(resumed, again, listed), again)


@pytest.mark.parametrize("damage", ["missing", "changed", "cut"])
def test_damage_is_noticed(files, damage):
    pictures = store()
    add(pictures, 1)
    entries = files.save(pictures)
    path = files.folder / entries[0]["name"]
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage != "missing":
        data[-1] ^= 0xFF
        path.write_bytes(data if damage == "changed" else data[:-5])
    with pytest.raises(DamagedFile, match="Restore a copy"):
        loaded(files, pictures, entries)


def test_an_unwritable_folder_is_said(tmp_path):
    (tmp_path / "pictures").write_text("a file")
    pictures = store()
    add(pictures, 1)
    with pytest.raises(CannotWrite, match="Cannot write"):
        PictureFiles(tmp_path / "pictures").save(pictures)
