"""Values of unknown shape: reading members of decoded JSON, and saying exactly where one is wrong.

Owns what both codecs ask of a JSON value. Must not know any provider's words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from ctxd.dialects.base import BadShape

LARGEST_COUNT = 2**53 - 1
"""Largest token count taken as real: the largest integer that every JSON reader keeps exact."""


def compact(value: Any, path: str) -> str:
    """Compact JSON text of a decoded value, lone surrogates kept. Raises BadShape when nested too deeply."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        pass
    except RecursionError as error:
        raise BadShape(path, "is nested too deeply") from error
    # Only the slow encoder keeps a lone surrogate as it is.
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise BadShape(path, "is nested too deeply") from error


def is_blank(text: str) -> bool:
    """True for text no provider takes as a block: nothing, or white space alone (reports A.18)."""
    return not text or text.isspace()


def wire_size(text: str) -> int:
    """Bytes of UTF-8 that base64 or a URL takes in the request."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def valid_count(value: Any) -> int | None:
    """The token count if it is one: an integer from 0 to 2^53-1 (E §2.2); no bool, no float, no NaN."""
    if type(value) is int and 0 <= value <= LARGEST_COUNT:
        return value
    return None


def as_object(value: Any, path: str) -> dict[str, Any]:
    """The value, which must be an object. Raises BadShape."""
    if not isinstance(value, dict):
        raise BadShape(path, "must be an object")
    return value


def text_member(owner: Mapping[str, Any], key: str, path: str) -> str:
    """The string under `key` of the object at `path`. Raises BadShape when absent or no string."""
    value = owner.get(key)
    if not isinstance(value, str):
        raise BadShape(join(path, key), "is missing" if key not in owner else "must be a string")
    return value


def named_member(owner: Mapping[str, Any], key: str, path: str) -> str:
    """As `text_member`, and not empty: ids, names, types. Raises BadShape."""
    value = text_member(owner, key, path)
    if not value:
        raise BadShape(join(path, key), "must not be empty")
    return value


def join(path: str, key: str) -> str:
    """Dotted path of a member; `path` is "" at the top."""
    return f"{path}.{key}" if path else key
