"""ctxd: a daemon that owns agent sessions and manages what the model sees."""

__version__ = "0.1.0"
