"""The verb `run`: one run in its directory, and many of them."""
