"""Tool declarations in the shape each provider wants them in the request's list of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxd.model.tools import Parameter, ToolDeclaration


def declare(dialect: str, tools: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """The native declarations of tools, in their order. `dialect` is one of `registry.NAMES`."""
    return _SHAPES[dialect](tools)


def _anthropic(tools: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """Messages API: the schema stands beside the name."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": _json_schema(tool)}
        for tool in tools
    ]


def _openai_chat(tools: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """Chat Completions: everything is inside `function`."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _json_schema(tool),
            },
        }
        for tool in tools
    ]


def _openai_responses(tools: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """Responses: flat, and strict unless it says otherwise; strict would make every argument mandatory."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": _json_schema(tool),
            "strict": False,
        }
        for tool in tools
    ]


def _gemini(tools: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """One tool that declares all functions. Its schema is a part of OpenAPI's: types are upper case,
    there is no `additionalProperties`, and an object without properties is refused."""
    declared: list[dict[str, Any]] = []
    for tool in tools:
        function: dict[str, Any] = {"name": tool.name, "description": tool.description}
        if tool.parameters:
            schema = _json_schema(tool)
            del schema["additionalProperties"]
            properties = schema["properties"].items()
            schema["properties"] = {name: {**p, "type": p["type"].upper()} for name, p in properties}
            function["parameters"] = {**schema, "type": "OBJECT"}
        declared.append(function)
    return [{"functionDeclarations": declared}] if declared else []


def _json_schema(tool: ToolDeclaration) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in tool.parameters},
    }
    required = [parameter.name for parameter in tool.parameters if parameter.required]
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _property(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"type": parameter.type, "description": parameter.description}
    if parameter.minimum is not None:
        found["minimum"] = parameter.minimum
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    return found


_SHAPES: dict[str, Callable[[Sequence[ToolDeclaration]], list[dict[str, Any]]]] = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "gemini": _gemini,
}
