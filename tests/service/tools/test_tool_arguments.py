"""Arguments as models write them: what is clear is taken, what is not is said so that it can be mended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.model.tools import Parameter, ToolDeclaration
from ctxd.service.tools.arguments import BadArguments, read_arguments

TOOL = ToolDeclaration(
    "look",
    "Look somewhere.",
    (
        Parameter("toolCallId", "string", "Which.", required=True, aliases=("id",)),
        Parameter("page", "integer", "Page.", minimum=0),
        Parameter("again", "boolean", "Once more."),
        Parameter("mode", "string", "How.", choices=("fast", "slow")),
    ),
)
PLAIN = {"toolCallId": "c"}

TAKEN: list[tuple[Any, dict[str, Any]]] = [
    ({"toolCallId": "c", "page": 2}, {"toolCallId": "c", "page": 2}),
    ({"tool_call_id": "c", "page": "2"}, {"toolCallId": "c", "page": 2}),
    ({"id": "c", "page": 2.0}, {"toolCallId": "c", "page": 2}),
    ({"toolCallId": "c", "page": None, "mode": None}, PLAIN),
    ('{"toolCallId": "c"}', PLAIN),
    ({"toolCallId": "c", "again": "True"}, {"toolCallId": "c", "again": True}),
    ({"toolCallId": "c", "again": False}, {"toolCallId": "c", "again": False}),
    ({"toolCallId": "c", "page": 10**30}, {"toolCallId": "c", "page": 2**53}),
]


@pytest.mark.parametrize(("given_arguments", "read"), TAKEN)
def test_what_is_clear_is_taken(given_arguments: Any, read: dict[str, Any]) -> None:
    assert read_arguments(TOOL, given_arguments) == read


REFUSED: list[tuple[Any, str]] = [
    ({"toolCallId": "c", "pages": 1}, 'look has no argument "pages"; did you mean page?'),
    ({"toolCallId": "c", "colour": 1}, 'look has no argument "colour".'),
    ({"page": 1}, "toolCallId is missing."),
    (None, "toolCallId is missing."),
    ("", "toolCallId is missing."),
    ({"toolCallId": 7}, "toolCallId must be a string."),
    ({"toolCallId": ["c"]}, "toolCallId must be a string."),
    ({"toolCallId": "c", "page": -1}, "page must be 0 or more."),
    ({"toolCallId": "c", "page": "two"}, "page must be a whole number."),
    ({"toolCallId": "c", "page": 1.5}, "page must be a whole number."),
    ({"toolCallId": "c", "page": float("nan")}, "page must be a whole number."),
    ({"toolCallId": "c", "page": float("inf")}, "page must be a whole number."),
    ({"toolCallId": "c", "page": True}, "page must be a whole number."),
    ({"toolCallId": "c", "again": "perhaps"}, "again must be true or false."),
    ({"toolCallId": "c", "again": 1}, "again must be true or false."),
    ({"toolCallId": "c", "mode": "warp"}, "mode must be one of fast, slow."),
    ({"toolCallId": "c", "id": "d"}, "toolCallId is given twice."),
    (["c"], "look takes a JSON object of arguments."),
    ("not json", "look takes a JSON object of arguments."),
    ("[" * 100_000, "look takes a JSON object of arguments."),
    ("7", "look takes a JSON object of arguments."),
]


@pytest.mark.parametrize(("given_arguments", "said"), REFUSED)
def test_what_is_not_is_said_with_what_there_is(given_arguments: Any, said: str) -> None:
    with pytest.raises(BadArguments) as refused:
        read_arguments(TOOL, given_arguments)
    assert said in str(refused.value)
    assert "It takes: toolCallId (string, required), page (integer)" in str(refused.value)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(BadArguments) as refused:
        read_arguments(TOOL, {"page": -1, "mode": 1, "colour": 2})
    assert all(word in str(refused.value) for word in ("page", "mode", "colour", "toolCallId is missing"))


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(BadArguments, match="It takes no arguments"):
        read_arguments(ToolDeclaration("rest", "", ()), {"a": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(JSON | st.dictionaries(st.sampled_from(["toolCallId", "page", "again", "mode", "id"]), JSON))
def test_nothing_a_model_gives_is_another_error(value: Any) -> None:
    try:
        read = read_arguments(TOOL, value)
    except BadArguments:
        return
    assert isinstance(read["toolCallId"], str)
    assert isinstance(read.get("page", 0), int)
