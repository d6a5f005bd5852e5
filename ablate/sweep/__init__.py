"""The verb `run`: many runs, from arguments and studies to the pool and the clusters."""
