"""Meaning of texts as vectors, without a network."""
