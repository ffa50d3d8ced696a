"""`context/validate`: whether a provider would take a message list, and a list it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ctxd.dialects.base import BadShape, Dialect, Edit
from ctxd.model.blocks import MessageView, Violation
from ctxd.model.messages import Native
from ctxd.service.requests.rendering import encode


class Validated(msgspec.Struct, frozen=True):
    """Violations in order of index; `repaired` is JSON text of each message when asked for."""

    violations: tuple[Violation, ...]
    repaired: tuple[bytes, ...] | None
    edits: tuple[Edit, ...]


def check(dialect: Dialect, natives: Sequence[Native], *, repair: bool) -> Validated:
    """Check a list against every rule of the dialect. A message that cannot be read breaks rule `shape`."""
    views: list[MessageView] = []
    readable: list[int] = []
    violations: list[Violation] = []
    for index, native in enumerate(natives):
        try:
            views.append(dialect.view(native.value))
            readable.append(index)
        except BadShape as error:
            violations.append(Violation("shape", index, str(error), "refuse"))
    for rule in dialect.rules:
        violations += [
            msgspec.structs.replace(v, index=readable[v.index] if v.index < len(readable) else v.index)
            for v in rule.violations(views)
        ]
    violations.sort(key=lambda v: (v.index, v.rule))
    if not repair:
        return Validated(tuple(violations), None, ())
    values: list[Mapping[str, Any]] = [natives[index].value for index in readable]
    known = {id(natives[index].value): natives[index].raw for index in readable}
    mended, edits = dialect.mend(values, pending=True)
    dropped = [
        Edit("shape", index, "remove", "this message cannot be read")
        for index in range(len(natives))
        if index not in set(readable)
    ]
    moved = [
        msgspec.structs.replace(e, index=readable[e.index] if e.index < len(readable) else e.index)
        for e in edits
    ]
    return Validated(
        tuple(violations),
        tuple(known.get(id(value)) or encode(value) for value in mended),
        tuple(sorted([*dropped, *moved], key=lambda e: e.index)),
    )
