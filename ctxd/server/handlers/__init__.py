"""Handlers, one file per noun: wire models in, a call of the service, wire models out."""
