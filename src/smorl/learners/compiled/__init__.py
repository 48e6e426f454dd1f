"""SAC's update in machine code: the same numbers as `Sac.update_in_torch`, without its overhead."""
