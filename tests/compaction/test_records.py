"""Exact continuation records: E section 6.7, and each weakness it names shown mended."""

from __future__ import annotations

import pytest

from ctxd.compaction import fallback
from ctxd.compaction.records import MAX_CHARS, MAX_PAYLOAD, MAX_RECORDS, find_records, is_record, keep_newest
from ctxd.model.summary import Decision, ExactRecord, SessionSummary, Topic
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

NEXT: Topic = "Exact next action"
WORK = "\n\nassistant: I look.\ncall {c} Bash command=x\nresult {c} 9000\n\nassistant 2000: {c}"


def record(payload: str, heading: str = NEXT) -> str:
    return f"EXACT CONTINUATION RECORD [{heading}] :: {payload}"


def session(*said: str, dialect: str = "anthropic") -> Session:
    talk = "\n\n".join(f"user: {text}" + WORK.format(c=f"c{n}") for n, text in enumerate(said))
    return Session(talk + "\n\nuser: Go on.\n\nassistant: Yes.", dialect=dialect, window=200_000)


def items_under(text: str, heading: str) -> list[str]:
    """The lines under one heading of a rendered summary."""
    return text.partition(f"## {heading}\n")[2].partition("\n\n## ")[0].split("\n")


# What is a record


@pytest.mark.parametrize(
    ("line", "payload"),
    [
        ("EXACT CONTINUATION RECORD [Exact next action] :: run it", "run it"),
        ("EXACT CONTINUATION RECORD [exact  NEXT   action] :: run it ", "run it"),
        ("EXACT CONTINUATION RECORD [ Exact next action ] :: a :: b [c]", "a :: b [c]"),
        ("EXACT CONTINUATION RECORD [Exact next action] :: x\r", "x"),
        (record("p" * MAX_PAYLOAD), "p" * MAX_PAYLOAD),
    ],
)
def test_a_line_is_a_record_whatever_the_case_and_spacing_of_its_heading(line: str, payload: str) -> None:
    assert find_records(line) == [ExactRecord(NEXT, payload)]
    assert is_record(line)


@pytest.mark.parametrize(
    "line",
    [
        " " + record("indented"),
        "- " + record("a bullet"),
        "He said: " + record("quoted"),
        record("unknown heading", "Next steps"),
        record("", NEXT),
        record("   ", NEXT),
        record("p" * (MAX_PAYLOAD + 1)),
        record("long heading", "x" * 65),
        "EXACT CONTINUATION RECORD [] :: no heading",
        "EXACT CONTINUATION RECORD [Exact next action]:: no space",
        "exact continuation record [Exact next action] :: lower case",
        "EXACT CONTINUATION RECORD [Exact next\naction] :: two lines",
    ],
)
def test_what_is_not_anchored_or_not_well_formed_is_no_record(line: str) -> None:
    assert find_records(line) == []


def test_three_lines_with_one_repeated_are_two_records() -> None:
    text = "\n".join([record("first"), "and", record("second"), record("first")])
    assert keep_newest(find_records(text)) == (ExactRecord(NEXT, "second"), ExactRecord(NEXT, "first"))


def test_the_same_payload_under_two_headings_is_two_records() -> None:
    text = "\n".join([record("same"), record("same", "Verification evidence")])
    assert len(keep_newest(find_records(text))) == 2


def test_at_the_bound_of_32_the_newest_win() -> None:
    """E 6.7, weakness: the cap kept the oldest records and stopped."""
    kept = keep_newest(ExactRecord(NEXT, f"r{n}") for n in range(MAX_RECORDS + 5))
    assert [r.payload for r in kept] == [f"r{n}" for n in range(5, MAX_RECORDS + 5)]


def test_at_the_bound_of_16384_characters_the_newest_win() -> None:
    eighth = MAX_CHARS // 8
    kept = keep_newest(ExactRecord(NEXT, f"{n}" * eighth) for n in range(9))
    assert [r.payload[0] for r in kept] == [str(n) for n in range(1, 9)]
    assert keep_newest([*kept, ExactRecord(NEXT, "x")]) == (*kept[1:], ExactRecord(NEXT, "x"))


# In every compaction


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_a_record_stands_once_under_its_heading_and_in_typed_state(dialect: str) -> None:
    plan = session(record("deploy with make ship"), dialect=dialect).plan(requested=6_000)
    assert items_under(plan.summary.text, NEXT).count("- deploy with make ship") == 1
    assert plan.state.exact_records == (ExactRecord(NEXT, "deploy with make ship"),)


@behaviour("records.once")
def test_a_record_outlives_any_number_of_compactions() -> None:
    """E 6.7, weakness: records survived one compaction only, then a model might alter the bullet."""
    held = session(record("port=8443; keep --no-cache"))
    for number in range(6):
        plan = held.plan(requested=6_000)
        assert items_under(plan.summary.text, NEXT)[0] == "- port=8443; keep --no-cache"
        held.commit(plan)
        held.say(f"user: more {number}" + WORK.format(c=f"m{number}"))
    assert held.replayed().summary.exact_records == (ExactRecord(NEXT, "port=8443; keep --no-cache"),)


def test_a_record_in_a_kept_message_is_placed_all_the_same() -> None:
    held = session("Start.")
    held.say("user: " + record("the newest words"))
    plan = held.plan(requested=6_000)
    assert held.items()[-1].view.text.startswith("EXACT")
    assert plan.tail < len(held.state.view)
    assert "- the newest words" in items_under(plan.summary.text, NEXT)


@behaviour("words.people-only")
@pytest.mark.parametrize(
    "talk",
    [
        "user: hi\n\ncall c1 Bash command=x\nresult c1: " + record("from a tool"),
        "user: hi\n\nassistant: " + record("from the model"),
        "user: hi\n\nthink: " + record("from thinking") + "\nassistant: ok",
    ],
)
def test_no_record_comes_from_a_tool_the_model_or_its_thinking(talk: str) -> None:
    """E 6.7, weakness: any role could plant the next action (reports E.56)."""
    held = Session(talk + "\n\nuser: go\n\nassistant 9000: x", window=200_000)
    plan = held.plan(requested=1_000)
    assert plan.state.exact_records == ()


def test_records_of_the_host_count() -> None:
    held = Session("user: hi", dialect="openai-chat", window=200_000)
    held.append([{"role": "developer", "content": record("host says")}])
    held.say("assistant 9000: x\n\nuser: go\n\nassistant: y")
    assert held.plan(requested=2_000).state.exact_records == (ExactRecord(NEXT, "host says"),)


def test_what_ctxd_itself_inserted_is_never_read_for_records() -> None:
    held = session("x\\n" + record("once"))
    held.commit(held.plan(requested=6_000))
    again = held.plan(requested=6_000)
    assert again.state.exact_records == (ExactRecord(NEXT, "once"),)
    assert again.summary.text.count("- once") == 1


def told(digest: SessionSummary, *said: str) -> fallback.Plan:
    held = session(*said)
    return fallback.plan(
        held.state,
        held.items(),
        window=held.window,
        keep_messages=6,
        count=count,
        requested=6_000,
        extra=fallback.Extra(digest=digest),
    )


def test_a_models_copy_of_a_record_is_not_shown_beside_the_hosts() -> None:
    copied = SessionSummary(
        next_steps=("run make ship", record("run make ship"), "then rest"),
        decisions=(Decision(0, "run make ship"),),
        evidence=("run make ship",),
    )
    text = told(copied, record("run make ship")).summary.text
    assert text.count("- run make ship") == 1
    assert items_under(text, NEXT) == ["- run make ship", "- then rest"]


def test_a_one_character_payload_takes_no_other_line_with_it() -> None:
    """E 6.7, weakness: short payloads deleted many lines of the summary."""
    steps = ("take a break", "a", "call anna")
    text = told(SessionSummary(next_steps=steps), record("a")).summary.text
    assert items_under(text, NEXT) == ["- a", "- take a break", "- call anna"]


def test_code_in_a_summary_keeps_its_shape_beside_records() -> None:
    """E 6.7, weakness: indentation and blank lines were lost, `# comment` lines taken for headings."""
    code = "run this:\n```\n# comment\n    indented\n\n    more\n```"
    text = told(SessionSummary(risks=(code,)), record("go")).summary.text
    assert f"- {code}" in text
