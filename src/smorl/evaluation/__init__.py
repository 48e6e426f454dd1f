"""Evaluation: sub-goal cycling (Alg. 3), fixed episodes, videos."""
