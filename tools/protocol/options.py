"""The options of `ctxd.model.settings` as a table: name, type, default, bounds."""

from __future__ import annotations

import json

import msgspec
from msgspec import inspect as types

from ctxd.model.settings import Settings
from tools.protocol.prose import of_options


def render() -> str:
    """One Markdown section per group: what the group's docstring says, then its options."""
    return "\n\n".join(_group(field) for field in msgspec.structs.fields(Settings))


def _group(group: msgspec.structs.FieldInfo) -> str:
    cls = group.type
    table = [
        "| option | type | default |",
        "| --- | --- | --- |",
        *(
            f"| `{group.encode_name}.{f.encode_name}` | {_type(f)} | {_default(f)} |"
            for f in msgspec.structs.fields(cls)
        ),
    ]
    return "\n".join([f"**`{group.encode_name}`** {of_options(cls)}", "", *table])


def _default(field: msgspec.structs.FieldInfo) -> str:
    default = field.default_factory() if callable(field.default_factory) else field.default
    return f"`{json.dumps(default)}`"


def _type(field: msgspec.structs.FieldInfo) -> str:
    return _described(types.type_info(field.type))


def _described(info: types.Type) -> str:
    match info:
        case types.BoolType():
            return "true or false"
        case types.StrType():
            return "string"
        case types.IntType(ge=ge):
            return "integer" if ge is None else f"integer, {ge} or more"
        case types.FloatType(ge=ge, le=le):
            return "number" if ge is None or le is None else f"number, {ge:g} to {le:g}"
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return f"list of {_described(item)}s"
        case types.DictType(value_type=value):
            return f"object of string → {_described(value)}"
        case types.LiteralType(values=values):
            return " or ".join(f"`{json.dumps(v)}`" for v in values)
        case _:
            raise TypeError(f"no words for an option of type {info!r}")
