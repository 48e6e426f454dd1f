"""Tests run side by side: one thread each, in what they start too. Set before NumPy is imported."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
