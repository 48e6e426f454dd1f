"""Every kind of file mutated byte by byte, and forged: changed content with right hashes.

A mutation must be noticed or change nothing that is read; a forgery must be refused in a sentence
or be usable. Files are those of small runs, so that a try takes milliseconds.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smorl.cli import main
from smorl.paper.figures.curves import read_curve
from smorl.paper.results import read_result
from smorl.representations.scalor.weights import FORMAT as SCALOR_FORMAT
from smorl.representations.scalor.weights import KIND as SCALOR
from smorl.representations.scalor.weights import load_weights
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import VaeConfig
from smorl.representations.vae.weights import FORMAT as VAE_FORMAT
from smorl.representations.vae.weights import KIND as VAE
from smorl.representations.vae.weights import VaeWeights, load_vae, save_vae
from smorl.representations.video_files import load_sequences
from smorl.runs.checkpoint import load_checkpoint, save_checkpoint
from smorl.runs.folder import RunDir
from smorl.trained.agent_file import FORMAT as AGENT_FORMAT
from smorl.trained.agent_file import KIND as AGENT
from smorl.trained.agent_file import open_file, open_folder
from tests.faults.conftest import TINY
from tests.faults.forge import forge_weights, newest
from tests.faults.outcomes import Tally, command

STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, -1e30, "", "x" * 300, "../../x", [], [[]], {}, {"a": {}}, [None],
)  # fmt: skip


def run(folder: Path, mutations: int, forgeries: int, resumes: int) -> list[Tally]:
    """Make small files of every kind in `folder` and try them."""
    files = make_files(folder)
    rng = np.random.default_rng(0)
    return [
        mutate(files, mutations, rng),
        forge(files, forgeries, rng),
        forge_resumes(files, resumes, rng),
    ]


def make_files(folder: Path) -> dict[str, Path]:
    """Return one small example of every kind of file or folder."""
    run, data = folder / "run", folder / "data"
    words = ["--quiet", "--out"]
    assert main(["train", "debug", *TINY, *words, str(run)]) == 0
    assert main(["export", str(run), str(folder / "agent.safetensors")]) == 0
    assert main(["perception", "train", "debug-scalor", *words, str(folder / "eyes")]) == 0
    collect = ["perception", "collect", "smorl/VisualPush1-v0", "--episodes", "1", "--steps", "2"]
    assert main([*collect, *words, str(data)]) == 0
    small = VaeConfig(image_size=8, latent=2, channels=2, hidden=4, decoder_hidden=4,
                      decoder_channels=(2, 2))  # fmt: skip
    save_vae(folder / "vae.safetensors", VaeWeights(BetaVae(small), {"env": "x"}))
    return {
        "run": run,
        "data": data,
        "agent": folder / "agent.safetensors",
        "scalor": folder / "eyes" / "weights.safetensors",
        "vae": folder / "vae.safetensors",
    }


def readers(files: dict[str, Path]) -> dict[Path, Callable[[], Any]]:
    """Return every file with a way to read it, whose result says all that was read."""
    run, data = files["run"], files["data"]
    checkpoint = newest(run)
    found: dict[Path, Callable[[], Any]] = {
        files["agent"]: lambda: _said(open_file(files["agent"]).checkpoint),
        files["scalor"]: lambda: _weights(load_weights(files["scalor"])),
        files["vae"]: lambda: _tensors(load_vae(files["vae"]).model.state_dict()),
        run / "config.json": lambda: open_folder(run).config,
        run / "versions.json": lambda: RunDir.load(run).versions,
        run / "result.json": lambda: read_result(run),
        run / "evaluations.csv": lambda: str(read_curve(run)),
    }
    for path in sorted(p for p in checkpoint.rglob("*") if p.is_file()):
        found[path] = lambda: _said(load_checkpoint(checkpoint))
    for path in sorted(p for p in data.rglob("*") if p.is_file()):
        found[path] = lambda: _sequences(load_sequences(data, privileged=True))
    return found


# Files for people, which have no hash of their own: a changed number in them is another number.
_WITHOUT_HASH = {"versions.json", "result.json", "evaluations.csv", "meta.json"}


def mutate(files: dict[str, Path], tries: int, rng: np.random.Generator) -> Tally:
    """Flip, cut, repeat and overwrite bytes; what is read afterwards must be what was written."""
    tally, all_readers = Tally("files mutated"), readers(files)
    expected = {path: read() for path, read in all_readers.items()}
    paths = list(all_readers)
    for number in range(tries):
        path = paths[number % len(paths)]
        original = path.read_bytes()
        name, path_name = f"{path.name} #{number}", path.name
        path.write_bytes(mutated(original, rng))

        def same(result: Any, path: Path = path, name: str = path_name) -> bool:
            return name in _WITHOUT_HASH or result == expected[path]

        tally.attempt(name, all_readers[path], same)
        path.write_bytes(original)
    return tally


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with one accident."""
    place = int(rng.integers(max(1, len(data))))
    length, flipped = int(rng.integers(1, 64)), 1 << int(rng.integers(8))
    kinds: list[Callable[[], bytes]] = [
        lambda: data[:place] + bytes([data[place] ^ flipped]) + data[place + 1 :],
        lambda: data[:place],
        lambda: data[:place] + data[place + length :],
        lambda: data[:place] + data[place : place + length] + data[place:],
        lambda: data[:place] + rng.bytes(length) + data[place + length :],
        lambda: data + rng.bytes(length),
        lambda: data[:place] + b"\0" * length + data[place + length :],
        lambda: b"",
        lambda: b"[" * 5000,
        lambda: data[:8] + b"\xff" * 8 + data[16:],
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def forge(files: dict[str, Path], tries: int, rng: np.random.Generator) -> Tally:
    """Change single values of headers and JSON files, hash anew, read."""
    tally = Tally("files forged")
    kinds = {
        "agent": (AGENT, AGENT_FORMAT, open_file),
        "scalor": (SCALOR, SCALOR_FORMAT, load_weights),
        "vae": (VAE, VAE_FORMAT, load_vae),
    }
    plain = [files["run"] / name for name in ("config.json", "versions.json", "result.json")]
    plain.append(files["data"] / "meta.json")
    read = readers(files)
    for number in range(tries):
        if number % 7 < 3:
            name = list(kinds)[number % 7]
            kind, version, load = kinds[name]
            path = files[name]
            original = path.read_bytes()

            def change(arrays: dict, header: dict) -> None:
                change_one(header, rng) if rng.random() < 0.7 else change_array(arrays, rng)

            forge_weights(path, kind, version, change)
            tally.attempt(f"{name} #{number}", lambda load=load, path=path: load(path))
        else:
            path = plain[number % 7 - 3]
            original = path.read_bytes()
            content = json.loads(original)
            change_one(content, rng)
            path.write_text(json.dumps(content))
            tally.attempt(f"{path.name} #{number}", read[path])
        path.write_bytes(original)
    return tally


def change_one(content: Any, rng: np.random.Generator) -> None:
    """Remove one value somewhere in JSON content, or put a strange one in its place."""
    places = list(_places(content))
    holder, key = places[int(rng.integers(len(places)))]
    if rng.random() < 0.3:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])


def change_array(arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Remove one array, or give it another shape, another kind, or a NaN."""
    name = list(arrays)[int(rng.integers(len(arrays)))]
    kind, array = int(rng.integers(5)), arrays[name]
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = np.ones(1, np.asarray(array).dtype)
    elif kind == 2:
        arrays[name] = np.zeros((0, 3), np.float32)
    elif kind == 3:
        arrays[name] = np.asarray(array).astype(np.int64)
    else:
        arrays[name] = np.full_like(np.asarray(array, np.float32), np.nan)


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield content, key
        if isinstance(value, dict | list) and value:
            yield from _places(value)


def forge_resumes(files: dict[str, Path], tries: int, rng: np.random.Generator) -> Tally:
    """Forge the state or an array of a checkpoint and resume the run from it."""
    tally = Tally("checkpoints forged and resumed")
    run = files["run"].parent / "forged"
    for number in range(tries):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(files["run"], run)
        (run / "result.json").unlink()
        path = newest(run)
        found = load_checkpoint(path)
        tensors, arrays, state = dict(found.tensors), dict(found.arrays), found.state
        if number % 3 == 0:
            change_array(arrays, rng)
        elif number % 3 == 1:
            numpy = {name: tensor.numpy() for name, tensor in tensors.items()}
            change_array(numpy, rng)
            tensors = {name: torch.from_numpy(np.array(array)) for name, array in numpy.items()}
        else:
            change_one(state, rng)
        shutil.rmtree(run / "checkpoints")
        (run / "checkpoints").mkdir()
        save_checkpoint(run / "checkpoints", found.step, tensors, arrays, state)
        words = ["train", "debug", *TINY, "--quiet", "--out", str(run)]
        tally.add(f"resume #{number}", command(words))
    return tally


def _tensors(tensors: dict[str, Any]) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in tensors.items()}


def _said(checkpoint: Any) -> Any:
    tensors, arrays = _tensors(checkpoint.tensors), _tensors(checkpoint.arrays)
    return checkpoint.step, tensors, arrays, checkpoint.state


def _weights(weights: Any) -> Any:
    parts = _tensors(weights.model.state_dict()) | _tensors(weights.prior)
    return parts, weights.threshold, weights.meta, weights.config


def _sequences(sequences: Any) -> Any:
    return sequences.images.tobytes(), sequences.actions.tobytes(), sequences.env, sequences.seed
