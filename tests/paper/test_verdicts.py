"""A verdict follows from the numbers, and changes with them."""

import json
import shutil

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.paper.answers import Answer, Finding
from smorl.paper.claims import CLAIMS
from smorl.paper.evidence import Evidence
from smorl.paper.rules import MARGIN, Better, Comparable, Controlled, Fails, Limit
from smorl.paper.samples import Best, FinalDistances, Measured, Passive, on_same_episodes
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
    "visual-rearrange": Verdict.PARTLY,  # three seeds of Skew-Fit, and no clear margin
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
    "visual-push": ("visual/visual-push-*/evaluation-plain.json", lambda d, p: p * 2),
    "visual-rearrange": ("visual/visual-rearrange-*/evaluation-plain.json", lambda d, p: p * 2),
    "visual-gap": ("visual/visual-*/evaluation-plain.json", lambda d, p: d * 0 + 0.001),
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


def only(results, pattern, seeds):
    """Remove the runs of all other seeds."""
    for path in results.glob(pattern):
        if int(path.name.rsplit("seed", 1)[1]) not in seeds:
            shutil.rmtree(path)


def test_two_seeds_answer_nothing_and_say_so(results):
    only(results, "gt/sac-*", (10, 11))
    for claim in ("gt-smorl-better", "gt-sac-fails"):
        assert judged(claim, results)[0] is Verdict.UNINFORMATIVE  # its control is open as well
    finding = Better(OURS, THEIRS).judge(Evidence(results))
    assert (finding.answer, finding.lacks) == (Answer.OPEN, "fewer than 3 seeds")
    only(results, "gt/gt-*", (10, 11))
    word, why = judged("gt-smorl-rearranges", results)
    assert word is Verdict.OPEN
    assert "0 of 2 comparisons hold; 2 open; fewer than 3 seeds" in why


def test_three_seeds_reproduce_only_by_a_clear_margin(results):
    only(results, "gt/gt-*", (10, 11, 12))
    assert judged("gt-smorl-rearranges", results)[0] is Verdict.REPRODUCED  # a clear one
    scatter = iter([0.0, 0.01, 0.02] * 10)
    change(results, "gt/gt-*/result.json", lambda d, p: p - 0.03 - next(scatter))
    word, why = judged("gt-smorl-rearranges", results)
    assert word is Verdict.PARTLY
    assert "2 of 2 comparisons hold; fewer than 5 seeds and no clear margin" in why


def test_without_episodes_nothing_is_answered(results):
    drop(results, "gt/*/result.json", "distances", "passive_distances")
    finding = Better(OURS, THEIRS).judge(Evidence(results))
    assert finding.answer is Answer.OPEN
    assert "per-episode distances not kept" in finding.lacks


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
    assert mine.scores.shape == other.scores.shape == (6, 1)


def test_partly_if_some_comparisons_are_missing(results):
    for path in results.glob("gt/*-4-seed*"):
        shutil.rmtree(path)
    word, why = judged("gt-smorl-better", results)
    assert word is Verdict.PARTLY
    assert "1 of 1 comparisons hold; 1 of 2 not yet run" in why


def test_what_follows_from_answers():
    yes, no = Finding("a", Answer.YES), Finding("b", Answer.NO)
    undecided, missing = Finding("c", Answer.OPEN), Finding("d", Answer.MISSING)
    empty, loose = Finding("e", Answer.UNINFORMATIVE), Finding("f", Answer.YES, firm=False)
    assert verdict([yes, yes])[0] is Verdict.REPRODUCED
    for other in (no, undecided, missing, empty, loose):
        assert verdict([yes, other])[0] is Verdict.PARTLY
    assert verdict([loose])[0] is Verdict.PARTLY
    for findings in ([no], [no, missing], [no, undecided], [no, empty]):
        assert verdict(findings)[0] is Verdict.NOT
    for findings in ([undecided], [undecided, missing], [undecided, empty]):
        assert verdict(findings)[0] is Verdict.OPEN
    assert verdict([empty, missing])[0] is Verdict.UNINFORMATIVE
    assert verdict([missing, missing])[0] is Verdict.NOT_RUN


def test_aids_that_baselines_do_not_have_decide_no_comparison_with_them(results):
    """Settings of evaluation that SMORL alone has made it better; such numbers do not count."""
    claims = ("gt-smorl-better", "gt-similar-on-two", "visual-push", "visual-rearrange")
    before = {claim: judged(claim, results) for claim in (*claims, "visual-gap")}
    for pattern in ("gt/gt-*/result.json", "visual/visual-*/result.json"):
        change(results, pattern, lambda d, p: d * 0 + 0.001)
    assert {claim: judged(claim, results) for claim in before} == before
    for path in results.glob("*/*/evaluation-plain.json"):
        path.unlink()
    assert {judged(claim, results)[0] for claim in before} == {Verdict.NOT_RUN}


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
        measure = Measured("m", "", lambda evidence: [(10 + i, v) for i, v in enumerate(values)])
        return Limit(measure, 0.9, **options).judge(Evidence(tmp_path))

    assert answer([0.95, 0.92, 0.93]).answer is Answer.YES
    assert answer([0.95, 0.92, 0.85]).answer is Answer.OPEN
    assert answer([0.7, 0.8, 0.85]).answer is Answer.NO
    assert answer([0.7, 0.8, 0.85], at_most=True).answer is Answer.YES
    assert answer([]).answer is Answer.MISSING
    few = answer([0.95, 0.95])
    assert (few.answer, few.lacks) == (Answer.OPEN, "fewer than 3 models")
    assert answer([0.95], models=1).firm
    assert not answer([0.95, 0.91, 0.93]).firm
    assert answer([0.95, 0.951, 0.952]).firm
    assert answer([0.95, 0.91, 0.93, 0.96, 0.92]).firm


BASELINES = ("gt/sac-*", "visual/sac-*", "visual/rig-*", "visual/skewfit-*", "long/rig-*")
AGAINST_BASELINES = {
    "gt-sac-fails", "gt-smorl-better", "gt-similar-on-two", "visual-push", "visual-rearrange",
    "visual-gap", "long-rig",
}  # fmt: skip


def test_baselines_that_do_nothing_make_comparisons_uninformative(results):
    """The fault of before: passive distances for every baseline changed no verdict at all."""
    for path in list(results.glob("visual/rig-rearrange-2-seed*")):
        shutil.copytree(path, results / "long" / path.name)
    before = {claim.id: judged(claim.id, results)[0] for claim in CLAIMS}
    for pattern in BASELINES:
        change(results, f"{pattern}/result.json", lambda d, p: p)
    after = {claim.id: judged(claim.id, results)[0] for claim in CLAIMS}
    for claim in AGAINST_BASELINES:
        assert before[claim] is not Verdict.UNINFORMATIVE, claim
        assert after[claim] is Verdict.UNINFORMATIVE, claim
    for claim in set(after) - AGAINST_BASELINES:
        assert after[claim] is before[claim], claim
    _, why = judged("gt-sac-fails", results)
    assert "SAC+HER (GT) is not seen to learn on Rearrange 2" in why


def test_a_baseline_may_fail_where_the_paper_has_it_failing_if_it_learns_elsewhere(results):
    change(results, "gt/sac-rearrange-[34]-*/result.json", lambda d, p: p)
    assert judged("gt-sac-fails", results)[0] is Verdict.REPRODUCED
    change(results, "gt/sac-rearrange-2-*/result.json", lambda d, p: p)
    assert judged("gt-sac-fails", results)[0] is Verdict.UNINFORMATIVE
    shutil.rmtree(next(results.glob("gt/sac-rearrange-2-seed10")))
    only(results, "gt/sac-rearrange-2-*", ())
    assert judged("gt-sac-fails", results)[0] is Verdict.UNINFORMATIVE  # the control was not run


def test_open_is_not_printed_as_not_reproduced(results):
    sign = iter([-1, 1] * 100)
    change(results, "ood/*-on-3.json", lambda d, p: p + 0.03 * next(sign))
    word, why = judged("ood-three", results)
    assert word is Verdict.OPEN
    assert why == "0 of 1 comparisons hold; 1 open"


def reseed(results, pattern, below):
    """Give runs seeds that were tuned on."""
    for path in sorted(results.glob(pattern)):
        name, seed = path.name.rsplit("seed", 1)
        target = path.rename(path.with_name(f"{name}seed{int(seed) - below}"))
        config = json.loads((target / "config.json").read_text())
        config["seed"] -= below
        (target / "config.json").write_text(json.dumps(config))


def test_seeds_that_were_tuned_on_decide_nothing_but_are_shown(results):
    reseed(results, "gt/*", 10)
    word, why = judged("gt-smorl-better", results)
    assert word is Verdict.NOT_RUN
    assert why == "only with seeds that were tuned on"
    finding = Better(OURS, THEIRS).judge(Evidence(results))
    assert finding.answer is Answer.MISSING
    assert finding.numbers.startswith("tuning seeds only: 0.")
    assert OURS.read(Evidence(results)) is None
    shown = OURS.read(Evidence(results), tuned=True)
    assert shown is not None
    assert (shown.seeds, shown.tuned) == (6, True)


def test_settings_are_never_mixed(results):
    """Two settings under different seeds are no two seeds."""
    path = results / "gt" / "gt-rearrange-3-seed12" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"learner": {"lr": 0.5}}))
    with pytest.raises(InvalidInput, match=r"not seeds of one.*learner\.lr=off.*learner\.lr=0\.5"):
        Better(OURS, THEIRS).judge(Evidence(results))


def test_the_better_of_several_baselines_is_the_one_to_be_compared_with(results):
    rig, skewfit = (FinalDistances("visual", kind, "Push 1") for kind in ("rig", "skewfit"))
    change(results, "visual/rig-push-1-*/result.json", lambda d, p: p * 0.5)
    change(results, "visual/skewfit-push-1-*/result.json", lambda d, p: p * 0.4)
    best = Best((rig, skewfit)).read(Evidence(results))
    assert best is not None
    assert best.seeds == 3  # Skew-Fit's
    ours = FinalDistances("visual", "smorl", "Push 1")
    rule = Controlled(Comparable(ours, Best((rig, skewfit)), both_ways=True), Best((rig, skewfit)))
    for share, answer in ((0.4, Answer.YES), (0.1, Answer.NO), (0.7, Answer.NO)):
        change(results, "visual/visual-push-1-*/result.json", lambda d, p, share=share: p * share)
        assert rule.judge(Evidence(results)).answer is answer
