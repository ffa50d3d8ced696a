"""Fidelity where a host sees it: the items of a projection, both histories, the report of a compaction."""

from __future__ import annotations

from tests.reports.checks import calls, compact, results, said, talk, user
from tests.service.host import Answer, LocalHost, Session
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 40_000}


def items(session: Session) -> list[Answer]:
    found: list[Answer] = session.project(detail="items")["items"]
    return found


def levels(lines: list[Answer]) -> list[str]:
    return [line.get("fidelity", "full") for line in lines]


@behaviour("fidelity.seen")
def test_every_level_is_seen_in_the_items_and_in_both_histories_alike(host: LocalHost) -> None:
    host.configure({"recall": {"spillBytes": 6_000, "headBytes": 500, "tailBytes": 500}})
    session = host.open(model=MODEL)
    talk(session, 6, words=900)
    assert compact(session, targetTokens=3_000)["outcome"] == "applied"
    talk(session, 12, words=1_100, name="n")
    session.append(user("more"), calls("cut"), results(("cut", "line\n" * 2_000)), said("ok"))
    talk(session, 2, words=1_100, name="p")
    stages = [stage["stage"] for stage in session.prepare()["report"]["stages"]]
    assert "elision" in stages
    found = {item["messageId"]: item for item in items(session)}
    model = {line["messageId"]: line for line in session.lines("model") if line["messageId"] in found}
    assert {item["fidelity"] for item in found.values()} == {"full", "truncate", "compact", "summary"}
    for message_id, line in model.items():
        assert line.get("fidelity", "full") == found[message_id]["fidelity"]
        assert line.get("handle") == found[message_id].get("handle")
    transcript = session.lines(limit=1_000)
    assert "summary" in levels(transcript)
    for line in transcript:
        expected = found[line["messageId"]]["fidelity"] if line["messageId"] in found else "summary"
        assert line.get("fidelity", "full") == expected


@behaviour("fidelity.handles")
def test_what_is_not_shown_whole_names_what_recall_gives_back_whole(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    talk(session, 14, words=1_500)
    session.prepare()
    short = [item for item in items(session) if item["fidelity"] in ("truncate", "compact")]
    assert short
    for item in short:
        assert session.fetch(item["handle"])["content"].startswith(item["handle"])


def test_items_say_which_unit_they_are_of_and_what_ctxd_made(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("go"), calls("a", "b"), results(("a", "1"), ("b", "2")), said("ok"))
    assert [item["unit"] for item in items(session)] == [0, 1, 1, 2]
    talk(session, 14, words=600)
    compact(session, targetTokens=3_000)
    first, *rest = items(session)
    assert (first["inserted"], first["fidelity"], first["unit"]) == ("summary", "summary", 0)
    assert [item["unit"] for item in rest] == sorted(item["unit"] for item in rest)


@behaviour("fidelity.reported")
def test_a_report_says_of_a_kept_unit_what_is_shown_of_it(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    talk(session, 14, words=1_500)
    session.prepare()
    report = compact(session, targetTokens=14_000)
    assert report["outcome"] == "applied"
    seen = {item["messageId"]: item["fidelity"] for item in items(session)}
    kept = [unit for unit in report["units"] if unit["messageIds"][0] in seen]
    order = ["full", "truncate", "compact"]
    assert {unit["fidelity"] for unit in kept} == {"full", "truncate"}
    for unit in kept:
        assert unit["fidelity"] == max((seen[i] for i in unit["messageIds"]), key=order.index)
        assert ("handle" in unit) is (unit["fidelity"] != "full")
    gone = [unit for unit in report["units"] if unit["messageIds"][0] not in seen]
    assert {unit["fidelity"] for unit in gone} == {"summary"}


def test_fidelity_is_the_same_after_a_restart(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    talk(session, 14, words=1_500)
    session.prepare()
    compact(session, targetTokens=8_000)
    known = (items(session), session.history_bytes("model"), session.history_bytes("transcript"))
    host.reopen()
    session = host.open()
    assert (items(session), session.history_bytes("model"), session.history_bytes("transcript")) == known
