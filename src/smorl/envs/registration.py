"""The Gymnasium ids of the project."""

from collections.abc import Iterator
from dataclasses import dataclass

import gymnasium

# (task, number of pucks) of every registered id.
FAMILIES = (("push", (1, 2, 3)), ("rearrange", (1, 2, 3, 4, 5, 6)))
# Paper: steps each sub-goal gets.
SUBTASK_STEPS = {"push": 15, "rearrange": 20}

# Mean puck distance (m) if nothing moves: Monte Carlo of the start and goal distributions,
# standard error at most 0.0006. Agrees with the expectation for the released sampling rules.
PASSIVE_DISTANCE = {
    "push": (0.1455, 0.1180, 0.1091),
    "rearrange": (0.1724, 0.1777, 0.1829, 0.1871, 0.1911, 0.1959),
}


def episode_steps(task: str, num_objects: int) -> int:
    """Evaluation length of the paper: 2(n+1) - 1 sub-goal attempts, the arm being one item."""
    return (2 * (num_objects + 1) - 1) * SUBTASK_STEPS[task]


@dataclass(frozen=True)
class EnvId:
    """One registered environment."""

    id: str
    task: str
    num_objects: int
    observation: str

    @property
    def episode_steps(self) -> int:
        """Evaluation length of the paper, in env steps."""
        return episode_steps(self.task, self.num_objects)

    @property
    def passive_distance(self) -> float:
        """Expected final mean puck distance of a policy that does nothing, in metres."""
        return PASSIVE_DISTANCE[self.task][self.num_objects - 1]


def env_ids() -> Iterator[EnvId]:
    """Yield every id of the project, state envs first."""
    for observation, prefix in (("state", ""), ("image", "Visual")):
        for task, counts in FAMILIES:
            for n in counts:
                yield EnvId(f"smorl/{prefix}{task.capitalize()}{n}-v0", task, n, observation)


def register_all() -> None:
    """Register every id once; strings keep MuJoCo unloaded until an env is made."""
    for env in env_ids():
        if env.id in gymnasium.registry:
            continue
        gymnasium.register(
            id=env.id,
            entry_point="smorl.envs.tabletop.env:TabletopEnv",
            vector_entry_point="smorl.envs.tabletop.vector:TabletopVectorEnv",
            max_episode_steps=env.episode_steps,
            kwargs={
                "task": env.task,
                "num_objects": env.num_objects,
                "observation": env.observation,
            },
        )
