"""From observations to sets of objects."""
