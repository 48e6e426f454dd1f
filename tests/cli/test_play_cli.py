"""`smorl play` as a person meets it, and mistakes in `smorl demo`."""

import imageio_ffmpeg
import numpy as np
import pytest

from smorl.cli import main
from smorl.cli.play import make_policy
from smorl.envs.factory import find_env
from smorl.errors import InvalidInput


def run(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_plays_and_prints_distances_the_same_every_time(capsys):
    argv = ("play", "Push1-v0", "--policy", "random", "--episodes", "2", "--seed", "3")
    code, out, err = run(capsys, *argv)
    assert code == 0
    assert err == "", "no progress bar outside a terminal"
    lines = out.splitlines()
    assert lines[0].startswith("episode 1 (seed 3): puck distances [cm]")
    assert lines[1].startswith("episode 2 (seed 4)")
    assert "mean over 2 episodes" in lines[2]
    assert run(capsys, *argv)[1] == out


def test_scripted_beats_passive(capsys):
    def mean(policy):
        out = run(capsys, "play", "smorl/Rearrange1-v0", "--policy", policy, "--episodes", "3")[1]
        return float(out.split("episodes: ")[1].split(" cm")[0])

    assert mean("scripted") < 5 < mean("passive")


def test_records_a_video_with_a_frame_per_step(capsys, tmp_path):
    path = tmp_path / "push.mp4"
    code, out, _ = run(
        capsys, "play", "VisualPush1-v0", "--policy", "passive", "--episodes", "1",
        "--video", str(path), "--size", "180",
    )  # fmt: skip
    assert code == 0
    assert str(path) in out
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == 45 + 1, "the start and every step of a Push-1 episode"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("play", "Rearange2-v0"), "Did you mean 'smorl/Rearrange2-v0'"),
        (("play", "Chess-v0"), "`smorl envs` lists ours"),
        (("play", "Push1-v0", "--episodes", "0"), "--episodes 0 must be"),
        (("play", "Push1-v0", "--seed", "-1"), "--seed -1 must be"),
        (("play", "Push1-v0", "--video", "film.avi"), "unsupported suffix '.avi'"),
        (("demo", "--episodes", "-2"), "--episodes -2 must be"),
        (("demo", "--films", "20"), "--films is 20"),
        (("demo", "--out", "/dev/null/demo"), "Cannot write /dev/null/demo"),
    ],
)
def test_mistakes_end_with_one_sentence_and_a_remedy(capsys, argv, expected):
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert expected in err
    assert len(err.splitlines()) == 1


def test_find_env_and_policies():
    assert find_env("VisualRearrange6-v0") == "smorl/VisualRearrange6-v0"
    assert find_env("smorl/Push3-v0") == "smorl/Push3-v0"
    info = {"hand": np.zeros(2), "objects": np.zeros((1, 2)), "goal_objects": np.zeros((1, 2))}
    assert (make_policy("passive", 0)(info, np.zeros(2)) == 0).all()
    with pytest.raises(InvalidInput, match="Did you mean 'scripted'"):
        make_policy("script", 0)
