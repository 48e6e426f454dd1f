"""What `results/` holds: agents on their final episodes, and the reports of analyses.

An agent is a kept run folder (`config.json`, `result.json`) or, tested elsewhere than it was
trained, a file `RUN-on-N.json` of `smorl evaluate RUN --env ... --json`. `evaluation-plain.json` in
a run folder is of the agent without the aids that the methods it is compared with do not have
(`recipes.WITHOUT_AIDS`). Distances are in metres.

Settings were tuned on seeds below `FIRST_SEED`. Such runs are shown, marked; they are no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smorl.errors import DamagedFile, InvalidInput
from smorl.formats import read_json
from smorl.paper.configurations import Settings, differences, key_of, settings_of
from smorl.paper.figures.curves import method_of, panel_of
from smorl.paper.files import read_report

ABLATION = "ablation"
FIRST_SEED = 10  # results/README.md says which seeds from here on were looked at
PLAIN = "evaluation-plain.json"
VARIANTS = ("both", "conditional", "unconditional", "deepsets", "deepsets-padded")  # its rows


class NotYetRun(InvalidInput):
    """A figure was asked for whose results are not there."""

    def __init__(self, figure: str, results: Path) -> None:
        super().__init__(
            f"{figure}: {results} has no results for it yet; `smorl reproduce {figure}` makes them."
        )


@dataclass(frozen=True)
class Agent:
    """One trained agent at the end, on fixed episodes of `task`.

    `distances` and `passive_distances` are per episode, None where they were not kept.
    """

    name: str
    kind: str  # the method, or the variant of an ablation
    task: str  # where it was tested, as in "Rearrange 2"
    seed: int
    env_steps: int
    distance: float
    passive: float
    distances: tuple[float, ...] | None = None
    passive_distances: tuple[float, ...] | None = None
    settings: Settings = field(default_factory=dict)  # empty if the file does not say

    @property
    def tuned(self) -> bool:
        """Whether its seed was tuned on."""
        return self.seed < FIRST_SEED


def seed_in(name: str) -> int:
    """The seed of a run or model by its name; what is shipped, and says none, is seed 0."""
    seed = re.search(r"seed(\d+)", name)
    return int(seed[1]) if seed else 0


def check_one_configuration(agents: Sequence[Agent]) -> None:
    """Refuse runs of several configurations as seeds of one."""
    known = {key_of(agent.settings): agent for agent in agents if agent.settings}
    if len(known) > 1:
        said = differences([agent.settings for agent in known.values()])
        cases = "; ".join(f"{a.name}: {what}" for a, what in zip(known.values(), said, strict=True))
        raise InvalidInput(f"these are not seeds of one configuration: {cases}. Keep one of them.")


def variant_of(config: Mapping[str, Any]) -> str:
    """The row of the ablation a run belongs to, by the torso of its networks."""
    torso = config["networks"]["torso"]
    if torso["kind"] != "attention":
        return torso["kind"]
    if not torso["heads"]:
        return "unconditional"
    return "both" if torso["queries"] else "conditional"


def kind_of(config: Mapping[str, Any], folder: str) -> str:
    """What a run of this folder of results is compared as."""
    return variant_of(config) if folder == ABLATION else method_of(dict(config))


class Evidence:
    """A folder of results, every file read at most once."""

    def __init__(self, results: Path) -> None:
        """Read nothing yet."""
        self.results = results
        self._known: dict[tuple[str, ...], Any] = {}

    def agents(self, folder: str) -> list[Agent]:
        """Every finished run of an agent below `folder`, by name."""
        return self._once(self._agents, "agents", folder)

    def transferred(self, folder: str) -> list[Agent]:
        """Every agent that was tested elsewhere, from the files `RUN-on-N.json` of `folder`."""
        return self._once(self._transferred, "transferred", folder)

    def without_aids(self, folder: str) -> list[Agent]:
        """Every agent below `folder` that was played by its policy and Alg. 3 alone."""
        return self._once(lambda name: self._agents(name, PLAIN), "without_aids", folder)

    def report(self, name: str) -> dict[str, Any] | None:
        """The kept report of an analysis, None if there is none."""
        return self._once(self._report, "report", name)

    def perceptions(self, name: str) -> list[dict[str, Any]]:
        """The evaluations of the perceptions called e.g. "scalor-2", one per seed."""
        return self._once(self._perceptions, "perceptions", name)

    def studies(self) -> list[dict[str, Any]]:
        """Rows of `smorl study tracking --json` below `tracking/`, by run and steps."""
        return self._once(lambda _: self._studies(), "studies", "")

    def _once(self, read, *key: str) -> Any:
        if key not in self._known:
            self._known[key] = read(key[-1])
        return self._known[key]

    def _agents(self, folder: str, file: str = "result.json") -> list[Agent]:
        found = []
        for path in sorted((self.results / folder).glob(f"*/{file}")):
            config = _json(path.with_name("config.json"))
            if "method" in config:  # a run of perception has none
                of = (kind_of(config, folder), config["env"], config["seed"])
                settings = settings_of(config)
                found.append(_agent(path, path.parent.name, of, _json(path), settings))
        return _distinct(found, self.results / folder)

    def _transferred(self, folder: str) -> list[Agent]:
        found = []
        for path in sorted((self.results / folder).glob("*-on-*.json")):
            name, result = path.stem.rsplit("-on-", 1)[0], _json(path)
            # An ablation's file says nothing of the networks; the run of the same name does.
            config = path.parent / name / "config.json"
            kind = variant_of(_json(config)) if folder == ABLATION else "smorl"
            of = (kind, result.get("env", ""), seed_in(name))
            found.append(_agent(path, name, of, result))
        return _distinct(found, self.results / folder)

    def _report(self, name: str) -> dict[str, Any] | None:
        path = self.results / "analysis" / f"{name}.json"
        return read_report(path, name) if path.exists() else None

    def _perceptions(self, name: str) -> list[dict[str, Any]]:
        paths = sorted((self.results / "perception").glob(f"{name}-seed*/evaluation.json"))
        if not paths:  # of another scale only the pictured ones were evaluated
            pictured = self.results / "analysis" / f"reconstructions-{name.split('-')[-1]}.json"
            paths = [pictured] if pictured.exists() else []
        found = [(path, _json(path)) for path in paths]
        # Its own `seed` is that of the episodes; the folder, or the model, says that of training.
        return [
            {**row, "trained": seed_in(f"{path.parent.name} {row.get('run', '')}")}
            for path, row in found
        ]

    def _studies(self) -> list[dict[str, Any]]:
        rows = []
        for path in sorted((self.results / "tracking").glob("*.json")):
            found = _json(path)
            if isinstance(found, dict) and isinstance(found.get("runs"), list):
                rows += found["runs"]
        unique = {(str(row["trained_by"]), row["run"], row["env_steps"]): row for row in rows}
        return [unique[key] for key in sorted(unique)]


def _agent(
    path: Path,
    name: str,
    of: tuple[str, str, int],
    result: Mapping[str, Any],
    settings: Settings | None = None,
) -> Agent:
    kind, env, seed = of
    try:
        return Agent(
            name,
            kind,
            panel_of(env),
            seed,
            result["env_steps"],
            result["object_distance"],
            result["passive_distance"],
            _tuple(result.get("distances")),
            _tuple(result.get("passive_distances")),
            settings or {},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"{path} is not a readable result ({error!r}); restore or remove it."
        ) from error


def _distinct(found: list[Agent], folder: Path) -> list[Agent]:
    """Two runs of one seed are not two seeds: refuse them."""
    seen: dict[tuple[str, str, int], Agent] = {}
    for agent in found:
        key = (agent.kind, agent.task, agent.seed)
        if key in seen:
            raise InvalidInput(
                f"{folder} holds {seen[key].name} and {agent.name}, both {agent.kind} on "
                f"{agent.task} with seed {agent.seed}; keep one of them."
            )
        seen[key] = agent
    return found


def _tuple(values: Any) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(value) for value in values)


def _json(path: Path) -> Any:
    return read_json(path)
