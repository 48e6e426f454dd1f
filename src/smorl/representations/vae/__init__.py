"""beta-VAE: a whole picture as one vector, for RIG and Skew-Fit."""
