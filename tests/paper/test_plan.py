"""Which runs a figure needs, and in which order."""

import json
from dataclasses import asdict, replace

import pytest

from smorl.config import diff, override
from smorl.errors import InvalidInput
from smorl.paper.costs import said
from smorl.paper.jobs import Training
from smorl.paper.plan import FIGURES, get_figure, jobs_of
from smorl.paper.planner import Plan
from smorl.paper.recipes import SCALES, Setting
from smorl.presets import get_preset
from smorl.representations.scalor.tracking.settings import TrackerConfig

SETTINGS = [Setting(scale, (0, 1), own=scale == "paper") for scale in SCALES]
SETTINGS += [Setting(scale, (0, 1), own=True) for scale in ("fast", "debug")]


def plan(name, *, scale="fast", seeds=(0,), own=False):
    return jobs_of(FIGURES[name], Setting(scale, seeds, own))


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s.scale}{'-own' * s.own}")
def test_every_job_is_possible_and_comes_after_what_it_needs(name, setting):
    if FIGURES[name].ours and setting.scale == "paper":
        pytest.skip("it is about what the paper's settings do not have")
    written = set()
    jobs = jobs_of(FIGURES[name], setting)
    assert jobs
    for job in jobs:
        assert set(job.needs) <= written
        assert job.writes not in written
        written.add(job.writes)
        assert job.minutes > 0
        if job.training is not None:
            config = job.training.config()  # the preset exists and takes the overrides
            assert config["seed"] in setting.seeds
            assert config["threads"] == 1
        else:
            assert job.writes.is_relative_to(setting.results)
        # A command that mentions a run of the plan has to wait for it.
        runs = {path for path in written if str(path) in job.command[1:]} - {job.writes}
        assert runs == set(job.needs)


def test_scales_and_perceptions_have_folders_of_their_own():
    folders = []
    for setting in SETTINGS:
        jobs = jobs_of(FIGURES["tracking"], setting)
        folders.append({job.writes for job in jobs if job.wanted})
    for i, one in enumerate(folders):
        assert not any(one & other for other in folders[:i])


def test_figures_share_runs():
    runs = {job.command for job in plan("visual", seeds=(0, 1, 2))}
    ood = [job for job in plan("ood", seeds=(0, 1, 2)) if job.training]
    assert ood
    more = {job for job in ood if job.command not in runs}
    assert {job.writes.name for job in more} == {
        f"visual-rearrange-2-seeing-3-seed{seed}" for seed in (0, 1, 2)
    }
    assert len(plan("ood", own=True)) == 8  # three perceptions, each used by one run, two tests


def test_who_meets_three_pucks_sees_through_a_perception_of_three_and_was_trained_with_two():
    jobs = {job.writes.name: job for job in plan("ood", seeds=(10,))}
    moved = jobs["visual-rearrange-2-seeing-3-seed10-on-3.json"]
    (run,) = moved.needs
    config = jobs[run.name].training.config()
    assert config["env"] == "smorl/VisualRearrange2-v0"
    assert config["perception"] == "shipped:scalor-3"
    assert moved.command[moved.command.index("--env") + 1] == "smorl/VisualRearrange3-v0"


def test_worth_changes_one_thing_at_a_time():
    jobs = plan("worth", seeds=(10, 11))
    runs = {job.writes: job.training.config() for job in jobs if job.training}
    for kind, count in (("gt-rearrange-2", 8), ("visual-rearrange-1", 8)):
        usual = next(c for path, c in runs.items() if path.name == f"{kind}-seed10")
        variants = [path for path in runs if path.parent.name == kind and path.name[-2:] == "10"]
        assert len(variants) == count
        for path in variants:
            different = diff(usual, runs[path])
            assert different, path
            assert len({line.split(".")[0].split(":")[0] for line in different}) == 1, different
    read = {job.writes for job in jobs if job.training is None}
    for kind, count in (("gt-rearrange-2", 1 + 5 + 8), ("visual-rearrange-1", 1 + 8)):
        assert len([path for path in read if path.parent.name == kind]) == 2 * count
    # A file that another run made does not count.
    assert all(job.needs[0].name in job.about for job in jobs if job.training is None)


def test_ground_truth_compares_two_methods_on_three_tables():
    configs = [job.training.config() for job in plan("gt") if job.training]
    found = {(c["method"], c["env"]) for c in configs}
    envs = [f"smorl/Rearrange{n}-v0" for n in (2, 3, 4)]
    assert found == {(m, env) for m in ("smorl-gt", "sac-her") for env in envs}


def test_the_visual_comparison_has_four_methods_on_four_tasks():
    found = [job.training.config() for job in plan("visual") if job.training]
    assert len(found) == 16
    assert {c["perception"] for c in found} == {None, "shipped:scalor-1", "shipped:scalor-2"}
    assert all((c["method"] == "smorl") == (c["perception"] is not None) for c in found)


@pytest.mark.parametrize("name", ["gt", "visual"])
def test_smorl_is_also_played_without_the_aids_that_others_do_not_have(name):
    """What counts beside baselines: the policy, the paper's order, to the end of the episode."""
    jobs = plan(name, seeds=(0, 1))
    ours = [j.writes for j in jobs if j.training and j.training.config()["method"][:5] == "smorl"]
    tests = [job for job in jobs if job.training is None]
    assert [job.needs for job in tests] == [(run,) for run in ours]
    for job, run in zip(tests, ours, strict=True):
        assert job.writes == Setting().results / name / run.name / "evaluation-plain.json"
        options = dict(zip(job.command[3::2], job.command[4::2], strict=False))
        settings = {option.removeprefix("--"): value for option, value in options.items()}
        assert settings.pop("controller") == "policy"
        subgoals = override(get_preset("gt-rearrange-2").build(), settings).evaluation.subgoals
        papers = get_preset("paper-gt-rearrange-2").build().evaluation.subgoals
        assert subgoals == replace(papers, stop_when_solved=False)


def test_seeds_see_through_their_own_perception_if_it_is_on_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights = Setting("fast", (0, 1, 2), own=False).results / "perception/scalor-2-seed1"
    weights.mkdir(parents=True)
    (weights / "weights.safetensors").touch()
    configs = [job.training.config() for job in plan("long", seeds=(0, 1, 2))]
    eyes = [config["perception"] for config in configs if config["method"] == "smorl"]
    assert set(eyes) == {"shipped:scalor-2", str(weights / "weights.safetensors")}
    assert eyes.count("shipped:scalor-2") == 2 * (len(eyes) // 3)


@pytest.mark.parametrize("scale", SCALES)
def test_an_ablation_varies_the_torso_and_nothing_else(scale):
    configs = [j.training.config() for j in plan("ablation", scale=scale, own=scale == "paper")
               if j.training and not j.training.perception]  # fmt: skip
    torsos = [config["networks"].pop("torso") for config in configs]
    assert len({json.dumps(torso) for torso in torsos}) == 5
    assert all(config == configs[0] for config in configs)
    shapes = [(t["kind"], t["heads"] > 0, t["queries"] > 0) for t in torsos]
    assert shapes[:3] == [("attention", True, True), ("attention", True, False),
                          ("attention", False, True)]  # fmt: skip
    assert [shape[0] for shape in shapes[3:]] == ["deepsets", "deepsets-padded"]
    networks = configs[0]["networks"]
    assert not any(networks[name] for name in ("matched", "body", "relative"))


@pytest.mark.parametrize(("scale", "share"), [("fast", 0.6), ("paper", 1.0), ("debug", 1.0)])
def test_an_ablation_is_shorter_at_the_fast_scale_alone_and_costs_as_much_less(scale, share):
    short = next(j for j in plan("ablation", scale=scale) if "ablation" in str(j.writes))
    usual = next(j for j in plan("visual", scale=scale) if j.writes.name.startswith("visual-rearr")
                 and j.writes.name.endswith("-2-seed0"))  # fmt: skip
    steps = [j.training.config()["collect"]["total_steps"] for j in (short, usual)]
    assert steps[0] == share * steps[1]
    assert short.minutes == pytest.approx(share * usual.minutes)


@pytest.mark.parametrize("scale", SCALES)
def test_long_is_twice_as_long(scale):
    longs = [j.training.config() for j in plan("long", scale=scale) if j.training]
    usuals = {j.writes.name: j.training.config() for j in plan("visual", scale=scale) if j.training}
    assert [long["method"] for long in longs] == ["smorl", "rig"]
    for long, kind in zip(longs, ("visual", "rig"), strict=True):
        usual = usuals[f"{kind}-rearrange-2-seed0"]
        assert long["collect"].pop("total_steps") == 2 * usual["collect"].pop("total_steps")
        assert long == usual


def test_the_gap_of_mutual_information_asks_perceptions_on_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights = Setting().results / "perception/scalor-3-seed1/weights.safetensors"
    weights.parent.mkdir(parents=True)
    weights.touch()
    *others, last = plan("mig", seeds=(0, 1, 2))
    trained = [job.writes.name for job in others if job.training.perception]
    assert trained == ["scalor-3-seed2"]  # seed 0 is shipped, seed 1 is on record
    eyes = last.command[last.command.index("--perception") + 1 : last.command.index("--vae")]
    assert eyes == ("shipped:scalor-3", str(weights), "runs/scalor-3-seed2")
    assert set(eyes) < set(last.about)


@pytest.mark.parametrize("scale", SCALES)
def test_tracking_differs_in_the_reward_alone(scale):
    """The fault of before: agents by ID had a tracker of their own."""
    jobs = plan("tracking", scale=scale)
    one, two = (j.training.config() for j in jobs if j.training and not j.training.perception)
    assert (one["goals"].pop("reward"), two["goals"].pop("reward")) == ("matching", "tracking")
    assert one == two
    assert one["tracker"] == asdict(TrackerConfig.plain())
    assert "--random" in jobs[-1].command  # the control


def test_sac_has_the_steps_and_updates_of_smorl_from_pixels():
    collect = {j.writes.name: j.training.config()["collect"] for j in plan("visual") if j.training}
    for task in ("push-1", "push-2", "rearrange-1", "rearrange-2"):
        for kind in ("rig", "skewfit", "sac-as-visual"):
            for name in ("total_steps", "updates_per_step"):
                ours = collect[f"visual-{task}-seed0"][name]
                assert collect[f"{kind}-{task}-seed0"][name] == ours, (kind, task, name)


def test_one_run_planned_twice_is_one_job():
    planned = Plan(Setting())
    first = planned.agent("gt", "rearrange", 2, 0, ("gt",))
    assert planned.agent("gt", "rearrange", 2, 0, ("gt",)) == first
    assert len(planned.jobs) == 1
    assert planned.jobs[first].training == Training("gt-rearrange-2", 0, (("threads", "1"),))


def test_unknown_figures_and_costs_in_words():
    with pytest.raises(InvalidInput, match="Did you mean 'ablation'"):
        get_figure("ablations")
    assert [said(m) for m in (0.2, 15, 90, 180, 534, 5000)] == [
        "1 min", "15 min", "90 min", "3 hours", "9 hours", "3 days",
    ]  # fmt: skip
