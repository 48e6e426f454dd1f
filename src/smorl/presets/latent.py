"""RIG and Skew-Fit: the release's numbers, the fast ones, and those that only show that it runs.

The paper says of these baselines only that they started from standard settings and were tuned per
environment; so every number of `paper_*` is the release's.
"""

from __future__ import annotations

import math
from dataclasses import replace

from smorl.goals.base import GoalConfig
from smorl.goals.skew import FAST_SKEW, RELEASE_SKEW
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.learners.sac import SacConfig
from smorl.planning.subgoals import SubgoalConfig
from smorl.presets import fast, paper
from smorl.replay.relabel import RelabelConfig
from smorl.representations.vae.settings import (
    Phase,
    VaeConfig,
    VaeTraining,
    fast_rig,
    fast_skewfit,
    fast_vae,
    paper_rig,
    paper_skewfit,
    paper_vae,
)
from smorl.training.settings import CollectConfig, EvaluationConfig, LatentConfig, RunConfig

# Nobody asks whether a latent is reached: the episode has one goal and runs to its end.
_NEVER_SOLVED = 0.05

RIG_PROVENANCE = {
    "collect.total_steps": "release, 31 epochs x 30,000 steps after the initial 10,000",
    "collect.initial_steps": "release, 10,000 (by the initial policy there)",
    "collect.num_envs": "release collects 500 steps at a time: 10 paths of 50",
    "collect.horizon": "release, training path 50",
    "collect.replay_steps": "release, 250,000",
    "collect.updates_per_step": "release, 750 updates per 500 steps",
    "relabel": "release, rollout/future/imagined 0.2/0.3/0.5",
    "learner.batch_size": "release, 2048",
    "learner.lr": "release, 7e-4 for one puck, 1e-3 for two",
    "learner.discount": "release, 0.95",
    "learner.target_rate": "release, 0.01",
    "networks.policy_hidden": "release, 400 and 300",
    "networks.critic_hidden": "release, 400 and 300",
    "networks.initial_std": "release, no offset of the log deviation: 1 before the squashing",
    "latent.model.latent": "release, 4 for one puck, 16 for two",
    "latent.model.image_size": "release, 48",
    "latent.camera": "release, multiobject_push",
    "latent.training.initial": "release, 20,000 batches (one puck), 40,000 (two)",
    "evaluation.every": "release, every epoch of 30,000 steps",
}
SKEWFIT_PROVENANCE = {
    **RIG_PROVENANCE,
    "collect.total_steps": "release, 1201 epochs x 500 steps after the initial 10,000",
    "collect.replay_steps": "release, 100,000",
    "collect.updates_per_step": "release, 1000 updates per 500 steps",
    "learner.lr": "release, 1e-3",
    "latent.training.phases": "release, 2000, then 200 batches per epoch, then every other epoch",
    "latent.training.initial": "release, none: the first epoch trains first",
    "latent.skew.power": "release, -0.5 from epoch 11 on",
    "latent.skew.variance": "release, e: ones meant as variance are read as its logarithm",
    "evaluation.every": "ours; the release evaluates one episode every 500 steps",
}

MOST_PICTURES = 150_000  # replayed steps whose 48x48 pictures fit into 1 GB


def rig_paper(task: str, n: int) -> RunConfig:
    """RIG, settings of the release: one goal for the whole episode."""
    length = paper.SUBTASK_STEPS[task] * paper.attempts(n)
    return RunConfig(
        method="rig",
        env=paper.env_id(task, n).replace("smorl/", "smorl/Visual"),
        latent=LatentConfig(model=paper_vae(n), training=paper_rig(n)),
        collect=CollectConfig(
            total_steps=940_000,
            initial_steps=10_000,
            num_envs=10,
            horizon=50,
            replay_steps=250_000,
            updates_per_step=1.5,
        ),
        goals=GoalConfig(),  # boxes and thresholds are for objects; a latent always matches
        relabel=RelabelConfig(rollout=0.2, future=0.3, imagined=0.5),
        networks=NetworkConfig(
            torso=TorsoConfig(kind="flat"),
            policy_hidden=(400, 300),
            critic_hidden=(400, 300),
            initial_std=math.tanh(1.0),
        ),
        learner=SacConfig(lr=7e-4 if n == 1 else 1e-3, target_rate=0.01),
        evaluation=EvaluationConfig(
            solved_threshold=_NEVER_SOLVED,
            subgoals=SubgoalConfig(length, attempts=1, stop_when_solved=False),
        ),
    )


def skewfit_paper(task: str, n: int) -> RunConfig:
    """Skew-Fit, settings of the release."""
    base = rig_paper(task, n)
    return replace(
        base,
        method="skewfit",
        latent=LatentConfig(
            model=paper_vae(n), training=paper_skewfit(), goals="replay", skew=RELEASE_SKEW
        ),
        collect=replace(
            base.collect, total_steps=610_500, replay_steps=100_000, updates_per_step=2.0
        ),
        learner=replace(base.learner, lr=1e-3),
    )


def rig(task: str, n: int) -> RunConfig:
    """RIG with the environment steps, updates, layer sizes and learner of `fast.visual`."""
    base, budget = rig_paper(task, n), fast.visual(task, n)
    return replace(
        base,
        latent=LatentConfig(model=fast_vae(n), training=fast_rig(n)),
        collect=replace(
            base.collect,
            total_steps=budget.collect.total_steps,
            num_envs=25,
            replay_steps=min(budget.collect.total_steps, MOST_PICTURES),
            updates_per_step=budget.collect.updates_per_step,
        ),
        networks=replace(
            base.networks,
            policy_hidden=budget.networks.policy_hidden,
            critic_hidden=budget.networks.critic_hidden,
            initial_std=budget.networks.initial_std,
        ),
        # Latents differ by about 1, not by tenths as places do: their distances need no scaling.
        learner=replace(budget.learner, reward_scale=1.0),
        evaluation=replace(base.evaluation, every=budget.evaluation.every),
    )


def skewfit(task: str, n: int) -> RunConfig:
    """Skew-Fit with the budget of `fast.visual`."""
    latent = LatentConfig(
        model=fast_vae(n), training=fast_skewfit(n), goals="replay", skew=FAST_SKEW
    )
    return replace(rig(task, n), method="skewfit", latent=latent)


def debug_rig() -> RunConfig:
    """Every stage of RIG in seconds; learns nothing."""
    base, tiny = rig("rearrange", 1), fast.debug()
    model = VaeConfig(
        image_size=16, latent=3, channels=4, hidden=16, decoder_hidden=16, decoder_channels=(4, 8)
    )
    return replace(
        base,
        latent=LatentConfig(model=model, training=VaeTraining(batch=8, initial=110)),
        collect=replace(
            base.collect,
            total_steps=240,
            initial_steps=80,
            num_envs=2,
            horizon=20,
            replay_steps=200,
            updates_per_step=0.25,
        ),
        networks=replace(base.networks, policy_hidden=(16,), critic_hidden=(16, 16)),
        learner=replace(base.learner, batch_size=32),
        evaluation=replace(
            tiny.evaluation,
            subgoals=SubgoalConfig(length=9, attempts=1, stop_when_solved=False),
            controller="policy",
        ),
    )


def debug_skewfit() -> RunConfig:
    """Every stage of Skew-Fit in seconds; learns nothing."""
    base = debug_rig()
    assert base.latent is not None
    training = VaeTraining(batch=8, initial=30, phases=(Phase(40, 60),))
    skew = replace(FAST_SKEW, pictures=60, samples=2)
    latent = replace(base.latent, training=training, goals="replay", skew=skew)
    return replace(base, method="skewfit", latent=latent)
