"""Load a trained agent and let it act on pictures: ten lines, no trainer."""

import smorl

agent = smorl.load("shipped:visual-rearrange-1")
envs = agent.envs(rows=1)  # any source of pictures will do; this one is the agent's own
observation, _ = envs.reset(seed=[7])
actor = agent.actor()
actor.reset(observation["desired_goal"])  # the picture to make true
for _ in range(10):
    observation = envs.step(actor.act(observation["observation"]))[0]
    print(f"sub-goal {actor.current[0]}, considered solved: {actor.solved[0].tolist()}")
