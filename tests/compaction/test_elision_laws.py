"""What holds of every elision pass: any transcript, any pressure."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction import elision
from ctxd.compaction.elision import Batch, Pressure
from ctxd.core.units import divide
from ctxd.model.settings import CacheOptions, ElisionOptions
from tests.compaction.transcripts import sessions
from tests.support.session import Session, count, snapshot

MANY = settings(max_examples=150, deadline=None)

_OPTIONS = st.builds(
    ElisionOptions,
    start_at=st.sampled_from([0.0, 0.1, 0.5]),
    target=st.sampled_from([0.0, 0.2, 0.4]),
    stale_turns=st.integers(1, 5),
    oversized_bytes=st.sampled_from([1, 1_000, 8_192]),
    keep_turns=st.integers(1, 10),
    min_messages=st.integers(1, 30),
    recent_files=st.integers(0, 5),
)


@st.composite
def passes(draw: st.DrawFn) -> tuple[Session, Batch | None]:
    """A session and what one pass makes of it."""
    session = draw(sessions(most=20))
    tokens = draw(st.sampled_from([0, session.state.view_tokens, 10**6]))
    batch = elision.plan(
        session.state,
        draw(st.sampled_from(["full", "oversizedOnly"])),
        Pressure(tokens, session.state.ratio, session.limits(), draw(st.integers(0, 50))),
        draw(_OPTIONS),
        CacheOptions(),
        count=count,
        expired=draw(st.booleans()),
    )
    return session, batch


@MANY
@given(passes())
def test_the_newest_tool_turn_is_never_touched(made: tuple[Session, Batch | None]) -> None:
    session, batch = made
    turns = [u for u in divide([e.facts for e in session.state.view]) if u.kind == "tools"]
    newest = {e.facts.id for u in turns[-1:] for e in session.state.view[u.start : u.end]}
    assert newest.isdisjoint(e.message_id for e in (batch.elisions if batch else ()))


@MANY
@given(passes())
def test_a_batch_saves_exactly_what_it_says(made: tuple[Session, Batch | None]) -> None:
    session, batch = made
    if batch is None:
        return
    state = session.state
    tokens, media, size = state.view_tokens, state.view_media, state.view_bytes
    session.elide(*batch.elisions)
    saved = (tokens - state.view_tokens) * state.ratio + media - state.view_media
    assert abs(saved - batch.saved) <= 1
    assert batch.saved > 0
    assert state.view_bytes < size


@MANY
@given(passes())
def test_only_the_content_of_results_changes(made: tuple[Session, Batch | None]) -> None:
    session, batch = made
    before = [session.dialect.view(message) for message in session.shown()]
    for made_elision in batch.elisions if batch else ():
        session.elide(made_elision)
    after = [session.dialect.view(message) for message in session.shown()]
    assert [v.role for v in after] == [v.role for v in before]
    assert [v.calls for v in after] == [v.calls for v in before]
    assert [v.text for v in after] == [v.text for v in before]
    for old, new in zip(before, after, strict=True):
        assert [(r.call_id, r.is_error) for r in new.results] == [
            (r.call_id, r.is_error) for r in old.results
        ]


@MANY
@given(passes())
def test_everything_before_the_first_edit_stays_byte_for_byte(made: tuple[Session, Batch | None]) -> None:
    session, batch = made
    if batch is None:
        return
    before = session.shown()[: batch.first]
    session.elide(*batch.elisions)
    assert session.shown()[: batch.first] == before


@MANY
@given(passes())
def test_planning_reads_and_never_writes(made: tuple[Session, Batch | None]) -> None:
    session, _ = made
    assert snapshot(session.state) == snapshot(session.replayed())


@MANY
@given(sessions(most=20), _OPTIONS, st.booleans())
def test_a_second_pass_never_names_what_the_first_elided(
    session: Session, options: ElisionOptions, expired: bool
) -> None:
    first = elision.candidates(session.state, "full", options, count=count, expired=expired)
    session.elide(*(c.elision for c in first))
    again = elision.candidates(session.state, "full", options, count=count, expired=expired)
    assert again == []


@MANY
@given(sessions(most=20), _OPTIONS, st.booleans())
def test_every_candidate_is_smaller_than_what_it_stands_for(
    session: Session, options: ElisionOptions, expired: bool
) -> None:
    for found in elision.candidates(session.state, "full", options, count=count, expired=expired):
        assert found.freed + found.elision.saved_media > 0
        assert found.elision.saved_bytes > 0
        result = session.state.view[found.index].facts.results
        assert found.elision.call_id in {r.call_id for r in result}
