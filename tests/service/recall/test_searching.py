"""`recall/search`: an output is found by what stood around the thing one remembers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ctxd.service.recall.searching import OVERLAP_BYTES, PASSAGE_BYTES, SNIPPET_CHARS, passages
from tests.service.host import Answer, LocalHost, Session
from tests.support.behaviour import behaviour

SMALL_PAGES = {"recall": {"pageBytes": 2_000}}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> Answer:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}],
    }


def result(call_id: str, text: str) -> Answer:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}


def ran(session: Session, call_id: str, text: str, name: str = "Bash", **arguments: Any) -> None:
    session.append(call(call_id, name, **arguments), result(call_id, text))


def search(session: Session, query: str, **fields: Any) -> list[Answer]:
    hits: list[Answer] = session.call("recall/search", query=query, **fields)["hits"]
    return hits


def noise(number: int, lines: int = 40) -> str:
    return "\n".join(
        f"step {number}.{line}: compiled module_{number * line % 97} in {line} ms" for line in range(lines)
    )


def begun(host: LocalHost) -> Session:
    session = host.open()
    session.append({"role": "user", "content": "Deploy it."})
    return session


@behaviour("search.values")
def test_a_value_in_the_middle_is_found_by_the_words_around_it_and_is_on_the_page_named(
    host: LocalHost,
) -> None:
    host.configure(SMALL_PAGES)
    session = begun(host)
    for number in range(20):
        ran(session, f"c{number}", noise(number), command=f"make part{number}")
    lines = noise(99, 200).split("\n")
    lines[100] = "gateway accepted the release, ticket=QX-7731 queued behind two others"
    ran(session, "deploy", "\n".join(lines), command="deploy --to gateway")
    session.compact(strategy="deterministic", targetTokens=500)
    (first, *_) = search(session, "which ticket did the gateway queue the release under")
    assert first["toolCallId"] == "deploy"
    assert "QX-7731" in first["snippet"]
    page = session.fetch("deploy", page=first["page"])
    assert "QX-7731" in page["content"]
    assert 0 < first["page"] < page["pages"] - 1


def test_the_arguments_of_the_call_lead_to_its_output(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "one", "ok, 3 files", command="rsync alpha")
    ran(session, "two", "ok, 5 files", command="rsync beta")
    assert search(session, "files rsync beta")[0]["toolCallId"] == "two"


def test_an_output_is_hit_once_however_many_of_its_passages_match(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "long", "needle in every line\n" * 2_000)
    ran(session, "short", "needle once")
    assert [hit["toolCallId"] for hit in search(session, "needle")] in (["long", "short"], ["short", "long"])


def test_a_very_long_output_does_not_hide_the_others(host: LocalHost) -> None:
    session = begun(host)
    for number in range(6):
        ran(session, f"c{number}", f"needle {number} among other words of this output")
    ran(session, "long", "needle\n" * 100_000)
    assert {hit["toolCallId"] for hit in search(session, "needle")} == {*(f"c{n}" for n in range(6)), "long"}


def test_limit_and_tool_name_are_kept(host: LocalHost) -> None:
    session = begun(host)
    for number in range(6):
        ran(session, f"b{number}", f"needle {number}")
        ran(session, f"r{number}", f"needle {number}", name="Read", file_path=f"/f{number}")
    assert len(search(session, "needle", limit=4)) == 4
    assert {hit["toolCallId"][0] for hit in search(session, "needle", toolName="Read")} == {"r"}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("服务器监听端口 8081，数据库在 5432", "数据库的端口"),
        ("raise UserQuotaExceeded(user)", "user quota exceeded"),
        ("retry_after_ms = 1500", "retry after"),
        ('{"output":"built\\ndist/app.js 14 kB"}', "dist app"),
        ("naïve café", "café"),
    ],
)
def test_words_are_found_in_any_script_and_however_they_are_joined(
    host: LocalHost, text: str, query: str
) -> None:
    session = begun(host)
    ran(session, "other", "something else entirely")
    ran(session, "it", text)
    assert search(session, query)[0]["toolCallId"] == "it"


@pytest.mark.parametrize("query", ['"', "AND OR NOT", "a* NEAR(b)", "body:x", "…", "' or 1=1 --"])
def test_no_query_is_an_error(host: LocalHost, query: str) -> None:
    session = begun(host)
    ran(session, "it", "and or not near body x or 1=1")
    search(session, query)


def test_a_call_id_used_again_is_told_apart_by_its_occurrence(host: LocalHost) -> None:
    session = host.open(dialect="openai-chat")
    for animal in ("marmot", "beaver"):
        function = {"name": "look", "arguments": "{}"}
        session.append(
            {"role": "user", "content": "look"},
            {"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "call_0", "content": f"it is a {animal}"},
            {"role": "assistant", "content": "seen"},
        )
    (marmot,) = search(session, "marmot")
    (beaver,) = search(session, "beaver")
    assert (marmot["occurrence"], beaver["occurrence"]) == (0, 1)
    assert "marmot" in session.fetch("call_0", occurrence=0)["content"]


def test_only_tool_outputs_are_searched(host: LocalHost) -> None:
    session = begun(host)
    session.append({"role": "assistant", "content": "marmot"})
    session.call("context/pin", text="marmot")
    assert search(session, "marmot") == []


def test_what_was_appended_since_the_last_search_is_found(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "one", "marmot")
    assert len(search(session, "marmot beaver")) == 1
    ran(session, "two", "beaver")
    assert len(search(session, "marmot beaver")) == 2


@behaviour("search.everything")
def test_everything_is_still_found_after_compactions_and_a_restart(host: LocalHost) -> None:
    session = begun(host)
    for number in range(30):
        ran(session, f"c{number}", f"animal{number} was seen\n" + noise(number))
    search(session, "animal3")
    session.compact(strategy="deterministic", targetTokens=800)
    host.reopen()
    session = host.open()
    for number in range(30):
        assert search(session, f"animal{number}")[0]["toolCallId"] == f"c{number}"


def index_file(host: LocalHost) -> Path:
    (found,) = host.root.rglob("outputs.sqlite3")
    return found


@behaviour("search.rebuilt")
@pytest.mark.parametrize("damage", ["deleted", "garbage", "of another session"])
def test_an_index_that_cannot_be_believed_is_filled_again_from_the_log(
    host: LocalHost, tmp_path: Path, damage: str
) -> None:
    session = begun(host)
    ran(session, "one", "marmot")
    other = host.open("s2")
    other.append({"role": "user", "content": "go"})
    ran(other, "x", "weasel")
    ran(other, "y", "weasel")
    search(other, "weasel")
    host.close()
    foreign = next(path for path in host.root.rglob("outputs.sqlite3"))
    host.start_again()
    session = host.open()
    search(session, "marmot")
    mine = next(path for path in host.root.rglob("outputs.sqlite3") if path != foreign)
    host.close()
    if damage == "deleted":
        mine.unlink()
    elif damage == "garbage":
        mine.write_bytes(b"garbage " * 4096)
    else:
        mine.write_bytes(foreign.read_bytes())
    host.start_again()
    session = host.open()
    assert [hit["toolCallId"] for hit in search(session, "marmot")] == ["one"]
    assert search(session, "weasel") == []


def test_an_index_damaged_while_it_is_open_is_filled_again(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "one", "marmot")
    search(session, "marmot")
    index_file(host).unlink()
    assert [hit["toolCallId"] for hit in search(session, "marmot")] == ["one"]


def test_a_reader_of_a_session_searches_without_writing_anything(host: LocalHost, tmp_path: Path) -> None:
    session = begun(host)
    ran(session, "one", "marmot")
    with LocalHost(host.root) as second:
        reader = second.open(dialect=None)
        assert reader.info["access"] == "readOnly"
        assert [hit["toolCallId"] for hit in search(reader, "marmot")] == ["one"]
    assert list(host.root.rglob("outputs.sqlite3")) == []


def test_searches_at_once_agree(host: LocalHost) -> None:
    session = begun(host)
    for number in range(20):
        ran(session, f"c{number}", f"marmot {number}\n" + noise(number))
    asked = ("recall/search", {"sessionId": session.id, "query": "marmot"})
    answers = host.together(asked, asked, asked)
    assert answers[0]["hits"]
    assert answers[0] == answers[1] == answers[2]


def test_lone_surrogates_and_cut_characters_do_not_move_the_page(host: LocalHost) -> None:
    host.configure(SMALL_PAGES)
    session = begun(host)
    text = "值" * 3_000 + "\n" + "\ud83d" * 500 + "\nmarmot lives here\n" + "é" * 3_000
    ran(session, "one", text)
    (hit,) = search(session, "marmot")
    assert "marmot" in hit["snippet"]
    assert "marmot" in session.fetch("one", page=hit["page"])["content"]


def test_an_output_that_says_nothing_comes_behind_one_that_says_something(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "empty", "", command="list marmots in the alps")
    ran(session, "full", "marmots: 12 in the alps", command="count")
    assert [hit["toolCallId"] for hit in search(session, "marmots alps")] == ["full", "empty"]


def test_a_snippet_is_short_and_holds_the_best_words_even_on_one_long_line(host: LocalHost) -> None:
    session = begun(host)
    fields = ", ".join(f'"key{n}": "value{n}"' for n in range(200))
    ran(session, "one", "{" + fields + ', "ticket": "QX-1"' + fields + "}")
    (hit,) = search(session, "ticket")
    assert '"ticket": "QX-1"' in hit["snippet"]
    assert len(hit["snippet"]) <= SNIPPET_CHARS


@pytest.mark.parametrize("size", [0, 1, PASSAGE_BYTES, PASSAGE_BYTES + 1, 5 * PASSAGE_BYTES])
def test_passages_cover_an_output_and_overlap(size: int) -> None:
    data = bytes(n % 251 for n in range(size))
    parts = list(passages(data))
    assert all(data[start : start + len(part)] == part for start, part in parts)
    assert parts[-1][0] + len(parts[-1][1]) == size
    for (start, part), (later, _) in pairwise(parts):
        assert later == start + len(part) - OVERLAP_BYTES
