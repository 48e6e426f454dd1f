"""The live page: drag a puck's goal, and watch an agent see, choose and push (`smorl view`)."""
