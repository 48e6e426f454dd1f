"""Self-supervised multi-object visual reinforcement learning (SMORL, ICLR 2021)."""
