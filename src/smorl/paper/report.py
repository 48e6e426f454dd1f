"""`docs/reproduction.md`, written from `results/`: claims, numbers, verdicts, commands."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from smorl.paper.claims import CLAIMS, Claim
from smorl.paper.evidence import Evidence
from smorl.paper.figures.table import FIGURES, PaperFigure, has_results
from smorl.paper.rules import MARGIN, NO_EPISODES, SEEDS_ALONE, SEEDS_BY_EPISODE, Answer, Finding
from smorl.paper.samples import Measured, Passive, Sample, Source
from smorl.paper.statistics import summarise
from smorl.paper.verdicts import Verdict, verdict

IMAGES = "images/paper"  # beside the page

_HEAD = f"""# The paper's claims, and what became of them here

This page is written by `smorl figures --report` from the raw numbers in `results/`; a test writes
it again and compares. Nobody chooses a verdict: `src/smorl/paper/claims.py` says which
comparisons a claim makes, and `src/smorl/paper/rules.py` when a comparison holds.

- **reproduced**: all comparisons hold. **partly**: some hold, or all do but with too few seeds.
  **not reproduced**: none of those made holds. **not yet run**: there are no results.
- *below*, *above*: the probability that a seed of the first beats a seed of the second on the same
  episode exceeds 1/2, and so does its whole 95 % interval. *within*, *at most ... cm*: so is the
  whole interval of the mean difference; {100 * MARGIN:.0f} cm are half a puck's radius.
  *open*: the interval allows both.
- Intervals are bootstrapped. Seeds and episodes are drawn with replacement; the episodes are the
  same for all methods of a task. IQM is the interquartile mean over all seeds and episodes,
  ± the standard deviation over seeds.
- A verdict needs {SEEDS_BY_EPISODE} seeds of either side where distances per episode are kept, and
  {SEEDS_ALONE} where they are not: then seeds alone are compared, and there is no IQM. With so few
  seeds bootstrap intervals are too narrow; take them for a look, not for the last word.
- Distances are those of all pucks to their goals on the last step, on average, in metres; *passive*
  is what doing nothing leaves.
"""


def write_page(results: Path) -> str:
    """Return the page, the same for the same results."""
    evidence = Evidence(results)
    judged = {claim.id: [rule.judge(evidence) for rule in claim.rules] for claim in CLAIMS}
    words = [verdict(findings)[0] for findings in judged.values()]
    counts = [f"{words.count(word)} {_word(word)}" for word in Verdict]
    lines = [_HEAD, f"Of {len(CLAIMS)} claims: {', '.join(counts)}.\n"]
    lines += ["| claim | where | verdict | figure |", "|---|---|---|---|"]
    for claim in CLAIMS:
        word = verdict(judged[claim.id])[0]
        link = f"[{claim.figure}](#{claim.figure})"
        lines.append(f"| {claim.sentence} | {claim.section} | {_bold(word)} | {link} |")
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
    found = [(source, source.read(evidence)) for source in sources]
    known = [(s, sample) for s, sample in found if sample is not None]
    known = [(s, sample) for s, sample in known if not isinstance(s, Passive)]
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
        cells = [name, str(len(values)), _mean(values, "#.3g")]
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
    cells = [source.task, source.name, str(sample.seeds), steps, _mean(sample.by_seed)]
    return f"| {' | '.join([*cells, iqm, passive])} |"


def _judgement(claim: Claim, findings: list[Finding]) -> Iterator[str]:
    word, why = verdict(findings)
    yield f"\n### {claim.sentence}"
    more = "" if word is Verdict.NOT_RUN else f": {why}"
    yield f"{claim.section}, `{claim.id}`. {_bold(word)}{more}."
    if claim.note:
        yield f"*{claim.note}*"
    if word is Verdict.NOT_RUN:
        return
    yield "\n| comparison | numbers | holds |"
    yield "|---|---|---|"
    for finding in findings:
        yield f"| {finding.comparison} | {finding.numbers or '-'} | {finding.answer.value} |"


def _mean(values: np.ndarray, form: str = ".3f") -> str:
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{values.mean():{form}} ± {values.std():{form}}"


def _word(word: Verdict) -> str:
    return "not reproduced" if word is Verdict.NOT else word.value


def _bold(word: Verdict) -> str:
    return _word(word) if word is Verdict.NOT_RUN else f"**{_word(word)}**"
