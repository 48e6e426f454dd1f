"""Occlusion: a lost object is looked for, keeps its look and gets its identity back."""

from dataclasses import replace

import torch

from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking import search
from smorl.representations.scalor.tracking.masks import extent_of
from smorl.representations.scalor.tracking.memory import Memory, remember
from tests.representations.scalor.small import SMALL, make_model

COUNT, SIZE = SMALL.slots, SMALL.image_size
RED, BLUE = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
COVERED, BARE = torch.ones(1, 1, SIZE, SIZE), torch.zeros(1, 1, SIZE, SIZE)
BLANK = torch.full((1, 3, SIZE, SIZE), -5.0)  # no object has this colour
LIMIT, SAME, NEXT = 4, 0.5, 100


def slots_of(*objects) -> Slots:
    """One row of slots from (id, look, x, y)."""
    empty = Slots.empty(SMALL, 1)
    what, where = empty.what.clone(), empty.where.clone()
    alive, ids = empty.alive.clone(), empty.ids.clone()
    for i, (identity, look, x, y) in enumerate(objects):
        what[0, i], where[0, i, 2:] = torch.tensor(look), torch.tensor([x, y])
        alive[0, i], ids[0, i] = True, identity
    return replace(empty, what=what, where=where, alive=alive, ids=ids)


class World:
    """Frame after frame of what the model tracks, with the memory of what it lost."""

    def __init__(self, *objects, stretch: float = 1.0) -> None:
        self.model = make_model()
        fresh = self.model.init(1)
        next_id = torch.full_like(fresh.next_id, NEXT)
        self.state = replace(fresh, slots=slots_of(*objects), next_id=next_id)
        self.memory = Memory.empty(self.state.slots)
        self.basis = stretch * torch.eye(SMALL.what)

    def frame(self, *objects, new=(), alpha=COVERED, image=BLANK) -> None:
        """Show the next frame: tracked objects, and which of their ids were just found."""
        slots = slots_of(*objects)
        found = torch.isin(slots.ids, torch.tensor(new or [-2])) & slots.alive
        after = replace(self.state, slots=slots, new=found)
        named, next_id, self.memory = remember(
            self.model,
            self.state.slots,
            slots,
            after.next_id,
            self.memory,
            image,
            alpha,
            self.basis,
            LIMIT,
            SAME,
        )
        self.state = replace(after, slots=named, next_id=next_id)

    @property
    def remembered(self) -> dict[int, int]:
        """Age by id."""
        alive = self.memory.slots.alive[0]
        return dict(
            zip(
                self.memory.slots.ids[0, alive].tolist(),
                self.memory.age[0, alive].tolist(),
                strict=True,
            )
        )

    @property
    def live(self) -> list[int]:
        return self.state.slots.ids[self.state.slots.alive].tolist()


def test_a_covered_object_keeps_its_place_and_grows_older():
    world = World((0, RED, 0.4, -0.2), (1, BLUE, -0.5, 0.5))
    ages = []
    for _ in range(3):
        world.frame((1, BLUE, -0.4, 0.5))
        ages.append(world.remembered[0])
        index = int((world.memory.slots.ids[0] == 0).nonzero())
        place = world.memory.slots.where[0, index, 2:]
        torch.testing.assert_close(place, torch.tensor([0.4, -0.2]))
    assert ages == [1, 2, 3]
    assert world.live == [1]


def test_what_is_still_tracked_is_not_remembered():
    world = World((0, RED, 0.4, -0.2), (1, BLUE, -0.5, 0.5))
    world.frame((1, BLUE, -0.5, 0.5), (0, RED, 0.4, -0.2))  # in another order
    assert world.remembered == {}


def test_an_object_that_comes_back_gets_its_identity_back():
    world = World((0, RED, 0.4, -0.2))
    world.frame()
    world.frame((7, [0.9, 0.1, 0.0], 0.5, 0.0), new=[7])
    assert world.live == [0]
    assert world.remembered == {}


def test_another_object_gets_no_old_identity():
    world = World((0, RED, 0.4, -0.2))
    world.frame()
    world.frame((7, BLUE, 0.4, -0.2), new=[7])
    assert world.live == [7]
    assert world.remembered == {0: 2}


SIMILAR = [0.7, 0.1, 0.0]  # nearer to RED than SAME, but not so near that looks alone tell


def test_what_is_similar_and_has_another_colour_is_not_the_hidden_object():
    """A piece of the arm may look like a puck to the encoder; it is not painted like one."""
    world = World((0, RED, 0.4, -0.2))
    world.frame()
    world.frame((7, SIMILAR, 0.4, -0.2), new=[7])
    assert world.live == [7]
    assert world.remembered == {0: 2}


def test_what_is_similar_and_has_the_colour_is_the_hidden_object():
    world = World((0, RED, 0.4, -0.2))
    colour = decoded_colour(world.model, world.state.slots)
    world.frame()
    image = colour[:, None, None].expand(1, 3, SIZE, SIZE)
    world.frame((7, SIMILAR, 0.4, -0.2), new=[7], image=image)
    assert world.live == [0]


def test_an_object_is_lost_even_if_something_of_another_colour_looks_similar():
    world = World((0, RED, 0.4, -0.2), (1, SIMILAR, -0.5, 0.5))
    world.frame((1, SIMILAR, -0.5, 0.5))
    assert world.live == [1]
    assert world.remembered == {0: 1}


def test_an_object_whose_slot_turns_into_another_one_is_remembered():
    """The model hands a half-hidden puck's slot, ID included, to the arm; the puck keeps it."""
    world = World((0, RED, 0.4, -0.2))
    world.frame((0, BLUE, 0.4, -0.2))
    assert world.live == [NEXT]
    assert world.remembered == {0: 1}
    assert world.state.next_id.tolist() == [NEXT + 1]
    world.frame((NEXT, BLUE, 0.4, -0.2), (7, RED, 0.4, -0.2), new=[7])
    assert world.live == [NEXT, 0]
    assert world.remembered == {}


def test_an_object_that_keeps_its_colour_is_still_itself():
    world = World((0, RED, 0.4, -0.2))
    colour = decoded_colour(world.model, world.state.slots)
    world.frame((0, BLUE, 0.4, -0.2), image=colour[:, None, None].expand(1, 3, SIZE, SIZE))
    assert world.live == [0]
    assert world.remembered == {}


def test_a_changed_look_alone_is_no_other_object():
    world = World((0, RED, 0.4, -0.2))
    world.frame((0, [0.5, 0.5, 0.0], 0.4, -0.2))
    assert world.live == [0]
    assert world.remembered == {}


def test_a_slot_that_comes_to_look_like_a_hidden_object_is_it():
    world = World((0, RED, 0.4, -0.2), (1, BLUE, -0.4, 0.2))
    world.frame((1, BLUE, -0.4, 0.2))
    assert world.remembered == {0: 1}
    world.frame((1, RED, -0.4, 0.2))
    assert world.live == [0]
    assert world.remembered == {1: 1}  # what the slot was


def test_a_second_view_of_a_live_object_is_not_remembered():
    world = World((0, RED, 0.4, -0.2), (1, [0.9, 0.0, 0.0], 0.4, -0.2))
    world.frame((1, [0.9, 0.0, 0.0], 0.4, -0.2))
    assert world.live == [1]
    assert world.remembered == {}


def test_of_two_candidates_the_more_similar_one_is_the_old_object():
    world = World((0, RED, 0.4, -0.2))
    world.frame()
    world.frame((7, [0.7, 0.0, 0.0], 0.0, 0.0), (8, [0.9, 0.0, 0.0], 0.5, 0.0), new=[7, 8])
    assert world.live == [7, 0]


def test_one_candidate_takes_the_more_similar_of_two_memories():
    world = World((0, RED, 0.4, -0.2), (1, [0.8, 0.0, 0.0], -0.4, 0.2))
    world.frame()
    world.frame((7, [0.82, 0.0, 0.0], 0.0, 0.0), new=[7])
    assert world.live == [1]
    assert world.remembered == {}  # the other one looks the same too


def test_similarity_is_measured_in_normalised_appearance():
    world = World((0, RED, 0.4, -0.2), stretch=10.0)
    world.frame()
    world.frame((7, [0.9, 0.1, 0.0], 0.5, 0.0), new=[7])  # sqrt(2) apart when stretched
    assert world.live == [7]


def test_an_uncovered_place_is_forgotten():
    world = World((0, RED, 0.4, -0.2))
    world.frame(alpha=BARE)
    assert world.remembered == {}


def test_covering_elsewhere_does_not_help():
    world = World((0, RED, -0.5, -0.5))
    half = BARE.clone()
    half[..., SIZE // 2 :] = 1
    world.frame(alpha=half)
    assert world.remembered == {}
    world = World((0, RED, 0.5, -0.5))
    world.frame(alpha=half)
    assert world.remembered == {0: 1}


def test_a_place_that_comes_into_view_empty_sends_the_object_behind_the_nearest_cover():
    """The puck is not where it was, and not in sight: it went with what hid it."""
    world = World((0, RED, -0.1, 0.0))
    half = BARE.clone()
    half[..., SIZE // 2 :] = 1
    world.frame(alpha=half)
    assert world.remembered == {0: 1}
    x, y = world.memory.slots.where[0, 0, 2:].tolist()
    assert -0.02 < x < 0.1
    assert abs(y) < 0.05


def test_an_object_that_shows_does_not_grow_older_and_is_followed():
    world = World((0, RED, 0.0, 0.0))
    picture = decoded_picture(world.model, world.state.slots, x=0.15, y=-0.1)
    for _ in range(LIMIT + 2):
        world.frame(image=picture)
    assert world.remembered == {0: 1}
    place, _ = extent_of(
        world.model.decoder.masks(world.memory.slots.what), world.memory.slots.where
    )
    assert (place[0, 0] - torch.tensor([0.15, -0.1])).abs().max() < 0.06


def decoded_colour(model, slots: Slots) -> torch.Tensor:
    """The mean colour (3,) of the first object."""
    colours, masks = model.decoder(slots.what)
    weight = masks.clamp_min(1e-6)
    return ((colours * weight).sum((2, 4)) / weight.sum((2, 4)))[0, 0]


def decoded_picture(model, slots: Slots, x: float, y: float) -> torch.Tensor:
    """A blank picture with a disc of the first object's mean colour at (x, y)."""
    colour = decoded_colour(model, slots)
    _, extent = extent_of(model.decoder.masks(slots.what), slots.where)
    grid = (2 * torch.arange(SIZE) + 1) / SIZE - 1
    down, across = torch.meshgrid(grid, grid, indexing="ij")
    ellipse = ((across - x) / extent[0, 0, 0]) ** 2 + ((down - y) / extent[0, 0, 1]) ** 2 <= 1
    return torch.where(ellipse, colour[:, None, None], BLANK[0])[None]


def test_an_object_that_went_far_is_found_again():
    world = World((0, RED, -0.3, 0.0))
    picture = decoded_picture(world.model, world.state.slots, x=0.3, y=0.2)
    world.frame(image=picture)
    where, what = world.memory.slots.where, world.memory.slots.what
    place, _ = extent_of(world.model.decoder.masks(what), where)
    assert (place[0, 0] - torch.tensor([0.3, 0.2])).abs().max() < 0.06


def test_two_looks_of_one_thing_are_one_under_the_older_name(monkeypatch):
    """A touched puck may look so different that it is found anew, beside its own memory."""
    # The small decoder's colours mean nothing, and its masks are off the middle of their boxes.
    monkeypatch.setattr(search, "_ALIKE", 10.0)
    monkeypatch.setattr(search, "_BESIDE", 0.4)
    for live, found in ((7, 0), (0, 0)):  # whichever of the two is the older one
        lost = 0 if live else 3
        world = World((lost, RED, 0.15, -0.1))
        picture = decoded_picture(world.model, world.state.slots, x=0.15, y=-0.1)
        world.frame((live, BLUE, 0.15, -0.1), new=[live], image=picture)
        assert world.live == [found]
        assert world.remembered == {}


def test_one_memory_names_one_live_object_only(monkeypatch):
    monkeypatch.setattr(search, "_ALIKE", 10.0)
    monkeypatch.setattr(search, "_BESIDE", 3.0)
    world = World((0, RED, 0.15, -0.1))
    picture = decoded_picture(world.model, world.state.slots, x=0.15, y=-0.1)
    green = [0.0, 0.0, 1.0]
    world.frame((7, BLUE, 0.15, -0.1), (8, green, 0.2, -0.1), new=[7, 8], image=picture)
    assert world.live == [0, 8]


def test_two_things_in_one_place_stay_two():
    world = World((0, RED, 0.15, -0.1))
    picture = decoded_picture(world.model, world.state.slots, x=0.15, y=-0.1)
    world.frame((7, BLUE, -0.5, 0.5), new=[7], image=picture)  # elsewhere
    assert world.live == [7]
    assert world.remembered == {0: 1}


def test_two_memories_of_one_thing_are_one(monkeypatch):
    monkeypatch.setattr(search, "_ALIKE", 10.0)
    monkeypatch.setattr(search, "_LIKE", 10.0)  # both show
    both = (2, RED, 0.15, -0.1), (5, BLUE, 0.15, -0.1)
    world = World(*both)
    world.frame()
    assert world.remembered == {2: 1}


def test_an_object_hidden_for_too_long_is_forgotten():
    world = World((0, RED, 0.4, -0.2))
    ages = []
    for _ in range(LIMIT + 1):
        world.frame()
        ages.append(world.remembered.get(0))
    assert ages == [1, 2, 3, 4, None]
    assert (world.memory.slots.ids == -1).all()


def test_remembered_objects_follow_the_live_ones_as_far_as_there_is_room():
    live = slots_of((4, RED, 0.0, 0.0), (5, RED, 0.5, 0.5))
    hidden = slots_of((1, BLUE, 0.1, 0.1), (2, BLUE, 0.2, 0.2))
    memory = Memory(hidden, torch.tensor([[3, 2, 0]]))
    new = torch.tensor([[False, True, False]])
    slots, age, found = memory.append_to(live, new)
    assert slots.ids.tolist() == [[4, 5, 1]]
    assert age.tolist() == [[0, 0, 3]]
    assert found.tolist() == [[False, True, False]]


def test_rows_do_not_touch_each_other():
    one = slots_of((0, RED, 0.4, -0.2))
    both = one.map(lambda tensor: tensor.repeat(2, *[1] * (tensor.dim() - 1)))
    nobody, next_id = Slots.empty(SMALL, 2), torch.zeros(2, dtype=torch.int64)
    alpha = torch.cat([COVERED, BARE])
    images, basis = BLANK.expand(2, -1, -1, -1), torch.eye(SMALL.what)
    empty = Memory.empty(both)
    _, _, memory = remember(
        make_model(), both, nobody, next_id, empty, images, alpha, basis, LIMIT, SAME
    )
    assert memory.slots.alive.tolist() == [[True, False, False], [False, False, False]]
