"""Every generated file of protocol/: its path and what it has to hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ctxd.server.method import Method
from ctxd.server.methods import METHODS
from ctxd.server.wire.errors import ResponseError
from ctxd.server.wire.lifecycle import BUILTINS
from tools.protocol import errors, options, reference, schema, typescript

VERSION = 1
BASE_METHODS = (*BUILTINS, "shutdown", "exit", "$/progress", "$/logTrace", "window/logMessage")
"""Methods of LSP that any LSP client knows; their types are LSP's."""

HEADER = "// Written by `make protocol` from the daemon's own types. Do not edit.\n"


def models() -> list[type[BaseModel]]:
    """Every model a host meets at the top of a message."""
    named = [t for m in METHODS.values() for t in (m.params, m.result) if t is not None]
    return [*dict.fromkeys(named), ResponseError]


def render(protocol: Path) -> dict[Path, str]:
    """Path below `protocol` to content. The prose of spec.md is taken from the file that is there."""
    document = schema.render(models())
    definitions = document["$defs"]
    spec = reference.fill(
        (protocol / "spec.md").read_text(),
        {
            "options": options.render(),
            "errors": reference.error_table(),
            "methods": reference.methods(
                METHODS.values(), {n: d for n, d in definitions.items() if not n.endswith("Options")}
            ),
        },
    )
    return {
        Path("VERSION"): f"{VERSION}\n",
        Path("spec.md"): spec,
        Path("v1/schema.json"): _json(document),
        Path("v1/meta.json"): _json(_meta()),
        Path("v1/errors.json"): _json({"version": VERSION, "errors": errors.table()}),
        Path("v1/types.ts"): HEADER + "\n" + typescript.render(definitions),
        Path("v1/methods.ts"): HEADER + "\n" + _method_map(),
    }


def _meta() -> dict[str, Any]:
    return {
        "version": VERSION,
        "baseMethods": list(BASE_METHODS),
        "alwaysPossible": [*errors.LIFECYCLE, *errors.ALWAYS],
        "methods": [_described(m) for m in METHODS.values()],
    }


def _described(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "kind": method.kind,
        "direction": method.direction,
        "since": method.since,
        "doc": method.doc,
        "params": _reference(method.params),
        "result": None if method.result is None else _reference(method.result),
        "errors": list(dict.fromkeys(method.errors)),
    }


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"schema.json#/$defs/{model.__name__}"}


def _method_map() -> str:
    """Four interfaces, by direction and kind, from method name to its types."""
    names = sorted({t.__name__ for m in METHODS.values() for t in (m.params, m.result) if t is not None})
    imports = "".join(f"  {name},\n" for name in names)
    maps = [
        ("RequestsToDaemon", "request", "toDaemon", "Requests a host may send."),
        ("NotificationsToDaemon", "notification", "toDaemon", "Notifications a host may send."),
        ("RequestsToHost", "request", "toHost", "Requests the daemon may send."),
        ("NotificationsToHost", "notification", "toHost", "Notifications the daemon may send."),
    ]
    return f'import type {{\n{imports}}} from "./types.js";\n\n' + "\n".join(_interface(*m) for m in maps)


def _interface(name: str, kind: str, direction: str, doc: str) -> str:
    rows = [
        line
        for m in METHODS.values()
        if (m.kind, m.direction) == (kind, direction)
        for line in (*typescript.comment(m.doc, "  "), f'  "{m.name}": {_types(m)};')
    ]
    return "\n".join([*typescript.comment(doc), f"export interface {name} {{", *rows, "}", ""])


def _types(method: Method) -> str:
    if method.result is None:
        return f"{{ params: {method.params.__name__} }}"
    return f"{{ params: {method.params.__name__}; result: {method.result.__name__} }}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
