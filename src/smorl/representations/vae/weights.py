"""A trained beta-VAE as one safetensors file: its tensors, its settings, how it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smorl.config import from_json, to_json
from smorl.errors import InvalidInput
from smorl.formats import check_kinds, understood
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import VaeConfig
from smorl.runs.tensor_file import fill_module, read_tensors, write_tensors

KIND, FORMAT = "vae", 1


@dataclass(frozen=True)
class VaeWeights:
    """A trained model; `meta` says how it was made: env, camera, seed, command."""

    model: BetaVae
    meta: dict[str, Any] = field(default_factory=dict)

    def encoder(self) -> VaeEncoder:
        """Return the encoder of RIG."""
        return VaeEncoder(self.model)


def save_vae(path: Path, weights: VaeWeights) -> Path:
    """Write a model exactly as it is, float32: an agent depends on these very latents."""
    arrays = {k: v.detach().cpu().numpy() for k, v in weights.model.state_dict().items()}
    header = {"config": to_json(weights.model.config), "meta": weights.meta}
    return write_tensors(path, KIND, FORMAT, arrays, header)


def load_vae(path: Path) -> VaeWeights:
    """Read a file of `save_vae`; anything else gets one sentence saying what is wrong."""
    path = Path(path)
    arrays, header = read_tensors(path, KIND, FORMAT)
    with understood(path, "a VAE"):
        check_kinds(header, {"config": {}, "meta": {}}, "header")
    try:
        config = from_json(VaeConfig, header["config"])
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} was made with settings this smorl does not know: {error}"
        ) from error
    model = BetaVae(config)
    fill_module(path, model, arrays)
    return VaeWeights(model, header["meta"])
