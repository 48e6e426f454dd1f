"""Gymnasium's own ways to watch work on our worlds (extra `video`)."""

import gymnasium
import pytest

import smorl  # noqa: F401  registers the environments


def test_record_video_writes_a_film(tmp_path):
    pytest.importorskip("moviepy")
    env = gymnasium.make("smorl/Push1-v0", render_mode="rgb_array", render_size=64)
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    env.close()
    assert next(tmp_path.glob("*.mp4")).stat().st_size > 0


@pytest.mark.filterwarnings("ignore:.*human.*rendering")
def test_a_window_shows_it(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make("smorl/Push1-v0", render_mode="human", render_size=64)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert isinstance(env, gymnasium.wrappers.HumanRendering)
    assert env.screen_size == (64, 64)
    env.close()
