"""Replaying recorded sessions through a daemon as a host would, and showing what was measured."""
