"""The transformer and its exchangeable parts. Knows torch, no config and no files."""
