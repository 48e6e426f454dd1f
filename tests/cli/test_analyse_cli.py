"""`smorl analyse` with shipped perceptions, on episodes few and short."""

import json

import pytest

from smorl.cli import main

SHORT = ["--episodes", "6", "--steps", "2"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("analysis") / "clusters.json"
    words = ["--perception", "shipped:scalor-1", *SHORT, "--keep", str(path)]
    assert main(["analyse", "clusters", *words]) == 0
    return path


def test_clusters_keeps_points_and_how_they_were_made(kept):
    report = json.loads(kept.read_text())
    assert report["analysis"] == "clusters"
    assert report["env"] == "smorl/VisualRearrange1-v0"
    assert report["made"]["command"].startswith("smorl analyse clusters --perception")
    assert len(report["plane"]) == report["points"] > 20
    assert report["purity"] > 0.9
    assert [len(example["crop"]) for example in report["examples"]] == [24, 24]


def test_a_kept_report_is_drawn_without_the_simulator(kept, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("smorl.studies.footage.record", None)
    out = tmp_path / "c.png"
    assert main(["analyse", "clusters", "--from", str(kept), "--json", "--out", str(out)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "purity" in shown
    assert "plane" not in shown
    assert out.exists()


def test_the_same_command_gives_the_same_numbers(kept, capsys):
    main(["analyse", "clusters", "--perception", "shipped:scalor-1", *SHORT, "--json"])
    again = json.loads(capsys.readouterr().out)
    report = json.loads(kept.read_text())
    assert {k: report[k] for k in again} == again


def test_mig_prints_every_model(capsys):
    names = ["shipped:scalor-1", "shipped:scalor-1"]
    assert main(["analyse", "mig", "--perception", *names, *SHORT, "--bins", "4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [model["model"] for model in report["models"]] == names
    assert report["summary"]["scalor"]["models"] == 2
    assert report["summary"]["scalor"]["deviation"] == 0, "one model twice"
    assert report["frames"] == 18


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cluster"], "Did you mean 'clusters'"),
        (["clusters", "--out", "c.jpg"], ".png or .pdf"),
        (["clusters", "--points", "0"], "--points 0"),
        (["mig", "--seed", "-1"], "--seed -1"),
        (["mig", "--from", "absent.json"], "absent.json"),
        (["clusters", "--perception", "shipped:scalor-9"], "shipped:scalor-9"),
    ],
)
def test_mistakes_are_one_sentence(words, said, capsys):
    assert main(["analyse", *words]) == 2
    assert said in capsys.readouterr().err


def test_reports_of_other_analyses_are_refused(kept, capsys):
    assert main(["analyse", "mig", "--from", str(kept)]) == 2
    assert "smorl analyse clusters" in capsys.readouterr().err


def test_help_lists_the_analyses(capsys):
    assert main(["analyse"]) == 0
    said = capsys.readouterr().out
    assert "clusters" in said
    assert "mig" in said
