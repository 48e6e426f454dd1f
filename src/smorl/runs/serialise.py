"""Random streams and optimisers as tensors and JSON, which a checkpoint can hold. No pickle."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smorl.config import JSON
from smorl.errors import InvalidInput
from smorl.files import damaged
from smorl.runs.manifest import dump_json


def generator_state(generator: np.random.Generator) -> JSON:
    """Return the exact position of a PCG64 stream, with what `spawn` needs, as JSON."""
    bits = generator.bit_generator
    if not isinstance(bits, np.random.PCG64 | np.random.PCG64DXSM):
        raise InvalidInput(
            f"Only PCG64 streams can be saved, got {type(bits).__name__}; "
            "make it with np.random.default_rng."
        )
    seed = bits.seed_seq
    if not isinstance(seed, np.random.SeedSequence):
        return {"stream": bits.state, "seed": None}
    entropy = seed.entropy
    return {
        "stream": bits.state,
        "seed": {
            "entropy": entropy if isinstance(entropy, int) else [int(e) for e in entropy or ()],
            "spawn_key": [int(k) for k in seed.spawn_key],
            "pool_size": seed.pool_size,
            "n_children_spawned": seed.n_children_spawned,
        },
    }


def restore_generator(state: JSON) -> np.random.Generator:
    """Return a new generator that continues exactly where `generator_state` was taken."""
    kinds = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}
    try:
        kind = kinds[state["stream"]["bit_generator"]]
        if state["seed"] and state["seed"]["pool_size"] != 4:  # numpy's own; others need memory
            raise ValueError(f"a pool of {state['seed']['pool_size']}")
        bits = kind(np.random.SeedSequence(**state["seed"]) if state["seed"] else 0)
        bits.state = state["stream"]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InvalidInput(f"Not the saved state of a random stream: {error!r}.") from error
    return np.random.Generator(bits)


def optimizer_tensors(
    prefix: str, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, torch.Tensor], JSON]:
    """Split an Adam optimiser into tensors named `prefix/<parameter>/<key>` and a JSON rest."""
    saved = optimizer.state_dict()
    tensors: dict[str, torch.Tensor] = {}
    scalars: dict[str, dict[str, JSON]] = {}
    for index, entries in saved["state"].items():
        for key, value in entries.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{prefix}/{index}/{key}"] = value
            else:
                scalars.setdefault(str(index), {})[key] = value
    rest = {"param_groups": saved["param_groups"], "scalars": scalars, "tensors": sorted(tensors)}
    return tensors, json.loads(dump_json(rest, prefix))


def load_optimizer(
    prefix: str,
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, torch.Tensor],
    rest: JSON,
) -> None:
    """Put back what `optimizer_tensors` took; the optimiser then continues bit for bit."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for name in rest["tensors"]:
        index, key = name[len(prefix) + 1 :].split("/")
        value = tensors.get(name)
        if value is None or int(index) >= len(parameters):
            raise InvalidInput(f"Optimiser {prefix!r} does not fit the saved one: {name!r}.")
        if value.dim() and value.shape != parameters[int(index)].shape:
            raise InvalidInput(
                f"Optimiser {prefix!r} does not fit the saved one: {name!r} has shape "
                f"{tuple(value.shape)}, its parameter {tuple(parameters[int(index)].shape)}."
            )
        state.setdefault(int(index), {})[key] = _laid_out_like(parameters[int(index)], value)
    for index, entries in rest["scalars"].items():
        state.setdefault(int(index), {}).update(entries)
    groups = [
        {key: tuple(v) if isinstance(v, list) and key != "params" else v for key, v in g.items()}
        for g in rest["param_groups"]
    ]
    _refuse_other_kinds(prefix, optimizer.state_dict()["param_groups"], groups)
    try:
        optimizer.load_state_dict({"state": state, "param_groups": groups})
    except ValueError as error:
        raise InvalidInput(f"Optimiser {prefix!r} does not fit the saved one: {error}.") from error


def _refuse_other_kinds(prefix: str, own: list[dict], found: list[dict]) -> None:
    """Raise unless the saved settings are of the same names and kinds as the optimiser's own."""
    kinds, saved = ([{k: type(v) for k, v in group.items()} for group in g] for g in (own, found))
    if kinds != saved:
        raise InvalidInput(f"Optimiser {prefix!r} does not fit the saved one: other settings.")


def refuse_misfit(path: Path, name: str, own: torch.Tensor, found: torch.Tensor | None) -> None:
    """Raise unless `found` can take the place of `own` as it is; a copy would stretch others."""
    if found is None or found.shape != own.shape or not found.isfinite().all():
        holds = "is missing" if found is None else f"has shape {tuple(found.shape)}"
        raise damaged(
            path,
            f"does not fit its own settings: tensor {name!r} {holds}, wanted are finite numbers of "
            f"shape {tuple(own.shape)}",
        )


def _laid_out_like(parameter: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return a copy of `value`, in the memory order of its parameter.

    The optimiser updates its state in place, which must not write into the checkpoint. A fused
    optimiser walks parameter and state in memory order, which differs where channels are last.
    """
    if not value.dim():
        return value.clone()
    return torch.empty_like(parameter, dtype=value.dtype, requires_grad=False).copy_(value)
