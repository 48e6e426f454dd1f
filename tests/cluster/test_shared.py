"""The shared folder: whole files only, by path and by address."""

import pytest

from smorl.cluster.mirror import Mirror
from smorl.cluster.shared import Shared, checkpoint_of, is_record, relative
from smorl.errors import InvalidInput


@pytest.fixture(params=["path", "address"])
def shared(request, tmp_path):
    """A folder of this machine, and an object store that knows no renaming."""
    if request.param == "path":
        return Shared(tmp_path / "shared")
    return Shared(f"memory://{tmp_path.name}")


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_json", ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_files_come_back_as_they_went(shared, tmp_path):
    write(tmp_path / "a", one="1", deep__two="22")
    for name in ("one", "deep/two"):
        shared.put(tmp_path / "a" / name, f"run/{name}")
    assert shared.files("run") == {"one": 1, "deep/two": 2}
    assert shared.fetch("run", tmp_path / "b") == {"one": 1, "deep/two": 2}
    assert (tmp_path / "b" / "deep" / "two").read_text() == "22"
    shared.fetch("run/one", tmp_path / "c" / "one")
    assert (tmp_path / "c" / "one").read_text() == "1"
    shared.write("note", "x")
    assert (shared.read("note"), shared.read("none")) == ("x", None)
    shared.remove("run/deep/two")
    assert shared.files("run") == {"one": 1}


def test_a_checkpoint_counts_only_with_its_manifest(shared, tmp_path):
    write(tmp_path, state="s", manifest_json="m")
    shared.put(tmp_path / "state", "run/checkpoints/000000010/state.json")
    shared.put(tmp_path / "state", "run/checkpoints/000000020/state.json")
    shared.put(tmp_path / "manifest.json", "run/checkpoints/000000010/manifest.json")
    whole = {"checkpoints/000000010/state.json", "checkpoints/000000010/manifest.json"}
    assert set(shared.files("run")) == whole
    shared.clear_partial("run")
    assert set(shared._files("run")) == whole  # also what does not count is gone


def test_a_path_leaves_no_traces_of_writing(tmp_path):
    shared = Shared(tmp_path / "shared")
    write(tmp_path, a="1")
    shared.put(tmp_path / "a", "run/checkpoints/000000010/a")
    shared.remove("run/checkpoints/000000010/a")
    assert list((tmp_path / "shared").rglob("*")) == []  # an empty folder would look damaged


def test_what_is_a_record_and_what_belongs_to_a_checkpoint():
    assert is_record("metrics.jsonl")
    assert is_record("perception/result.json")
    assert not is_record("perception/checkpoints/000000001/state.json")
    assert checkpoint_of("metrics.jsonl") is None
    assert checkpoint_of("checkpoints/1/arrays/a.npy") == "checkpoints/1"
    assert checkpoint_of("perception/checkpoints/1/state.json") == "perception/checkpoints/1"


def test_mistakes_get_one_clear_sentence(tmp_path):
    with pytest.raises(InvalidInput, match="--shared nowhere://x cannot be opened"):
        Shared("nowhere://x")
    for path in (tmp_path / "a", tmp_path / ".." / "a"):
        with pytest.raises(InvalidInput, match="outside of the shared folder"):
            relative(path)


class Listening(Shared):
    """Remembers the order of what is put and removed."""

    events: list[str]

    def put(self, local, path):
        super().put(local, path)
        self.events.append(f"+{path}")

    def remove(self, path):
        super().remove(path)
        self.events.append(f"-{path}")


@pytest.fixture
def run(tmp_path):
    """A run folder with one checkpoint."""
    folder = tmp_path / "local"
    write(folder, config_json="{}", metrics="1", checkpoints__01__state_json="s")
    write(folder, checkpoints__01__manifest_json="m", result_json="{}")
    (folder / ".lock").write_text("1")
    (folder / "data").mkdir()
    (folder / "data" / "frames.npy").write_text("large")
    return folder


def test_what_counts_on_something_comes_after_it(run, tmp_path):
    shared = Listening(tmp_path / "shared")
    shared.events = []
    mirror = Mirror(shared, "run", run, {})
    assert mirror.push()
    assert shared.events == [
        "+run/metrics", "+run/config.json", "+run/checkpoints/01/state.json",
        "+run/checkpoints/01/manifest.json", "+run/result.json",
    ]  # fmt: skip
    shared.events.clear()
    assert not mirror.due()
    mirror.push()
    assert shared.events == []  # nothing has changed
    write(run, metrics="12", checkpoints__02__state_json="t", checkpoints__02__manifest_json="m")
    for name in ("state.json", "manifest.json"):
        (run / "checkpoints" / "01" / name).unlink()
    (run / "checkpoints" / "01").rmdir()
    assert mirror.due()
    mirror.push()
    assert shared.events == [
        "+run/metrics", "+run/checkpoints/02/state.json", "+run/checkpoints/02/manifest.json",
        "-run/checkpoints/01/manifest.json", "-run/checkpoints/01/state.json",
    ]  # fmt: skip


def test_a_checkpoint_that_vanishes_while_it_is_copied_costs_nothing(run, tmp_path):
    class Slow(Shared):
        def put(self, local, path):
            if path.endswith("02/state.json"):
                local.unlink()
            super().put(local, path)

    shared = Slow(tmp_path / "shared")
    mirror = Mirror(shared, "run", run, {})
    mirror.push()
    write(run, checkpoints__02__state_json="t", checkpoints__02__manifest_json="m")
    (run / "checkpoints" / "01" / "state.json").unlink()
    assert not mirror.push()
    assert "checkpoints/01/manifest.json" in shared.files("run")  # the old one is whole
    assert "checkpoints/01/state.json" in shared.files("run")
    assert "checkpoints/02/manifest.json" not in shared.files("run")
    write(run, checkpoints__02__state_json="t")
    assert (run / "checkpoints" / "02" / "state.json").exists()


def test_a_resumed_mirror_sends_only_what_is_new(run, tmp_path):
    shared = Listening(tmp_path / "shared")
    shared.events = []
    Mirror(shared, "run", run, {}).push()
    known = shared.fetch("run", tmp_path / "elsewhere")
    shared.events.clear()
    mirror = Mirror(shared, "run", tmp_path / "elsewhere", known)
    mirror.push()
    assert shared.events == []
    (tmp_path / "elsewhere" / "metrics").unlink()
    mirror.push()
    assert shared.events == ["-run/metrics"]
