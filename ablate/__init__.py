"""Controlled ablations of small transformers."""

__version__ = "0.1.0"
