"""Tasks whose examples are made up as they are needed, from a seed and without a corpus."""
