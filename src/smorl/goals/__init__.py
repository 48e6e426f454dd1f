"""Goals over objects: matching, reward, priors over places, and the goal space that joins them."""
