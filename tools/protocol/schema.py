"""The wire models as one JSON Schema (2020-12), every type a definition of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema

from ctxd.model import settings
from tools.protocol.prose import of_options

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Plain(GenerateJsonSchema):
    """No invented titles, and members in the order the models declare them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def render(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """The schema document, options included. Definitions are in alphabetical order."""
    _, document = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=_Plain
    )
    definitions: dict[str, Any] = _options()
    for name, schema in document["$defs"].items():
        definitions[name] = _hoisted(
            {k: v for k, v in _with_constants(schema).items() if k != "title"}, definitions
        )
    return {
        "$schema": DIALECT,
        "title": "ctxd protocol, version 1",
        "$defs": dict(sorted(definitions.items())),
    }


def _options() -> dict[str, Any]:
    """`Options` and its groups, from the settings. A group's name ends in Options on the wire."""
    _, parts = msgspec.json.schema_components([settings.Settings], ref_template="{name}")
    names = {name: "Options" if name == "Settings" else _group_name(name) for name in parts}
    return {names[name]: _renamed(part, names) for name, part in parts.items()}


def _group_name(name: str) -> str:
    return name if name.endswith("Options") else f"{name}Options"


def _renamed(part: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    members = {
        key: {"$ref": f"#/$defs/{names[member['$ref']]}"} if "$ref" in member else member
        for key, member in part["properties"].items()
    }
    return {
        "type": "object",
        "properties": members,
        "description": of_options(getattr(settings, part["title"])),
    }


def _with_constants(schema: JsonSchemaValue) -> JsonSchemaValue:
    """The definition with constant members required: they have a default only in Python."""
    constants = [name for name, member in schema.get("properties", {}).items() if "const" in member]
    if not constants:
        return schema
    return {**schema, "required": list(dict.fromkeys([*schema.get("required", ()), *constants]))}


def _hoisted(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with every titled part inside it made a definition and referred to."""
    match schema:
        case {"title": str(title)}:
            definitions[title] = {k: v for k, v in schema.items() if k != "title"}
            return {"$ref": f"#/$defs/{title}"}
        case dict():
            return {key: _hoisted(value, definitions) for key, value in schema.items()}
        case list():
            return [_hoisted(value, definitions) for value in schema]
        case _:
            return schema
