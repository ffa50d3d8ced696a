"""Nouns. Frozen data that every other room speaks; knows no IO, no clock, no wire."""
