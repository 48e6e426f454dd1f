"""Self-supervised multi-object visual reinforcement learning (SMORL, ICLR 2021).

Importing the package registers its Gymnasium environments (`smorl envs` lists them).
"""

from smorl.envs.registration import register_all

register_all()
