"""Replay of whole episodes and hindsight relabelling."""
