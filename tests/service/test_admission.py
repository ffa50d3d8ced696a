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
