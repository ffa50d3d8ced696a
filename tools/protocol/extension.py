"""The generated parts of the VS Code extension: its types, and its settings from the daemon's options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as types

from ctxd.model.settings import Settings
from ctxd.server.options import TRUSTED_ONLY
from tools.protocol.prose import of_options

SECTION = "Daemon"
"""Title of the section of the extension's settings that holds the options."""

SECRET = ("summarizer.apiKey",)
"""Options that belong into no file of settings."""


def render(extension: Path, written: dict[Path, str]) -> dict[Path, str]:
    """Path below the extension's folder to content, with the types of `written` (paths below protocol/).

    Of package.json only the section of options is generated; the rest is taken from the file that is there.
    """
    package = json.loads((extension / "package.json").read_text())
    for section in package["contributes"]["configuration"]:
        if section["title"] == SECTION:
            section["properties"] = _settings()
    names = "\n".join(f"  {json.dumps(name)}," for name in _settings())
    header = written[Path("v1/types.ts")].splitlines()[0]
    return {
        Path("package.json"): json.dumps(package, indent=2, ensure_ascii=False) + "\n",
        Path("src/protocol/types.ts"): written[Path("v1/types.ts")],
        Path("src/protocol/methods.ts"): written[Path("v1/methods.ts")],
        Path("src/protocol/options.ts"): f"{header}\n\n"
        f"/** Settings of the extension that are options of the daemon. */\n"
        f"export const OPTIONS: readonly string[] = [\n{names}\n];\n",
    }


def _settings() -> dict[str, Any]:
    return {
        f"ctxd.{group.encode_name}.{option.encode_name}": _setting(group, option)
        for group in msgspec.structs.fields(Settings)
        for option in msgspec.structs.fields(group.type)
        if f"{group.encode_name}.{option.encode_name}" not in SECRET
    }


def _setting(group: msgspec.structs.FieldInfo, option: msgspec.structs.FieldInfo) -> dict[str, Any]:
    default = option.default_factory() if callable(option.default_factory) else option.default
    return {
        **_schema(types.type_info(option.type)),
        "default": default,
        "scope": "machine" if group.encode_name in TRUSTED_ONLY else "window",
        "markdownDescription": of_options(group.type),
    }


def _schema(info: types.Type) -> dict[str, Any]:
    """JSON Schema as VS Code's settings editor understands it. Raises TypeError where it has no words."""
    match info:
        case types.BoolType():
            return {"type": "boolean"}
        case types.StrType():
            return {"type": "string"}
        case types.IntType(ge=ge):
            return {"type": "integer"} if ge is None else {"type": "integer", "minimum": ge}
        case types.FloatType(ge=ge, le=le):
            bounds = {"minimum": ge, "maximum": le}
            return {"type": "number", **{name: value for name, value in bounds.items() if value is not None}}
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return {"type": "array", "items": _schema(item)}
        case types.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _schema(value)}
        case types.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case _:
            raise TypeError(f"no setting for an option of type {info!r}")
