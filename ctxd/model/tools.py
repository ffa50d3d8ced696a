"""Tools that a model may call: what they are called, what they take, what they answer.

The same declaration is said in every dialect. Knows no dialect and no tool.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ParameterType: TypeAlias = Literal["string", "integer", "boolean"]


class Parameter(msgspec.Struct, frozen=True):
    """One argument. `aliases` are other names that models use for it; they are taken, never declared.

    `minimum` is for integers; `choices`, where there are any, for strings.
    """

    name: str
    type: ParameterType
    description: str
    required: bool = False
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class ToolDeclaration(msgspec.Struct, frozen=True):
    """A tool as a model sees it. The description says what it is for, in words for a model."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool said, for the model to read. With `is_error` it says what to do differently."""

    content: str
    is_error: bool = False
