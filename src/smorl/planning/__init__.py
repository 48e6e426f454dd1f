"""From a goal image to actions: sub-goals (Alg. 3), who chooses them, and who moves."""
