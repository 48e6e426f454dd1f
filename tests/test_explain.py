"""Every setting is explained where it is defined, and `--help` prints it."""

import pytest

from smorl.cli import main
from smorl.explain import explanations
from smorl.presets import get_preset
from smorl.presets.perception import get_perception_preset


@pytest.mark.parametrize(
    "preset", ["gt-rearrange-2", "visual-push-2", "skewfit-push-1", "passive-push-1"]
)
def test_every_setting_of_a_run_is_explained(preset):
    missing = [name for name, text in explanations(get_preset(preset).build()).items() if not text]
    assert not missing


def test_every_setting_of_a_perception_is_explained():
    config = get_perception_preset("scalor-2").build()
    assert not [name for name, text in explanations(config).items() if not text]


def test_help_prints_value_and_explanation(capsys):
    assert main(["train", "debug", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--learner.batch_size 32   # transitions per gradient step" in out
    assert "--goals.prior" in out
