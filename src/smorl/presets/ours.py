"""Every option that is ours and not the paper's, with the value that switches it off.

`paper-*` and `lite-*` have all of them off, except for the reasons that docs/fidelity.md gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from smorl.representations.scalor.tracking.settings import PLAIN

OURS: dict[str, Any] = {
    **{f"tracker.{name}": value for name, value in PLAIN.items()},
    "collect.goals_per_reset": 1,
    "collect.planned": 0.0,
    "collect.collectors": 0,
    "goals.disturbance_penalty": 0.0,
    "goals.object_goal_bias": 0.0,
    "gentle": None,
    "dynamics": None,
    "relabel.any_object": 0.0,
    "networks.normalise_positions": False,
    "networks.relative": False,
    "networks.matched": False,
    "networks.body": False,
    "networks.motion": False,
    "networks.critic_norm": False,
    "networks.policy_norm": False,
    "learner.reward_scale": 1.0,
    "learner.policy_every": 1,
    "learner.pessimism": 1.0,
    "learner.lr_end": 1.0,
    "evaluation.controller": "policy",
    "evaluation.subgoals.order": "cycle",
    "evaluation.subgoals.switch_when_solved": False,
    "evaluation.subgoals.stop_when_solved": True,
    "evaluation.subgoals.own_body": True,
}
# Of methods with a VAE.
OURS_LATENT: dict[str, Any] = {"latent.skew.spread": None, "latent.skew.pictures": None}
# Of SCALOR's training.
OURS_PERCEPTION: dict[str, Any] = {
    "restarts": 0,
    "finder.iterations": 0,
    "data.contact": 0.0,
    "data.first_frames": 0.0,
    "scalor.networks": "paper",
    "scalor.background": "decoded",
    "scalor.window": 0.0,
    "scalor.paint": 0.0,
    "scalor.coexist": 1.0,
    "scalor.overlap": 1.0,
    "scalor.dare": 0.0,
    "scalor.forget": 0.0,
    "scalor.where_std": 0.0,
    "scalor.presence_bias": 0.0,
    "scalor.mask_bias": 0.0,
    "optimise.lr_final": 1.0,
    "optimise.warmup": 0,
}


def flat(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a config as JSON has it, by dotted field; what is None has no fields."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def papers_method(config: Mapping[str, Any]) -> bool:
    """Whether a run of SMORL has everything that is ours switched off; fields must be there."""
    known = dict(flat(config))
    sees = config.get("method") == "smorl"
    wanted = {k: v for k, v in OURS.items() if sees or not k.startswith("tracker.")}
    return all(name in known and known[name] == value for name, value in wanted.items())
