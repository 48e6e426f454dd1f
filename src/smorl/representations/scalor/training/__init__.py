"""How SCALOR is trained: data, gradient steps, what is fitted afterwards."""
