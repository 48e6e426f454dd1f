"""Run folders and the files in them: checkpoints, logs, progress."""
