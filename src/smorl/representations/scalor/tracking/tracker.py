"""SCALOR online: pictures in, tracked objects out. Deterministic; all state is in the carry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from smorl.devices import device_of, to_array, to_tensor
from smorl.errors import InvalidInput
from smorl.representations.base import Drawing
from smorl.representations.scalor.model.scalor import Scalor, State
from smorl.representations.scalor.model.slots import nearness
from smorl.representations.scalor.tracking.carry import Carry
from smorl.representations.scalor.tracking.known import Known, View, Whereabouts
from smorl.representations.scalor.tracking.looks import Looks, as_known, smoothed
from smorl.representations.scalor.tracking.memory import Memory, remember, stirring
from smorl.representations.scalor.tracking.online import Sketch, track, unlike_background
from smorl.representations.scalor.tracking.pictures import as_images, drawing_of
from smorl.representations.scalor.tracking.places import motion_of, settled
from smorl.representations.scalor.tracking.rows import join_rows, mix_rows, pick_rows, put_rows
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.tracking.standing import drop_ghosts, places_of
from smorl.types import ObjectLayout, ObjectSet

DEFAULT_SAME = 0.5  # where no perception says better: codes of different objects are sqrt(2) apart


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
        known: Known | None = None,
    ) -> None:
        self.model = model.eval().requires_grad_(False)
        self.config = TrackerConfig() if config is None else config
        self.same = DEFAULT_SAME if self.config.same is None else self.config.same
        self.device = device_of(model)
        used = known is not None and (self.config.known or self.config.hand)
        self.known = known.to(self.device) if known is not None and used else None
        size = model.config.what
        mean = np.zeros(size) if what_mean is None else what_mean
        basis = np.eye(size) if what_basis is None else what_basis
        statistics = (to_tensor(np.asarray(a, np.float32), self.device) for a in (mean, basis))
        self.what_mean, self.what_basis = statistics
        self.layout = ObjectLayout(model.config.slots, size, position=2, scale=2, depth=2, motion=2)

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
            torch.full_like(state.slots.ids, -1),
            np.zeros(shape, bool),
            Looks(state.slots.what, torch.zeros_like(state.slots.ids)),
            state.slots.where[..., 2:],
            Whereabouts.unknown(batch, 0 if self.known is None else self.known.things),
        )

    def reset_rows(self, carry: Carry, mask: np.ndarray) -> Carry:
        """Forget everything about the rows in `mask` (B,): their next frame is a first frame."""
        fresh, rows = self.init(len(mask)), to_tensor(mask, self.device)
        state, memory = (
            mix_rows(rows, one, two)
            for one, two in ((fresh.state, carry.state), (fresh.memory, carry.memory))
        )
        known = carry.known.forget(np.asarray(mask, bool))
        return replace(carry, state=state, memory=memory, known=known, frame=None)

    @torch.inference_mode()
    def step(
        self, carry: Carry, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[Carry, ObjectSet]:
        """Track objects into pictures uint8 (B, S, S, 3), given the actions (B, A) that led there.

        Rows that see their first frame process it `first_passes` times, with zero action after
        the first pass.
        """
        images = as_images(observation, self.image_size, self.device)
        action = to_tensor(np.array(actions, np.float32), self.device)
        started = carry.state.started
        if bool(started.all()):
            state, frame = self._go_on(carry.state, images, action)
        elif not bool(started.any()):
            state, frame = self._begin(carry.state, images, action)
        else:
            state, frame = self._mixed(carry.state, images, action)
        memory, state = carry.memory, drop_ghosts(self.model, state)
        if self.config.memory:
            # An ID counts discoveries, so identities must be restored before anything is lost.
            state, memory = self._remember(carry, state, frame, images)
        return self._report(carry, state, memory, frame, images)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode pictures (B, S, S, 3), each on its own, without history."""
        batch = len(observation)
        still = np.zeros((batch, self.model.actions), np.float32)
        found = self.step(self.init(batch), observation, still)[1]
        return replace(found, ids=None)  # IDs mean something within an episode only

    @torch.no_grad()
    def draw(self, carry: Carry) -> Drawing:
        """Return the reconstruction of the last frame and a mask per slot."""
        if carry.frame is None:
            raise InvalidInput("nothing to draw before the first frame; call step first.")
        return drawing_of(self.model, carry.frame, carry.objects, self.seen_now(carry))

    @property
    def image_size(self) -> int:
        """Pixels of a side of the pictures that it takes."""
        return self.model.config.image_size

    def seen_now(self, carry: Carry) -> np.ndarray:
        """Which slots (B, N) did the model see in the last frame itself, not only remember?"""
        return (carry.age == 0) & to_array(carry.names >= 0)

    def raw_appearance(self, carry: Carry) -> np.ndarray:
        """Return z^what (B, N, W) as the model infers it."""
        return to_array(carry.objects.what)

    def imagine(self, carry: Carry, actions: np.ndarray) -> np.ndarray:
        """Return pictures (B, T, S, S, 3): what the prior expects of actions (B, T, A)."""
        _, ahead = self.model.imagine(carry.state, to_tensor(actions, self.device))
        return to_array(ahead.permute(0, 1, 3, 4, 2).clamp(0, 1))

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
        one = self._go_on(pick_rows(state, on), images[on], action[on])
        two = self._begin(pick_rows(state, off), images[off], action[off])
        return join_rows(one[0], two[0], order), join_rows(one[1], two[1], order)

    def _remember(
        self, carry: Carry, state: State, frame: Sketch, images: Tensor
    ) -> tuple[State, Memory]:
        """Update the memory and the IDs, in the rows where somebody is missing or changed."""
        memory, slots = carry.memory, state.slots
        before = as_known(carry.state.slots, carry.names, carry.looks.what)
        rows = stirring(before, slots, memory, self.what_basis)
        if not len(rows):
            return state, memory
        some, next_id, kept = remember(
            self.model,
            before.rows(rows),
            slots.rows(rows),
            state.next_id[rows],
            pick_rows(memory, rows),
            images[rows],
            unlike_background(images, frame, rows),
            self.what_basis,
            self.config.memory,
            self.same,
            self.config.search,
        )
        slots = replace(slots, ids=slots.ids.index_copy(0, rows, some.ids))
        state = replace(state, slots=slots, next_id=state.next_id.index_copy(0, rows, next_id))
        return state, put_rows(memory, rows, kept)

    def _report(
        self, carry: Carry, state: State, memory: Memory, frame: Sketch, images: Tensor
    ) -> tuple[Carry, ObjectSet]:
        objects, age, new = memory.append_to(state.slots, state.new)
        began = carry.state.started[:, None]
        looks = smoothed(
            objects,
            age,
            torch.where(began, carry.names, -1),
            carry.looks,
            self.what_basis,
            self.config.smooth,
            self.config.patience,
        )
        what = self._normalised(looks.what)
        present, place, extent = places_of(
            self.model, self.config, self.same, objects, what, age, images
        )
        depth = nearness(objects) if self.config.depth_order else objects.depth
        names = torch.where(present, objects.ids, -1)
        seen = (what, place, extent, depth, age, names, present)
        view, known = View(*(to_array(part) for part in seen)), carry.known
        if self.known is not None:
            view, known = self._put_right(self.known, view, objects.what, known, images)
        ids, place, former = (
            to_tensor(array, self.device) for array in (view.ids, view.place, carry.ids)
        )
        former = torch.where(began, former, -1)
        place = settled(ids, place, former, carry.place, self.config.settle)
        motion = motion_of(ids, place, former, carry.place)
        shown = view.present[..., None]
        share = (view.age / max(1, self.config.memory))[..., None].astype(np.float32)
        found = ObjectSet(
            what=view.what * shown,
            position=to_array(place) * shown,
            scale=view.extent * shown,
            depth=np.concatenate([view.depth, share], -1) * shown,
            present=view.present,
            ids=view.ids,
            motion=to_array(motion),
        )
        numbers = (view.age, view.ids, names, to_array(new))
        return Carry(state, memory, objects, *numbers, looks, place, known, frame), found

    def _put_right(
        self, known: Known, view: View, raw: Tensor, past: Whereabouts, images: Tensor
    ) -> tuple[View, Whereabouts]:
        """Correct the report by what the whole picture says."""
        sight = known.finder(images)
        if self.config.known:
            told = (to_array(sight.chance), to_array(sight.place), past)
            raw_what = to_array(self._normalised(raw))
            view, past = known.put_right(view, raw_what, *told, self.same, self.config.memory)
        if self.config.hand:
            view = known.put_hand(view, to_array(sight.hand))
        return view, past

    def _normalised(self, what: Tensor) -> Tensor:
        return (what - self.what_mean) @ self.what_basis
