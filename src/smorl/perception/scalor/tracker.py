"""SCALOR online: pictures in, tracked objects out. Deterministic; all state is in the carry."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from smorl.errors import InvalidInput
from smorl.perception.scalor.geometry import paste_each
from smorl.perception.scalor.memory import Memory, remember
from smorl.perception.scalor.model import Scalor, State
from smorl.perception.scalor.online import Sketch, paint, track
from smorl.perception.scalor.slots import Slots
from smorl.types import ObjectLayout, ObjectSet

_MASK_FLOOR = 0.5  # An object is where its mask exceeds this.

_FOOT = 0.32  # of an object's height, image coordinates, decides where it stands; a puck's height

_STRANGE = 0.15  # difference of colour, 0 to 1, beyond which a pixel does not show the background

_LEAST_PIXELS = 8  # an object that covers fewer is not there
_ALIKE = 0.7  # share of the matching distance within which two objects of a frame look the same


@dataclass(frozen=True)
class TrackerConfig:
    """How a trained model is used. The model's own thresholds of birth and death apply."""

    first_passes: int = 5  # Paper: the first frame and goal images are processed 5 times.
    memory: int = 40  # frames a hidden object keeps its last place; 0: none
    same: float = 0.5  # what distance (normalised) below which a new object is a remembered one
    # Objects that look the same are one object seen twice; the larger view counts. Matching by
    # appearance (Eq. 7) assumes as much. Switch it off where objects are alike.
    unique: bool = True
    smooth: float = 0.8  # share of the former appearance kept each frame, per tracked object

    def __post_init__(self) -> None:
        if self.first_passes < 1 or self.memory < 0 or self.same < 0:
            raise InvalidInput(
                f"tracker settings out of range: first_passes={self.first_passes} (at least 1), "
                f"memory={self.memory} and same={self.same} (at least 0)."
            )


@dataclass(frozen=True)
class Carry:
    """Tracker state of B rows. `age` counts frames since an object was last seen (0: now)."""

    state: State
    memory: Memory
    objects: Slots  # what the last step returned: live objects, then remembered ones
    age: np.ndarray  # (B, N) int
    ids: np.ndarray  # (B, N) int64, -1 where empty
    new: np.ndarray  # (B, N) bool: found in the last frame
    look: Tensor  # (B, N, W) appearance over time, as returned but not normalised
    frame: Sketch | None = None


@dataclass(frozen=True)
class Drawing:
    """The model's view of the last frame, floats in [0, 1]; masks (B, N, S, S) per slot."""

    reconstruction: np.ndarray
    foreground: np.ndarray
    background: np.ndarray
    masks: np.ndarray


class ScalorTracker:
    """The Encoder of visual SMORL. what is normalised as (raw - mean) @ basis.

    position and scale are in image coordinates. They are the centre and the half extent of the
    object's mask, not of the box it is drawn in: nothing in the ELBO asks the model to keep an
    object in the middle of its box. The two numbers of `depth` are nearness to the camera and,
    for a remembered object, the share of its memory that has passed (0: seen now).
    """

    def __init__(
        self,
        model: Scalor,
        what_mean: np.ndarray | None = None,
        what_basis: np.ndarray | None = None,
        config: TrackerConfig | None = None,
    ) -> None:
        self.model = model.eval().requires_grad_(False)
        self.config = TrackerConfig() if config is None else config
        size = model.config.what
        mean = np.zeros(size) if what_mean is None else what_mean
        basis = np.eye(size) if what_basis is None else what_basis
        self.what_mean = torch.as_tensor(np.asarray(mean, np.float32))
        self.what_basis = torch.as_tensor(np.asarray(basis, np.float32))
        self.layout = ObjectLayout(model.config.slots, size, position=2, scale=2, depth=2)

    def init(self, batch: int) -> Carry:
        """Return the carry before the first frame of `batch` episodes."""
        state = self.model.init(batch)
        memory = Memory.empty(state.slots)
        shape = state.slots.alive.shape
        return Carry(
            state,
            memory,
            state.slots,
            np.zeros(shape, np.int64),
            np.full(shape, -1),
            np.zeros(shape, bool),
            state.slots.what,
        )

    def reset_rows(self, carry: Carry, mask: np.ndarray) -> Carry:
        """Forget everything about the rows in `mask` (B,): their next frame is a first frame."""
        fresh, rows = self.init(len(mask)), torch.as_tensor(mask)
        state, memory = _mix(rows, fresh.state, carry.state), _mix(rows, fresh.memory, carry.memory)
        return replace(carry, state=state, memory=memory, frame=None)

    @torch.no_grad()
    def step(
        self, carry: Carry, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[Carry, ObjectSet]:
        """Track objects into pictures uint8 (B, S, S, 3), given the actions (B, 2) that led there.

        Rows that see their first frame process it `first_passes` times, with zero action after
        the first pass.
        """
        images, action = self._images(observation), torch.tensor(np.asarray(actions, np.float32))
        started = carry.state.started
        if bool(started.all()):
            state, frame = self._go_on(carry.state, images, action)
        elif not bool(started.any()):
            state, frame = self._begin(carry.state, images, action)
        else:
            state, frame = self._mixed(carry.state, images, action)
        memory, state = carry.memory, self._drop_ghosts(state)
        if self.config.memory:
            # An ID counts discoveries, so identities must be restored before anything is lost.
            state, memory = remember(
                carry.state.slots,
                state,
                memory,
                unlike_background(images, frame),
                self.what_basis,
                self.config.memory,
                self.config.same,
            )
        return self._report(carry, state, memory, frame)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode pictures (B, S, S, 3), each on its own, without history."""
        batch = len(observation)
        found = self.step(self.init(batch), observation, np.zeros((batch, 2), np.float32))[1]
        return replace(found, ids=None)  # IDs mean something within an episode only

    @torch.no_grad()
    def draw(self, carry: Carry) -> Drawing:
        """Return the reconstruction of the last frame and a mask per slot."""
        if carry.frame is None:
            raise InvalidInput("nothing to draw before the first frame; call step first.")
        masks = self.model.decoder.masks(carry.objects.what)
        size = self.model.config.image_size
        pasted = paste_each(masks, carry.objects.where, size)[:, :, 0]
        live = torch.as_tensor((carry.age == 0) & (carry.ids >= 0))
        pasted = pasted * live[..., None, None]
        parts = (*paint(self.model, carry.frame), carry.frame.background)
        pictures = [p.permute(0, 2, 3, 1).clamp(0, 1).numpy() for p in parts]
        return Drawing(*pictures, masks=pasted.clamp(0, 1).numpy())

    def _go_on(self, state: State, images: Tensor, action: Tensor) -> tuple[State, Sketch]:
        return track(self.model, state, images, self.model.encode(images), action, first=False)

    def _begin(self, state: State, images: Tensor, action: Tensor) -> tuple[State, Sketch]:
        """Process a first frame several times, which settles the objects (Paper)."""
        encoded, still = self.model.encode(images), torch.zeros_like(action)
        state, frame = track(self.model, state, images, encoded, action, first=True)
        for _ in range(self.config.first_passes - 1):
            state, frame = track(self.model, state, images, encoded, still, first=False)
        return replace(state, new=state.slots.alive), frame  # to the caller it was one frame

    def _mixed(self, state: State, images: Tensor, action: Tensor) -> tuple[State, Sketch]:
        """Some rows begin, others go on: two calls, so that no row's result depends on others."""
        on = state.started.nonzero()[:, 0]
        off = (~state.started).nonzero()[:, 0]
        order = torch.cat([on, off]).argsort()
        one = self._go_on(_rows(state, on), images[on], action[on])
        two = self._begin(_rows(state, off), images[off], action[off])
        return _join(one[0], two[0], order), _join(one[1], two[1], order)

    def _report(
        self, carry: Carry, state: State, memory: Memory, frame: Sketch
    ) -> tuple[Carry, ObjectSet]:
        objects, age, new = memory.append_to(state.slots, state.new)
        look = self._smooth(carry, objects)
        masks = self.model.decoder.masks(objects.what)
        what = (look - self.what_mean) @ self.what_basis
        present = objects.alive
        if self.config.unique:
            present = present & ~self._double(what, masks, objects, age)
        share = (age / max(1, self.config.memory))[..., None].float()
        shown = present[..., None]
        place, extent = extent_of(masks, objects.where)
        ids = torch.where(present, objects.ids, -1)
        found = ObjectSet(
            what=(what * shown).numpy(),
            position=(place * shown).numpy(),
            scale=(extent * shown).numpy(),
            depth=(torch.cat([nearness(objects), share], -1) * shown).numpy(),
            present=present.numpy(),
            ids=ids.numpy(),
        )
        carry = Carry(state, memory, objects, age.numpy(), ids.numpy(), new.numpy(), look, frame)
        return carry, found

    def _drop_ghosts(self, state: State) -> State:
        """Drop objects that show next to nothing in the picture: an empty box is no object."""
        slots = state.slots
        masks = self.model.decoder.masks(slots.what)
        pixels = visible_pixels(masks, slots.where, self.model.config.image_size)
        shown = slots.alive & (pixels >= _LEAST_PIXELS)
        ids = torch.where(shown, slots.ids, -1)
        return replace(state, slots=replace(slots, alive=shown, ids=ids), new=state.new & shown)

    def _double(self, what: Tensor, masks: Tensor, objects: Slots, age: Tensor) -> Tensor:
        """Which objects (B, N) are a smaller view of another one that looks the same."""
        alike = torch.cdist(what, what) < _ALIKE * self.config.same
        area = masks.sum((2, 3, 4)) * objects.where[..., 0] * objects.where[..., 1]
        area = area / (1 + age)
        larger = area[:, None] > area[..., None]  # (B, i, j): j is larger than i
        return (alike & larger & objects.alive[:, None]).any(2)

    def _smooth(self, carry: Carry, objects: Slots) -> Tensor:
        """Mix each object's appearance with what it was; a first frame has nothing to mix."""
        before = torch.as_tensor(carry.ids)[:, None]
        same = (objects.ids[..., None] == before) & objects.alive[..., None]
        same &= carry.state.started[:, None, None]
        former = same.float() @ carry.look
        share = self.config.smooth * same.any(2, keepdim=True)
        return (1 - share) * objects.what + share * former

    def _images(self, observation: np.ndarray) -> Tensor:
        size = self.model.config.image_size
        if observation.dtype != np.uint8 or observation.shape[1:] != (size, size, 3):
            raise InvalidInput(
                f"the tracker needs uint8 pictures (batch, {size}, {size}, 3), got "
                f"{observation.dtype} {observation.shape}; use a Visual environment."
            )
        pictures = torch.from_numpy(np.ascontiguousarray(observation)).permute(0, 3, 1, 2)
        return pictures.contiguous() / 255  # whatever follows is faster on whole channels


def unlike_background(images: Tensor, frame: Sketch) -> Tensor:
    """Where (B, 1, S, S) something stands before the background, explained by an object or not.

    An object that is half hidden is easily lost, but the table does not show in its place.
    """
    strange = (images - frame.background).abs().amax(1, keepdim=True) > _STRANGE
    return torch.maximum(frame.alpha, strange.float())


def nearness(objects: Slots) -> Tensor:
    """Share (B, N, 1) of a frame's other objects that lie behind each one, 0 to 1.

    The model's depth has no unit and no bounds; in a picture it only decides who covers whom.
    """
    behind = (objects.depth < objects.depth.transpose(1, 2)) & objects.alive[:, None]
    others = (objects.alive.sum(1) - 1).clamp_min(1)
    return (behind.sum(2) / others[:, None])[..., None]


def visible_pixels(masks: Tensor, where: Tensor, size: int) -> Tensor:
    """How many pixels of a picture of `size` each mask (B, N, G, 1, G) covers, (B, N)."""
    glimpse = masks.shape[2]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    inside = ((where[..., 2:, None] + where[..., :2, None] * grid).abs() <= 1).float()
    on = (masks[:, :, :, 0] > _MASK_FLOOR).float()
    covered = torch.einsum("bngk,bnk,bng->bn", on, inside[:, :, 0], inside[:, :, 1])
    return covered * where[..., 0] * where[..., 1] * (size / glimpse) ** 2


def extent_of(masks: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
    """Place and half extent (B, N, 2) of masks (B, N, G, 1, G) in boxes where (B, N, 4).

    The place is the centre of the mask's lowest part, up to `_FOOT` high. For a puck that is all of
    it. Of something tall, such as the arm, it is the end that reaches down to the table: a camera
    that looks from above sees where things stand at their lower end. If that centre is beside the
    mask, the nearest point on the mask is taken. Places stay inside the picture. The half extent is
    two standard deviations, which is the radius of a disc. An empty mask has its box's.
    """
    weight = (masks[:, :, :, 0] - _MASK_FLOOR).clamp_min(0) + 1e-6
    glimpse = masks.shape[2]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    total = weight.sum((2, 3))
    profiles = torch.stack([weight.sum(2), weight.sum(3)], 2) / total[..., None, None]
    mean = profiles @ grid
    deviation = ((profiles @ grid**2) - mean**2).clamp_min(1e-6).sqrt()
    foot = weight * _foot(profiles[:, :, 1], grid, where[..., 1:2])[..., None]
    sides = torch.stack([foot.sum(2), foot.sum(3)], 2) / foot.sum((2, 3))[..., None, None]
    place = where[..., 2:] + where[..., :2] * _onto(sides @ grid, weight > 1e-3, grid)
    return place.clamp(-1, 1), where[..., :2] * (2 * deviation).clamp_max(1)


def _foot(rows: Tensor, grid: Tensor, half_height: Tensor) -> Tensor:
    """Share (B, N, G) of each row that belongs to the lowest `_FOOT` of a mask.

    rows (B, N, G) is the mask's mass per row. Both ends are found to a fraction of a row, so that
    a moving object has a smoothly moving foot.
    """
    step = 2 / len(grid)
    filled = (rows / rows.amax(-1, keepdim=True).clamp_min(1e-9) / 0.25).clamp_max(1)
    lowest = torch.where(filled > 0.05, grid + step * (filled - 0.5), -1.0).amax(-1, keepdim=True)
    top = lowest - _FOOT / half_height.clamp_min(1e-6)
    return ((grid + step / 2 - top) / step).clamp(1e-6, 1)


def _onto(mean: Tensor, mask: Tensor, grid: Tensor) -> Tensor:
    """Move centres (B, N, 2) that are not on the mask (B, N, G, G) to its nearest point."""
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    points = torch.stack([x, y], -1).reshape(-1, 2)
    distance = torch.cdist(mean, points).masked_fill(~mask.flatten(2), torch.inf)
    nearest = distance.min(2)
    beside = torch.isfinite(nearest.values) & (nearest.values > 3 / len(grid))
    return torch.where(beside[..., None], points[nearest.indices], mean)


def _rows(noun, index: Tensor) -> Any:
    """Pick rows of every tensor in a dataclass, nested ones and dicts included."""
    return _walk(lambda tensor: tensor[index], noun)


def _join(one, two, order: Tensor) -> Any:
    """Put two batches back into one, row i from position order[i] of their concatenation."""
    return _walk(lambda a, b: torch.cat([a, b])[order], one, two)


def _mix(mask: Tensor, one, two) -> Any:
    """Take rows from `one` where `mask` (B,), from `two` elsewhere."""

    def choose(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(mask.reshape(-1, *[1] * (a.dim() - 1)), a, b)

    return _walk(choose, one, two)


def _walk(function, *nouns) -> Any:
    first = nouns[0]
    if isinstance(first, Tensor):
        return function(*nouns)
    if isinstance(first, dict):
        return {key: _walk(function, *(noun[key] for noun in nouns)) for key in first}
    names = [field.name for field in fields(first)]
    parts = {name: _walk(function, *(getattr(noun, name) for noun in nouns)) for name in names}
    return type(first)(**parts)
