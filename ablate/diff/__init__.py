"""The verb `diff`: two runs or arms side by side."""
