"""What the networks see of sets and goals."""

import numpy as np
import pytest
import torch

from smorl.learners.networks import Inputs, NetworkConfig
from smorl.types import ObjectLayout


def test_the_own_body_is_the_object_that_rests_least_wherever_it_is():
    """Its features reach the networks beside the attention, whatever the slot."""
    layout = ObjectLayout(slots=3, what=2)
    inputs = Inputs(NetworkConfig(body=True), layout, (0.0, 0.0), (1.0, 1.0))
    inputs.know_rest(np.eye(2, dtype=np.float32), np.float32([0.9, 0.1]))
    puck, arm, ghost = [1.0, 0.0, 5.0, 6.0], [0.1, 0.9, 7.0, 8.0], [0.0, 1.0, 0.0, 0.0]
    objects = torch.tensor([[puck, arm, ghost], [arm, puck, ghost]])
    present = torch.tensor([[True, True, False]] * 2)
    seen = inputs(objects, present, torch.zeros(2, 4))
    torch.testing.assert_close(seen.matched, torch.tensor([arm, arm]))
    alone = inputs(objects[:1], torch.tensor([[True, False, False]]), torch.zeros(1, 4))
    torch.testing.assert_close(alone.matched, torch.tensor([puck]))


@pytest.mark.parametrize("sees", [True, False])
def test_motion_reaches_the_networks_only_if_asked_for(sees):
    layout = ObjectLayout(slots=2, what=2, motion=2)
    config = NetworkConfig(motion=sees, normalise_positions=True, relative=True, matched=True)
    inputs = Inputs(config, layout, (0.0, 0.0), (0.5, 0.5))
    still = torch.tensor([[[1.0, 0, 0.2, 0.3, 0, 0], [0, 1.0, 0.4, 0.5, 0, 0]]])
    moving = still.clone()
    moving[0, 1, 4:] = torch.tensor([0.1, -0.2])
    present, goal = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[0, 1.0, 0.1, 0.1, 0, 0]])
    one, two = inputs(still, present, goal), inputs(moving, present, goal)
    assert one.objects.shape[-1] == one.goal.shape[-1] == inputs.features
    assert one.matched.shape[-1] == inputs.extra
    assert torch.equal(one.objects, two.objects) != sees
    assert torch.equal(one.matched, two.matched) != sees
    if sees:
        # In units of half the usual spread, behind the other parts.
        torch.testing.assert_close(two.objects[0, 1, 4:6], torch.tensor([0.4, -0.8]))
