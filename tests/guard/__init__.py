"""Tests of ctxd.guard."""
