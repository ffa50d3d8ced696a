"""Verbs of the command line. Imports what a verb needs only when that verb runs."""
