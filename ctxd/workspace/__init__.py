"""A workspace's files: the boundary around them, and what of them may be shown to a model."""
