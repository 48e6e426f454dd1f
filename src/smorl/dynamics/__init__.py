"""Where will objects be after an action? Models fitted to the agent's own experience."""
