"""What holds of mending for every message list, however broken."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.dialects.base import Dialect
from ctxd.dialects.mending import STUB
from ctxd.dialects.registry import NAMES, get
from ctxd.model.blocks import MessageView, ToolResult, Violation
from tests.dialects.lists import any_list, lawful_list
from tests.dialects.notation import Messages
from tests.support.behaviour import behaviour

ALL = pytest.mark.parametrize("name", NAMES)
MANY = settings(max_examples=300, deadline=None)


def violations(dialect: Dialect, messages: list[Any]) -> list[Violation]:
    views = [dialect.view(message) for message in messages]
    return [violation for rule in dialect.rules for violation in rule.violations(views)]


def cut_points(dialect: Dialect, views: list[MessageView]) -> set[int]:
    return set.intersection(*(rule.cut_points(views) for rule in dialect.rules))


@behaviour("mending.lawful")
@ALL
@MANY
@given(data=st.data(), pending=st.booleans())
def test_a_mended_list_breaks_no_law_and_mending_it_again_changes_nothing(
    name: str, data: st.DataObject, pending: bool
) -> None:
    dialect, messages = get(name), data.draw(any_list(name))
    mended, edits = dialect.mend(messages, pending=pending)
    assert violations(dialect, mended) == []
    again, more = dialect.mend(mended, pending=pending)
    assert more == []
    assert all(a is b for a, b in zip(again, mended, strict=True))
    assert all(0 <= edit.index < len(messages) for edit in edits)


@ALL
@MANY
@given(data=st.data(), pending=st.booleans())
def test_mending_is_deterministic_and_leaves_what_it_was_given_as_it_was(
    name: str, data: st.DataObject, pending: bool
) -> None:
    dialect, messages = get(name), data.draw(any_list(name))
    before = copy.deepcopy(messages)
    first = dialect.mend(messages, pending=pending)
    second = dialect.mend(copy.deepcopy(messages), pending=pending)
    assert json.dumps(first[0]) == json.dumps(second[0])
    assert first[1] == second[1]
    assert messages == before


@behaviour("mending.untouched")
@ALL
@MANY
@given(data=st.data())
def test_a_lawful_list_is_handed_back_as_the_same_objects_in_the_same_order(
    name: str, data: st.DataObject
) -> None:
    dialect, messages = get(name), data.draw(lawful_list(name))
    assert violations(dialect, messages) == []
    mended, edits = dialect.mend(messages, pending=True)
    assert edits == []
    assert all(a is b for a, b in zip(mended, messages, strict=True))


@ALL
@MANY
@given(data=st.data())
def test_without_pending_every_call_of_a_mended_list_is_answered(name: str, data: st.DataObject) -> None:
    dialect, messages = get(name), data.draw(any_list(name))
    views = [dialect.view(m) for m in dialect.mend(messages, pending=False)[0]]
    calls = Counter(call.call_id for view in views for call in view.calls)
    assert calls == Counter(result.call_id for view in views for result in view.results)


@ALL
@MANY
@given(data=st.data())
def test_a_good_result_survives_whatever_its_siblings_are(name: str, data: st.DataObject) -> None:
    """octos §29.3's weakness: one unanswered call cost all calls of its batch and their results."""
    dialect, messages = get(name), data.draw(any_list(name))
    good: Counter[str] = Counter()
    called: set[str] = set()
    for view in map(dialect.view, messages):
        called |= {call.call_id for call in view.calls if view.role == "assistant"}
        carried = view.results if view.role in ("user", "tool") else ()
        # The first result of each call that was made before it.
        good.update({r.call_id for r in carried if r.call_id in called and not good[r.call_id]})
    kept = {r.call_id for m in dialect.mend(messages, pending=True)[0] for r in real_results(dialect.view(m))}
    assert kept == set(good)


def real_results(view: MessageView) -> list[ToolResult]:
    """Those that are no stubs; a computer call's is an image without words."""
    return [
        result for result in view.results if STUB not in result.text and (result.text or not result.media)
    ]


@behaviour("mending.cuts")
@ALL
@MANY
@given(data=st.data())
def test_a_cut_point_leaves_both_sides_as_lawful_as_the_whole(name: str, data: st.DataObject) -> None:
    dialect = get(name)
    messages = data.draw(any_list(name) | lawful_list(name))
    views = [dialect.view(message) for message in messages]
    whole = {(v.rule, v.index) for v in violations(dialect, messages)}
    for cut in cut_points(dialect, views):
        # Whoever cuts puts a user message where the part before was.
        front: Messages = [dialect.make("user", "summary")] if cut else []
        left = {(v.rule, v.index) for v in violations(dialect, messages[:cut])}
        offset = cut - len(front)
        right = {(v.rule, v.index + offset) for v in violations(dialect, front + messages[cut:])}
        # Where user and model take turns, that message is joined with what follows it.
        assert left | right <= whole | {("roleAlternation", cut)}


@ALL
@MANY
@given(data=st.data())
def test_both_ends_and_the_places_between_whole_turns_are_cut_points(name: str, data: st.DataObject) -> None:
    dialect, messages = get(name), data.draw(lawful_list(name))
    views = [dialect.view(message) for message in messages]
    points = cut_points(dialect, views)
    assert {0, len(messages)} <= points
    assert {index for index, view in enumerate(views) if view.is_user_turn} <= points


@ALL
@MANY
@given(data=st.data())
def test_what_a_person_said_keeps_its_order(name: str, data: st.DataObject) -> None:
    dialect, messages = get(name), copy.deepcopy(data.draw(any_list(name)))
    for number, message in enumerate(messages):
        for marked in words(name, message):
            marked["mark"] = number
    marks = [
        marked["mark"]
        for message in dialect.mend(messages, pending=False)[0]
        if speaks(dialect, message)
        for marked in words(name, message)
        if "mark" in marked
    ]
    assert marks == sorted(marks)


def words(name: str, message: Any) -> list[Any]:
    """What of a message keeps its place: all, or where contents are joined, the parts that say something."""
    if name != "gemini":
        return [message]
    return [part for part in message.get("parts", ()) if part and "functionResponse" not in part]


def speaks(dialect: Dialect, message: Any) -> bool:
    view = dialect.view(message)
    return view.role == "assistant" or view.is_user_turn
