"""Tool declarations: each provider's own shape, which its dialect reads as tools."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects import registry
from ctxd.dialects.declarations import declare
from ctxd.model.tools import Parameter, ToolDeclaration
from tests.support.behaviour import behaviour

LOOK = ToolDeclaration(
    "look",
    "Look somewhere.",
    (
        Parameter("where", "string", "A place.", required=True, choices=("here", "there"), aliases=("at",)),
        Parameter("times", "integer", "How often.", minimum=1),
        Parameter("again", "boolean", "Once more."),
    ),
)
REST = ToolDeclaration("rest", "Do nothing.", ())

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "where": {"type": "string", "description": "A place.", "enum": ["here", "there"]},
        "times": {"type": "integer", "description": "How often.", "minimum": 1},
        "again": {"type": "boolean", "description": "Once more."},
    },
    "required": ["where"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}

SHAPES: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"name": "look", "description": "Look somewhere.", "input_schema": SCHEMA},
        {"name": "rest", "description": "Do nothing.", "input_schema": NOTHING},
    ],
    "openai-chat": [
        {
            "type": "function",
            "function": {"name": "look", "description": "Look somewhere.", "parameters": SCHEMA},
        },
        {
            "type": "function",
            "function": {"name": "rest", "description": "Do nothing.", "parameters": NOTHING},
        },
    ],
    "openai-responses": [
        {
            "type": "function",
            "name": "look",
            "description": "Look somewhere.",
            "parameters": SCHEMA,
            "strict": False,
        },
        {
            "type": "function",
            "name": "rest",
            "description": "Do nothing.",
            "parameters": NOTHING,
            "strict": False,
        },
    ],
    "gemini": [
        {
            "functionDeclarations": [
                {
                    "name": "look",
                    "description": "Look somewhere.",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {
                            "where": {"type": "STRING", "description": "A place.", "enum": ["here", "there"]},
                            "times": {"type": "INTEGER", "description": "How often.", "minimum": 1},
                            "again": {"type": "BOOLEAN", "description": "Once more."},
                        },
                        "required": ["where"],
                    },
                },
                {"name": "rest", "description": "Do nothing."},
            ]
        }
    ],
}


@behaviour("tools.dialects")
@pytest.mark.parametrize("dialect", registry.NAMES)
def test_tools_are_declared_in_the_shape_of_the_provider(dialect: str) -> None:
    assert declare(dialect, [LOOK, REST]) == SHAPES[dialect]


@pytest.mark.parametrize("dialect", registry.NAMES)
def test_a_dialect_takes_what_is_declared_in_it(dialect: str) -> None:
    texts = registry.get(dialect).check_tools(declare(dialect, [LOOK, REST]))
    assert all(name in "".join(texts) for name in ("look", "rest"))


@pytest.mark.parametrize("dialect", registry.NAMES)
def test_no_tools_are_no_declaration(dialect: str) -> None:
    assert declare(dialect, []) == []


def test_other_names_of_an_argument_are_not_declared() -> None:
    assert all('"at"' not in str(declare(dialect, [LOOK])) for dialect in registry.NAMES)
