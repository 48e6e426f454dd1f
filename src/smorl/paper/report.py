"""`docs/reproduction.md`, written from `results/`: claims, numbers, verdicts, commands."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from smorl.paper.answers import CLEAR, NO_EPISODES, SEEDS, SEEDS_TO_REPRODUCE, Answer, Finding
from smorl.paper.claims import CLAIMS, Claim
from smorl.paper.evidence import FIRST_SEED, Evidence
from smorl.paper.figures.table import FIGURES, PaperFigure, has_results
from smorl.paper.rules import MARGIN
from smorl.paper.samples import Best, Measured, Passive, Sample, Source
from smorl.paper.statistics import summarise
from smorl.paper.verdicts import Verdict, verdict

IMAGES = "images/paper"  # beside the page

_HEAD = f"""# The paper's claims, and what became of them here

This page is written by `smorl figures --report` from the raw numbers in `results/`; a test writes
it again and compares. Nobody chooses a verdict: `src/smorl/paper/claims.py` says which
comparisons a claim makes, and `src/smorl/paper/rules.py` when a comparison holds.

- **reproduced**: all comparisons hold, each with {SEEDS_TO_REPRODUCE} seeds of either side or a
  clear margin (the {100 * CLEAR:g} % interval says so too). **partly**: some hold. **not
  reproduced**: some are answered no and none yes. **open**: the intervals allow both, or there are
  fewer than {SEEDS} seeds of either side. **uninformative**: the baseline is not seen to beat doing
  nothing where the paper has it learning, so the comparison says nothing. **not yet run**: there
  are no results that count.
- Only training seeds from {FIRST_SEED} on count: settings were tuned on those below. Runs of tuning
  seeds are shown, marked with a *, and decide nothing.
- *below*, *above*: the whole 95 % interval of the mean difference is on that side of zero.
  *within*, *at most ... cm*: so is the whole interval; {100 * MARGIN:.0f} cm are half a puck's
  radius. The probability of improvement is that a seed of the first beats a seed of the second on
  the same episode; it decides nothing.
- Intervals of differences are Student's t with three sources of chance: the seeds of either side,
  and the episodes, which are the same for all methods of a task; degrees of freedom after Welch
  and Satterthwaite. How often they are wrong is [measured](#how-often-the-intervals-are-wrong).
  IQM is the interquartile mean over all seeds and episodes with a bootstrap interval, too narrow
  for few seeds and for the eye only; ± is the standard deviation over seeds.
- Distances are those of all pucks to their goals on the last step, on average, in metres; *passive*
  is what doing nothing leaves.
"""


def write_page(results: Path) -> str:
    """Return the page, the same for the same results."""
    evidence = Evidence(results)
    judged = {claim.id: [rule.judge(evidence) for rule in claim.rules] for claim in CLAIMS}
    words = [verdict(findings)[0] for findings in judged.values()]
    counts = [f"{words.count(word)} {word.value}" for word in Verdict]
    lines = [_HEAD, f"Of {len(CLAIMS)} claims: {', '.join(counts)}.\n"]
    lines += ["| claim | where | verdict | figure |", "|---|---|---|---|"]
    for claim in CLAIMS:
        word = verdict(judged[claim.id])[0]
        link = f"[{claim.figure}](#{claim.figure})"
        lines.append(f"| {claim.sentence} | {claim.section} | {_bold(word)} | {link} |")
    lines += _calibration(evidence)
    for figure in FIGURES.values():
        claims = [claim for claim in CLAIMS if claim.figure == figure.name]
        lines += ["", *_chapter(figure, claims, judged, evidence)]
    return "\n".join(lines) + "\n"


def _chapter(
    figure: PaperFigure, claims: list[Claim], judged: dict[str, list[Finding]], evidence: Evidence
) -> Iterator[str]:
    yield f"## {figure.name}"
    commands = f"`smorl reproduce {figure.name}` runs it, `smorl figures {figure.name}` draws it"
    drawn = has_results(figure.name, evidence.results)
    folder = figure.files.split("/")[0]
    raw = f" Raw numbers, commands and dates: [results/{folder}](../results/{folder}/)."
    yield f"{figure.title}. {commands}.{raw if drawn else ''}"
    if drawn:
        yield f"\n![{figure.title}]({IMAGES}/{figure.name}.png)"
        if figure.table is not None:
            yield f"\n{figure.table(evidence).rstrip()}"
    made = any(f.answer is not Answer.MISSING for claim in claims for f in judged[claim.id])
    samples = _samples(claims, evidence) if drawn or made else []
    if length := _length(figure, samples):
        yield f"\n{length}"
    yield from _table(samples)
    for claim in claims:
        yield from _judgement(claim, judged[claim.id])


def _samples(claims: list[Claim], evidence: Evidence) -> list[tuple[Source, Sample]]:
    """Everything the claims compare and show beside, each once, as far as it was run."""
    sources = dict.fromkeys(s for claim in claims for rule in claim.rules for s in rule.sources)
    sources |= dict.fromkeys(s for claim in claims for s in claim.beside)
    sources |= dict.fromkeys(one for s in sources if isinstance(s, Best) for one in s.of)
    found = [(s, s.read(evidence, tuned)) for s in sources for tuned in (False, True)]
    known = [(s, sample) for s, sample in found if sample is not None]
    known = [(s, sample) for s, sample in known if not isinstance(s, Passive | Best)]
    return sorted(known, key=lambda pair: pair[0].task)  # stable: methods stay in order


def _length(figure: PaperFigure, samples: list[tuple[Source, Sample]]) -> str:
    """How long runs were beside the paper's."""
    steps = [step for _, sample in samples for step in sample.steps]
    if not steps or figure.paper_steps is None:
        return ""
    few, many = min(steps), max(steps)
    ours = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    text = f"Run length: {ours} environment steps; the paper's: {figure.paper_steps:,}."
    if many < figure.paper_steps:
        text += f" **Ours are at least {figure.paper_steps / many:.1f} times shorter.**"
    return text


def _table(samples: list[tuple[Source, Sample]]) -> Iterator[str]:
    ends = [(s, sample) for s, sample in samples if not isinstance(s, Measured)]
    measured = [(s, sample) for s, sample in samples if isinstance(s, Measured)]
    if ends:
        yield "\n| task | method | seeds | env steps | mean [m] | IQM [m] | passive |"
        yield "|---|---|---|---|---|---|---|"
        yield from (_row(source, sample) for source, sample in ends)
    if ends and any(sample.episodes is None for _, sample in ends):
        yield f"\nWithout IQM: {NO_EPISODES}."
    if measured:
        yield "\n| measure | models | mean | least | most |"
        yield "|---|---|---|---|---|"
    for source, sample in measured:
        values = sample.by_seed
        name = f"{source.name}, {source.task}" if source.task else source.name
        cells = [name, f"{len(values)}{_mark(sample)}", _mean(values, "#.3g")]
        yield f"| {' | '.join([*cells, f'{values.min():#.3g}', f'{values.max():#.3g}'])} |"


def _row(source: Source, sample: Sample) -> str:
    iqm = "-"
    if sample.episodes is not None:
        rng = np.random.default_rng(zlib.crc32(f"{source.name}, {source.task}".encode()))
        found = summarise([sample.scores], rng).iqm
        iqm = f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
    few, many = min(sample.steps), max(sample.steps)
    steps = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    passive = "-" if sample.passive is None else f"{sample.passive:.3f}"
    count = f"{sample.seeds}{_mark(sample)}"
    cells = [source.task, source.name, count, steps, _mean(sample.by_seed)]
    return f"| {' | '.join([*cells, iqm, passive])} |"


def _judgement(claim: Claim, findings: list[Finding]) -> Iterator[str]:
    word, why = verdict(findings)
    yield f"\n### {claim.sentence}"
    yield f"{claim.section}, `{claim.id}`. {_bold(word)}: {why}."
    if claim.note:
        yield f"*{claim.note}*"
    if not any(finding.numbers for finding in findings):
        return
    yield "\n| comparison | numbers | holds |"
    yield "|---|---|---|"
    for finding in findings:
        yield f"| {finding.comparison} | {finding.numbers or '-'} | {finding.answer.value} |"


def _mean(values: np.ndarray, form: str = ".3f") -> str:
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{values.mean():{form}} ± {values.std():{form}}"


def _mark(sample: Sample) -> str:
    return "*" if sample.tuned else ""


def _bold(word: Verdict) -> str:
    return word.value if word is Verdict.NOT_RUN else f"**{word.value}**"


def _calibration(evidence: Evidence) -> list[str]:
    """How often intervals are wrong, as simulated; nothing if that was not run."""
    report = evidence.report("calibration")
    if report is None:
        return []
    lines = [
        "\n## How often the intervals are wrong",
        f"`smorl study calibration` draws {report['trials']:,} experiments of {report['episodes']} "
        "shared episodes for each row; both sides are equally good. *Too low*, *too high*: how "
        "often the whole 95 % interval of the difference is below, or above, the truth, 2.5 % each "
        "if it is what it says; *covers*: how often it has the truth within. *Before* is the "
        "bootstrap this page used to answer by. Deviations are those found in `results/`: over "
        f"episodes {100 * report['episode']:g} cm, of a seed on an episode "
        f"{100 * report['interaction']:g} cm; *skewed* ones are exponential. "
        "Where one side alone has rare bad seeds (skewed, 3 and 0.3 cm) too few seeds show them, "
        "and no interval of the mean can know: one in ten calls that side too good.\n",
        "| seeds | deviation over seeds [cm] | noise | too low | too high | covers | covered "
        "before | wrong before, a side |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        now, old = row["now"], row["before"]
        ours, theirs = (f"{100 * d:g}" for d in row["deviations"])
        sides = f"{row['seeds']} against {row['against'] or 'doing nothing'}"
        spread = f"{ours}, {theirs}" if row["against"] else ours
        rates = [f"{100 * now[key]:.1f} %" for key in ("low", "high", "covers")]
        rates += [f"{100 * old['covers']:.0f} %", f"{100 * (old['low'] + old['high']) / 2:.0f} %"]
        lines.append(f"| {' | '.join([sides, spread, row['noise'], *rates])} |")
    return lines
