"""A trained agent: opened to act, or put into one file."""
