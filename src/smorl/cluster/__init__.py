"""Campaigns and searches on more than one machine: Ray, SLURM, a shared folder."""
