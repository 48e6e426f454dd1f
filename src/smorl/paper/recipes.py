"""What a run is started from at each scale: a preset and what it overrides."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scale = Literal["fast", "paper", "debug"]
SCALES: tuple[Scale, ...] = ("fast", "paper", "debug")

# The torso of each variant of App. B; what is not named stays as the preset has it.
ABLATION = {
    "both": {"networks.torso.queries": "3"},
    "conditional": {"networks.torso.queries": "0"},
    "unconditional": {"networks.torso.queries": "3", "networks.torso.heads": "0"},
    "deepsets": {"networks.torso.kind": "deepsets"},
    "deepsets-padded": {"networks.torso.kind": "deepsets-padded"},
}

# How SMORL plays beside methods that act by their policy for one goal until the episode ends: by
# its policy, sub-goals in the order of Alg. 3, and no sooner at its end. The place of the hand is
# a sub-goal as in the paper.
WITHOUT_AIDS = {
    "controller": "policy",
    "evaluation.subgoals.order": "cycle",
    "evaluation.subgoals.switch_when_solved": "false",
    "evaluation.subgoals.stop_when_solved": "false",
    "evaluation.subgoals.own_body": "true",
}

# What each part of ours is worth: agents without it, or with another one in its place. Some are
# played otherwise, some trained otherwise.
PLAYED_OTHERWISE = {
    "no-plans-but-the-critic": {"controller": "critic"},
    "no-plans-but-the-policy": {"controller": "policy"},
    "plans-without-the-critic-at-the-end": {"planning.value": "false"},
    "sub-goals-by-gain": {"evaluation.subgoals.order": "gain"},
    "sub-goals-in-turn": {"evaluation.subgoals.order": "cycle"},
}
NO_SHORTCUTS = {f"networks.{name}": "false" for name in ("matched", "body", "relative")}
TRAINED_OTHERWISE = {
    "no-gentle-contact": {"gentle": "none"},
    "plans-in-half-of-collection": {"collect.planned": "0.5"},
    "no-shortcuts": NO_SHORTCUTS,
    "no-motion": {"networks.motion": "false"},
    "no-penalty-for-disturbing": {"goals.disturbance_penalty": "0"},
    "all-practised-alike": {"goals.object_goal_bias": "0"},
    "goals-of-the-rollout-only": {"relabel.any_object": "0"},
    "the-smaller-of-the-critics": {"learner.pessimism": "1"},
}
# From pixels those of the above that matter most, and parts of the tracker.
_LESS = ("plans-in-half-of-collection", "no-motion", "the-smaller-of-the-critics")
SEEN_OTHERWISE = {
    **{name: settings for name, settings in TRAINED_OTHERWISE.items() if name not in _LESS},
    "no-memory": {"tracker.memory": "0", "tracker.search": "false"},
    "no-search": {"tracker.search": "false"},
    "no-foot": {"tracker.foot": "0"},
}


@dataclass(frozen=True)
class Quick:
    """Options that make the commands beside training quick; none where results count."""

    evaluate: tuple[str, ...] = ()
    study: tuple[str, ...] = ()
    look: tuple[str, ...] = ()


QUICK: dict[Scale, Quick] = {
    "fast": Quick(),
    "paper": Quick(),
    "debug": Quick(("--episodes", "2"), ("--episodes", "2"), ("--episodes", "4", "--steps", "5")),
}


@dataclass(frozen=True)
class Setting:
    """How a figure is made. `own`: every seed trains its own perception.

    `out` and `record` are where runs and results of the fast scale with the shipped perception
    lie; everything else has folders below them, so that nothing is mixed up.
    """

    scale: Scale = "fast"
    seeds: tuple[int, ...] = (0,)
    own: bool = False
    out: Path = Path("runs")
    record: Path = Path("results")

    def runs(self, sees: bool = False) -> Path:
        """Return where runs go; `sees`: those that differ by their perception."""
        folder = self.out if self.scale == "fast" else self.out / self.scale
        return folder / "own-perception" if sees and self._apart else folder

    @property
    def results(self) -> Path:
        """Where results are kept."""
        folder = self.record if self.scale == "fast" else self.record / self.scale
        return folder / "own-perception" if self._apart else folder

    @property
    def _apart(self) -> bool:
        return self.scale != "paper" and self.own  # the paper scale has no other


@dataclass(frozen=True)
class Recipe:
    """A preset and its overrides by dotted field."""

    preset: str
    overrides: dict[str, str] = field(default_factory=dict)


_DEBUG_PRESETS = {
    "gt": "debug", "visual": "debug-visual", "rig": "debug-rig", "skewfit": "debug-skewfit",
}  # fmt: skip
_DEBUG_SAC = {
    "collect.total_steps": "250",
    "collect.initial_steps": "125",
    "collect.num_envs": "5",
    "learner.batch_size": "32",
    "evaluation.every": "125",
    "evaluation.episodes": "2",
    "evaluation.final_episodes": "4",
    "evaluation.subgoals.length": "9",
}


def env_id(task: str, n: int, visual: bool) -> str:
    """Return the id of an environment."""
    return f"smorl/{'Visual' if visual else ''}{task.capitalize()}{n}-v0"


def agent_recipe(scale: Scale, kind: str, task: str, n: int) -> Recipe:
    """Return how an agent is trained; `kind` is gt, sac, visual, rig or skewfit."""
    preset = f"{kind}-{task}-{n}"
    if scale != "debug":
        return Recipe(preset if scale == "fast" else f"paper-{preset}")
    if kind == "sac":
        return Recipe(preset, _DEBUG_SAC)
    return Recipe(_DEBUG_PRESETS[kind], {"env": env_id(task, n, kind != "gt")})


def perception_recipe(scale: Scale, n: int) -> Recipe:
    """Return how a perception is trained. Paper: SCALOR with three pucks as with two."""
    if scale == "fast":
        return Recipe(f"scalor-{n}")
    env = {"env": env_id("rearrange", n, True)}
    if scale == "debug":
        return Recipe("debug-scalor", env)
    return Recipe(f"paper-scalor-{n}") if n <= 2 else Recipe("paper-scalor-2", env)


def usual_steps(preset: str) -> int:
    """Return how many environment steps a preset trains for."""
    from smorl.presets import get_preset  # here, as it takes a second

    return get_preset(preset).build().collect.total_steps


def budget_of_pixels(scale: Scale, task: str, n: int) -> dict[str, str]:
    """Return what gives another method the steps and updates that SMORL from pixels has.

    The fast presets of SAC have those of SMORL on ground truth, which are fewer. The paper's
    settings of each method stay as they are.
    """
    if scale != "fast":
        return {}
    from smorl.presets import get_preset  # here, as it takes a second

    collect = get_preset(agent_recipe(scale, "visual", task, n).preset).build().collect
    names = ("total_steps", "updates_per_step")
    return {f"collect.{name}": str(getattr(collect, name)) for name in names}


def vae_alone(scale: Scale) -> dict[str, str]:
    """Return what ends a run of RIG soon after its VAE is trained, which then stays as it is."""
    return {} if scale == "debug" else {"collect.total_steps": "11250"}


def plain_tracker() -> dict[str, str]:
    """Return what leaves SCALOR's own objects and IDs as they are, as the paper's tracker does."""
    from smorl.presets.ours import OURS

    ours = OURS.items()
    return {name: json.dumps(value) for name, value in ours if name.startswith("tracker.")}


def without_crutches(scale: Scale) -> dict[str, str]:
    """Return what an ablation switches off in all its variants.

    The fast presets hand the goal's object and the arm to the networks beside the attention, and
    offsets to every object. That would hide what the attention is good for.
    """
    if scale == "paper":
        return {}
    return NO_SHORTCUTS
