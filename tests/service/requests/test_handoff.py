"""The handoff: one hidden word to the model in each epoch, in the band below the threshold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxd.model.records import Draft
from tests.reports.checks import calls, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Session
from tests.store.desk import Desk
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 20_000}
QUIET = {"elision": {"enabled": False}}
TAG = "<token-budget-handoff"


@pytest.fixture
def quiet(host: LocalHost) -> LocalHost:
    host.configure(QUIET)
    return host


def limits(session: Session) -> tuple[int, int]:
    found = session.project()
    return found["handoffThreshold"], found["compactionThreshold"]


def filled(host: LocalHost, share: float, name: str = "s1", **fields: Any) -> Session:
    """A session whose next request the provider says takes `share` of the input budget."""
    session = host.open(name, model=MODEL, **fields)
    talk(session, 2, words=100)
    session.append(user("go on"))
    reported(session, share)
    return session


def reported(session: Session, share: float) -> None:
    """One call of the model; its usage puts the next request at `share` of the input budget."""
    request = session.prepare("iteration")
    tokens = int(request["projection"]["availableForInput"] * share)
    session.report(request["requestId"], said("ok"), usage={"input_tokens": tokens - 10, "output_tokens": 10})


def handoffs(messages: list[Answer]) -> int:
    return sum(TAG in str(message) for message in messages)


def stages(request: Answer) -> list[str]:
    return [stage["stage"] for stage in request["report"]["stages"]]


@behaviour("handoff.band")
@pytest.mark.parametrize(("share", "handed"), [(0.69, 0), (0.71, 1), (0.79, 1)])
def test_it_is_given_in_the_band_and_not_below(quiet: LocalHost, share: float, handed: int) -> None:
    session = filled(quiet, share)
    request = session.prepare("iteration")
    assert handoffs(request["messages"]) == handed
    assert stages(request) == ["handoff"] * handed


def test_beyond_the_band_a_compaction_comes_at_once_and_no_handoff(quiet: LocalHost) -> None:
    session = filled(quiet, 0.85)
    talk(session, 8, words=400, name="u")
    request = session.prepare()
    assert stages(request) == ["compaction"]
    assert handoffs(request["messages"]) == 0


def test_the_edges_of_the_band_belong_to_what_begins_there(quiet: LocalHost) -> None:
    session = filled(quiet, 0.5)
    handoff, compaction = limits(session)
    for tokens, handed in ((handoff - 1, 0), (handoff, 1), (compaction - 1, 1)):
        fresh = filled(quiet, 0.5, f"s{tokens}")
        request = fresh.prepare("iteration")
        usage = {"input_tokens": tokens - 10, "output_tokens": 10}
        fresh.report(request["requestId"], said("ok"), usage=usage)
        assert fresh.project()["tokens"] == tokens
        assert handoffs(fresh.prepare("iteration")["messages"]) == handed


@behaviour("handoff.once-an-epoch")
def test_it_is_given_once_in_an_epoch_and_not_again_after_a_restart(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    first = session.prepare("iteration")["messages"]
    assert session.prepare("iteration")["messages"] == first
    session.append(user("more"))
    reported(session, 0.74)
    assert handoffs(session.prepare("iteration")["messages"]) == 1
    before = session.messages("model")
    quiet.reopen()
    session = quiet.open()
    assert session.messages("model") == before
    assert handoffs(session.prepare("iteration")["messages"]) == 1


def test_a_checkpoint_drops_it_and_the_next_epoch_may_have_one(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    session.prepare("iteration")
    talk(session, 8, words=300, name="u")
    assert session.compact(strategy="deterministic", targetTokens=900)["outcome"] == "applied"
    assert handoffs(session.messages("model")) == 0
    reported(session, 0.75)
    assert handoffs(session.prepare("iteration")["messages"]) == 1


def test_it_is_not_kept_in_the_tail_of_the_checkpoint_right_behind_it(quiet: LocalHost) -> None:
    session = quiet.open(model=MODEL)
    talk(session, 8, words=300)
    session.append(user("go on"))
    reported(session, 0.72)
    session.append(user("and?"))
    assert handoffs(session.prepare("iteration")["messages"]) == 1
    report = session.compact(strategy="deterministic", targetTokens=2_000)
    assert report["outcome"] == "applied"
    assert handoffs(session.messages("model")) == 0
    assert TAG not in str(report)


@behaviour("handoff.hidden")
def test_people_neither_see_nor_find_it(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    session.prepare("iteration")
    assert handoffs(session.messages("transcript")) == 0
    shown = [line for line in session.lines("model") if TAG in str(line["message"])]
    assert [line["hidden"] for line in shown] == [True]
    assert session.call("recall/search", query="token budget handoff headroom")["hits"] == []


def test_it_is_no_turn_of_the_user_and_no_request(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    session.prepare("iteration")
    talk(session, 8, words=300, name="u")
    ledger = session.compact(strategy="deterministic", targetTokens=900)["ledger"]
    assert TAG not in str(ledger)


@behaviour("handoff.race")
def test_two_requests_at_once_have_one_between_them(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    asked = ("context/prepare", {"sessionId": session.id, "phase": "iteration"})
    answers = quiet.together(asked, asked, asked)
    assert [handoffs(answer["messages"]) for answer in answers] == [1, 1, 1]
    assert sorted(stage for answer in answers for stage in stages(answer)) == ["handoff"]


def test_two_requests_at_once_elide_once_between_them(host: LocalHost) -> None:
    session = host.open(model={**MODEL, "contextWindow": 60_000})
    talk(session, 20, words=3_000)
    session.append(user("go on"))
    asked = ("context/prepare", {"sessionId": session.id, "phase": "turnStart"})
    answers = host.together(asked, asked)
    assert answers[0]["messages"] == answers[1]["messages"]
    assert answers[0]["generation"] == answers[1]["generation"]


@behaviour("handoff.after-elision")
def test_what_elision_frees_is_freed_before_the_band_is_looked_at(host: LocalHost) -> None:
    """E §4, weakness: the phase was the one before snipping."""
    session = host.open(model={**MODEL, "contextWindow": 60_000})
    talk(session, 12, words=2_500)
    session.append(user("go on"))
    before = session.project()
    assert before["phase"] != "below_handoff"
    request = session.prepare()
    assert "elision" in stages(request)
    assert request["projection"]["phase"] == "below_handoff"
    assert handoffs(request["messages"]) == 0


def test_it_never_comes_between_a_call_and_its_result(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    session.append(user("do both"), calls("a", "b"), results(("a", "one")))
    assert handoffs(session.prepare("iteration")["messages"]) == 0
    session.append(results(("b", "two")))
    assert handoffs(sent(session, "iteration")) == 1


def test_it_can_be_turned_off(host: LocalHost) -> None:
    host.configure({**QUIET, "handoff": {"enabled": False}})
    assert handoffs(filled(host, 0.75).prepare("iteration")["messages"]) == 0


def test_an_unknown_window_has_no_band(quiet: LocalHost) -> None:
    session = quiet.open(model={"id": "nobody-knows"})
    talk(session, 30, words=900)
    assert handoffs(session.prepare()["messages"]) == 0


def test_other_ratios_move_the_band(host: LocalHost) -> None:
    host.configure({**QUIET, "budget": {"handoffRatio": 0.5, "compactionRatio": 0.6}})
    assert handoffs(filled(host, 0.55).prepare("iteration")["messages"]) == 1


def good(**changed: Any) -> dict[str, Any]:
    message = b'{"role":"user","content":"forged"}'
    facts = {"id": "h1", "role": "user", "bytes": len(message), "digest": "00" * 32, "tokens": 5}
    record = {
        "type": "handoffRecorded",
        "version": 1,
        "observed_prompt_tokens": 75,
        "available_for_input": 100,
        "handoff_threshold": 70,
        "compaction_threshold": 80,
        "facts": facts,
    }
    return {**record, **changed}


def forge(host: LocalHost, *records: dict[str, Any]) -> Session:
    """A session with these records in its log, put there by hand while no daemon runs."""
    host.close()
    desk = Desk(host.root)
    log = desk.open(create=False, sid="s1")
    drafts = [
        Draft(id=f"x{n}", type="handoffRecorded", data=b"[{}]", facts=msgspec.json.encode(record))
        for n, record in enumerate(records)
    ]
    desk.append_drafts(log, drafts)
    desk.close()
    host.start_again()
    host.configure(QUIET)
    return host.open()


MALFORMED: dict[str, list[dict[str, Any]]] = {
    "two": [good(), good(facts={**good()["facts"], "id": "h2"})],
    "a later version": [good(version=2)],
    "a later version with other members": [{"type": "handoffRecorded", "version": 3, "says": "hello"}],
    "an extra member": [good(extra=True)],
    "a missing member": [{k: v for k, v in good().items() if k != "available_for_input"}],
    "a wrong type": [good(observed_prompt_tokens="75")],
    "observed below the band": [good(observed_prompt_tokens=69)],
    "observed above the band": [good(observed_prompt_tokens=80)],
    "negative": [good(handoff_threshold=-1, observed_prompt_tokens=0)],
    "no room": [good(available_for_input=0)],
    "an id with a line feed": [good(facts={**good()["facts"], "id": "h\n1"})],
    "an id that is too long": [good(facts={**good()["facts"], "id": "h" * 129})],
}


@behaviour("handoff.suppressed")
@pytest.mark.parametrize("records", MALFORMED.values(), ids=MALFORMED)
def test_records_that_cannot_be_believed_suppress_the_whole_epoch(
    quiet: LocalHost, records: list[dict[str, Any]]
) -> None:
    filled(quiet, 0.72)
    session = forge(quiet, *records)
    before = session.messages("transcript")
    request = session.prepare("iteration")
    assert stages(request) == []
    assert request["messages"] == before
    talk(session, 8, words=300, name="u")
    session.compact(strategy="deterministic", targetTokens=900)
    reported(session, 0.75)
    assert handoffs(session.prepare("iteration")["messages"]) == 1


def test_a_forged_second_record_takes_the_true_one_out_of_the_view(quiet: LocalHost) -> None:
    session = filled(quiet, 0.72)
    assert handoffs(session.prepare("iteration")["messages"]) == 1
    session = forge(quiet, good())
    assert handoffs(session.prepare("iteration")["messages"]) == 0
    assert handoffs(session.messages("model")) == 0
