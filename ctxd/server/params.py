"""Parameters: from the JSON text of an object to a wire model, native values split off as bytes.

The host's native messages are decoded once and never rebuilt: the model gets them as they came.
Errors name the field, never its value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, get_args, get_origin

import msgspec
from pydantic import ValidationError

from ctxd.model.messages import Native
from ctxd.server.faults import invalid_params
from ctxd.server.wire.base import NativeValue, Wire, members

Unmask: TypeAlias = Callable[[bytes], bytes]
FieldErrors: TypeAlias = list[dict[str, str]]
W = TypeVar("W", bound=Wire)

TOO_DEEP = "nested too deeply"

_MAX_ERRORS = 50
_NULL = msgspec.Raw(b"null")

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder()
_plain_objects = msgspec.json.Decoder(dict[str, Any])


def decode_params(
    model: type[W], params: dict[str, msgspec.Raw] | msgspec.Raw | None, unmask: Unmask = bytes
) -> W:
    """The model of a `params` object, given as text or split; None is one without members.

    `unmask` turns a part of the text back into what the host wrote. Raises InvalidParams with at
    most 50 errors.
    """
    try:
        given = _objects.decode(params) if isinstance(params, msgspec.Raw) else params or {}
    except msgspec.ValidationError:
        raise invalid_params([{"path": "", "message": "expected an object"}]) from None
    except msgspec.DecodeError as error:
        raise invalid_params([{"path": "", "message": _wording(error)}]) from None
    members_read = _Members(unmask)
    shapes = _shapes(model)
    values = {
        name: members_read.read(name, part, shapes[name])
        for name, part in given.items()
        if name in shapes and part != _NULL
    }
    errors = members_read.errors
    try:
        made = model.model_validate(values)
    except ValidationError as error:
        failed = {e["path"].partition(".")[0] for e in errors}
        errors += [e for e in _explain(error) if e["path"].partition(".")[0] not in failed]
        raise invalid_params(errors[:_MAX_ERRORS]) from None
    if errors:
        raise invalid_params(errors[:_MAX_ERRORS])
    return made


def decode_value(text: bytes) -> Any:
    """The value of JSON text. Raises ValueError or RecursionError.

    What msgspec refuses and JSON allows (lone surrogates, numbers beyond a double) goes the
    standard library's way: such numbers become infinities here and keep their digits in the text.
    """
    try:
        return _anything.decode(text)
    except msgspec.DecodeError:
        return json.loads(text.decode(), parse_constant=_refuse_constant, parse_int=_read_int)


class _Members:
    """Reads the members of one object, collecting errors."""

    def __init__(self, unmask: Unmask) -> None:
        self.errors: FieldErrors = []
        self._unmask = unmask

    def read(self, name: str, raw: msgspec.Raw, shape: Shape) -> Any:
        match shape:
            case "list":
                try:
                    items = _lists.decode(raw)
                except msgspec.ValidationError:
                    self._note(name, "expected a list")
                    return []
                return self._natives(name, items)
            case "object":
                return self._native(name, raw)
            case "any":
                text, value = self._both(name, raw)
                return NativeValue(raw=text, value=value)
            case "plain":
                return self._both(name, raw)[1]

    def _natives(self, name: str, items: list[msgspec.Raw]) -> list[Native]:
        """The items of a list, each on its own, so that other threads get their turn in between."""
        unmask, read = self._unmask, _plain_objects.decode
        natives = []
        for index, item in enumerate(items):
            text = bytes(item) if unmask is bytes else unmask(bytes(item))
            try:
                natives.append(Native(text, read(text)))
            except (msgspec.DecodeError, RecursionError):
                natives.append(self._native(f"{name}.{index}", item))
        return natives

    def _native(self, path: str, raw: msgspec.Raw) -> Native:
        text, value = self._both(path, raw)
        if not isinstance(value, dict):
            self._note(path, "expected an object")
        return Native(raw=text, value=value)

    def _both(self, path: str, raw: msgspec.Raw) -> tuple[bytes, Any]:
        text = self._unmask(bytes(raw))
        try:
            return text, decode_value(text)
        except (ValueError, RecursionError) as error:
            self._note(path, _wording(error))
            return text, {}

    def _note(self, path: str, message: str) -> None:
        self.errors.append({"path": path, "message": message})


Shape: TypeAlias = Literal["plain", "object", "list", "any"]


@cache
def _shapes(model: type[Wire]) -> dict[str, Shape]:
    """How each member of a model is decoded, by its name on the wire."""
    return {
        name: _shape(model.model_fields[attribute].annotation) or "plain"
        for attribute, name, _ in members(model)
    }


def _shape(annotation: Any) -> Shape | None:
    if annotation is Native:
        return "object"
    if annotation is NativeValue:
        return "any"
    for argument in get_args(annotation):
        if shape := _shape(argument):
            return "list" if get_origin(annotation) is list else shape
    return None


def _read_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _wording(error: Exception) -> str:
    match error:
        case RecursionError():
            return TOO_DEEP
        case UnicodeDecodeError():
            return "not valid UTF-8"
        case _:
            return "not valid JSON"


def _explain(error: ValidationError) -> FieldErrors:
    """`[{path, message}]` of a failed validation, without any value."""
    return [
        {"path": ".".join(str(step) for step in e["loc"]), "message": e["msg"]}
        for e in error.errors(include_url=False, include_input=False, include_context=False)
    ]
