"""What an append takes: exactly what `context/validate` does not call refused, whole or not at all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects.registry import NAMES
from tests.dialects.lists import any_list, lawful_list
from tests.dialects.notation import Messages
from tests.service.host import LocalHost, Refused, Session
from tests.support.behaviour import behaviour

DIALECTS = NAMES

_names = itertools.count()
_checked = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def open_new(daemon: LocalHost, dialect: str) -> Session:
    return daemon.open(f"s{next(_names)}", dialect)


def append_as_validated(session: Session, dialect: str, new: Messages) -> None:
    """Append; whether it is taken, and what stands afterwards, must be what `context/validate` says."""
    before, history = session.revision, session.messages()
    verdict = session.host.call("context/validate", dialect=dialect, messages=[*history, *new])
    expected = {
        (v["rule"], v["index"] - len(history))
        for v in verdict["violations"]
        if v["mend"] == "refuse" and v["index"] >= len(history)
    }
    try:
        answer = session.append(*new)
    except Refused as refused:
        assert refused.kind == "invalidMessages"
        assert set(refused.rules) == expected
        assert (session.revision, session.messages()) == (before, history)
        return
    assert expected == set()
    kept = session.messages()
    assert kept[: len(history)] == history
    assert len(answer["messageIds"]) == len(new)
    assert len(kept) == len(history) + len(new) - len(answer["warnings"])
    assert [m for m in new if m in kept[len(history) :] or m in history] == new


@behaviour("admission.as-validated")
@pytest.mark.parametrize("dialect", DIALECTS)
@_checked
@given(data=st.data())
def test_an_append_is_refused_exactly_where_validation_says_refuse(
    daemon: LocalHost, dialect: str, data: st.DataObject
) -> None:
    session = open_new(daemon, dialect)
    rest = data.draw(any_list(dialect) | lawful_list(dialect), "messages")
    while rest:
        size = data.draw(st.integers(1, 3), "batch")
        append_as_validated(session, dialect, rest[:size])
        rest = rest[size:]


@behaviour("admission.sendable")
@pytest.mark.parametrize("dialect", DIALECTS)
@_checked
@given(data=st.data())
def test_whatever_was_taken_makes_a_request_that_validates(
    daemon: LocalHost, dialect: str, data: st.DataObject
) -> None:
    session = open_new(daemon, dialect)
    for message in data.draw(any_list(dialect), "messages"):
        try:
            session.append(message)
        except Refused:
            continue
        made = session.prepare()["messages"]
        verdict = daemon.call("context/validate", dialect=dialect, messages=made)
        assert verdict["violations"] == []


@behaviour("admission.items")
def test_an_item_whose_id_stands_anywhere_in_the_view_is_refused_by_name(daemon: LocalHost) -> None:
    session = open_new(daemon, "openai-responses")
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    said = {"type": "message", "role": "assistant", "content": "hm"}
    session.append({"role": "user", "content": "go"}, thought, said)
    for number in range(8):
        session.append({"role": "user", "content": f"{number}"}, {**said, "id": f"msg_{number}"})
    session.append({"role": "user", "content": "and?"})
    for again in (thought, {**thought, "summary": [{"type": "summary_text", "text": "x"}]}, {"id": "msg_3"}):
        with pytest.raises(Refused) as refused:
            session.append(again, said)
        assert refused.value.rules == [("duplicateItem", 0)]
    daemon.reopen()
    session = daemon.open(session.id, None)
    with pytest.raises(Refused):
        session.append(thought, said)
    to = session.lines()[0]["messageId"]
    session.call("session/rewind", to=to, mode="conversation")
    session.append({"role": "user", "content": "anew"}, thought, said)
