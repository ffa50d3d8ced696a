"""Whether the official SDKs would type what is sent: their own parameter types, made strict.

A list they declare as an iterable is read to its end; members they do not declare are faults, and so is
one that they require and that is missing.
"""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterable, Sequence
from functools import cache
from os import PathLike
from typing import IO, Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict, is_typeddict


def faults(dialect: str, messages: Sequence[Any], *, recorded: bool = False) -> list[str]:
    """What is wrong with the messages of a request; never their content.

    With `recorded` they may have the shapes that tools are recorded to have sent and the SDK has no type
    for (`declare` knows them): what came so goes back so, byte for byte. What ctxd makes has none of them.
    """
    sent = [declare(dialect, message) for message in messages] if recorded else messages
    try:
        _adapter(dialect).validate_json(json.dumps(sent))
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found]
    return []


def declare(dialect: str, message: Any) -> Any:
    """A message of a recorded shape as the SDK would declare it; any other is itself.

    Codex, which lets nothing be stored, sends items back without `id`, `status` and `annotations`: OpenAI
    takes them so.
    tau-bench names the tool in a result, as the API's first version did.
    """
    match dialect, message:
        case "openai-responses", {"type": "reasoning"} if "id" not in message:
            return {**message, "id": "rs_unsaid"}
        case "openai-responses", {"type": "message", "role": "assistant", "content": list() as parts}:
            said = [{"annotations": [], **p} if p.get("type") == "output_text" else p for p in parts]
            return {"id": "msg_unsaid", "status": "completed", **message, "content": said}
        case "openai-chat", {"role": "tool", "name": str()}:
            return {name: value for name, value in message.items() if name != "name"}
        case _:
            return message


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
    needed = _needed(kind)
    members = {
        name: (Required if name in needed else NotRequired)[_strict(hint)] for name, hint in hints.items()
    }
    closed = TypedDict(kind.__name__, members)  # type: ignore[operator]  # made at run time
    closed.__pydantic_config__ = ConfigDict(extra="forbid")
    return closed


def _needed(kind: Any) -> set[str]:
    """The members that must be there. `__required_keys__` misses what an annotation in quotes says."""
    needed: set[str] = set()
    for base in getattr(kind, "__orig_bases__", ()):
        needed |= _needed(base) if is_typeddict(base) else set()
    hints = get_type_hints(kind, include_extras=True)
    for name in inspect.get_annotations(kind):
        origin = get_origin(hints[name])
        needed.discard(name)
        if origin is Required or (origin is not NotRequired and kind.__total__):
            needed.add(name)
    return needed
