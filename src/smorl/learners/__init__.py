"""Goal-conditioned policies and critics over sets of objects, and the SAC learner."""
