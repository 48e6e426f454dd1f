"""A small training run: nobody says what an object is, and the model finds the bright square."""

import numpy as np
import pytest
import torch

from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.settings import ScalorConfig
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.video import Sequences, median_background, sample_batch

SIZE, SIDE, EPISODES, FRAMES, ITERATIONS = 32, 6, 150, 8, 90
CONFIG = ScalorConfig(
    image_size=SIZE,
    cells=4,
    glimpse=8,
    what=4,
    slots=3,
    channels=16,
    hidden=32,
    tracker=16,
    size=0.25,
    size_range=0.15,
    prior_steps=60,
    temperature_steps=90,
)


def table() -> np.ndarray:
    """A dark, uneven picture."""
    tiles = np.random.default_rng(0).integers(40, 110, (8, 8, 3), np.uint8)
    return tiles.repeat(4, 0).repeat(4, 1)


def videos(episodes: int, seed: int) -> tuple[Sequences, np.ndarray]:
    """A square pushed by actions, and its true centre (E, T, 2) in image coordinates."""
    rng = np.random.default_rng(seed)
    images = np.broadcast_to(table(), (episodes, FRAMES, SIZE, SIZE, 3)).copy()
    actions = rng.uniform(-1, 1, (episodes, FRAMES, 2)).astype(np.float32)
    place = rng.uniform(0, SIZE - SIDE, (episodes, 2))
    centres = np.empty((episodes, FRAMES, 2))
    for t in range(FRAMES):
        place = np.clip(place + 2 * actions[:, t] * (t > 0), 0, SIZE - SIDE)
        corners = np.round(place).astype(int)
        for image, (x, y) in zip(images[:, t], corners, strict=True):
            image[y : y + SIDE, x : x + SIDE] = (250, 230, 60)
        centres[:, t] = (2 * corners + SIDE) / SIZE - 1
    return Sequences("squares", seed, images, actions), centres


def train(iterations: int) -> Scalor:
    data, _ = videos(EPISODES, seed=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Scalor(CONFIG, 2, background=median_background(data.images))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    rng, noise = np.random.default_rng(2), torch.Generator().manual_seed(2)
    for step in range(iterations):
        images, actions = sample_batch(data, 12, 4, rng, first_frames=0.2)
        frames = torch.from_numpy(images).permute(0, 1, 4, 2, 3) / 255
        terms = model.elbo(frames, torch.from_numpy(actions), model.schedule(step), noise)
        optimizer.zero_grad()
        terms["loss"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


def track(model: Scalor) -> dict[str, float]:
    """Follow squares that training never saw."""
    data, centres = videos(30, seed=3)
    tracker = ScalorTracker(model)
    carry, hits, counts, ids = tracker.init(30), [], [], []
    for t in range(FRAMES):
        carry, objects = tracker.step(carry, data.images[:, t], data.actions[:, t])
        pixels = np.linalg.norm(objects.position - centres[:, t, None], axis=-1) * SIZE / 2
        pixels = np.where(objects.present, pixels, np.inf)
        hits.append(pixels.min(1) < 1.5)
        counts.append(objects.present.sum(1))
        ids.append(np.where(hits[-1], carry.ids[np.arange(30), pixels.argmin(1)], -1))
    kept = np.array(ids[1:]) == np.array(ids[:-1])
    return {
        "found": float(np.mean(hits)),
        "objects": float(np.mean(counts)),
        "identity": float(kept.mean()),
    }


@pytest.fixture(scope="module")
def trained() -> dict[str, float]:
    return track(train(ITERATIONS))


def test_training_finds_the_square_and_little_else(trained):
    assert trained["found"] > 0.9
    assert 0.9 < trained["objects"] < 1.2


def test_training_keeps_the_identity_of_the_square(trained):
    assert trained["identity"] > 0.85


def test_without_training_nothing_is_found():
    assert track(train(0))["found"] < 0.1
