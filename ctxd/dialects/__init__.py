"""Dialects: pure codecs between native messages and the block view, one file per provider."""
