"""Message units: one atom per tool turn, whatever its shape.

The lists are in the notation of tests/dialects/notation.py: `U A(1,2) U(1) U(2)`.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.core.units import Unit, divide, join
from ctxd.dialects import registry
from tests.dialects.lists import any_list, lawful_list
from tests.dialects.notation import Messages, read
from tests.support.behaviour import behaviour
from tests.support.session import Session

ALL = pytest.mark.parametrize("dialect", registry.NAMES)


def units_of(messages: Messages, dialect: str) -> str:
    """Kind and length of each unit, `?` where a call is open."""
    session = Session(dialect=dialect)
    session.append(messages)
    units = divide([entry.facts for entry in session.state.view])
    return " ".join(f"{u.kind}{u.end - u.start}{'?' if u.open else ''}" for u in units)


@behaviour("units.atoms")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("U A", "user1 assistant1"),
        ("S U A", "system1 user1 assistant1"),
        ("U A(t,1) U(1) A", "user1 tools2 assistant1"),
        ("A(1,2) U(1,2)", "tools2"),
        ("A(1,2) U(2) U(1)", "tools3"),
        ("A(1,2) U(1) U(2) U", "tools3 user1"),
        ("A(1) U(1,t) U", "tools2 user1"),
        ("A(1) U(1) A(2) U(2)", "tools2 tools2"),
        ("A(1,2,3) U(1)", "tools2?"),
        ("U A(1)", "user1 tools1?"),
        ("A(1) U A(2) U(2)", "tools1? user1 tools2"),
        ("A(1) U U(1)", "tools3"),
        ("A(1) S U(1)", "tools3"),
        ("A(1,2) U(1) U U(2) U", "tools4 user1"),
        ("A(1) A U(1)", "tools3"),
        ("A(1) A", "tools2?"),
        ("A(1) A(2) A U(2)", "tools4?"),
        ("A(1) A(2) U(1,2)", "tools3"),
        ("A A(1) U(1)", "assistant1 tools2"),
        ("U(9) A U(8)", "user1 assistant1 user1"),
        ("A(1) U(1) U(1!)", "tools3"),
        ("", ""),
    ],
)
def test_a_tool_turn_is_one_unit_however_its_results_come(messages: str, expected: str) -> None:
    assert units_of(read(messages, "anthropic"), "anthropic") == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("U A(1,2) R(2) R(1) A", "user1 tools3 assistant1"),
        ("A(1) R(1) A(1) R(1)", "tools2 tools2"),
        ("A(1,2) R(1) U R(2) A", "tools4 assistant1"),
        ("R(7) U", "user1 user1"),
    ],
)
def test_chat_rows_make_the_same_units(messages: str, expected: str) -> None:
    assert units_of(read(messages, "openai-chat"), "openai-chat") == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("U A(think,1,2) R(2) R(1) A", "user1 tools5 assistant1"),
        ("U A(think) A(1) R(1) A(think,t) U", "user1 tools3 assistant2 user1"),
        ("U A(think,odd,think,t,1) R(1)", "user1 tools6"),
        ("U A(1) R(1) A(2) R(2)", "user1 tools2 tools2"),
        ("U A(think,1,odd)", "user1 tools3?"),
        ("A A(think) A(1) R(1)", "assistant1 tools3"),
    ],
)
def test_reasoning_and_all_it_led_to_are_one_unit(messages: str, expected: str) -> None:
    assert units_of(read(messages, "openai-responses"), "openai-responses") == expected


def test_division_can_start_where_a_unit_begins() -> None:
    session = Session()
    session.append(read("U A(1) U(1) A(2) U(2) U", "anthropic"))
    facts = [entry.facts for entry in session.state.view]
    whole = divide(facts)
    for unit in whole:
        assert divide(facts, unit.start) == [u for u in whole if u.start >= unit.start]


@ALL
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_units_cover_every_list_once_and_in_order(dialect: str, data: st.DataObject) -> None:
    session = Session(dialect=dialect)
    session.append(data.draw(any_list(dialect)))
    units = divide([entry.facts for entry in session.state.view])
    assert [i for u in units for i in range(u.start, u.end)] == list(range(len(session.state.view)))
    assert all(u.start < u.end for u in units)


@ALL
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_border_of_a_unit_tears_calls_from_their_results(dialect: str, data: st.DataObject) -> None:
    messages = data.draw(lawful_list(dialect))
    session = Session(dialect=dialect)
    session.append(messages)
    codec = registry.get(dialect)
    views = [codec.view(message) for message in messages]
    borders = {unit.start for unit in divide([entry.facts for entry in session.state.view])}
    for name in ("unansweredCall", "reasoningBound"):
        for rule in codec.rules:
            assert rule.name != name or borders <= rule.cut_points(views)


def test_units_are_joined_so_that_each_begins_at_a_lawful_cut() -> None:
    units = [
        Unit(0, 1, "user"),
        Unit(1, 3, "tools"),
        Unit(3, 5, "tools"),
        Unit(5, 6, "assistant", open=False),
    ]
    assert join(units, {0, 1, 5}) == [
        Unit(0, 1, "user"),
        Unit(1, 5, "tools"),
        Unit(5, 6, "assistant"),
    ]
    assert join(units, {0}) == [Unit(0, 6, "tools")]
    assert join(units, {0, 1, 3, 5}) == units
    assert join([], {0}) == []
