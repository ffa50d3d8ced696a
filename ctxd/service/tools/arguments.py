"""Arguments as models give them, read against a tool's declaration.

Models write numbers as text, leave nulls for what they do not mean, and use other names for the same thing;
what is clear is taken. What is not is said in words a model can act on, all of it at once.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from ctxd.model.tools import Parameter, ToolDeclaration

_INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*")
_MOST = 2**53
"""Whole numbers beyond this are not exact in every JSON reader, and mean no place in any output."""

Arguments = dict[str, Any]
"""Read arguments by their declared names: str, int or bool; absent ones are not there."""


class BadArguments(ValueError):
    """Arguments that cannot be taken. The message is for the model: what is wrong and what there is."""


def read_arguments(tool: ToolDeclaration, given: Any) -> Arguments:
    """The arguments of one call. Raises BadArguments."""
    if isinstance(given, str):
        given = _decode(tool, given)
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise BadArguments(f"{tool.name} takes a JSON object of arguments. {_usage(tool)}")
    names = _names(tool)
    read: Arguments = {}
    wrong: list[str] = []
    for name, value in given.items():
        parameter = names.get(_fold(str(name)))
        if parameter is None:
            wrong.append(_unknown(tool, str(name)))
        elif value is None:
            continue
        elif parameter.name in read:
            wrong.append(f"{parameter.name} is given twice.")
        else:
            try:
                read[parameter.name] = _value(parameter, value)
            except ValueError as error:
                wrong.append(f"{parameter.name} {error}.")
    wrong += [f"{p.name} is missing." for p in tool.parameters if p.required and p.name not in read]
    if wrong:
        raise BadArguments(f"{' '.join(wrong)} {_usage(tool)}")
    return read


def _decode(tool: ToolDeclaration, text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadArguments(f"{tool.name} takes a JSON object of arguments. {_usage(tool)}") from None


def _value(parameter: Parameter, value: Any) -> str | int | bool:
    """The value as what the parameter wants. Raises ValueError with the end of a sentence."""
    match parameter.type:
        case "string":
            if not isinstance(value, str):
                raise ValueError("must be a string")
            if parameter.choices and value not in parameter.choices:
                raise ValueError(f"must be one of {', '.join(parameter.choices)}")
            return value
        case "boolean":
            known = {"true": True, "false": False}
            if isinstance(value, str):
                value = known.get(value.strip().lower(), value)
            if not isinstance(value, bool):
                raise ValueError("must be true or false")
            return value
        case "integer":
            number = _whole(value)
            if parameter.minimum is not None and number < parameter.minimum:
                raise ValueError(f"must be {parameter.minimum} or more")
            return number


def _whole(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and abs(value) < _MOST and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return max(-_MOST, min(_MOST, value))


def _names(tool: ToolDeclaration) -> dict[str, Parameter]:
    return {_fold(name): p for p in tool.parameters for name in (*p.aliases, p.name)}


def _fold(name: str) -> str:
    """`tool_call_id`, `toolCallId` and `ToolCallID` are one name."""
    return name.replace("_", "").replace("-", "").lower()


def _unknown(tool: ToolDeclaration, name: str) -> str:
    near = difflib.get_close_matches(name[:80], [p.name for p in tool.parameters], n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return f"{tool.name} has no argument {json.dumps(name[:80])}{hint}"


def _usage(tool: ToolDeclaration) -> str:
    said = [f"{p.name} ({p.type}{', required' if p.required else ''})" for p in tool.parameters]
    return f"It takes: {', '.join(said)}." if said else "It takes no arguments."
