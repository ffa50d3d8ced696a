"""Lone surrogates: JavaScript writes them, as escapes, for a string cut in the middle of a pair.

msgspec refuses them, so a body that holds some is masked before it is scanned, and its parts are
unmasked afterwards; their bytes come out as they came in.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_MASKED = re.compile(rb"\x7f([dD][89a-fA-F][0-9a-fA-F]{2})\x7f")


def mask(body: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The body with each escaped lone surrogate as `DEL xxxx DEL`, and what turns a part of it back.

    JavaScript writes lone surrogates for a string cut in the middle of a pair; msgspec refuses
    them. Raises the DecodeError of a body that holds none, or DEL bytes of its own in their form.
    """
    if _MASKED.search(body):
        raise msgspec.DecodeError("cannot be masked")
    masked = _ESCAPES.sub(lambda m: b"\x7f%b\x7f" % m[1] if m[1] else m[0], body)
    return masked, lambda part: _MASKED.sub(rb"\\u\1", part)
