"""How fast SCALOR is: what `smorl bench perception` measures."""
