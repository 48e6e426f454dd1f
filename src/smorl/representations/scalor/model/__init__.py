"""The network and its ELBO (Sec. 3.2, Eq. 3, Eq. 4)."""
