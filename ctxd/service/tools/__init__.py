"""The tools that models may call."""
