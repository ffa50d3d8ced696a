"""A later look for secrets: the state afterwards is as if the messages had come without them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxd.core.facts import describe
from ctxd.core.fold import SessionState
from ctxd.dialects import registry
from ctxd.model.events import AnyEvent, Elision, MessagesAppended, Model, OutputsScanned, SessionCreated
from ctxd.model.messages import MessageFacts, Native, Redacted
from tests.support import natives
from tests.support.behaviour import behaviour
from tests.support.session import WEIGHER

SECRET, CUT = "the secret of this output", "[REDACTED:x]"


def facts_of(message_id: str, message: dict[str, Any], **fields: Any) -> MessageFacts:
    native = Native(raw=msgspec.json.encode(message), value=message)
    made = describe(message_id, native, registry.get("anthropic").view(message), WEIGHER)
    return msgspec.structs.replace(made, **fields)


def folded(*events: AnyEvent) -> SessionState:
    state = SessionState()
    created = SessionCreated(
        session_id="s", workspace="/w", dialect="anthropic", model=Model(), encoding="o200k_base"
    )
    for event in (created, *events):
        state.apply(event, 0)
    return state


def elided(facts: MessageFacts) -> Elision:
    (result,) = facts.results
    return Elision(
        message_id=facts.id,
        call_id=result.call_id,
        reason="spilled",
        placeholder="[kept]",
        saved=result.tokens - 2,
        saved_bytes=result.bytes - 6,
    )


def totals(state: SessionState) -> tuple[object, ...]:
    return (
        state.view_tokens,
        state.view_media,
        state.view_bytes,
        state.transcript,
        [entry.facts for entry in state.view],
        sorted(state.digests),
        state.view_digest(),
        state.unscanned,
    )


CALL = facts_of("m1", natives.calling("anthropic", ["t1"])[0])
BEFORE = facts_of("m2", natives.answer("anthropic", "t1", SECRET * 9), unscanned=True, blob="sha256:ab")
AFTER = facts_of("m2", natives.answer("anthropic", "t1", CUT * 9), redacted=(Redacted("t1", "x", 9),))
LATER = facts_of("m3", natives.said("anthropic", "done"))


@behaviour("guard.unscanned")
@pytest.mark.parametrize("spilled", [False, True])
def test_the_state_is_as_if_the_secret_had_never_come(spilled: bool) -> None:
    shortened = (elided(BEFORE),) if spilled else ()
    found = folded(
        MessagesAppended(messages=(CALL, BEFORE, LATER), elisions=shortened),
        OutputsScanned(messages=(AFTER,), dropped=("sha256:ab",)),
    )
    shortened = (elided(AFTER),) if spilled else ()
    assert totals(found) == totals(
        folded(MessagesAppended(messages=(CALL, AFTER, LATER), elisions=shortened))
    )
    assert (found.generation, found.withdrawn) == (1, {"sha256:ab"})


def test_what_is_clean_only_loses_its_mark() -> None:
    clean = msgspec.structs.replace(BEFORE, unscanned=False)
    found = folded(MessagesAppended(messages=(CALL, BEFORE)), OutputsScanned(clean=("m2",)))
    assert totals(found) == totals(folded(MessagesAppended(messages=(CALL, clean))))
    assert found.generation == 0


def test_unknown_messages_change_nothing() -> None:
    known = MessagesAppended(messages=(CALL, BEFORE))
    found = folded(known, OutputsScanned(clean=("m9",), messages=(msgspec.structs.replace(AFTER, id="m8"),)))
    assert totals(found) == totals(folded(known))
