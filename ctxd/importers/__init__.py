"""Importers: transcripts that other tools recorded, read into one neutral stream of steps."""
