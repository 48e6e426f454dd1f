"""One seed, many independent named random streams.

Every consumer of randomness asks for its own stream by name, so adding one consumer never shifts
the numbers another one sees, and each stream can be saved and restored alone.
"""

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator named `name` of this seed."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, name)))


def torch_seed(seed: int, name: str) -> int:
    """Return an integer for `torch.Generator.manual_seed`, from the stream's own entropy."""
    return int(_sequence(seed, name).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _sequence(seed: int, name: str) -> np.random.SeedSequence:
    # crc32 is stable across processes and platforms, unlike hash().
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])
