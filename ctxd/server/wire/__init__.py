"""The models of the wire, one module per noun: what protocol.md says, as pydantic.

Everything a generator needs (names, shapes, units, defaults) is here; nothing here knows a session.
"""
