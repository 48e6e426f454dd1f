"""Plan runs and analyses one by one: each once, after what it needs, as the scale asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from smorl.paper.costs import EVALUATE, minutes
from smorl.paper.evidence import PLAIN
from smorl.paper.jobs import Job, Training, train
from smorl.paper.recipes import (
    QUICK,
    WITHOUT_AIDS,
    Setting,
    agent_recipe,
    env_id,
    perception_recipe,
    usual_steps,
)


@dataclass
class Plan:
    """Jobs in an order in which each comes after what it needs, without repetitions."""

    setting: Setting
    jobs: dict[Path, Job] = field(default_factory=dict)

    def agent(
        self,
        kind: str,
        task: str,
        n: int,
        seed: int,
        keep: tuple[str, ...],
        *,
        name: str = "",
        more: dict[str, str] | None = None,
        length: float = 1.0,
        wanted: bool = True,
        seeing: int | None = None,
    ) -> Path:
        """Plan a run of an agent and return its folder; `length` is relative to the preset's.

        `seeing`: it sees through a perception of another number of pucks.
        """
        recipe, sees = agent_recipe(self.setting.scale, kind, task, n), kind == "visual"
        overrides, needs = dict(recipe.overrides), ()
        if sees:
            overrides["perception"] = eyes = self.perception(seeing or n, seed)
            needs = tuple(path for path in self.jobs if str(path) == eyes)
        if length != 1.0:
            overrides["collect.total_steps"] = str(round(length * usual_steps(recipe.preset)))
        overrides |= {**(more or {}), "threads": "1"}
        folder = self.setting.runs(sees) / (name or f"{kind}-{task}-{n}")
        folder = folder.with_name(f"{folder.name}-seed{seed}")
        self._add(
            train(
                Training(recipe.preset, seed, tuple(overrides.items())),
                folder,
                needs=needs,
                minutes=length * minutes(self.setting.scale, f"{kind}-{task}-{n}"),
                keep=tuple(self.setting.results / part for part in keep),
                wanted=wanted,
            )
        )
        return folder

    def perception(self, n: int, seed: int, own: bool | None = None) -> str:
        """Return the name of a perception for n pucks, and plan its training if it needs one.

        Seed 0 of the perceptions on record comes with the package; other seeds see through their
        own if their weights are on record too.
        """
        if not (self.setting.own if own is None else own):
            weights = self.setting.results / f"perception/scalor-{n}-seed{seed}/weights.safetensors"
            return str(weights) if seed and weights.exists() else f"shipped:scalor-{n}"
        recipe = perception_recipe(self.setting.scale, n)
        overrides = tuple({**recipe.overrides, "threads": "1"}.items())
        folder = self.setting.runs() / f"scalor-{n}-seed{seed}"
        self._add(
            train(
                Training(recipe.preset, seed, overrides, perception=True),
                folder,
                minutes=minutes(self.setting.scale, f"scalor-{n}"),
                wanted=False,
            )
        )
        return str(folder)

    def file(self, name: str, cost: float, *words: str | Path, **fields) -> None:
        """Plan a command that writes `name` below the results; `needs` follow from its words."""
        command = tuple(map(str, words))
        needs = tuple(path for path in self.jobs if str(path) in command)
        self._add(Job(command, self.setting.results / name, needs, cost, **fields))

    def transfer(self, run: Path, n: int, folder: str) -> None:
        """Plan the evaluation of a run on another number of pucks."""
        name = f"{folder}/{run.name}-on-{n}.json"
        words = ("--env", env_id("rearrange", n, True), *QUICK[self.setting.scale].evaluate)
        # Numbers of another agent do not count, nor do those without single episodes.
        about = (run.name, '"distances"')
        words = ("smorl", "evaluate", run, *words, "--json")
        self.file(name, EVALUATE, *words, printed=True, about=about)

    def without_aids(self, run: Path, folder: str) -> None:
        """Plan the evaluation of a run by its policy and Alg. 3 alone, to the end of each episode,
        as the methods it is compared with are evaluated."""
        self.played(run, f"{folder}/{run.name}/{PLAIN}", WITHOUT_AIDS)

    def played(self, run: Path, name: str, settings: dict[str, str]) -> None:
        """Plan the evaluation of a run that is played with other settings, and keep it as `name`
        below the results."""
        options = (word for option, value in settings.items() for word in (f"--{option}", value))
        words = ("smorl", "evaluate", run, *options, *QUICK[self.setting.scale].evaluate, "--json")
        self.file(name, EVALUATE, *words, printed=True, about=(run.name, '"distances"'))

    def _add(self, job: Job) -> None:
        known = self.jobs.get(job.writes)
        if known is None:
            self.jobs[job.writes] = job
