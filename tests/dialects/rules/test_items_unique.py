"""Item ids of Responses are unique, references included; items without one ask nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.registry import get
from tests.dialects.rules.cases import rule_of
from tests.support import sdk

DIALECT = get("openai-responses")

USER = {"role": "user", "content": "go"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def output(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "done", **more}


CASES: list[tuple[str, list[dict[str, Any]], list[int]]] = [
    ("each its own", [USER, THOUGHT, {**SAID, "id": "msg_1"}], []),
    ("none at all", [USER, SAID, SAID, {**SAID, "id": None}], []),
    ("the same item again", [USER, THOUGHT, SAID, USER, THOUGHT, SAID], [4]),
    ("another item of the id", [USER, {**SAID, "id": "rs_1"}, THOUGHT, SAID], [2]),
    ("an item and a reference to it", [USER, THOUGHT, SAID, {"type": "item_reference", "id": "rs_1"}], [3]),
    ("two references", [USER, {"id": "msg_1"}, {"id": "msg_1"}, {"id": "msg_1"}], [2, 3]),
    (
        "calls by their item ids",
        [USER, call("a", id="fc"), output("a"), call("b", id="fc"), output("b")],
        [3],
    ),
    (
        "a local shell's output, which names its call",
        [
            USER,
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "lsh_1", "action": {"type": "exec"}},
            {"type": "local_shell_call_output", "id": "lsh_1", "output": "done"},
        ],
        [],
    ),
]


@pytest.mark.parametrize(("items", "broken"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_items_unique_names_what_is_broken_and_cuts_everywhere(
    items: list[dict[str, Any]], broken: list[int]
) -> None:
    rule = rule_of("openai-responses", "duplicateItem")
    views = [DIALECT.view(item) for item in items]
    assert [(v.index, v.mend) for v in rule.violations(views)] == [(index, "refuse") for index in broken]
    assert rule.cut_points(views) == set(range(len(items) + 1))


def test_what_was_said_again_goes_and_another_item_of_the_id_goes_on_without_it() -> None:
    items = [
        USER,
        THOUGHT,
        call("a", id="fc"),
        output("a"),
        THOUGHT,
        call("b", id="fc"),
        output("b"),
    ]
    mended, edits = DIALECT.mend(items, pending=False)
    assert mended == [*items[:4], call("b"), output("b")]
    assert [(edit.rule, edit.index, edit.action) for edit in edits] == [
        ("duplicateItem", 4, "remove"),
        ("duplicateItem", 5, "remove"),
    ]
    assert sdk.faults("openai-responses", mended) == []
