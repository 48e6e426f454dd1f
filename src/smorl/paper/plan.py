"""Which runs and analyses each figure of the paper, and one of ours, needs, at which scale.

`fast` takes the presets tuned for two cores, `paper` those with the paper's numbers. Names of runs
do not depend on the scale, their folders do: `runs/`, `runs/paper/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smorl.errors import InvalidInput, did_you_mean
from smorl.paper.costs import CLUSTERS, EVALUATE, MIG_MODEL, SHOW, STUDY
from smorl.paper.jobs import Job
from smorl.paper.planner import Plan
from smorl.paper.recipes import (
    ABLATION,
    PLAYED_OTHERWISE,
    QUICK,
    SEEN_OTHERWISE,
    TRAINED_OTHERWISE,
    Setting,
    budget_of_pixels,
    env_id,
    plain_tracker,
    vae_alone,
    without_crutches,
)

_TWO = ("rearrange", 2)  # the task of every figure after the comparison of methods


@dataclass(frozen=True)
class Figure:
    """A figure; its results are kept in `folder` of the results.

    `single`: it looks at one model, so there are no seeds to choose. `ours`: it is about what the
    paper's settings do not have, so there is no paper scale.
    """

    name: str
    line: str
    default_seeds: int
    folder: str
    jobs: Callable[[Plan], None]
    single: bool = False
    ours: bool = False


def _gt(plan: Plan) -> None:
    for seed in plan.setting.seeds:
        for n in (2, 3, 4):
            plan.without_aids(plan.agent("gt", "rearrange", n, seed, ("gt",)), "gt")
            plan.agent("sac", "rearrange", n, seed, ("gt",))


def _visual(plan: Plan) -> None:
    for seed in plan.setting.seeds:
        for task in ("push", "rearrange"):
            for n in (1, 2):
                ours = plan.agent("visual", task, n, seed, ("visual",))
                plan.without_aids(ours, "visual")
                for kind in ("rig", "skewfit"):
                    plan.agent(kind, task, n, seed, ("visual",))
                # As many steps and updates as the others have here; on ground truth it has fewer.
                more, name = (
                    budget_of_pixels(plan.setting.scale, task, n),
                    f"sac-as-visual-{task}-{n}",
                )
                plan.agent("sac", task, n, seed, ("visual",), name=name, more=more)


def _ood(plan: Plan) -> None:
    for seed in plan.setting.seeds:
        plan.agent("visual", "rearrange", 1, seed, ("visual",))  # the line to compare with
        run = plan.agent("visual", *_TWO, seed, ("visual",))
        plan.transfer(run, 1, "ood")
        # A perception of two pucks has never seen the third colour and takes it for the arm's. So
        # the agent that meets three sees through one of three, and never more than two by training.
        sharp = plan.agent(
            "visual", *_TWO, seed, ("ood",), name="visual-rearrange-2-seeing-3", seeing=3
        )
        plan.transfer(sharp, 3, "ood")


def _ablation(plan: Plan) -> None:
    for seed in plan.setting.seeds:
        for variant, torso in ABLATION.items():
            more, name = without_crutches(plan.setting.scale) | torso, f"ablation/{variant}"
            # Ten agents and more of the full length would take most of a day.
            length = 0.6 if plan.setting.scale == "fast" else 1.0
            run = plan.agent(
                "visual", *_TWO, seed, ("ablation",), name=name, more=more, length=length
            )
            plan.transfer(run, 1, "ablation")


def _long(plan: Plan) -> None:
    for kind in ("visual", "rig"):
        for seed in plan.setting.seeds:
            plan.agent(kind, *_TWO, seed, ("long",), name=f"long/{kind}-rearrange-2", length=2.0)


def _tracking(plan: Plan) -> None:
    quick = QUICK[plan.setting.scale].study
    for seed in plan.setting.seeds:
        # The reward alone differs. Both see through the paper's tracker: ours leaves little to
        # exploit. Random actions before the same eyes are the control.
        by_look, by_id = (
            plan.agent("visual", *_TWO, seed, ("tracking",), name=f"visual-rearrange-2-{reward}",
                       more={"goals.reward": reward, **plain_tracker()})
            for reward in ("matching", "tracking")
        )  # fmt: skip
        film = plan.setting.results / f"tracking/exploit-seed{seed}.png"
        words = ("smorl", "study", "tracking", by_id, by_look, "--random", "--film", film)
        file, about = f"tracking/study-seed{seed}.json", (by_id.name, by_look.name)
        plan.file(file, STUDY, *words, *quick, "--json", printed=True, about=about)


def _worth(plan: Plan) -> None:
    for seed in plan.setting.seeds:
        for kind, n, trained, played in (
            ("gt", 2, TRAINED_OTHERWISE, PLAYED_OTHERWISE),
            ("visual", 1, SEEN_OTHERWISE, {}),
        ):
            folder, usual = f"worth/{kind}-rearrange-{n}", ("default", {})
            run = plan.agent(kind, "rearrange", n, seed, (kind,))
            for variant, settings in (usual, *played.items()):
                plan.played(run, f"{folder}/{variant}-seed{seed}.json", settings)
            for variant, settings in trained.items():
                name = f"{folder}/{variant}"
                run = plan.agent(kind, "rearrange", n, seed, (folder,), name=name, more=settings)
                plan.played(run, f"{name}-seed{seed}.json", {})


def _clusters(plan: Plan) -> None:
    eyes, file = _seen_apart(plan, 3, plan.setting.seeds[0]), "analysis/clusters.json"
    words = ("smorl", "analyse", "clusters", "--perception", eyes, *QUICK[plan.setting.scale].look)
    plan.file(file, CLUSTERS, *words, "--keep", plan.setting.results / file)


def _mig(plan: Plan) -> None:
    scale, seeds = plan.setting.scale, plan.setting.seeds
    eyes = [_seen_apart(plan, 3, seed) for seed in seeds]
    vaes = [
        plan.agent("rig", "rearrange", 3, seed, (), name="mig/rig-rearrange-3",
                   more=vae_alone(scale), wanted=False)
        for seed in seeds
    ]  # fmt: skip
    file, cost = "analysis/mig.json", MIG_MODEL * (len(eyes) + len(vaes))
    words = ("smorl", "analyse", "mig", "--perception", *dict.fromkeys(eyes), "--vae", *vaes)
    about = tuple(dict.fromkeys((*eyes, *(vae.name for vae in vaes))))
    keep = plan.setting.results / file
    plan.file(file, cost, *words, *QUICK[scale].look, "--keep", keep, about=about)


def _seen_apart(plan: Plan, n: int, seed: int) -> str:
    """Return a perception for n pucks that no other seed has: one on record, or trained anew."""
    if plan.setting.scale == "debug":  # one of that scale finds nothing that could be looked at
        return plan.perception(n, 0, own=False)
    known = plan.perception(n, seed)
    if seed == 0 or not known.startswith("shipped:"):
        return known
    return plan.perception(n, seed, own=True)


def _reconstructions(plan: Plan) -> None:
    for n in (2, 3):
        eyes = _seen_apart(plan, n, plan.setting.seeds[0])
        name, env = f"analysis/reconstructions-{n}", env_id("rearrange", n, True)
        picture = plan.setting.results / f"{name}.png"
        words = ("smorl", "perception", "show", eyes, "--env", env, "--out", picture)
        plan.file(f"{name}.png", SHOW, *words)
        quick = QUICK[plan.setting.scale].evaluate
        words = ("smorl", "perception", "evaluate", eyes, "--env", env, "--threads", "1", *quick)
        plan.file(f"{name}.json", EVALUATE, *words, "--json", printed=True)


FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure("gt", "SMORL and SAC on ground truth, 2, 3 and 4 objects (Fig. 3)", 3, "gt", _gt),
        Figure("visual", "SMORL, RIG, Skew-Fit, and SAC on ground truth (Fig. 4)", 3, "visual",
               _visual),
        Figure("ood", "trained on 2 objects, tested on 1 and on 3 (Fig. 5)", 3, "ood", _ood),
        Figure("clusters", "do appearances tell 3 objects and the arm apart? (App. A.1)", 1,
               "analysis", _clusters, single=True),
        Figure("mig", "mutual information gap of SCALOR and VAEs, 3 objects (App. A.2)", 5,
               "analysis", _mig),
        Figure("reconstructions", "what SCALOR sees of 2 and 3 objects (App. A.3)", 1, "analysis",
               _reconstructions, single=True),
        Figure("ablation", "kinds of attention heads, DeepSets; on 2 objects and on 1 (App. B)", 3,
               "ablation", _ablation),
        Figure("long", "twice the training with 2 objects (App. C)", 3, "long", _long),
        Figure("tracking", "the reward by tracker ID and its exploit (App. on tracking)", 3,
               "tracking", _tracking),
        Figure("worth", "agents without one part of ours: what is each worth?", 3, "worth", _worth,
               ours=True),
    )
}  # fmt: skip


def get_figure(name: str) -> Figure:
    """Return a figure by name."""
    if name not in FIGURES:
        hint = did_you_mean(name, FIGURES)
        raise InvalidInput(f"no figure called {name!r}.{hint} `smorl reproduce` lists them.")
    return FIGURES[name]


def jobs_of(figure: Figure, setting: Setting) -> list[Job]:
    """Return everything the figure needs, finished or not."""
    plan = Plan(setting)
    figure.jobs(plan)
    return list(plan.jobs.values())
