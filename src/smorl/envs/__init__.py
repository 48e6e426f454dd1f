"""The world: Push and Rearrange on MuJoCo. Needs numpy and mujoco, never torch."""
