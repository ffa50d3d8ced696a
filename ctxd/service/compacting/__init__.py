"""Compaction: the only caller of its policy, and who writes summaries."""
