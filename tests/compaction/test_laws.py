"""What holds of every compaction: any transcript, any window, any option."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction import fallback, gate, ledger
from ctxd.core.units import divide
from tests.compaction.transcripts import requested, sessions
from tests.support.session import Session, count, fold, snapshot

MANY = settings(max_examples=120, deadline=None)
KEEP = st.integers(1, 20)


def stands(text: str, shown: str) -> bool:
    """True when every line of a text is shown, indented or not."""
    return all(line.strip() in shown for line in text.splitlines())


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_no_unit_is_split(session: Session, target: int | None, keep: int) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    units = divide([entry.facts for entry in session.state.view])
    assert plan.tail in {unit.start for unit in units} | {len(session.state.view)}
    assert [i for fate in plan.units for i in fate.message_ids] == [e.facts.id for e in session.state.view]


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_the_result_is_above_its_target_only_when_nothing_is_left_that_may_go(
    session: Session, target: int | None, keep: int
) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    if plan.after <= plan.target + 1:
        return
    newest = divide([entry.facts for entry in session.state.view])[-1]
    assert plan.tail >= newest.start
    assert count(plan.summary.text) <= count(ledger.render(plan.state, plan.quotes, 0, count)[0])
    said = sum(count(quote.text) for quote in plan.quotes)
    assert said <= max(0, plan.target / session.state.ratio) * fallback.WORDS_SHARE / 100


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_a_plan_says_what_the_view_will_weigh(session: Session, target: int | None, keep: int) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    session.commit(plan)
    state = session.state
    assert abs(round(state.view_tokens * state.ratio) + state.view_media - plan.after) <= 1


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_the_newest_unit_stays_and_the_summary_comes_first(
    session: Session, target: int | None, keep: int
) -> None:
    newest = divide([entry.facts for entry in session.state.view])[-1]
    ids = [entry.facts.id for entry in session.state.view[newest.start :]]
    session.commit(session.plan(requested=target, keep_messages=keep))
    view = [entry.facts for entry in session.state.view]
    assert view[0].inserted == "summary"
    assert [facts.inserted for facts in view].count("summary") == 1
    assert set(ids) <= {facts.id for facts in view}


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_everything_kept_still_reaches_the_wire(session: Session, target: int | None, keep: int) -> None:
    _, before = session.dialect.mend(session.shown(), pending=True)
    session.commit(session.plan(requested=target, keep_messages=keep))
    shown = session.shown()
    _, edits = session.dialect.mend(shown, pending=True)
    lost = {"orphanResult", "duplicateResult", "duplicateCall"}
    assert [edit for edit in edits if edit.rule in lost and edit.action == "remove"] == []
    assert sum(e.rule == "unansweredCall" for e in edits) <= sum(e.rule == "unansweredCall" for e in before)
    views = [session.dialect.view(message) for message in shown]
    refused = [v for rule in session.dialect.rules for v in rule.violations(views) if v.mend == "refuse"]
    assert refused == []


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_what_people_said_in_the_part_that_goes_is_quoted_whole_while_it_fits(
    session: Session, target: int | None, keep: int
) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    said = [i.view.text for i in session.items()[: plan.tail] if i.entry.facts.user_turn]
    share = int(plan.target / session.state.ratio) * fallback.WORDS_SHARE // 100
    if plan.tail and sum(count(text) + 12 for text in said) <= share:
        shown = plan.summary.text + (plan.task.text if plan.task else "")
        assert [t for t in said if len(t) <= fallback.QUOTE_CHARS and not stands(t, shown)] == []


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_the_newest_request_is_never_lost(session: Session, target: int | None, keep: int) -> None:
    request = [item for item in session.items() if item.entry.facts.user_turn and item.view.text]
    if not request:
        return
    newest = request[-1]
    for _ in range(3):
        session.commit(session.plan(requested=target, keep_messages=keep))
        session.say("call x Bash\nresult x 3000\n\nassistant 2000: y", client_id="")
        held = {entry.facts.id for entry in session.state.view}
        tasks = [item.view.text for item in session.items() if item.entry.facts.inserted == "activeTask"]
        if newest.entry.facts.id not in held:
            assert len(tasks) == 1
            assert gate.clip_task(newest.view.text) in tasks[0]
        else:
            assert tasks == []


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_every_gone_unit_has_a_handle_into_the_transcript(
    session: Session, target: int | None, keep: int
) -> None:
    for _ in range(2):
        plan = session.plan(requested=target, keep_messages=keep)
        for fate in plan.units:
            own = all(i not in session.state.positions for i in fate.message_ids)
            if fate.fidelity == "full" or own:
                assert fate.handle == ""
            else:
                assert fate.handle in session.state.positions
                assert fate.handle in fate.message_ids
        session.commit(plan)
        session.say("user: more")


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_what_was_clipped_has_its_recall_call_and_is_smaller(
    session: Session, target: int | None, keep: int
) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    for elision in plan.elisions:
        assert elision.saved + elision.saved_media > 0
        assert f'"toolCallId": "{elision.call_id}"' in elision.placeholder
        assert elision.message_id in {e.facts.id for e in session.state.view[plan.tail :]}


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_planning_is_deterministic_and_changes_nothing(
    session: Session, target: int | None, keep: int
) -> None:
    before = snapshot(session.state)
    plan = session.plan(requested=target, keep_messages=keep)
    assert session.plan(requested=target, keep_messages=keep) == plan
    assert snapshot(session.state) == before
    again = Session(dialect=session.dialect.name, window=session.window)
    again.state, again.stored = fold(session.events), session.stored
    assert again.plan(requested=target, keep_messages=keep) == plan


@settings(max_examples=60, deadline=None)
@given(session=sessions(), target=requested(), keep=KEEP)
def test_compacting_again_and_again_comes_to_an_end(session: Session, target: int | None, keep: int) -> None:
    """Reports B.25 and B.26: progress is at least five percent, or there is none."""
    for _ in range(80):
        plan = session.plan(requested=target, keep_messages=keep)
        if not gate.is_gain(plan.before, plan.after):
            break
        session.commit(plan)
        state = session.state
        assert round(state.view_tokens * state.ratio) + state.view_media < plan.before
    else:
        pytest.fail("it never came to rest")
    assert snapshot(session.replayed()) == snapshot(session.state)


@settings(max_examples=40, deadline=None)
@given(session=sessions(), keep=KEEP)
def test_quotes_outlive_any_number_of_compactions(session: Session, keep: int) -> None:
    said = [
        (item.entry.facts.id, item.view.text)
        for item in session.items()
        if item.entry.facts.user_turn and len(item.view.text) <= 2_000
    ]
    for round_ in range(4):
        session.commit(session.plan(keep_messages=keep, requested=20_000))
        session.say(f"call y{round_} Bash\nresult y{round_} 9000\n\nassistant 4000: z")
    held = {entry.facts.id for entry in session.state.view}
    quoted = {quote.message_id: quote.text for quote in session.state.summary.constraints}
    for message_id, text in said:
        assert message_id in held or quoted[message_id] == text


@MANY
@given(session=sessions(), target=requested(), keep=KEEP)
def test_the_seven_headings_stand_once_each_and_in_order(
    session: Session, target: int | None, keep: int
) -> None:
    plan = session.plan(requested=target, keep_messages=keep)
    lines = [line for line in plan.summary.text.splitlines() if line.startswith("## ")]
    all_seven = [f"## {heading}" for heading in ledger.headings()]
    if plan.summary.text.startswith(ledger.NOTICE):
        assert lines == all_seven
    else:
        # So small a target leaves no room for headings with nothing under them.
        assert plan.target / session.state.ratio < fallback.BRIEF_TOKENS + 1
        assert lines == [line for line in all_seven if line in lines]
