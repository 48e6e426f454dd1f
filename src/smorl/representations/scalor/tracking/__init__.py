"""SCALOR used frame by frame: tracks, memory of hidden objects, search."""
