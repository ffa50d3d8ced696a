"""Indexes that are never the truth and can be rebuilt at any time."""
