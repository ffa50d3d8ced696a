"""What is kept word for word, and whether something is shown."""

from __future__ import annotations

from ctxd.server.method import READ, WRITE, Method, handled_by

METHODS = (
    Method(
        "context/pin",
        "pins.ContextPinParams",
        "pins.ContextPinResult",
        "Keep a text or a message, word for word, in every model view.",
        handler=handled_by("pins", "pin"),
        errors=(*WRITE, "notFound", "tooLarge"),
    ),
    Method(
        "context/unpin",
        "pins.ContextUnpinParams",
        "base.Empty",
        "Let a pin go.",
        handler=handled_by("pins", "unpin"),
        errors=(*WRITE, "notFound"),
    ),
    Method(
        "context/pins",
        "pins.ContextPinsParams",
        "pins.ContextPinsResult",
        "List the pins and what they cost.",
        handler=handled_by("pins", "list_pins"),
        errors=READ,
    ),
    Method(
        "context/contains",
        "pins.ContextContainsParams",
        "pins.ContextContainsResult",
        "Whether the model view shows an output, a message or a file's newest read whole.",
        handler=handled_by("pins", "look_for"),
        errors=(*READ, "notFound"),
    ),
)
