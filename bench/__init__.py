"""Benches: every number is a ratio to a baseline that was taken in the same run."""
