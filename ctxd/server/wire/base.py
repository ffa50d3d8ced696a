"""What all wire models share: naming, strictness, native values, the empty answer.

Members are camelCase on the wire and snake_case in Python. Members a model does not know are
ignored, so that hosts newer than the daemon are understood. Knows no method and no session.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import msgspec
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, JsonValue, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ctxd.model.messages import Native

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue


class Wire(BaseModel):
    """Base of every object on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,
        extra="ignore",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        validate_by_alias=True,
        validate_by_name=True,
    )


class Input(Wire):
    """Base of what a host sends: null means absent (protocol.md, section 10)."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if isinstance(data, dict) and None in data.values():
            return {name: value for name, value in data.items() if value is not None}
        return data


class Empty(Wire):
    """The answer `{}` of a method that has nothing to say."""


class NativeValue(msgspec.Struct, frozen=True):
    """A native value that need not be an object (`system`): `raw` as it came, on one line; `value` decoded.

    `value` must not be mutated.
    """

    raw: bytes
    value: Any


def make_native(value: dict[str, Any]) -> Native:
    """A native object made here and not received: `raw` is compact JSON."""
    return Native(raw=msgspec.json.encode(value), value=value)


def _take_native(given: Any) -> Native:
    if isinstance(given, Native):
        return given
    if isinstance(given, dict):
        return make_native(given)
    raise PydanticCustomError("native_type", "expected a JSON object")


def _take_native_value(given: Any) -> NativeValue:
    match given:
        case NativeValue():
            return given
        case Native(raw=raw, value=value):
            return NativeValue(raw=raw, value=value)
        case _:
            return NativeValue(raw=msgspec.json.encode(given), value=given)


def _take_bytes(given: Any) -> bytes:
    match given:
        case bytes():
            return given
        case msgspec.Raw():
            return bytes(given)
        case Native(raw=raw) | NativeValue(raw=raw):
            return raw
        case _:
            return msgspec.json.encode(given)


def _take_all_bytes(given: Any) -> list[bytes]:
    if isinstance(given, list) and set(map(type, given)) <= {bytes}:
        return given
    return [_take_bytes(item) for item in given]


class _NativeSchema:
    """How pydantic sees a native value: JSON that is never looked into.

    In the schema it is marked by its title (`Native`, `NativeValue`), for a generator to name it.
    """

    def __init__(self, name: str, description: str, take: Any, schema: dict[str, Any]) -> None:
        self._take = take
        self._schema = {**schema, "title": name, "description": description}

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._take)

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return dict(self._schema)


class _NativesSchema:
    """A list of native objects to send, looked at once as a whole."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_take_all_bytes)

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        item = {"type": "object", "additionalProperties": True, "title": "Native", "description": _OBJECT}
        return {"type": "array", "items": item}


_OBJECT = "One message, item, content or tool of the session's dialect, passed through untouched."
_ANY = "A native value of the session's dialect that need not be an object, passed through untouched."

NativeObject: TypeAlias = Annotated[
    Native, _NativeSchema("Native", _OBJECT, _take_native, {"type": "object", "additionalProperties": True})
]
"""A parameter: one native object, its bytes as they came."""

NativeAny: TypeAlias = Annotated[NativeValue, _NativeSchema("NativeValue", _ANY, _take_native_value, {})]
"""A parameter: a native value of any JSON type."""

NativeOut: TypeAlias = Annotated[
    bytes, _NativeSchema("Native", _OBJECT, _take_bytes, {"type": "object", "additionalProperties": True})
]
"""A result: JSON text of one native object, spliced into the answer as it is."""

NativesOut: TypeAlias = Annotated[list[bytes], _NativesSchema()]
"""A result: JSON texts of native objects, as many as a session has messages."""

NativeAnyOut: TypeAlias = Annotated[bytes, _NativeSchema("NativeValue", _ANY, _take_bytes, {})]
"""A result: JSON text of a native value of any type."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""Any JSON object."""

Count = Annotated[int, Field(ge=0)]
"""A count or a size, never negative."""

SessionId = Annotated[str, Field(min_length=1, max_length=200, description="Id of the session.")]


class SessionParams(Input):
    """Parameters of a method about one session."""

    session_id: SessionId


@cache
def members(model: type[Wire]) -> tuple[tuple[str, str, bool], ...]:
    """(attribute, name on the wire, always present) of each field.

    A member that may be absent is left out of an answer when it is None; a required one is null.
    """
    return tuple(
        (attribute, field.alias or attribute, field.is_required())
        for attribute, field in model.model_fields.items()
    )


def build(model: type[Wire]) -> None:
    """Build the validators of a model and of all it is made of, those that are not built yet. Thread-safe.

    Models build late (`defer_build`): a daemon starts fast, and holds in memory what its host uses.
    """
    with _building:
        known: set[type[Wire]] = set()
        pending = [model]
        while pending:
            member = pending.pop()
            if member in known:
                continue
            known.add(member)
            member.model_rebuild()
            for field in member.model_fields.values():
                pending += _models_in(field.annotation)


_building = Lock()


def _models_in(annotation: Any) -> Iterator[type[Wire]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
