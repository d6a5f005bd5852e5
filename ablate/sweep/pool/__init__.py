"""Runs in processes of their own, some at a time, on this machine."""
