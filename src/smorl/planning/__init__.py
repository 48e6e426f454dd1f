"""From a goal image to actions: sub-goals one after the other (Alg. 3)."""
