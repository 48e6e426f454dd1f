"""Cameras and pictures by ray casting."""
