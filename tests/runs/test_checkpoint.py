"""Checkpoints: exact, atomic, verified; damage is named and the previous one is used."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smorl.errors import CannotWrite, DamagedFile, InvalidInput
from smorl.runs import manifest
from smorl.runs.checkpoint import (
    generator_state,
    load_checkpoint,
    load_latest,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
    save_checkpoint,
)


def content(seed: int = 0):
    rng = np.random.default_rng(seed)
    tensors = {
        "policy/weight": torch.from_numpy(rng.normal(size=(3, 4)).astype(np.float32)),
        "scalar": torch.tensor(0.1, dtype=torch.float64),
        "empty": torch.zeros(0, 3),
    }
    arrays = {
        "replay/what": rng.normal(size=(5, 2, 3)).astype(np.float32),
        "replay/present": rng.random((5, 2)) < 0.5,
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "strided": rng.normal(size=(6, 4))[::2],
        "empty": np.zeros((0, 7), np.int64),
        "zero-dim": np.array(3.5),
    }
    state = {"steps": 10**30, "lr": 0.1 + 0.2, "history": [1e-300, -0.0, None, "é"], "on": True}
    return tensors, arrays, state


def save(folder: Path, step: int, seed: int | None = None, keep: int = 2) -> Path:
    return save_checkpoint(folder, step, *content(step if seed is None else seed), keep=keep)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def files_of(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file())


def test_round_trip_is_exact(tmp_path):
    tensors, arrays, state = content()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    path = save_checkpoint(tmp_path / "deep" / "er", 42, tensors, arrays, state)
    assert path == tmp_path / "deep" / "er" / "000000042"
    loaded = load_latest(path.parent)
    assert loaded is not None
    assert (loaded.step, loaded.path, loaded.damaged) == (42, path, [])
    assert loaded.state == state
    assert str(loaded.state["history"][1]) == "-0.0"
    assert loaded.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded.tensors[name].dtype == tensor.dtype
        assert torch.equal(loaded.tensors[name], tensor)
    assert loaded.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].shape == array.shape
        assert loaded.arrays[name].tobytes() == array.tobytes()
    # The layout of a column-major array is kept too: sums over it depend on it in the last bit.
    assert loaded.arrays["fortran"].flags.f_contiguous


def test_tensors_sharing_memory_are_saved(tmp_path):
    twins = torch.arange(6.0).reshape(2, 3)
    path = save_checkpoint(tmp_path, 0, {"a": twins[0], "b": twins[1], "t": twins.T}, {}, {})
    loaded = load_checkpoint(path).tensors
    assert torch.equal(loaded["a"], twins[0])
    assert torch.equal(loaded["t"], twins.T)


def test_same_content_gives_the_same_bytes(tmp_path):
    first, second = save(tmp_path / "a", 5), save(tmp_path / "b", 5)
    for one, other in zip(files_of(first), files_of(second), strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_there_is_none(tmp_path):
    assert load_latest(tmp_path / "absent") is None
    (tmp_path / ".tmp-000000001-7").mkdir()
    (tmp_path / "notes").mkdir()
    assert load_latest(tmp_path) is None


def test_the_last_two_are_kept(tmp_path):
    for step in (1, 2, 30, 4):
        save(tmp_path, step)
    # 30 is newer than 4: a run resumed before it leaves it alone until it gets there.
    assert names(tmp_path) == ["000000002", "000000004", "000000030"]
    save(tmp_path, 31)
    assert names(tmp_path) == ["000000030", "000000031"]
    save(tmp_path, 32, keep=1)
    assert names(tmp_path) == ["000000032"]


def test_order_is_by_number_beyond_nine_digits(tmp_path):
    save(tmp_path, 999_999_999)
    save(tmp_path, 1_000_000_000)
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.step == 1_000_000_000


def test_a_damaged_one_does_not_count_as_kept(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
    (tmp_path / "000000002" / "state.json").unlink()
    save(tmp_path, 3)
    assert names(tmp_path) == ["000000001", "000000003"]


def test_saving_the_same_step_replaces_it(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 2, seed=0)
    save(tmp_path, 2, seed=1)
    assert names(tmp_path) == ["000000001", "000000002"]
    expected = content(1)[1]["replay/what"]
    latest = load_latest(tmp_path)
    assert latest is not None
    assert np.array_equal(latest.arrays["replay/what"], expected)


def test_leftovers_of_a_kill_are_ignored_then_removed(tmp_path):
    save(tmp_path, 1)
    leftover = tmp_path / ".tmp-000000002-99"
    shutil.copytree(tmp_path / "000000001", leftover)
    (leftover / "manifest.json").unlink()
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.step == 1
    assert leftover.exists(), "loading must not delete anything"
    save(tmp_path, 3)
    assert names(tmp_path) == ["000000001", "000000003"]


def test_a_kill_at_any_file_leaves_the_previous_one(tmp_path, monkeypatch):
    """A kill is a BaseException that nothing handles; `os._exit` itself is tested below."""

    class Killed(BaseException):
        pass

    real = os.fsync
    for survive in range(12):
        folder = tmp_path / str(survive)
        save(folder, 1)
        calls = iter(range(100))

        def fsync(descriptor, calls=calls, survive=survive):
            if next(calls) == survive:
                raise Killed
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        try:
            save(folder, 2)
            finished = True
        except Killed:
            finished = False
        monkeypatch.setattr(os, "fsync", real)
        latest = load_latest(folder)
        assert latest is not None
        assert latest.step == 2 if finished else latest.step in (1, 2)
        assert latest.damaged == []
        assert np.array_equal(latest.arrays["replay/what"], content(latest.step)[1]["replay/what"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("survive", [0, 3, 8])
def test_a_process_that_dies_while_saving(tmp_path, survive):
    save(tmp_path, 1)
    child = os.fork()
    if child == 0:
        try:
            count = iter(range(100))
            real = os.fsync
            os.fsync = lambda d: os._exit(9) if next(count) == survive else real(d)
            save(tmp_path, 2)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert any(name.startswith(".tmp-") for name in names(tmp_path))
    latest = load_latest(tmp_path)
    assert latest is not None
    assert (latest.step, latest.damaged) == (1, [])
    save(tmp_path, 2)
    assert names(tmp_path) == ["000000001", "000000002"]


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["fsync", "write", "mkdir", "rename"])
def test_a_full_disk_leaves_the_last_good_one(tmp_path, monkeypatch, where):
    good = save(tmp_path, 1)
    before = {p: p.read_bytes() for p in files_of(good)}
    with monkeypatch.context() as patch:
        if where == "fsync":
            patch.setattr(os, "fsync", full_disk)
        elif where == "write":
            patch.setattr(manifest._HashingFile, "write", full_disk)
        else:
            patch.setattr(Path, where, lambda *_, **__: full_disk())
        with pytest.raises(CannotWrite) as caught:
            save(tmp_path, 2)
    message = str(caught.value)
    for part in ("000000002", "No space left", str(good), "intact", "free some space"):
        assert part in message
    assert names(tmp_path) == ["000000001"]
    assert {p: p.read_bytes() for p in files_of(good)} == before
    save(tmp_path, 2)
    assert names(tmp_path) == ["000000001", "000000002"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_really_full_device(tmp_path, monkeypatch):
    real = manifest._HashingFile.__init__
    full = Path("/dev/full")
    monkeypatch.setattr(manifest._HashingFile, "__init__", lambda self, _: real(self, full))
    with pytest.raises(CannotWrite, match="No space left"):
        save(tmp_path, 2)
    assert names(tmp_path) == []


def test_replacing_fails_without_losing_the_old(tmp_path, monkeypatch):
    good = save(tmp_path, 1)
    real = Path.rename

    def rename(self, target):
        if self.name.startswith(".tmp-000000001"):
            full_disk()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(CannotWrite, match="intact"):
        save(tmp_path, 1)
    assert load_checkpoint(good).step == 1
    assert names(tmp_path) == ["000000001"]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "occupied").write_text("mine")
    with pytest.raises(CannotWrite, match="occupied") as caught:
        save(tmp_path / "occupied", 1)
    assert "choose another name" in str(caught.value)
    assert (tmp_path / "occupied").read_text() == "mine"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return save(tmp_path_factory.mktemp("pristine"), 7)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_flipped_or_missing_byte_is_detected(pristine, data):
    file = data.draw(st.sampled_from(files_of(pristine)))
    original = file.read_bytes()
    position = data.draw(st.integers(0, len(original) - 1))
    change = data.draw(st.integers(0, 255))
    if change:
        changed = bytearray(original)
        changed[position] ^= change
    else:
        changed = original[:position]
    try:
        file.write_bytes(changed)
        with pytest.raises(DamagedFile) as caught:
            load_checkpoint(pristine)
        assert "000000007" in str(caught.value)
        assert file.name in str(caught.value)
    finally:
        file.write_bytes(original)
    assert load_checkpoint(pristine).step == 7


def test_every_byte_of_the_manifest_matters(pristine):
    file = pristine / "manifest.json"
    original = file.read_bytes()
    for position in range(0, len(original), 7):
        changed = bytearray(original)
        changed[position] ^= 0x20
        file.write_bytes(changed)
        with pytest.raises(DamagedFile):
            load_checkpoint(pristine)
    file.write_bytes(original)


def test_a_damaged_one_is_named_and_the_previous_used(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
    victim = tmp_path / "000000002" / "arrays" / "replay+what.npy"
    victim.write_bytes(victim.read_bytes()[:-1])
    before = {p: p.read_bytes() for p in files_of(tmp_path)}
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.step == 1
    [reason] = latest.damaged
    assert "000000002" in reason
    assert "replay+what.npy" in reason
    assert {p: p.read_bytes() for p in files_of(tmp_path)} == before


@pytest.mark.parametrize("victim", ["manifest.json", "state.json", "arrays/empty.npy"])
def test_all_damaged(tmp_path, victim):
    paths = [save(tmp_path, step) for step in (1, 2)]
    for path in paths:
        (path / victim).unlink()
    with pytest.raises(DamagedFile) as caught:
        load_latest(tmp_path)
    for part in ("000000001", "000000002", victim, "Restore"):
        assert part in str(caught.value)


def test_a_manifest_cannot_point_outside(tmp_path):
    path = save(tmp_path, 1)
    listed = json.loads((path / "manifest.json").read_text())
    del listed["sha256"]
    listed["files"]["../secret"] = listed["files"]["state.json"]
    (path / "manifest.json").write_text(manifest._manifest_text(listed))
    with pytest.raises(DamagedFile, match="not made by smorl"):
        load_checkpoint(path)


def test_another_format_is_refused_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "FORMAT", 9)
    path = save(tmp_path, 1)
    monkeypatch.undo()
    with pytest.raises(DamagedFile, match="format 9"):
        load_checkpoint(path)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "é", "x" * 201])
def test_bad_array_names(tmp_path, name):
    with pytest.raises(InvalidInput, match="Array name"):
        save_checkpoint(tmp_path, 1, {}, {name: np.zeros(1)}, {})
    assert names(tmp_path) == []


def test_names_like_paths_stay_inside(tmp_path):
    tricky = {"../up": np.ones(1), "/abs": np.ones(2), "a/b": np.ones(3), "a.npy": np.ones(4)}
    path = save_checkpoint(tmp_path / "c", 1, {}, tricky, {})
    assert names(tmp_path) == ["c"]
    assert {n: len(a) for n, a in load_checkpoint(path).arrays.items()} == {
        "../up": 1,
        "/abs": 2,
        "a/b": 3,
        "a.npy": 4,
    }


def test_object_arrays_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="pickle"):
        save_checkpoint(tmp_path, 1, {}, {"a": np.array([None])}, {})


@pytest.mark.parametrize(
    ("state", "part"),
    [
        ({"a": {"b": [1.0, float("nan")]}}, r"state\.a\.b\[1\] is nan"),
        ({"a": float("inf")}, r"state\.a is inf"),
        ({"a": {1: 2}}, "keys must be text"),
        ({"a": np.zeros(2)}, "ndarray"),
        ({"a": {3, 4}}, "set"),
    ],
)
def test_state_that_json_cannot_hold(tmp_path, state, part):
    with pytest.raises(InvalidInput, match=part):
        save_checkpoint(tmp_path, 1, {}, {}, state)


@pytest.mark.parametrize(("step", "keep"), [(-1, 2), (1, 0)])
def test_bad_numbers(tmp_path, step, keep):
    with pytest.raises(InvalidInput, match="step"):
        save_checkpoint(tmp_path, step, {}, {}, {}, keep=keep)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**70),
    calls=st.lists(st.sampled_from(["normal", "integers", "spawn", "permutation"]), max_size=6),
)
def test_random_streams_continue_exactly(seed, calls):
    def advance(generator):
        for call in calls:
            if call == "spawn":
                yield generator.spawn(1)[0].random(3).tolist()
            elif call == "integers":
                # Odd numbers of 32-bit draws leave half a word behind, which must be kept.
                yield generator.integers(0, 100, 3, dtype=np.uint32).tolist()
            elif call == "permutation":
                yield generator.permutation(5).tolist()
            else:
                yield generator.normal(size=3).tolist()

    generator = np.random.default_rng(seed)
    list(advance(generator))
    restored = restore_generator(json.loads(json.dumps(generator_state(generator))))
    assert list(advance(restored)) == list(advance(generator))


def test_streams_that_cannot_be_saved():
    with pytest.raises(InvalidInput, match="MT19937"):
        generator_state(np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(InvalidInput, match="random stream"):
        restore_generator({"stream": {}})
    listed = np.random.default_rng([1, 2, 3])
    assert restore_generator(generator_state(listed)).random() == listed.random()


def learner(**options):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    groups = [
        {"params": network[0].parameters(), "lr": 1e-2},
        {"params": network[2].parameters(), "betas": (0.5, 0.9)},
    ]
    return network, torch.optim.Adam(groups, lr=3e-3, **options)


def train(network, optimizer, steps, start):
    for step in range(start, start + steps):
        x = torch.from_numpy(np.random.default_rng(step).normal(size=(16, 3)).astype(np.float32))
        loss = (network(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"fused": True}])
@pytest.mark.parametrize("before", [0, 10])
def test_training_continues_bit_for_bit(tmp_path, options, before):
    network, optimizer = learner(**options)
    train(network, optimizer, before, 0)
    optimizer.param_groups[0]["lr"] = 0.1 / 3
    tensors, rest = optimizer_tensors("adam", optimizer)
    weights = {f"net/{k}": v for k, v in network.state_dict().items()}
    save_checkpoint(tmp_path, before, {**tensors, **weights}, {}, {"adam": rest})
    train(network, optimizer, 10, before)

    loaded = load_latest(tmp_path)
    assert loaded is not None
    untouched = {k: v.clone() for k, v in loaded.tensors.items()}
    again, fresh = learner(**options)
    train(again, fresh, 3, 1000)
    again.load_state_dict({k: loaded.tensors[f"net/{k}"] for k in network.state_dict()})
    load_optimizer("adam", fresh, loaded.tensors, loaded.state["adam"])
    train(again, fresh, 10, before)

    for one, other in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    assert fresh.param_groups[0]["lr"] == 0.1 / 3
    assert fresh.param_groups[1]["betas"] == (0.5, 0.9)
    assert all(torch.equal(v, untouched[k]) for k, v in loaded.tensors.items())


def test_an_optimizer_that_does_not_fit():
    network, optimizer = learner()
    train(network, optimizer, 1, 0)
    tensors, rest = optimizer_tensors("adam", optimizer)
    wider = torch.optim.Adam(torch.nn.Linear(9, 9).parameters())
    with pytest.raises(InvalidInput, match="does not fit"):
        load_optimizer("adam", wider, tensors, rest)
    with pytest.raises(InvalidInput, match="adam/0/"):
        load_optimizer("adam", optimizer, {}, rest)
