"""SCALOR: a generative world model of objects, conditioned on actions (Sec. 3.2)."""
