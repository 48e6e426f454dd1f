"""The Sawyer arm at its table: scene, simulation, tasks, and the Gymnasium faces."""
