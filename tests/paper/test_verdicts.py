"""A verdict follows from the numbers, and changes with them."""

import json
import shutil

import numpy as np
import pytest

from smorl.paper.claims import CLAIMS
from smorl.paper.evidence import Evidence
from smorl.paper.rules import MARGIN, Answer, Better, Comparable, Fails, Finding, Limit
from smorl.paper.samples import FinalDistances, Measured, Passive, on_same_episodes
from smorl.paper.verdicts import Verdict, verdict

OURS, THEIRS = (
    FinalDistances("gt", "smorl-gt", "Rearrange 3"),
    FinalDistances("gt", "sac-her", "Rearrange 3"),
)


def judged(claim_id, results):
    evidence = Evidence(results)
    (claim,) = (claim for claim in CLAIMS if claim.id == claim_id)
    return verdict([rule.judge(evidence) for rule in claim.rules])


def change(results, pattern, do):
    """Put every result that matches through `do`, which takes distances and passive distances."""
    paths = sorted(results.glob(pattern))
    assert paths, pattern
    for path in paths:
        kept = json.loads(path.read_text())
        distances = do(np.array(kept["distances"]), np.array(kept["passive_distances"]))
        kept |= {"distances": distances.tolist(), "object_distance": float(distances.mean())}
        path.write_text(json.dumps(kept))


def drop(results, pattern, *keys):
    for path in results.glob(pattern):
        kept = json.loads(path.read_text())
        path.write_text(json.dumps({k: v for k, v in kept.items() if k not in keys}))


# What the invented numbers of the fixtures must give.
EXPECTED = {
    "gt-smorl-rearranges": Verdict.REPRODUCED,
    "gt-sac-fails": Verdict.REPRODUCED,
    "gt-smorl-better": Verdict.REPRODUCED,
    "visual-rearrange": Verdict.PARTLY,  # one seed of Skew-Fit
    "visual-gap": Verdict.PARTLY,  # one seed of SAC
    "ood-works": Verdict.REPRODUCED,
    "ood-comparable": Verdict.REPRODUCED,
    "ood-three": Verdict.REPRODUCED,
    "ablation-both": Verdict.REPRODUCED,
    "ablation-conditional": Verdict.REPRODUCED,
    "long-improves": Verdict.REPRODUCED,
    "long-rig": Verdict.NOT_RUN,
    "clusters-apart": Verdict.REPRODUCED,
    "mig-scalor": Verdict.REPRODUCED,
    "reconstructions-found": Verdict.REPRODUCED,
    "reconstructions-close": Verdict.REPRODUCED,
    "tracking-exploited": Verdict.PARTLY,  # two models of either kind
    "tracking-matching": Verdict.REPRODUCED,
    "tracking-worse": Verdict.REPRODUCED,
}


@pytest.mark.parametrize("claim", EXPECTED)
def test_verdicts_of_the_fixtures(claim, results):
    assert judged(claim, results)[0] is EXPECTED[claim]


def test_ids_are_unique_and_every_claim_compares_something():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.rules for claim in CLAIMS)


FLIPS = {
    # claim: (which results change, how)
    "gt-smorl-rearranges": ("gt/gt-*/result.json", lambda d, p: p * 1.01),
    "gt-sac-fails": ("gt/sac-*/result.json", lambda d, p: p * 0.4),
    "gt-smorl-better": ("gt/sac-*/result.json", lambda d, p: d * 0 + 0.001),
    "visual-push": ("visual/visual-push-*/result.json", lambda d, p: p * 2),
    "visual-rearrange": ("visual/visual-rearrange-*/result.json", lambda d, p: p * 2),
    "visual-gap": ("visual/visual-*/result.json", lambda d, p: d * 0 + 0.001),
    "ood-works": ("ood/*-on-1.json", lambda d, p: p * 1.01),
    "ood-comparable": ("ood/*-on-1.json", lambda d, p: p * 1.01),
    "ood-three": ("ood/*-on-3.json", lambda d, p: p * 1.01),
    "ablation-both": ("ablation/both-*/result.json", lambda d, p: p * 1.5),
    "ablation-conditional": ("ablation/unconditional-*/result.json", lambda d, p: d * 0 + 0.001),
    "long-improves": ("long/*/result.json", lambda d, p: p),
    "tracking-worse": ("tracking/*-tracking-seed*/result.json", lambda d, p: d * 0 + 0.001),
}


@pytest.mark.parametrize("claim", FLIPS)
def test_contrary_data_turns_the_verdict(claim, results):
    assert judged(claim, results)[0] in (Verdict.REPRODUCED, Verdict.PARTLY)
    change(results, *FLIPS[claim])
    assert judged(claim, results)[0] is Verdict.NOT


def test_contrary_reports_turn_the_verdict(results):
    path = results / "analysis" / "mig.json"
    report = json.loads(path.read_text())
    for model in report["models"]:
        model["mig"] = 0.6 - model["mig"]
    path.write_text(json.dumps(report))
    assert judged("mig-scalor", results)[0] is Verdict.NOT
    path = results / "analysis" / "clusters.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"purity": 0.8}))
    assert judged("clusters-apart", results)[0] is Verdict.PARTLY
    for path in results.glob("tracking/study-*.json"):
        study = json.loads(path.read_text())
        study["runs"][1]["by_matching"]["arm"] = 0.2
        path.write_text(json.dumps(study))
    assert judged("tracking-matching", results)[0] is Verdict.NOT


def test_one_seed_is_at_most_partly_and_says_so(results):
    for path in results.glob("gt/sac-*-seed1"):
        shutil.rmtree(path)
    word, why = judged("gt-smorl-better", results)
    assert word is Verdict.PARTLY
    assert "2 of 2 comparisons hold; fewer than 2 seeds" in why


def test_without_episodes_two_seeds_do_not_suffice_and_three_do(results):
    drop(results, "gt/*/result.json", "distances", "passive_distances")
    word, why = judged("gt-smorl-better", results)
    assert word is Verdict.PARTLY
    assert "fewer than 3 seeds, per-episode distances not kept" in why
    for path in list(results.glob("gt/*-seed1")):
        third = path.with_name(path.name.replace("seed1", "seed2"))
        shutil.copytree(path, third)
        config = json.loads((third / "config.json").read_text())
        (third / "config.json").write_text(json.dumps(config | {"seed": 2}))
    assert judged("gt-smorl-better", results)[0] is Verdict.REPRODUCED


def test_other_episodes_are_not_compared_one_by_one(results):
    evidence = Evidence(results)
    ours, theirs = OURS.read(evidence), THEIRS.read(evidence)
    assert ours is not None
    assert theirs is not None
    assert on_same_episodes(ours, theirs)[2]
    for path in results.glob("gt/sac-*/result.json"):
        kept = json.loads(path.read_text())
        kept["passive_distances"] = kept["passive_distances"][::-1]
        path.write_text(json.dumps(kept))
    theirs = THEIRS.read(Evidence(results))
    assert theirs is not None
    mine, other, paired = on_same_episodes(ours, theirs)
    assert not paired
    assert mine.scores.shape == other.scores.shape == (2, 1)


def test_partly_if_some_comparisons_are_missing(results):
    for path in results.glob("gt/*-4-seed*"):
        shutil.rmtree(path)
    word, why = judged("gt-smorl-better", results)
    assert word is Verdict.PARTLY
    assert "1 of 1 comparisons hold; 1 of 2 not yet run" in why


def test_what_follows_from_answers():
    yes, no = Finding("a", Answer.YES), Finding("b", Answer.NO)
    undecided, missing = Finding("c", Answer.OPEN), Finding("d", Answer.MISSING)
    few = Finding("e", Answer.YES, lacks="fewer than 2 seeds")
    assert verdict([yes, yes])[0] is Verdict.REPRODUCED
    for findings in ([yes, no], [yes, undecided], [yes, missing], [yes, few], [few]):
        assert verdict(findings)[0] is Verdict.PARTLY
    for findings in ([no], [undecided], [no, missing]):
        assert verdict(findings)[0] is Verdict.NOT
    assert verdict([missing, missing])[0] is Verdict.NOT_RUN


def test_better_one_way_is_worse_the_other_way(results):
    evidence = Evidence(results)
    assert Better(OURS, THEIRS).judge(evidence).answer is Answer.YES
    assert Better(THEIRS, OURS).judge(evidence).answer is Answer.NO
    assert Better(OURS, OURS).judge(evidence).answer is Answer.OPEN


def test_comparable_means_within_the_margin(results):
    def set_apart(by):
        change(results, "gt/sac-*/result.json", lambda d, p: p)
        change(results, "gt/gt-*/result.json", lambda d, p: p + by)
        evidence = Evidence(results)
        rules = (Comparable(OURS, THEIRS), Comparable(OURS, THEIRS, both_ways=True))
        return tuple(rule.judge(evidence).answer for rule in rules)

    assert set_apart(0.5 * MARGIN) == (Answer.YES, Answer.YES)
    assert set_apart(2 * MARGIN) == (Answer.NO, Answer.NO)
    assert set_apart(-2 * MARGIN) == (Answer.YES, Answer.NO)


def test_failing_is_not_to_be_better_than_doing_nothing(results):
    change(results, "gt/sac-*/result.json", lambda d, p: p + 0.1)
    assert Fails(THEIRS).judge(Evidence(results)).answer is Answer.YES
    assert Better(THEIRS, Passive(THEIRS)).judge(Evidence(results)).answer is Answer.NO


def test_limits_hold_for_every_model(tmp_path):
    def answer(values, **options):
        measure = Measured("m", "", lambda evidence: values)
        return Limit(measure, 0.9, **options).judge(Evidence(tmp_path))

    assert answer([0.95, 0.92]).answer is Answer.YES
    assert answer([0.95, 0.85]).answer is Answer.OPEN
    assert answer([0.7, 0.85]).answer is Answer.NO
    assert answer([0.7, 0.85], at_most=True).answer is Answer.YES
    assert answer([]).answer is Answer.MISSING
    assert answer([0.95]).lacks == "fewer than 2 models"
