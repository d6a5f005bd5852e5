"""What is known of a run, on disk: record, curves, lock, version of the code."""
