"""Named settings of perception: `scalor-*` in minutes on two cores, `paper-scalor-*` as published.

The fast numbers are all in `FAST` and `scalor`; the paper presets use the same code with the
paper's table, and the release where the paper is silent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from smorl.errors import InvalidInput, did_you_mean
from smorl.representations.scalor.model.settings import ScalorConfig
from smorl.representations.scalor.training.settings import (
    FinderConfig,
    HeldOutConfig,
    OptimiseConfig,
    ScalorTrainingConfig,
    SequencesConfig,
)


@dataclass(frozen=True)
class PerceptionPreset:
    """A name for a config; `provenance` says where numbers come from, by dotted field."""

    line: str
    build: Callable[[], ScalorTrainingConfig]
    provenance: dict[str, str] = field(default_factory=dict)


# The fast presets' training, by number of pucks: (slots, iterations).
FAST = {1: (4, 2000), 2: (5, 2000), 3: (6, 2500), 4: (7, 2500)}

PAPER_PROVENANCE = {
    "data.episodes": "release, 101 episodes; paper, 10,000 points",
    "data.steps": "release, 100 steps per episode",
    "data.first_frames": "release stores no reset frame, windows start anywhere",
    "optimise.optimizer": "paper, Adam; the release uses RMSprop",
    "optimise.iterations": "paper, 5000; the release 5000 (1 object) and 6001 (2 objects)",
    "optimise.batch": "paper, 11",
    "optimise.lengths": "release, 10 frames",
    "optimise.lr": "paper, 1e-4, constant",
    "optimise.clip": "release, gradient norm 1.0",
    "optimise.rotations": "release, four orientations of every batch; the paper is silent",
    "scalor.what": "release, 8 for one object, 4 for two",
    "scalor.cells": "paper, 4",
    "scalor.glimpse": "release, 32",
    "scalor.slots": "release, at most 5 objects tracked in training",
    "scalor.size": "paper, size bias 0.22",
    "scalor.size_range": "paper, size variance 0.12",
    "scalor.ratio": "paper, ratio bias 1.0",
    "scalor.ratio_range": "paper, ratio variance 0.3",
    "scalor.explained": "paper, explained ratio threshold 0.1",
    "scalor.sigma": "release, 0.1",
    "scalor.step_range": "release, where_update_scale 0.2",
    "scalor.prior_start": "release, 0.1 to 1e-4 over 500 iterations (linearly there)",
    "scalor.temperature_end": "release, falls as exp(step ln(0.3)/20000), at least 0.3",
    "scalor.born": "release, 0.7",
    "scalor.dies": "release, 0.6",
    "scalor.background": "release, a decoder of one latent number",
}


def env_id(n: int) -> str:
    """Return the id of the visual environment with n pucks."""
    return f"smorl/VisualRearrange{n}-v0"


def scalor(n: int) -> ScalorTrainingConfig:
    """The fast model."""
    slots, iterations = FAST[n]
    return ScalorTrainingConfig(
        env=env_id(n),
        threads=1,
        data=SequencesConfig(episodes=500, steps=40, first_frames=0.3, contact=0.4),
        scalor=ScalorConfig(slots=slots),
        optimise=OptimiseConfig(
            iterations=iterations,
            batch=16,
            lengths=(2, 2, 4, 6, 8),
            lr=1e-3,
            lr_final=0.1,
            decay_from=0.5,
            warmup=100,
        ),
        finder=FinderConfig(iterations=1200 if n <= 2 else 2000),
    )


def paper(n: int) -> ScalorTrainingConfig:
    """The paper's table; the release where the paper is silent."""
    return ScalorTrainingConfig(
        env=env_id(n),
        restarts=0,
        data=SequencesConfig(episodes=101, steps=100, first_frames=0.0),
        scalor=ScalorConfig(
            what=8 if n == 1 else 4,
            cells=4,
            glimpse=32,
            slots=5,
            proposals=16,
            networks="paper",
            channels=64,
            hidden=128,
            tracker=128,
            lstm_layers=2,
            background="decoded",
            size=0.22,
            size_range=0.12,
            ratio=1.0,
            ratio_range=0.3,
            step_range=0.2,
            window=0.0,
            sigma=0.1,
            presence_bias=0.0,
            prior_start=0.1,
            prior_end=1e-4,
            prior_steps=500,
            temperature_start=1.0,
            temperature_end=0.3,
            temperature_steps=20_000,
            explained=0.1,
            overlap=1.0,
            coexist=1.0,
            dare=0.0,
            forget=0.0,
            mask_bias=0.0,
            paint=0.0,
            where_std=0.0,
            born=0.7,
            dies=0.6,
        ),
        optimise=OptimiseConfig(
            optimizer="adam",
            iterations=5_000,
            batch=11,
            lengths=(10,),
            lr=1e-4,
            clip=1.0,
            rotations=True,
        ),
    )


def debug() -> ScalorTrainingConfig:
    """Every part of a perception run in a few seconds; finds nothing worth having."""
    base = scalor(1)
    return replace(
        base,
        threads=1,
        restarts=0,
        log_every=2,
        data=SequencesConfig(episodes=6, steps=12, first_frames=0.5, contact=0.4),
        scalor=replace(base.scalor, what=3, slots=3, channels=16, hidden=16, tracker=8, glimpse=8),
        optimise=replace(base.optimise, iterations=8, batch=3, lengths=(2, 3), warmup=2),
        finder=FinderConfig(iterations=2, batch=4),
        evaluation=HeldOutConfig(episodes=2),
    )


def _all() -> dict[str, PerceptionPreset]:
    line = "everything in seconds, to see that it runs"
    found = {"debug-scalor": PerceptionPreset(line, debug)}
    for n in FAST:
        pucks = f"{n} puck{'s' if n > 1 else ''}"
        found[f"scalor-{n}"] = PerceptionPreset(
            f"SCALOR on {pucks}, in minutes", partial(scalor, n)
        )
    for n in (1, 2):
        pucks = f"{n} puck{'s' if n > 1 else ''}"
        found[f"paper-scalor-{n}"] = PerceptionPreset(
            f"SCALOR on {pucks}, the paper's settings (hours)", partial(paper, n), PAPER_PROVENANCE
        )
    return found


PERCEPTION_PRESETS = _all()


def get_perception_preset(name: str) -> PerceptionPreset:
    """Return a preset by name."""
    if name not in PERCEPTION_PRESETS:
        hint = did_you_mean(name, PERCEPTION_PRESETS)
        raise InvalidInput(
            f"unknown perception preset {name!r}.{hint} `smorl perception train --help` lists them."
        )
    return PERCEPTION_PRESETS[name]
