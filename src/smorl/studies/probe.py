"""How well do the codes of a picture tell where the pucks are? A probe that nobody trains.

MIG asks whether single numbers stand for single places; a code that knows every place but mixes
them scores nothing there. So the places are also read from the whole code, by its nearest
neighbours among other episodes: what they cannot tell is not in it, at least not simply.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smorl.errors import InvalidInput

NEIGHBOURS = 5
_HELD_OUT = 4  # one episode of so many is asked about, the others answer


def probe_errors(
    codes: NDArray[np.floating], places: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean error (n,) of each puck's place, and what it is without any code.

    codes (E, T, D), places (E, T, n, 2); errors are in the unit of the places. Numbers of the code
    are scaled to equal spread; without a code the middle of all places is the answer.
    """
    from sklearn.neighbors import KNeighborsRegressor

    asked = np.arange(len(codes)) % _HELD_OUT == 0
    if asked.all() or not asked.any():
        raise InvalidInput(f"{len(codes)} episodes; a probe asks some of the others: at least 2.")
    mean, spread = codes.mean((0, 1)), codes.std((0, 1))
    scaled = (codes - mean) / np.where(spread > 0, spread, 1)
    pucks, size = places.shape[2], scaled.shape[-1]
    known, knowing = places[~asked].reshape(-1, 2 * pucks), scaled[~asked].reshape(-1, size)
    truth = places[asked].reshape(-1, pucks, 2)
    regressor = KNeighborsRegressor(min(NEIGHBOURS, len(known))).fit(knowing, known)
    told = np.asarray(regressor.predict(scaled[asked].reshape(-1, size))).reshape(truth.shape)
    middle = known.mean(0).reshape(pucks, 2)
    return (
        np.linalg.norm(told - truth, axis=-1).mean(0),
        np.linalg.norm(middle - truth, axis=-1).mean(0),
    )
