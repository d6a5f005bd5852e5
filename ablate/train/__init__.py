"""The training loop, its schedules, checkpoints and listeners."""
