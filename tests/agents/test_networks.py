"""What the networks see of sets and goals."""

import numpy as np
import torch

from smorl.agents.networks import Inputs, NetworkConfig
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
