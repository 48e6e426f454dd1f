"""What an environment must be, and what it may tell besides.

A vector environment with K rows: dictionary observations with `observation` (images uint8
(K, H, W, 3) or states (K, D)) and, where goals come from the environment, `desired_goal` of the
same kind; actions are a Box of any length. Some things are optional:

- `truth`: what only the environment knows (`Truth`), for metrics and studies, never for agents;
- `meddler`: moves objects and goals in the middle of an episode (`Meddler`), for people;
- `object_distances` (n,) in the info of a row: how far its objects are from their goals [m]. It
  is the outside judge of evaluation; without it an agent is measured by its own opinion alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import gymnasium as gym
import numpy as np

from smorl.errors import InvalidInput
from smorl.types import Spaces

if TYPE_CHECKING:
    from smorl.envs.rendering.segmentation import Segmentation


class Truth(Protocol):
    """K rows with n objects and the agent's own body, as they are now.

    Places are in observation coordinates: metres for states, image coordinates for pictures.
    """

    tolerance: float  # how near to a place something must be to be taken for what is there

    @property
    def objects(self) -> np.ndarray:
        """Where the objects are, (K, n, 2) metres."""
        ...

    @property
    def body(self) -> np.ndarray:
        """Where the agent's hand is, (K, 2) metres."""
        ...

    def places(self) -> np.ndarray:
        """Where objects and then the body show in the observation, (K, n + 1, 2)."""
        ...

    def goal_places(self) -> np.ndarray:
        """Where they should show, (K, n + 1, 2)."""
        ...

    def segment(self) -> Segmentation:
        """Which pixels show what; only of pictures."""
        ...


class Meddler(Protocol):
    """What a person may do to a row in the middle of an episode; places (2,) are in metres."""

    def move_object(self, row: int, index: int, place: Any) -> None:
        """Put an object at rest somewhere else."""
        ...

    def move_goal(self, row: int, index: int, place: Any) -> None:
        """Change where an object should go."""
        ...

    def random_goals(self, row: int, rng: np.random.Generator) -> None:
        """Draw new goals, as a reset does; objects stay where they are."""
        ...

    def observe(self) -> dict[str, np.ndarray]:
        """What is seen now by all rows, as `step` returns it."""
        ...


class Views(Protocol):
    """Pictures of one row for people, uint8 (H, W, 3)."""

    pixels: int  # width of what the agent sees

    def scene(self, goal_state: bool = False) -> np.ndarray:
        """The whole scene, `size` pixels high; with `goal_state` as it should be."""
        ...

    def agent(self, goal_state: bool = False, pixels: int | None = None) -> np.ndarray:
        """What the agent sees, enlarged by whole pixels to about `pixels`."""
        ...


def views_of(envs: Any, size: int, samples: int = 2, row: int = 0) -> Views:
    """Return how an environment draws row `row`, its scene `size` pixels high."""
    make = getattr(envs if hasattr(envs, "views") else envs.unwrapped, "views", None)
    if make is None:
        raise InvalidInput("this environment shows no pictures, so it cannot be filmed.")
    return make(size, samples, row)


def truth_of(envs: gym.vector.VectorEnv) -> Truth | None:
    """Return the truth of an environment that has one."""
    return getattr(envs, "truth", None)


def require_truth(envs: gym.vector.VectorEnv, what: str) -> Truth:
    """Return the truth, or say that `what` cannot be done without it."""
    truth = truth_of(envs)
    if truth is None:
        raise InvalidInput(
            f"{what} needs the truth, and this environment does not tell it; "
            "docs/extending.md says how it could."
        )
    return truth


def action_size(envs: gym.vector.VectorEnv) -> int:
    """Return the length A of an action."""
    space = envs.single_action_space
    assert isinstance(space, gym.spaces.Box), "checked when the environment was made"
    return int(np.prod(space.shape))


def spaces_of(envs: gym.vector.VectorEnv) -> Spaces:
    """Return what the parts of an agent ask of an environment."""
    space: Any = envs.single_observation_space
    goal, truth = space.spaces.get("desired_goal"), truth_of(envs)
    return Spaces(
        observation_shape(envs),
        action_size(envs),
        None if goal is None else tuple(goal.shape),
        None if truth is None else truth.objects.shape[1] + 1,
    )


def observation_shape(envs: gym.vector.VectorEnv) -> tuple[int, ...]:
    """Return the shape of one `observation`: (H, W, 3) or (D,)."""
    space: Any = envs.single_observation_space
    return tuple(space["observation"].shape)


def shows_images(envs: gym.vector.VectorEnv) -> bool:
    """Say whether observations are pictures."""
    return len(observation_shape(envs)) == 3


def check_contract(envs: gym.vector.VectorEnv, name: str) -> None:
    """Raise now if an environment cannot be used, saying what it lacks."""
    action, space = envs.single_action_space, envs.single_observation_space
    if not isinstance(action, gym.spaces.Box) or len(action.shape) != 1:
        raise InvalidInput(f"{name} has actions {action}; they must be a Box of one dimension.")
    if not np.all(np.isfinite(action.low) & np.isfinite(action.high)):
        raise InvalidInput(f"{name} has actions without bounds; give the Box a low and a high.")
    if not isinstance(space, gym.spaces.Dict) or "observation" not in space.spaces:
        raise InvalidInput(
            f"{name} observes {space}; it must be a Dict with `observation`, and `desired_goal` to "
            "be evaluated. Gymnasium's TransformObservation can wrap it."
        )
    shape = space["observation"].shape or ()
    image = len(shape) == 3 and shape[2] == 3 and space["observation"].dtype == np.uint8
    if not image and len(shape) != 1:
        raise InvalidInput(
            f"{name} shows observations of shape {shape}; use images uint8 (H, W, 3) or a vector."
        )


def check_goals(envs: gym.vector.VectorEnv, name: str) -> None:
    """Raise if an environment has no goals to be evaluated with."""
    space: Any = envs.single_observation_space
    if "desired_goal" not in space.spaces:
        raise InvalidInput(
            f"{name} sets no goals: its observations have no `desired_goal`. Training needs none; "
            "to evaluate, add one that shows the wanted outcome."
        )
