"""From the name of a figure of the paper to its runs, its numbers and its picture."""
