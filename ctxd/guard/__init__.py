"""Adapter: secrets cut out of what tools said, and text from outside made fit to be shown."""
