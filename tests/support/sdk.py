"""Whether the official SDKs would type what is sent: their own parameter types, made strict.

A list they declare as an iterable is read to its end, and members they do not declare are faults.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Sequence
from functools import cache
from os import PathLike
from typing import IO, Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict, is_typeddict


def faults(dialect: str, messages: Sequence[Any]) -> list[str]:
    """What is wrong with the messages of a request; never their content."""
    try:
        _adapter(dialect).validate_json(json.dumps(messages))
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found]
    return []


@cache
def _adapter(dialect: str) -> TypeAdapter[Any]:
    match dialect:
        case "anthropic":
            from anthropic.types import MessageParam

            return TypeAdapter(list[_strict(MessageParam)])  # type: ignore[misc]  # made at run time
        case "openai-chat":
            from openai.types.chat import ChatCompletionMessageParam

            return TypeAdapter(list[_strict(ChatCompletionMessageParam)])  # type: ignore[misc]  # made at run time
        case "openai-responses":
            from openai.types.responses import ResponseInputItemParam

            return TypeAdapter(list[_strict(ResponseInputItemParam)])  # type: ignore[misc]  # made at run time
        case _:
            from google.genai.types import Content

            return TypeAdapter(list[Content])


_made: dict[Any, Any] = {}
_FILES = (IO, PathLike)


def _strict(kind: Any) -> Any:
    """The type with lists for iterables, and closed dictionaries."""
    if is_typeddict(kind):
        if kind not in _made:
            _made[kind] = Any  # what refers to itself is not looked into twice
            _made[kind] = _close(kind)
        return _made[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return Union[tuple(_strict(argument) for argument in arguments)]  # noqa: UP007 - made at run time
    if kind in _FILES or origin in _FILES:
        return str  # a file that the SDK would read; what is sent is text
    if origin is Annotated:
        return _strict(arguments[0])
    if (
        origin is list
        or (isinstance(origin, type) and origin in (Iterable, Sequence))
        or _is_sequence(origin)
    ):
        return list[_strict(arguments[0])]  # type: ignore[misc]  # made at run time
    if origin is dict:
        return dict[arguments[0], _strict(arguments[1])]  # type: ignore[misc, valid-type]  # made at run time
    return kind


def _is_sequence(origin: Any) -> bool:
    return getattr(origin, "__name__", "") == "SequenceNotStr"


def _close(kind: Any) -> Any:
    hints = get_type_hints(kind, include_extras=False)
    members = {
        name: (Required if name in kind.__required_keys__ else NotRequired)[_strict(hint)]
        for name, hint in hints.items()
    }
    closed = TypedDict(kind.__name__, members)  # type: ignore[operator]  # made at run time
    closed.__pydantic_config__ = ConfigDict(extra="forbid")
    return closed
