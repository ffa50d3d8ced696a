"""Docstrings as sentences for hosts."""

from __future__ import annotations

import inspect
import re

import msgspec

_SOURCE = re.compile(r" \((?:[a-z]+\.md,|[EO] §)[^)]*\)")


def of_options(group: type[msgspec.Struct]) -> str:
    """What a group's docstring says, on one line, with option names as a host writes them.

    References to design documents, which hosts do not have, are left out.
    """
    prose = _SOURCE.sub("", " ".join(inspect.cleandoc(group.__doc__ or "").split()))
    for field in msgspec.structs.fields(group):
        prose = prose.replace(f"`{field.name}`", f"`{field.encode_name}`")
    return prose
