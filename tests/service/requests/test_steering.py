"""`steer/*`: what is said into a turn reaches the next request, once, in order, and is never lost."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.reports.checks import MODEL, calls, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

REMINDER = "[A reminder from the program that runs this session; the user did not write it.]\n\n"
TIGHT = {"id": "claude-sonnet-4-5", "contextWindow": 20_000}


def push(session: Session, kind: str, content: str | None = None, **fields: Any) -> Answer:
    fields = {k: v for k, v in {"content": content, **fields}.items() if v is not None}
    answer: Answer = session.call("steer/push", kind=kind, **fields)
    return answer


def waiting(session: Session) -> list[str]:
    return [item["id"] for item in session.call("steer/pending")["items"]]


def opened(host: LocalHost, **fields: Any) -> Session:
    session = host.open(**{"model": MODEL, **fields})
    session.append(user("Port the parser."))
    return session


@behaviour("steering.next-request")
def test_a_follow_up_is_a_message_of_the_next_request_and_of_the_transcript(host: LocalHost) -> None:
    session = opened(host)
    first = session.prepare()
    answer = push(session, "followUp", "Keep the old flag.", id="say-1")
    assert answer == {"id": "say-1", "pending": 1}
    assert session.call("steer/pending")["items"] == [
        {"id": "say-1", "kind": "followUp", "content": "Keep the old flag."}
    ]
    session.report(first["requestId"], calls("c1"))
    session.append(results(("c1", "file")))
    second = session.prepare("iteration")
    (note,) = second["steering"]
    assert (note["id"], note["kind"], note["content"]) == ("say-1", "followUp", "Keep the old flag.")
    assert second["report"]["stages"][0]["stage"] == "steering"
    assert "Keep the old flag." in str(second["messages"][-1])
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert session.lines()[-1] == {"messageId": note["messageId"], "message": user("Keep the old flag.")}
    assert waiting(session) == []
    assert session.prepare("iteration")["steering"] == []
    sent(session, "iteration")


def test_several_follow_ups_keep_their_order_and_later_ones_wait_for_the_next(host: LocalHost) -> None:
    session = opened(host)
    for number in range(3):
        push(session, "followUp", f"point {number}")
    made = session.prepare()
    assert [note["content"] for note in made["steering"]] == [f"point {n}" for n in range(3)]
    push(session, "followUp", "point 3")
    assert "point 3" not in str(made["messages"])
    assert [note["content"] for note in session.prepare("iteration")["steering"]] == ["point 3"]
    text = str(session.messages())
    assert [text.index(f"point {n}") for n in range(4)] == sorted(text.index(f"point {n}") for n in range(4))


@behaviour("steering.reminders")
def test_a_system_reminder_goes_marked_as_no_words_of_the_user_and_people_do_not_see_it(
    host: LocalHost,
) -> None:
    session = opened(host)
    push(session, "systemReminder", "The build is red.")
    made = session.prepare()
    assert REMINDER + "The build is red." in [m["content"] for m in made["messages"]]
    assert "The build is red." not in str(session.messages())
    (line,) = [line for line in session.lines("model") if "build is red" in str(line["message"])]
    assert line["hidden"] is True
    with pytest.raises(Refused) as refused:
        session.call("session/rewind", to=made["steering"][0]["messageId"], mode="conversation")
    assert refused.value.paths == ["to"]


@behaviour("steering.controls")
@pytest.mark.parametrize("kind", ["requestPause", "cancel"])
def test_a_control_reaches_the_host_as_a_note_and_never_the_model(host: LocalHost, kind: str) -> None:
    session = opened(host)
    before = session.prepare()
    pushed = push(session, kind, "lunch")
    made = session.prepare("iteration")
    assert made["steering"] == [{"id": pushed["id"], "kind": kind, "content": "lunch"}]
    assert made["messages"] == before["messages"]
    assert session.prepare("iteration")["steering"] == []


def test_a_cancelled_turn_compacts_nothing_and_leaves_the_words_for_the_next(host: LocalHost) -> None:
    session = host.open(model=TIGHT)
    talk(session, 20, words=900)
    push(session, "followUp", "also this")
    push(session, "cancel")
    made = session.prepare("iteration")
    assert [note["kind"] for note in made["steering"]] == ["cancel"]
    assert not made["report"]["compactionPerformed"]
    assert len(session.call("steer/pending")["items"]) == 1
    session.append(user("Now that."))
    assert [note["content"] for note in session.prepare()["steering"]] == ["also this"]


def test_a_stale_cancel_does_not_stop_the_turn_after_it(host: LocalHost) -> None:
    session = opened(host)
    session.append(said("done"))
    push(session, "cancel")
    session.append(user("Another thing."))
    made = session.prepare()
    assert made["steering"] == []
    assert {"stage": "steering", "reason": "turnOver", "edits": 1, "tokensFreed": 0} in made["report"][
        "stages"
    ]
    assert waiting(session) == []


@behaviour("steering.one-more-round")
def test_after_a_final_answer_the_report_says_that_something_waits(host: LocalHost) -> None:
    session = opened(host)
    made = session.prepare()
    push(session, "followUp", "One more thing.")
    answer = session.report(made["requestId"], said("Done."))
    assert answer["pendingSteering"] == 1
    again = session.prepare("iteration")
    assert again["messages"][-2:] == [said("Done."), user("One more thing.")]
    assert "pendingSteering" not in session.report(again["requestId"], said("That too."))


@behaviour("steering.nothing-waits")
def test_without_steering_a_request_is_byte_for_byte_what_it_was(host: LocalHost) -> None:
    session = opened(host)
    session.prepare()
    plain = host.bodies["context/prepare"]
    push(session, "requestPause")
    session.prepare()
    after = session.prepare()
    assert after["steering"] == []
    same = ("messages", "fingerprint", "report", "generation")
    before = json.loads(plain)
    assert [after[member] for member in same] == [before[member] for member in same]
    assert cut(host.bodies["context/prepare"]) == cut(plain)


def cut(answer: bytes) -> bytes:
    """The messages of an answer of `prepare`, as bytes."""
    return answer.partition(b'"messages":')[2].partition(b'"fingerprint":')[0]


@behaviour("steering.dedup")
def test_the_same_under_the_same_id_is_taken_once_before_and_after_it_was_taken_in(host: LocalHost) -> None:
    session = opened(host)
    one = push(session, "followUp", "Keep the flag.", id="k")
    revision = session.revision
    assert push(session, "followUp", "Keep the flag.", id="k") == one
    session.prepare()
    assert push(session, "followUp", "Keep the flag.", id="k") == {"id": "k", "pending": 0}
    assert session.revision == revision + 1
    host.reopen()
    session = host.open()
    assert push(session, "followUp", "Keep the flag.", id="k") == {"id": "k", "pending": 0}
    assert str(session.messages()).count("Keep the flag.") == 1


def test_the_same_words_without_an_id_are_said_twice(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "continue")
    push(session, "followUp", "continue")
    assert len(session.prepare()["steering"]) == 2


@pytest.mark.parametrize(("kind", "content"), [("followUp", "Another."), ("cancel", None)])
def test_an_id_that_names_something_else_is_refused(host: LocalHost, kind: str, content: str | None) -> None:
    session = opened(host)
    push(session, "followUp", "Keep the flag.", id="k")
    with pytest.raises(Refused) as refused:
        push(session, kind, content, id="k")
    assert (refused.value.kind, refused.value.paths) == ("invalidParams", ["id"])
    assert waiting(session) == ["k"]


@pytest.mark.parametrize("content", [None, "", " \n\t"])
@pytest.mark.parametrize("kind", ["followUp", "systemReminder"])
def test_a_message_without_words_is_refused(host: LocalHost, kind: str, content: str | None) -> None:
    session = opened(host)
    with pytest.raises(Refused) as refused:
        push(session, kind, content)
    assert (refused.value.kind, refused.value.paths) == ("invalidParams", ["content"])


@behaviour("steering.bounded")
def test_sixteen_messages_may_wait_and_a_cancel_beside_them(host: LocalHost) -> None:
    session = opened(host)
    for number in range(16):
        assert push(session, "followUp", f"point {number}")["pending"] == number + 1
    revision = session.revision
    with pytest.raises(Refused) as refused:
        push(session, "systemReminder", "one too many")
    assert (refused.value.kind, refused.value.data["limit"]) == ("busy", 16)
    assert session.revision == revision
    assert push(session, "cancel")["pending"] == 17
    assert [note["kind"] for note in session.prepare()["steering"]] == ["cancel"]
    assert len(session.prepare()["steering"]) == 16
    assert push(session, "followUp", "room again")["pending"] == 1


@pytest.mark.parametrize("text", ["x" * 65_537, "字" * 21_846])
def test_more_than_64_kib_of_utf_8_is_too_large_to_be_said_into_a_turn(host: LocalHost, text: str) -> None:
    session = opened(host)
    with pytest.raises(Refused) as refused:
        push(session, "followUp", text)
    assert (refused.value.kind, refused.value.data["limit"]) == ("tooLarge", 65_536)
    assert refused.value.data["bytes"] == len(text.encode())
    assert push(session, "followUp", text[:-1])["pending"] == 1
    assert session.prepare()["messages"][-1] == user(text[:-1])


def test_a_full_queue_of_long_messages_is_taken_in_at_once(host: LocalHost) -> None:
    session = opened(host, model={"id": "claude-sonnet-4-5"})
    for number in range(16):
        push(session, "followUp", f"{number} " + "word " * 13_000)
    assert len(session.prepare()["steering"]) == 16


def test_lone_surrogates_do_not_reach_the_log(host: LocalHost) -> None:
    session = opened(host)
    push(session, "requestPause", "half \ud83d")
    push(session, "followUp", "half \ud83d")
    assert session.prepare()["messages"][-1] == user("half \ufffd")


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "gemini"])
def test_a_follow_up_is_a_users_message_in_every_dialect(host: LocalHost, dialect: str) -> None:
    session = host.open(dialect=dialect, model=MODEL)
    push(session, "followUp", "Keep the flag.")
    (message,) = session.prepare()["messages"]
    assert message["role"] == "user"
    assert "Keep the flag." in str(message)
    verdict = host.call("context/validate", dialect=dialect, messages=[message])
    assert verdict["ok"]


def test_a_result_that_comes_behind_a_follow_up_still_answers_its_call(host: LocalHost) -> None:
    session = opened(host)
    session.append(calls("c1", "c2"))
    push(session, "followUp", "Faster.")
    session.prepare("iteration")
    session.append(results(("c1", "one"), ("c2", "two")))
    messages = sent(session, "iteration")
    assert messages[1:] == [calls("c1", "c2"), results(("c1", "one"), ("c2", "two")), user("Faster.")]


@behaviour("steering.fails-whole")
@pytest.mark.parametrize("turns", [1, 14])
def test_a_prepare_that_cannot_be_stored_takes_nothing_in(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """The disk took the push and takes no more: the answer is the last valid view, and the words wait."""
    session = host.open(model={**TIGHT, "contextWindow": 40_000})
    talk(session, turns, words=1_500)
    push(session, "followUp", "Keep the flag.", id="k")
    before, revision = session.messages("model"), session.revision
    with monkeypatch.context() as broken:
        broken.setattr(os, "writev", no_room)
        made = session.prepare()
    assert made["messages"] == before
    assert made["steering"] == []
    assert {stage["reason"] for stage in made["report"]["stages"]} == {"failed:storageFull"}
    assert (session.revision, waiting(session)) == (revision, ["k"])
    again = session.prepare()
    assert [note["id"] for note in again["steering"]] == ["k"]
    assert ("elision" in [stage["stage"] for stage in again["report"]["stages"]]) is (turns > 1)


def no_room(*_: object) -> int:
    raise OSError(errno.ENOSPC, "no space left")


@behaviour("steering.one-batch")
def test_what_is_taken_in_is_written_in_one_batch_with_elisions(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = host.open(model={**TIGHT, "contextWindow": 40_000})
    talk(session, 14, words=1_500)
    push(session, "followUp", "Keep the flag.")
    revision = session.revision
    syncs: list[int] = []
    real = os.fdatasync

    def sync(fd: int) -> None:
        syncs.append(fd)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", sync)
    made = session.prepare()
    assert [stage["stage"] for stage in made["report"]["stages"]] == ["steering", "elision"]
    assert (session.revision, len(syncs)) == (revision + 2, 1)


@behaviour("steering.cancelled-prepare")
@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("turns", [*range(8), 12, 16, 24, 40])
def test_a_prepare_cancelled_at_any_moment_loses_nothing_and_says_nothing_twice(
    host: LocalHost, turns: int, tight: bool
) -> None:
    session = host.open(model=TIGHT)
    talk(session, 20 if tight else 1, words=900)
    push(session, "followUp", "Keep the flag.", id="words")
    push(session, "requestPause", id="pause")

    async def run() -> list[Answer]:
        params = {"sessionId": "s1", "phase": "iteration"}
        task = asyncio.create_task(host.ask("context/prepare", params))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        answered = await asyncio.gather(task, return_exceptions=True)
        return [a for a in answered if not isinstance(a, BaseException)]

    first = [note["id"] for answer in host.run(run) for note in answer["steering"]]
    held = waiting(session)
    second = [note["id"] for note in session.prepare("iteration")["steering"]]
    assert sorted(first + second) == ["pause", "words"]
    assert set(held) <= set(second)
    assert str(session.messages("model")).count("Keep the flag.") == 1


@pytest.mark.parametrize("bookmark", [1, 1 << 40])
def test_it_survives_a_restart_waiting_and_taken_in(host: LocalHost, bookmark: int) -> None:
    host.configure({"storage": {"bookmarkBytes": bookmark}})
    session = opened(host)
    push(session, "followUp", "one", id="a")
    session.prepare()
    push(session, "followUp", "two", id="b")
    push(session, "requestPause", id="c")
    known = (session.history_bytes("model"), session.history_bytes("transcript"), session.project())
    host.reopen()
    session = host.open()
    assert (session.history_bytes("model"), session.history_bytes("transcript"), session.project()) == known
    assert waiting(session) == ["b", "c"]
    assert [note["id"] for note in session.prepare("iteration")["steering"]] == ["c", "b"]


def test_two_prepares_at_once_take_it_in_once(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "Keep the flag.")
    params = {"sessionId": "s1", "phase": "turnStart"}
    answers = host.together(("context/prepare", params), ("context/prepare", params))
    assert sum(len(answer["steering"]) for answer in answers) == 1
    assert str(session.messages()).count("Keep the flag.") == 1


def test_a_fork_gets_what_was_taken_in_and_not_what_waits(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "one")
    push(session, "followUp", "two")
    notes = session.prepare()["steering"]
    push(session, "followUp", "three")
    whole = Session(host, session.call("session/fork"))
    assert whole.messages() == [user("Port the parser."), user("one"), user("two")]
    assert waiting(whole) == []
    part = Session(host, session.call("session/fork", at=notes[0]["messageId"]))
    assert part.messages() == [user("Port the parser."), user("one")]
    host.reopen()
    again = host.open(part.id, dialect=None)
    assert again.messages() == [user("Port the parser."), user("one")]


def test_a_compaction_carries_what_people_and_the_host_said_into_turns(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "Never rename the public functions.")
    push(session, "systemReminder", "Always use tabs in Makefiles.")
    session.prepare()
    for number in range(3):
        talk(session, 14, name=f"r{number}x")
        report = session.compact(strategy="deterministic", targetTokens=2_500)
        assert report["outcome"] == "applied"
        shown = str(session.messages("model"))
        assert "Never rename the public functions." in shown
        assert "Always use tabs in Makefiles." in shown


def test_ageing_does_not_see_what_is_said_into_a_turn(host: LocalHost) -> None:
    session = host.open(model={"id": "m", "contextWindow": 60_000})
    session.append(user("Read it."), calls("c1"), results(("c1", "line\n" * 1_000)))
    for number in range(8):
        push(session, "followUp", f"and {number}")
        session.prepare("iteration")
    (entry,) = session.call("recall/list")["entries"]
    assert entry["turn"] == 0
    session.append(said("ok"), user("next"))
    assert host.registry.get("s1").state.turn == 2


def test_a_reader_sees_what_waits_and_can_push_nothing(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state") as writer, LocalHost(tmp_path / "state") as reader:
        session = opened(writer)
        push(session, "followUp", "Keep the flag.", id="k")
        beside = reader.open(dialect=None)
        assert waiting(beside) == ["k"]
        with pytest.raises(Refused) as refused:
            push(beside, "followUp", "More.")
        assert refused.value.kind == "sessionLocked"
        made = beside.prepare()
        assert made["steering"] == []
        assert "Keep the flag." not in str(made["messages"])
        push(session, "followUp", "More.", id="l")
        assert waiting(beside) == ["k", "l"]


@behaviour("steering.leftovers")
@pytest.mark.parametrize("outcome", ["error", "aborted"])
def test_what_waits_when_a_turn_ends_badly_is_for_the_next_one(host: LocalHost, outcome: str) -> None:
    session = opened(host)
    made = session.prepare()
    push(session, "followUp", "Also this.", id="k")
    assert session.report(made["requestId"], outcome=outcome)["pendingSteering"] == 1
    host.reopen()
    session = host.open()
    session.append(user("Next."))
    assert [note["id"] for note in session.prepare()["steering"]] == ["k"]


def test_what_waits_is_weighed_with_the_request_it_goes_into(host: LocalHost) -> None:
    session = host.open(model=TIGHT)
    talk(session, 4, words=900)
    assert session.prepare()["report"]["stages"] == []
    push(session, "followUp", "Mind this log: " + "word " * 5_000)
    made = session.prepare()
    assert made["report"]["compactionPerformed"]
    assert made["projection"]["tokens"] < made["projection"]["compactionThreshold"]
    assert made["messages"][-1]["content"].startswith("Mind this log")
    assert [note["kind"] for note in made["steering"]] == ["followUp"]


def test_it_stands_before_what_is_pending_and_after_what_was_appended(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "Also this.")
    made = session.prepare(pending=[user("Think of the deadline.")])
    assert made["messages"] == [
        user("Port the parser."),
        user("Also this."),
        user("Think of the deadline."),
    ]
    assert session.messages() == [user("Port the parser."), user("Also this.")]


def test_a_request_that_is_prepared_badly_takes_nothing_in(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "Also this.", id="k")
    with pytest.raises(Refused):
        session.prepare(pending=[{"role": "user"}])
    assert waiting(session) == ["k"]


def test_nobody_finds_a_reminder_by_searching_and_everybody_a_follow_up(host: LocalHost) -> None:
    session = opened(host)
    push(session, "followUp", "Mind the xylophone.")
    push(session, "systemReminder", "Mind the zeppelin.")
    session.prepare()
    assert len(session.call("session/search", query="xylophone")["hits"]) == 1
    assert session.call("session/search", query="zeppelin")["hits"] == []
    assert "zeppelin" not in session.call("session/export", format="markdown")["content"]


def test_a_handoff_stands_behind_what_was_said(host: LocalHost) -> None:
    session = host.open(model={**TIGHT, "contextWindow": 30_000})
    host.configure({"elision": {"enabled": False}})
    while session.project()["phase"] == "below_handoff":
        talk(session, 1, words=300, name=f"t{session.revision}x")
    push(session, "followUp", "Also this.")
    made = session.prepare()
    assert [stage["stage"] for stage in made["report"]["stages"]] == ["steering", "handoff"]
    assert made["messages"][-2] == user("Also this.")


@behaviour("steering.told-again")
def test_a_control_is_told_again_only_after_a_crash_in_its_turn_and_before_any_report(
    host: LocalHost,
) -> None:
    session = opened(host)
    push(session, "cancel", id="stop")
    made = session.prepare("iteration")
    assert [note["id"] for note in made["steering"]] == ["stop"]
    assert session.prepare("iteration")["steering"] == []
    host.reopen()
    session = host.open()
    again = session.prepare("iteration")
    assert [note["id"] for note in again["steering"]] == ["stop"]
    assert session.prepare("iteration")["steering"] == []
    host.reopen()
    session = host.open()
    session.append(user("Another thing."))
    assert session.prepare()["steering"] == []
    push(session, "requestPause", id="wait")
    made = session.prepare("iteration")
    session.report(made["requestId"], said("Done."))
    host.reopen()
    assert host.open().prepare("iteration")["steering"] == []


@behaviour("steering.task")
def test_the_request_being_worked_on_is_carried_with_what_was_said_into_its_turn(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("Port the parser to Rust."))
    for number in range(4):
        for step in range(6):
            call_id = f"c{number}.{step}"
            session.append(calls(call_id), results((call_id, "word " * 600)))
            if step == 1:
                push(session, "followUp", f"Mind point {number}.")
                session.prepare("iteration")
        report = session.compact(strategy="deterministic", targetTokens=3_000)
        assert report["outcome"] == "applied"
        text = str(session.messages("model")[-1]["content"])
        assert "Port the parser to Rust." in text
        points = [f"Mind point {n}." for n in range(number + 1)]
        assert [point in text for point in points] == [True] * len(points)
        assert sorted(points, key=text.index) == points
    session.append(said("Done."), user("Now the printer."), calls("p"), results(("p", "word " * 3_000)))
    session.append(calls("q"), results(("q", "word " * 600)))
    assert session.compact(strategy="deterministic", targetTokens=2_000)["outcome"] == "applied"
    tail = [str(message["content"]) for message in session.messages("model")[1:]]
    assert any("Now the printer." in text for text in tail)
    assert not any("[The request" in text and "Port the parser" in text for text in tail)


def test_compacting_up_to_a_message_keeps_the_task_where_only_a_follow_up_stays_behind(
    host: LocalHost,
) -> None:
    session = host.open(model=MODEL)
    session.append(user("Port the parser to Rust."))
    for step in range(10):
        answer = session.append(calls(f"c{step}"), results((f"c{step}", "word " * 600)))
    push(session, "followUp", "Mind the tests.")
    session.prepare("iteration")
    report = session.compact(strategy="deterministic", upTo=answer["messageIds"][-1], targetTokens=3_000)
    assert report["outcome"] == "applied"
    shown = [str(message["content"]) for message in session.messages("model")]
    assert "Port the parser to Rust." in shown[-2]
    assert shown[-1] == "Mind the tests."


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_what_waits_when_the_dialect_changes_is_said_in_the_new_one(host: LocalHost, target: str) -> None:
    session = opened(host)
    push(session, "followUp", "before", id="a")
    session.prepare()
    push(session, "followUp", "after", id="b")
    session.call("session/update", dialect=target, model={"id": "m", "contextWindow": 60_000})
    messages = session.prepare("iteration")["messages"]
    assert host.call("context/validate", dialect=target, messages=messages)["ok"]
    text = json.dumps(messages)
    assert text.index("before") < text.index("after")
    host.reopen()
    session = host.open(dialect=None)
    assert session.prepare("iteration")["messages"] == messages
