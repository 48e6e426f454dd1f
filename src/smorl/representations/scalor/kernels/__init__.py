"""Loops over single objects, compiled: what tracking does with boxes, masks and colours."""
