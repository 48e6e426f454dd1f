"""The one way to write a file and the one way to read one: whole, bounded, without links."""

import errno
import json
import os

import numpy as np
import pytest

from smorl.errors import CannotWrite, DamagedFile, InvalidInput
from smorl.files import appearing, copy_file, read_bytes, refuse_links, write_text
from smorl.formats import DEEPEST_JSON, check_kinds, parse_json, read_array, read_json, understood


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_text(tmp_path / "a.txt", "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="free some space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EFBIG, "files of this size"),
        (errno.EROFS, "make it writable"),
        (errno.EDQUOT, "free some space"),
    ],
)
def test_the_remedy_fits_the_error(tmp_path, monkeypatch, number, remedy):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CannotWrite, match=remedy):
        write_text(tmp_path / "a.txt", "new")


@pytest.mark.parametrize("name", ["no/such/a.txt", "a" * 300, "a\0b", "."])
def test_places_that_cannot_be_are_refused_and_nothing_is_made(tmp_path, name):
    with pytest.raises(CannotWrite), appearing(tmp_path / name, keep=False):
        pass
    assert not list(tmp_path.iterdir())


def test_the_longest_name_a_disk_takes_is_taken(tmp_path):
    assert write_text(tmp_path / ("a" * 255), "x").exists()


def test_a_link_is_replaced_when_written_and_refused_when_read(tmp_path):
    outside = write_text(tmp_path / "outside", "mine")
    link = tmp_path / "link"
    link.symlink_to(outside)
    with pytest.raises(DamagedFile):
        read_bytes(link)
    with pytest.raises(DamagedFile):
        copy_file(link, tmp_path / "copy")
    write_text(link, "new")
    assert outside.read_text() == "mine"
    assert not link.is_symlink()


def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(CannotWrite, match="no regular file"):
            write_text(tmp_path / name, "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe"]
    assert (tmp_path / "link").is_symlink()


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(DamagedFile, match="no regular file"):
        read_json(tmp_path / "config.json")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"x"', "1", '{"a": NaN}', '{"a": -Infinity}', "\xff", "[" * 10**5,
     '{"a": ' * 60 + "1" + "}" * 60],
)  # fmt: skip
def test_json_that_is_no_plain_object_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedFile, match=r"a\.json"):
        read_json(tmp_path / "a.json")


def test_json_is_read_to_its_greatest_depth():
    assert parse_json("[" * DEEPEST_JSON + "]" * DEEPEST_JSON)
    with pytest.raises(InvalidInput, match="levels"):
        parse_json("[" * (DEEPEST_JSON + 1) + "]" * (DEEPEST_JSON + 1))


def test_a_file_larger_than_allowed_is_refused(tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(2**42)  # a hole, which takes no room
    with pytest.raises(DamagedFile, match="more than"):
        read_bytes(tmp_path / "big")


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.array(3), np.zeros((0, 4))])
@pytest.mark.parametrize("mapped", [False, True])
def test_arrays_come_back(tmp_path, array, mapped):
    np.save(tmp_path / "a.npy", array)
    found = read_array(tmp_path / "a.npy", mapped)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


def test_an_array_in_fortran_order_comes_back(tmp_path):
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), array)


@pytest.mark.parametrize("mapped", [False, True])
def test_an_array_that_claims_terabytes_is_refused_at_once(tmp_path, mapped):
    np.save(tmp_path / "a.npy", np.zeros((4, 8)))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data.replace(b"(4, 8), }        ", b"(1099511627776,)}"))
    with pytest.raises(DamagedFile, match="not a whole array"):
        read_array(tmp_path / "a.npy", mapped)


def test_pickled_and_negative_arrays_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DamagedFile):
        read_array(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros(40))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data.replace(b"(40,)", b"(-4,)"))
    with pytest.raises(DamagedFile):
        read_array(tmp_path / "a.npy")


def test_links_anywhere_in_a_folder_are_found(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    refuse_links(tmp_path)
    (tmp_path / "a" / "b" / "away").symlink_to("/")
    with pytest.raises(DamagedFile, match="away is a link"):
        refuse_links(tmp_path)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ({}, {"a": int}),
        ({"a": "1"}, {"a": int}),
        ({"a": True}, {"a": int}),
        ({"a": -1}, {"a": int}),
        ([1, "2"], [int]),
        ({"x": 1, "y": None}, {str: int}),
        ([], {}),
    ],
)
def test_content_of_other_kinds_is_refused(value, kinds):
    with pytest.raises(TypeError):
        check_kinds(value, kinds, "a")


def test_content_of_the_right_kinds_passes():
    kinds = {"a": int, "b": [{"c": int | float | None}], "d": {str: str}, "e": bool}
    value = {"a": 0, "b": [{"c": None}, {"c": 1.5}], "d": {"x": "y"}, "e": False, "more": 1}
    check_kinds(json.loads(json.dumps(value)), kinds, "a")


def test_what_cannot_be_put_to_use_is_damaged(tmp_path):
    with pytest.raises(DamagedFile, match="does not hold a run"), understood(tmp_path, "a run"):
        json.loads("{}")["missing"]
