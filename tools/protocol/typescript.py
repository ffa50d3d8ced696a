"""JSON Schema in, TypeScript out: one interface or alias per definition. Knows nothing of ctxd.

Covers what pydantic emits (2020-12): objects, maps, arrays, tuples, enums, constants, unions, references.
Anything else raises, so that no type is ever quietly wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_PRIMITIVES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")


LINE = 110


class Unsupported(ValueError):
    """The schema uses a keyword this generator does not know."""


def render(definitions: Mapping[str, Schema]) -> str:
    """All definitions as exported declarations, in their order."""
    return "\n".join("\n".join(_declaration(name, schema)) + "\n" for name, schema in definitions.items())


def type_of(schema: Schema) -> str:
    """The schema as a TypeScript type expression on one line."""
    match schema:
        case {"$ref": str(ref)}:
            return ref.rsplit("/", 1)[1]
        case {"const": value}:
            return json.dumps(value)
        case {"enum": list(values)}:
            return " | ".join(json.dumps(v) for v in values)
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " | ".join(dict.fromkeys(type_of(o) for o in options))
        case {"allOf": [only]}:
            return type_of(only)
        case {"type": list(names)}:
            return " | ".join(type_of({**schema, "type": n}) for n in names)
        case {"type": "array", "prefixItems": list(items)}:
            return f"[{', '.join(type_of(i) for i in items)}]"
        case {"type": "array"}:
            item = type_of(schema.get("items", {}))
            return f"({item})[]" if " | " in item else f"{item}[]"
        case {"type": "object", "properties": dict()}:
            return "{ " + "; ".join(_members(schema)) + " }"
        case {"type": "object"}:
            return f"Record<string, {type_of(_value_schema(schema))}>"
        case {"type": str(name)} if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        case _ if not schema.keys() - {"title", "description", "default", "examples"}:
            return "unknown"
        case _:
            raise Unsupported(f"no TypeScript for {sorted(schema)}")


def comment(text: str, indent: str = "") -> list[str]:
    """`text` as a JSDoc comment; no lines when there is none."""
    lines = text.strip().replace("*/", "*\\/").splitlines()
    if not lines:
        return []
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def _declaration(name: str, schema: Schema) -> Iterator[str]:
    yield from comment(schema.get("description", ""))
    if schema.get("type") == "object" and "properties" in schema:
        yield f"export interface {name} {{"
        for key, value in schema["properties"].items():
            yield from comment(value.get("description", ""), "  ")
            yield f"  {_wrapped(_member(key, value, schema))};"
        if schema.get("additionalProperties") not in (None, False):
            yield "  [member: string]: unknown;"
        yield "}"
    elif schema.get("type") == "object" and schema.get("additionalProperties") is False:
        yield f"export type {name} = Record<string, never>;"
    else:
        yield f"export type {name} = {type_of(schema)};"


def _wrapped(member: str) -> str:
    """A long union takes a line per option."""
    if len(member) <= LINE or " | " not in member:
        return member
    name, union = member.split(": ", 1)
    return "\n    | ".join([f"{name}:", *union.split(" | ")])


def _members(schema: Schema) -> Iterator[str]:
    for key, value in schema["properties"].items():
        yield _member(key, value, schema)
    if schema.get("additionalProperties") not in (None, False):
        yield "[member: string]: unknown"


def _member(key: str, value: Schema, owner: Schema) -> str:
    """A member. Absent and null mean the same in ctxd's own members, so an optional one leaves null out."""
    required = key in owner.get("required", ())
    shown = value if required else _without_null(value)
    name = key if _IDENTIFIER.fullmatch(key) else json.dumps(key)
    return f"{name}{'' if required else '?'}: {type_of(shown)}"


def _without_null(schema: Schema) -> Schema:
    if "anyOf" not in schema:
        return schema
    options = [o for o in schema["anyOf"] if o.get("type") != "null"]
    return options[0] if len(options) == 1 else {"anyOf": options}


def _value_schema(schema: Schema) -> Schema:
    values = schema.get("additionalProperties", {})
    return values if isinstance(values, Mapping) else {}
