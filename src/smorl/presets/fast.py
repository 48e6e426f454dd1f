"""Settings that reach the paper's quality on two CPU cores in minutes.

They start from the paper's settings; every change is an option that the paper presets leave off,
and docs/learner.md gives its reason.
"""

from __future__ import annotations

from dataclasses import replace

from smorl.dynamics.fitting import DynamicsConfig
from smorl.learners.networks import TorsoConfig
from smorl.learners.sac import SacConfig
from smorl.planning.gentle import GentleConfig
from smorl.presets import paper
from smorl.training.settings import RunConfig

# Environment steps by number of pucks; more pucks need more sub-goals to be mastered.
TOTAL_STEPS = {1: 80_000, 2: 100_000, 3: 120_000, 4: 120_000, 5: 140_000, 6: 160_000}
LONG_STEPS = 400_000
# From pixels, by task. Push leaves pucks near where they start: small errors count, and what is
# knocked away costs more.
VISUAL_STEPS = {
    "push": {1: 140_000, 2: 160_000},
    "rearrange": {1: 100_000, 2: 100_000, 3: 200_000, 4: 200_000},
}
DISTURB = {"push": 8.0, "rearrange": 5.0}
# From pixels, from three pucks on: whatever the hand does may disturb something, and who fears that
# much waits (docs/decisions/0014). Larger batches for what is harder to learn.
CROWDED, CROWDED_DISTURB, CROWDED_KEEP, CROWDED_BATCH = 3, 2.0, 3.0, 512


def smorl(task: str, n: int) -> RunConfig:
    """SMORL on ground truth, tuned for learning speed."""
    base = paper.smorl(task, n)
    return replace(
        base,
        collect=replace(
            base.collect,
            total_steps=TOTAL_STEPS[n],
            initial_steps=5_000,
            num_envs=32,
            goals_per_reset=2,
            replay_steps=200_000,
            updates_per_step=0.25,
        ),
        goals=replace(base.goals, disturbance_penalty=3.0, object_goal_bias=6.0),
        gentle=GentleConfig(),
        dynamics=DynamicsConfig(),
        relabel=replace(
            base.relabel, rollout=0.3, future=0.3, imagined=0.4, any_object=0.9, moved=0.01
        ),
        networks=replace(
            base.networks,
            normalise_positions=True,
            relative=True,
            matched=True,
            body=True,
            motion=True,
        ),
        learner=replace(
            base.learner,
            batch_size=512,
            lr=2e-3,
            lr_end=0.1,
            reward_scale=5.0,
            policy_every=2,
            pessimism=0.0,
        ),
        evaluation=replace(
            base.evaluation,
            every=20_000 if n <= 2 else 30_000,
            solved_threshold=0.03,
            controller="plan",
            subgoals=replace(
                base.evaluation.subgoals, order="hardest", switch_when_solved=True, own_body=False
            ),
        ),
    )


def visual(task: str, n: int) -> RunConfig:
    """SMORL from pixels: the learner of `smorl(task, n)` on tracked objects.

    Positions are image coordinates: a metre on the table is about four of them sideways and
    about three in depth, so thresholds and the reward's scale change by that much. Appearances
    are normalised so that two detections differ by about the square root of 2, as one-hot codes
    do; touched by the arm a puck looks different by up to 1.
    """
    base, crowded = smorl(task, n), n >= CROWDED
    return replace(
        base,
        method="smorl",
        env=base.env.replace("smorl/", "smorl/Visual"),
        perception=f"scalor-{n}",
        collect=replace(
            base.collect,
            total_steps=VISUAL_STEPS[task][n],
            updates_per_step=0.5,
            replay_steps=200_000,
        ),
        goals=replace(
            base.goals,
            match_threshold=1.2,
            no_match_reward=-0.8,
            prior="fitted",
            disturbance_penalty=CROWDED_DISTURB if crowded else DISTURB[task],
        ),
        planning=replace(base.planning, keep=CROWDED_KEEP if crowded else base.planning.keep),
        relabel=replace(base.relabel, moved=0.04),
        networks=replace(base.networks, motion=n > 1),
        learner=replace(
            base.learner,
            reward_scale=1.5,
            batch_size=CROWDED_BATCH if crowded else 256,
            lr_end=0.05,
        ),
        evaluation=replace(base.evaluation, solved_threshold=0.1, every=20_000),
    )


def long(config: RunConfig) -> RunConfig:
    """The same agent with about the paper's number of environment steps."""
    collect = replace(config.collect, total_steps=LONG_STEPS)
    return replace(config, collect=collect, evaluation=replace(config.evaluation, every=50_000))


def sac_her(task: str, n: int) -> RunConfig:
    """SAC+HER with the environment steps, updates, layer sizes and learner of `smorl(task, n)`."""
    base, budget = paper.sac_her(task, n), smorl(task, n)
    networks = replace(
        base.networks,
        policy_hidden=budget.networks.policy_hidden,
        critic_hidden=budget.networks.critic_hidden,
    )
    return replace(
        base,
        collect=replace(budget.collect, horizon=50, num_envs=25, goals_per_reset=1),
        networks=networks,
        learner=replace(budget.learner, pessimism=SacConfig().pessimism),
        evaluation=replace(base.evaluation, every=budget.evaluation.every),
    )


def passive(task: str, n: int) -> RunConfig:
    """Do nothing, and measure it."""
    base = paper.smorl(task, n)
    return replace(base, method="passive", collect=replace(base.collect, num_envs=1))


def debug() -> RunConfig:
    """Every part of a run in a few seconds; learns nothing."""
    base = smorl("rearrange", 2)
    return replace(
        base,
        collect=replace(
            base.collect,
            total_steps=240,
            initial_steps=80,
            num_envs=2,
            goals_per_reset=2,
            replay_steps=1_000,
        ),
        networks=replace(
            base.networks,
            torso=TorsoConfig(embedding=12, heads=3, queries=1),
            policy_hidden=(16,),
            critic_hidden=(16, 16),
        ),
        learner=replace(base.learner, batch_size=32),
        dynamics=DynamicsConfig(width=16, batch_size=16, updates_per_step=0.1),
        planning=replace(base.planning, samples=4, horizon=2),
        evaluation=replace(
            base.evaluation,
            every=80,
            episodes=4,
            final_episodes=4,
            subgoals=replace(base.evaluation.subgoals, length=3, attempts=3, own_body=True),
        ),
    )


def debug_visual() -> RunConfig:
    """Every stage of a run from pixels in seconds: data, perception, agent; learns nothing."""
    base, visible = debug(), visual("rearrange", 1)
    return replace(
        base,
        method="smorl",
        env=visible.env,
        perception="debug-scalor",
        goals=visible.goals,
        relabel=visible.relabel,
        evaluation=replace(base.evaluation, solved_threshold=0.1),
    )
