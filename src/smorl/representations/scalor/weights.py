"""One file with everything a trained perception needs: `weights.safetensors`.

Tensors `model/...` (float16), `what/mean`, `what/basis`, `prior/...`, `known/...`; the rest is JSON
in the header: the model's settings, the matching threshold, where it was trained, by which command.
The hash of `tensor_file` covers all of it.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smorl.config import from_json, to_json
from smorl.devices import device_of, to_array
from smorl.errors import InvalidInput
from smorl.files import read_bytes
from smorl.formats import check_kinds, understood
from smorl.goals.own_body import StillnessModel
from smorl.images import resize
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.settings import ScalorConfig
from smorl.representations.scalor.tracking.finder import Finder
from smorl.representations.scalor.tracking.known import Known
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.tracking.tracker import DEFAULT_SAME, ScalorTracker
from smorl.runs.tensor_file import (
    damaged,
    fill_module,
    read_tensors,
    require_finite,
    under,
    write_tensors,
)
from smorl.types import ObjectSet

KIND, FORMAT = "scalor", 2
_LARGEST = float(np.finfo(np.float16).max)
_PARTS = ("model/", "what/", "prior/", "known/")
_USUAL = {"kinds", "looks", "extents", "depths"}  # arrays of `Known`
_KINDS = {"config": {}, "threshold": int | float, "meta": {"env": str}}


@dataclass(frozen=True)
class PerceptionWeights:
    """A trained perception. `prior` holds arrays for `goals.priors.from_arrays`.

    `threshold` is the largest distance of normalised appearances that counts as the same object;
    `meta` says how it was made: env, seed, command, match report. `digest` is the hash of the file
    it was read from.
    """

    config: ScalorConfig
    model: Scalor
    what_mean: np.ndarray
    what_basis: np.ndarray
    prior: dict[str, np.ndarray]
    threshold: float
    meta: dict[str, Any] = field(default_factory=dict)
    known: Known | None = None  # tells where hand and things are; None: masks do
    digest: str | None = None

    def tracker(
        self, config: TrackerConfig | None = None, device: torch.device | None = None
    ) -> ScalorTracker:
        """Return the encoder: pictures to objects with normalised appearance.

        If the settings do not say otherwise, it recognises what comes back by `threshold`. It
        computes on `device`, or where the model is.
        """
        config = TrackerConfig() if config is None else config
        config = replace(config, same=self.threshold) if config.same is None else config
        model, known = self.model, self.known
        if device is not None and device != device_of(model):
            model, known = copy.deepcopy((model, known))
            model.to(device)
        return ScalorTracker(model, self.what_mean, self.what_basis, config, known)

    def track(self, frames: np.ndarray, actions: np.ndarray | None = None) -> ObjectSet:
        """Follow the objects of a video uint8 (T, H, W, 3): a set of arrays (T, N, .).

        Positions are in image coordinates, [-1, 1] from left to right and from top to bottom;
        `ids` name an object as long as it is followed. `actions` (T, A) are what the robot in the
        picture did before each frame, if there is one and anybody knows.
        """
        images = np.asarray(frames)
        if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
            raise InvalidInput(
                f"frames are {images.dtype} {images.shape}; a video is uint8 (T, H, W, 3)."
            )
        images = resize(images, self.config.image_size)
        if actions is None:
            actions = np.zeros((len(images), self.actions), np.float32)
        tracker = self.tracker()
        carry, found = tracker.init(1), []
        for image, action in zip(images, np.asarray(actions, np.float32), strict=True):
            carry, objects = tracker.step(carry, image[None], action[None])
            found.append(objects)
        return ObjectSet.join(found)

    @property
    def image_size(self) -> int:
        """Pixels of a side of the pictures that it takes."""
        return self.config.image_size

    @property
    def actions(self) -> int:
        """How many numbers the actions have that it was trained with."""
        return self.model.actions

    @property
    def env(self) -> str:
        """The environment whose pictures it was trained on."""
        return str(self.meta["env"])


def untrained(config: ScalorConfig, actions: int, env: str) -> PerceptionWeights:
    """Return a perception with random weights, for measurements of speed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Scalor(config, actions)
    mean, basis = np.zeros(config.what, np.float32), np.eye(config.what, dtype=np.float32)
    return PerceptionWeights(config, model, mean, basis, {}, DEFAULT_SAME, {"env": env})


def save_weights(path: Path, weights: PerceptionWeights) -> Path:
    """Write the file, whole or not at all."""
    arrays = {f"model/{k}": _half(v) for k, v in weights.model.state_dict().items()}
    arrays |= {"what/mean": weights.what_mean, "what/basis": weights.what_basis}
    arrays |= {f"prior/{k}": v for k, v in weights.prior.items()}
    if weights.known is not None:
        arrays |= {f"known/{k}": v for k, v in _known_arrays(weights.known).items()}
    config = to_json(weights.config)
    header = {"config": config, "threshold": weights.threshold, "meta": weights.meta}
    return write_tensors(Path(path), KIND, FORMAT, arrays, header)


def load_weights(path: Path, data: bytes | None = None) -> PerceptionWeights:
    """Read a file of `save_weights`; anything else gets one sentence saying what is wrong.

    `data` is its content, if it lies within another file.
    """
    path = Path(path)
    data = read_bytes(path) if data is None else data
    arrays, header = read_tensors(path, KIND, FORMAT, data)
    with understood(path, "a perception"):
        check_kinds(header, _KINDS, "header")
    if strangers := sorted(name for name in arrays if not name.startswith(_PARTS)):
        raise damaged(path, f"it holds {strangers[0]!r}, which this smorl does not know")
    model = Scalor(_config(path, header["config"]), _action_size(path, arrays))
    fill_module(path, model, under("model/", arrays))
    mean, basis = arrays.get("what/mean"), arrays.get("what/basis")
    what = model.config.what
    if mean is None or basis is None or mean.shape != (what,) or basis.shape != (what, what):
        raise damaged(path, f"its appearance statistics do not have {what} dimensions")
    require_finite(path, {"what/mean": mean, "what/basis": basis})
    return PerceptionWeights(
        config=model.config,
        model=model.eval().requires_grad_(False),
        what_mean=mean,
        what_basis=basis,
        prior=under("prior/", arrays),
        threshold=float(header["threshold"]),
        meta=header["meta"],
        known=_known(path, under("known/", arrays), model.config),
        digest=hashlib.sha256(data).hexdigest(),
    )


def _known_arrays(known: Known) -> dict[str, np.ndarray]:
    arrays = {f"finder/{k}": to_array(v) for k, v in known.finder.state_dict().items()}
    arrays |= {f"rest/{k}": v for k, v in known.rest.to_arrays().items()}
    return arrays | {name: getattr(known, name) for name in _USUAL}


def _known(path: Path, arrays: dict[str, np.ndarray], config: ScalorConfig) -> Known | None:
    """Return who tells where hand and things are, if the file knows."""
    if not arrays:
        return None
    rest, cells = under("rest/", arrays), arrays.get("finder/cells.2.bias")
    if rest.keys() != {"centres", "rest"} or cells is None or not arrays.keys() >= _USUAL:
        raise damaged(path, "it does not say how hand and things look")
    require_finite(path, {f"known/{k}": v for k, v in arrays.items()})
    finder = Finder(config.image_size, max(0, len(cells) // 3 - 1))
    fill_module(path, finder, under("finder/", arrays))
    with understood(path, "a perception"):
        finder = finder.eval().requires_grad_(False)
        known = Known(finder, StillnessModel(**rest), **{name: arrays[name] for name in _USUAL})
        if known.rest.centres.shape[1] != config.what:
            raise ValueError(f"appearances of {known.rest.centres.shape[1]} numbers")
    return known


def _action_size(path: Path, arrays: dict[str, np.ndarray]) -> int:
    """Return how many numbers the actions had that the model was trained with."""
    weights = arrays.get("model/lstm.actions.0.weight")
    if weights is None or weights.ndim != 2:
        raise damaged(path, "it does not say which actions it was trained with")
    return weights.shape[1]


def _config(path: Path, data: Any) -> ScalorConfig:
    try:
        return from_json(ScalorConfig, data)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} was made with settings this smorl does not know: {error}"
        ) from error


def rounded(model: Scalor) -> Scalor:
    """Return a copy with exactly the values a saved file would hold."""
    copied = copy.deepcopy(model).eval().requires_grad_(False)
    for tensor in copied.state_dict().values():
        tensor.copy_(torch.from_numpy(_half(tensor).copy()))
    return copied


def _half(tensor: torch.Tensor) -> np.ndarray:
    """Return float32 as float16 where it fits; weights are known far less precisely anyway."""
    array = to_array(tensor)
    fits = array.dtype == np.float32 and (array.size == 0 or np.abs(array).max() < _LARGEST)
    return array.astype(np.float16) if fits else array
