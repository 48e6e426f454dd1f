"""The table of finished runs."""

import json

import pytest

from smorl.cli import main
from smorl.errors import DamagedFile
from smorl.paper.configurations import settings_of
from smorl.paper.results import KEPT, read_result


def make(folder, seed, distance, **settings):
    folder.mkdir(parents=True)
    config = {"method": "smorl-gt", "env": "smorl/Rearrange2-v0", "seed": seed, **settings}
    result = {"env_steps": 1000, "updates": 250, "object_distance": distance}
    result |= {"passive_distance": 0.2, "pucks_within_5cm": 0.5, "seconds": 90.0}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "versions.json").write_text("{}")
    (folder / "evaluations.csv").write_text("env_steps\n")


def test_table_and_keep(tmp_path, capsys):
    make(tmp_path / "runs" / "a", 1, 0.06)
    make(tmp_path / "runs" / "b", 0, 0.04)
    args = ["results", str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")]
    assert main(args) == 0
    row = capsys.readouterr().out.splitlines()[2]
    assert "| Rearrange2 | smorl-gt | 2 | **0.050** ± 0.010 | 0.040, 0.060 | 0.200 | 50 %" in row
    assert "1.5, 1.5" in row
    assert sorted(p.name for p in (tmp_path / "kept" / "a").iterdir()) == sorted(KEPT)
    assert main(args) == 0  # keeping the same again is fine
    (tmp_path / "kept" / "a" / "result.json").write_text("{}")
    assert main(args) == 2
    assert "differs" in capsys.readouterr().err
    assert (tmp_path / "kept" / "a" / "result.json").read_text() == "{}"


def visual_runs(folder):
    """Four runs of one task: perception trained first, reused, a VAE trained along, no pixels."""
    env = "smorl/VisualRearrange1-v0"
    make(folder / "own", 0, 0.06, method="smorl", env=env, perception="scalor-1")
    (folder / "own" / "perception").mkdir()
    (folder / "own" / "perception" / "result.json").write_text('{"seconds": 660}')
    make(folder / "reused", 1, 0.08, method="smorl", env=env, perception="shipped:scalor-1")
    make(folder / "rig", 0, 0.16, method="rig", env=env, latent={"goals": "prior"})
    # Resumed once: the seconds of its VAE start anew.
    timing = [{"vae": 10.0}, {"vae": 20.0, "update": 5.0}, {"update": 1.0}, {"vae": 10.0}]
    lines = [json.dumps({"env_steps": 9, **row}) for row in timing]
    (folder / "rig" / "timing.jsonl").write_text("\n".join(lines) + "\n")
    make(folder / "sac", 0, 0.15, method="sac-her", env="smorl/Rearrange1-v0")
    for name, preset in (("own", "visual-rearrange-1"), ("reused", "visual-rearrange-1")):
        command = {"command": f"smorl train {preset} --seed 0"}
        (folder / name / "versions.json").write_text(json.dumps(command))


def test_visual_runs_say_what_perception_took(tmp_path, capsys):
    visual_runs(tmp_path / "runs")
    args = ["results", str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")]
    assert main(args) == 0
    text = capsys.readouterr().out
    head, _, rig, sac, smorl = (line.strip("| ").split(" | ") for line in text.splitlines())
    assert (head[0], *head[-3:]) == ("preset", "updates", "minutes", "perception")
    assert smorl[:3] == ["visual-rearrange-1", "VisualRearrange1", "smorl"]
    assert smorl[3:6] == ["2", "**0.070** ± 0.010", "0.060, 0.080"]
    assert smorl[-4:] == ["1,000", "250", "1.5, 1.5", "11.0, shipped:scalor-1"]
    # 90 seconds in all, 30 of them for the VAE.
    assert (rig[0], rig[2], rig[-2:]) == ("-", "rig", ["1.0", "0.5"])
    assert (sac[1], sac[-2:]) == ("Rearrange1", ["1.5", "-"])
    assert (tmp_path / "kept" / "own" / "perception" / "result.json").exists()
    assert not (tmp_path / "kept" / "reused" / "timing.jsonl").exists()
    assert main(["results", str(tmp_path / "kept")]) == 0
    assert capsys.readouterr().out == text  # what is kept says the same


def test_tracking_reward_is_a_method_of_its_own(tmp_path):
    make(tmp_path / "a", 0, 0.1, goals={"reward": "tracking"})
    make(tmp_path / "b", 0, 0.1, goals={"reward": "matching"})
    methods = [result.method for x in "ab" if (result := read_result(tmp_path / x))]
    assert methods == ["smorl-gt (tracking)", "smorl-gt"]


def test_the_papers_method_is_a_method_of_its_own(tmp_path):
    from smorl.config import to_json
    from smorl.presets import get_preset

    for name in ("lite-gt-rearrange-2", "gt-rearrange-2"):
        config = to_json(get_preset(name).build())
        make(tmp_path / name, 10, 0.1, **{k: v for k, v in config.items() if k != "seed"})
    names = ("lite-gt-rearrange-2", "gt-rearrange-2")
    methods = [result.method for x in names if (result := read_result(tmp_path / x))]
    assert methods == ["smorl-gt (paper)", "smorl-gt"]


def test_two_settings_with_one_seed_are_two_rows(tmp_path, capsys):
    """The fault of before: they were averaged as two seeds."""
    make(tmp_path / "a", 0, 0.06, learner={"lr": 0.001, "batch": 64})
    make(tmp_path / "b", 0, 0.16, learner={"lr": 0.002, "batch": 64})
    make(tmp_path / "c", 1, 0.08, learner={"lr": 0.001, "batch": 64}, threads=2, paint=False)
    assert main(["results", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    head, _, one, two = (line.strip("| ").split(" | ") for line in captured.out.splitlines())
    assert head[-1] == "settings"
    assert (one[2], one[4], one[-1]) == ("2", "0.060, 0.080", "learner.lr=0.001")
    assert (two[2], two[4], two[-1]) == ("1", "0.160", "learner.lr=0.002")
    assert captured.err == ""


def test_repeated_seeds_and_unfinished_runs_are_warned_of(tmp_path, capsys):
    for name in "abc":
        make(tmp_path / name, 0, 0.06)
    (tmp_path / "c" / "result.json").unlink()
    assert main(["results", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "| 1 (2 runs) |" in captured.out
    said = captured.err.splitlines()
    assert said[0] == f"warning: {tmp_path}/c is not finished."
    names = f"{tmp_path}/a and {tmp_path}/b"
    assert said[1] == f"warning: {names} have the same settings and seed 0: that is one seed."


def test_runs_nobody_judges_are_left_out_and_named(tmp_path, capsys):
    """A world of one's own may know no distances: no reason to show nothing of the others."""
    for name in "ab":
        make(tmp_path / name, 0, 0.06)
    ours, theirs = (tmp_path / name for name in "ab")
    head = "env_steps,object_distance,passive_distance\n"
    (ours / "evaluations.csv").write_text(f"{head}0,0.2,0.2\n1000,0.06,0.2\n")
    (theirs / "evaluations.csv").write_text(f"{head}0,,\n1000,,\n")
    result = json.loads((theirs / "result.json").read_text())
    unknown = dict.fromkeys(("object_distance", "passive_distance", "pucks_within_5cm"))
    (theirs / "result.json").write_text(json.dumps(result | unknown))
    for verb in (["results"], ["curves", "--out", str(tmp_path / "curves.png")]):
        assert main([*verb, str(tmp_path)]) == 0
        said = capsys.readouterr().err.splitlines()
        assert (
            said[0] == f"warning: {theirs} is left out: its environment says no distances to goals."
        )
        assert main([*verb, str(theirs)]) == 2
        assert "no " in capsys.readouterr().err
    (theirs / "result.json").unlink()  # just begun, nothing evaluated: no reason either
    (theirs / "evaluations.csv").write_text(head)
    assert main(["curves", "--out", str(tmp_path / "curves.png"), str(tmp_path)]) == 0
    assert capsys.readouterr().err.splitlines()[0] == f"warning: {theirs} is not finished."
    (theirs / "result.json").write_text(json.dumps(result | {"object_distance": None}))
    with pytest.raises(DamagedFile, match="object_distance"):  # one missing number is another thing
        read_result(theirs)


def test_perceptions_of_one_preset_are_one_setting():
    names = ("shipped:scalor-1", "results/perception/scalor-1-seed2/weights.safetensors",
             "runs/scalor-1-seed4", "scalor-1")  # fmt: skip
    known = [settings_of({"env": "x", "perception": name}) for name in names]
    assert all(one == known[0] for one in known)
    assert settings_of({"env": "x", "perception": "shipped:scalor-2"}) != known[0]


def test_a_tracker_says_nothing_where_nothing_is_tracked():
    """A setting of it that is new does not part runs on ground truth, but those from pixels."""
    for eyes, alike in ((None, True), ("scalor-1", False)):
        old = settings_of({"perception": eyes, "tracker": {"memory": 40}})
        new = settings_of({"perception": eyes, "tracker": {"memory": 40, "known": True}})
        assert (old == new) is alike
    training = settings_of({"tracker": {"memory": 40}})  # of a perception itself
    assert training == {"tracker.memory": "40"}


def test_unfinished_and_damaged(tmp_path, capsys):
    make(tmp_path / "a", 0, 0.1)
    (tmp_path / "a" / "result.json").unlink()
    assert main(["results", str(tmp_path)]) == 2
    assert "no finished run" in capsys.readouterr().err
    (tmp_path / "a" / "result.json").write_text("not json")
    with pytest.raises(DamagedFile, match=r"result\.json"):
        read_result(tmp_path / "a")


def test_perception_runs_are_not_runs_of_an_agent(tmp_path):
    from smorl.errors import InvalidInput
    from smorl.paper.figures.curves import find_runs

    (tmp_path / "scalor").mkdir()
    (tmp_path / "scalor" / "config.json").write_text('{"env": "x", "scalor": {}}')
    (tmp_path / "scalor" / "evaluations.csv").write_text("attempt\n0\n")
    with pytest.raises(InvalidInput, match="no runs"):
        find_runs([tmp_path])
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "config.json").write_text('{"method": "smorl"}')
    (tmp_path / "agent" / "evaluations.csv").write_text("env_steps\n0\n")
    assert find_runs([tmp_path]) == [tmp_path / "agent"]


def test_weights_are_named_by_their_run(tmp_path, capsys):
    weights = "results/perception/scalor-1-seed2/weights.safetensors"
    make(tmp_path / "a", 2, 0.06, env="smorl/VisualRearrange1-v0", perception=weights)
    assert main(["results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("| scalor-1-seed2 |")
