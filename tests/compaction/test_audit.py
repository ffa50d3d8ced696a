"""The audit counts what the new view shows and what can be fetched, not what was meant."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction.audit import Audit, Files, Kept, Outputs, audit, mentioned
from ctxd.compaction.elision import candidates
from ctxd.model.settings import ElisionOptions
from ctxd.model.summary import ExactRecord, Quote
from tests.support.session import Session, count

TEXT = """\
user: Never touch config.py.

call a Read path=src/a.py
result a 9000

call b Edit path=src/b.py
result b: ok

call c Bash command=make
result c 300"""


def audited(
    session: Session,
    kept: set[str],
    shown: str = "",
    quotes: tuple[Quote, ...] = (),
    records: tuple[ExactRecord, ...] = (),
    stored: set[str] | None = None,
) -> Audit:
    ids = set(session.state.positions) if stored is None else stored
    return audit(session.state.view, kept, shown, quotes, records, ids)


def test_outputs_of_messages_that_are_gone_are_evicted_and_recoverable_where_stored() -> None:
    session = Session(TEXT)
    assert audited(session, {"m6", "m7"}).tool_outputs == Outputs(evicted=2, recoverable=2)
    assert audited(session, {"m6", "m7"}, stored={"m3"}).tool_outputs == Outputs(evicted=2, recoverable=1)


def test_a_kept_result_that_is_elided_is_evicted_too() -> None:
    session = Session(TEXT)
    [found] = candidates(session.state, "full", ElisionOptions(recent_files=0), count=count, expired=False)
    session.elide(found.elision)
    everything = set(session.state.positions)
    assert audited(session, everything).tool_outputs == Outputs(evicted=1, recoverable=1)


def test_files_count_as_mentioned_when_a_kept_call_or_the_text_names_them() -> None:
    session = Session(TEXT)
    assert audited(session, {"m4"}).files_mentioned == Files(before=2, after=1, recoverable=2)
    assert audited(session, set(), "- src/a.py (edited)").files_mentioned.after == 1
    assert audited(session, {"m4"}, "read src/a.py: ok").files_mentioned.after == 2


@pytest.mark.parametrize("shown", ["lib/src/a.py", "src/a.pyc", "xsrc/a.py"])
def test_a_path_inside_a_longer_one_is_no_mention(shown: str) -> None:
    assert audited(Session(TEXT), set(), shown).files_mentioned.after == 0


_PIECES = st.sampled_from(["a", "b.", "/", ".", "-", "_", " ", "x.py", "src", "@", "\n", "é", "..", ":"])


@settings(max_examples=500, deadline=None)
@given(path=st.lists(_PIECES, min_size=1, max_size=4), shown=st.lists(_PIECES, max_size=12))
def test_a_text_cut_into_runs_mentions_what_a_search_for_each_path_finds(
    path: list[str], shown: list[str]
) -> None:
    wanted, text = "".join(path), "".join(shown)
    found = re.search(rf"(?<![\w./-]){re.escape(wanted)}(?![\w/-])", text)
    assert mentioned({wanted}, text) == ({wanted} if found else set())


def test_files_whose_messages_are_not_stored_are_not_recoverable() -> None:
    assert audited(Session(TEXT), set(), stored={"m2"}).files_mentioned.recoverable == 1


def test_a_quote_is_verbatim_when_all_its_lines_stand() -> None:
    quotes = (Quote("one\n  two", "m1"), Quote("three", "m2"))
    assert audited(Session(TEXT), set(), "one\n      two\nfour", quotes).constraints == Kept(2, 1)
    assert audited(Session(TEXT), set(), "one", quotes).constraints == Kept(2, 0)


def test_a_record_is_verbatim_when_its_payload_stands() -> None:
    records = (ExactRecord("Exact next action", "run `make x`"), ExactRecord("Exact next action", "gone"))
    assert audited(Session(TEXT), set(), "- run `make x`", records=records).exact_records == Kept(2, 1)


def test_an_empty_view_has_nothing_to_lose() -> None:
    assert audited(Session(), set()) == Audit(Kept(0, 0), Kept(0, 0), Outputs(0, 0), Files(0, 0, 0))


def test_the_audit_of_a_plan_finds_every_quote_it_placed() -> None:
    session = Session(
        "\n\n".join(f"user: Rule {n}: keep {n}\\n  in two lines\n\nassistant 4000: a{n}" for n in range(9))
    )
    plan = session.plan(requested=2_000)
    kept = {entry.facts.id for entry in session.state.view[plan.tail :]}
    shown = "\n".join([plan.summary.text, *(i.view.text for i in session.items()[plan.tail :])])
    found = audited(session, kept, shown, plan.quotes)
    assert found.constraints == Kept(len(plan.quotes), len(plan.quotes))
    assert found.constraints.total > 3
    assert msgspec.structs.asdict(found.files_mentioned) == {"before": 0, "after": 0, "recoverable": 0}
