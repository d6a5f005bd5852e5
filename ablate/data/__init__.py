"""Corpora, tokenizers, packed token streams and tasks. No torch: arrays are numpy."""
