"""Counting tokens: encodings, the offline vocabulary, bounded time, a cache."""
