"""Reasoning that its provider leaves out once the user speaks again: it is sent on, and not counted."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.model.events import Rewound, ViewUndone
from ctxd.model.messages import Usage
from tests.support.behaviour import behaviour
from tests.support.session import Session

THOUGHT, FRAMING = 300, 4


def thought(tokens: int = THOUGHT) -> dict[str, Any]:
    """A reasoning item that weighs so much."""
    text = "w" * 4 * (tokens - FRAMING)
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "done"}


def said(role: str, text: str = "word") -> dict[str, Any]:
    return {"role": role, "content": text}


def talk(dialect: str = "openai-responses") -> Session:
    """A turn of two thoughts and a call between them, whose last request came to 10,000 and 500 tokens."""
    session = Session(dialect=dialect, window=200_000)
    session.append([said("user"), thought(), call("c1"), output("c1"), thought(), said("assistant")])
    session.answer("", Usage(prompt=10_000, completion=500))
    session.append([said("assistant", "done")])
    return session


@behaviour("projection.lapsed")
def test_reasoning_is_not_counted_any_more_once_the_user_speaks_again() -> None:
    session = talk()
    full = session.project().tokens
    ids = session.append([said("user")])
    spoken = session.state.entries[session.state.positions[ids[0]]].tokens
    assert session.project().tokens == full + spoken - 2 * THOUGHT
    session.append([said("assistant"), said("user")])
    assert session.project().tokens == full + 3 * spoken - 2 * THOUGHT


def test_reasoning_of_the_running_turn_counts() -> None:
    session = Session(dialect="openai-responses")
    session.append([said("user"), thought(), call("c1")])
    before = session.project().tokens
    session.append([output("c1")])
    assert session.project().tokens > before > THOUGHT


def test_what_lapsed_is_shown_as_before() -> None:
    session = talk()
    shown, size = session.shown(), session.state.view_bytes
    session.append([said("user")])
    assert session.shown()[:-1] == shown
    assert session.state.view_bytes > size


@behaviour("projection.lapsed")
def test_a_session_that_goes_back_counts_its_reasoning_again() -> None:
    session = talk()
    before = session.state.view_tokens
    (to,) = session.append([said("user")])
    assert session.state.view_tokens < before
    session.apply(Rewound(to=to))
    assert session.state.view_tokens == before


def test_undoing_a_compaction_brings_back_what_had_lapsed_and_what_had_not() -> None:
    session = talk()
    session.append([said("user", "word " * 400), thought(), call("c2"), output("c2")])
    before = session.state.view_tokens
    for _ in range(8):
        session.append([said("assistant", "word " * 300), said("user", "word " * 300)])
    session.commit(session.plan(requested=1_000))
    session.apply(ViewUndone(checkpoint_id=session.state.checkpoints[-1].checkpoint_id))
    state = session.state
    assert [entry.lapsed for entry in state.view if entry.facts.lapses] == [True] * 3
    assert state.view_tokens == sum(entry.tokens for entry in state.view)
    assert state.view_tokens > before - THOUGHT


def test_reasoning_counted_late_weighs_nothing_where_it_has_lapsed() -> None:
    late, early = Session(dialect="openai-responses"), Session(dialect="openai-responses")
    messages = [said("user"), thought(), said("assistant"), said("user")]
    late.append(messages, deferred=True)
    late.settle()
    early.append(messages)
    assert late.state.view_tokens == early.state.view_tokens < THOUGHT


@pytest.mark.parametrize("signature", [{}, {"signature": "c2ln"}])
def test_thinking_of_other_providers_stays_counted(signature: dict[str, str]) -> None:
    session = Session("user: go", dialect="anthropic")
    thinking = {"type": "thinking", "thinking": "w" * 4_000, **signature}
    session.append([{"role": "assistant", "content": [thinking, {"type": "text", "text": "ok"}]}])
    before = session.state.view_tokens
    session.say("user: on")
    assert session.state.view_tokens > before
