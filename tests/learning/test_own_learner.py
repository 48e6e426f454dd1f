"""TD3 of examples/own_learner.py learns what SAC learns: the contract asks for nothing of SAC's."""

from dataclasses import replace
from pathlib import Path

import pytest

from smorl.plugins import load
from tests.learning.runs import smorl_config, train

KIND = f"{Path(__file__).parents[2] / 'examples' / 'own_learner.py'}:Td3Config"


@pytest.mark.slow
def test_td3_moves_three_objects_to_their_goals(tmp_path):
    base = smorl_config()
    learner = load(KIND)(
        kind=KIND, batch_size=256, lr=2e-3, discount=0.85, reward_scale=5.0, exploration=0.3
    )
    _, result = train(replace(base, learner=learner), tmp_path / "run")
    summary = result.summary()
    assert summary["object_distance"] < 0.6 * summary["passive_distance"]
