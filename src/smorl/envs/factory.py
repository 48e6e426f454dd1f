"""Make a vector environment from a name: one of ours, any registered id, or `module:Env-v0`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from smorl.envs.contract import check_contract, shows_images, truth_of
from smorl.envs.foreign import ForeignEnvs, wrap
from smorl.envs.registration import register_all
from smorl.errors import InvalidInput, did_you_mean
from smorl.plugins import is_plugin, load_module

OWN = "smorl/"


@dataclass(frozen=True)
class View:
    """How a method wants to see: through which camera (None: the environment's own), how large.

    Other people's environments have one camera; their pictures are resized.
    """

    camera: str | None = None
    image_size: int | None = None


def find_env(name: str) -> str:
    """Return the registered id that `name` means; ours may be named without their `smorl/`."""
    register_all()
    env_id = name
    if is_plugin(name):
        module, _, env_id = name.rpartition(":")
        load_module(module)
    for candidate in (env_id, f"{OWN}{env_id}"):
        if candidate in gym.registry:
            return candidate
    wanted = env_id if "/" in env_id else f"{OWN}{env_id}"
    known = [known for known in gym.registry if known.startswith(OWN) or is_plugin(name)]
    hint = did_you_mean(wanted, known, OWN, "-v0")
    raise InvalidInput(
        f"unknown environment {name!r:.80}.{hint} `smorl envs` lists ours; "
        "yours is named module:Env-v0, where importing the module registers it."
    )


def make_envs(
    env: str,
    num_envs: int,
    threads: int,
    *,
    goal_images: bool = True,
    view: View | None = None,
) -> gym.vector.VectorEnv:
    """Return a vector environment without a step limit: whoever runs it decides when to stop.

    Without `goal_images` a visual environment does not draw its goals: training has no use for
    them, because the agent sets its own. `view` says through which camera and how large a method
    sees. An id without a vector env of its own is vectorised by Gymnasium.
    """
    env_id = find_env(env)
    spec, view = gym.spec(env_id), View() if view is None else view
    if spec.vector_entry_point is None:
        return wrap(env_id, num_envs, view.image_size)
    extra: dict[str, Any] = {}
    if env_id.startswith(OWN):
        extra = {"threads": threads, "max_episode_steps": None}
        if (spec.kwargs or {}).get("observation") == "image":
            wanted = {"camera": view.camera, "image_size": view.image_size}
            extra |= {name: value for name, value in wanted.items() if value is not None}
            extra["goal_images"] = goal_images
    envs = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **extra)
    if not env_id.startswith(OWN):
        check_contract(envs, env)
        return ForeignEnvs(envs, view.image_size)
    return envs


def tells_truth(env: str) -> bool:
    """Say whether an environment knows where things are, for metrics."""
    envs = make_envs(env, 1, 1)
    found = truth_of(envs) is not None
    envs.close()
    return found


def make_visual_envs(
    env: str,
    num_envs: int,
    threads: int,
    goal_images: bool = False,
    image_size: int | None = None,
) -> gym.vector.VectorEnv:
    """Return a vector env with pictures, without step limit; by default without goal pictures."""
    envs = make_envs(
        env, num_envs, threads, goal_images=goal_images, view=View(image_size=image_size)
    )
    if not shows_images(envs):
        envs.close()
        visual = env.replace(OWN, f"{OWN}Visual")
        remedy = f"use {visual!r}" if env.startswith(OWN) else "its `observation` must be an image"
        raise InvalidInput(f"{env!r} shows no pictures; {remedy}.")
    return envs
