"""Recall: what left the view comes back, whole or in parts, byte for byte (protocol.md, section 4)."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.core.fold import SessionState
from ctxd.model.errors import Ambiguous
from ctxd.model.events import MessagesAppended
from ctxd.model.messages import MessageFacts, Redacted, ResultFacts
from ctxd.service.recall.fetching import Handle, find
from ctxd.service.recall.stored_form import paginate
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

SMALL = {"recall": {"spillBytes": 300, "headBytes": 40, "tailBytes": 20, "pageBytes": 100}}


def turn(call_id: str, content: Any, name: str = "Read") -> list[Answer]:
    """A call and its result."""
    call = {"type": "tool_use", "id": call_id, "name": name, "input": {"file_path": "/a/b.py"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def chat_turn(call_id: str, content: str) -> list[Answer]:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": content},
    ]


GO = {"role": "user", "content": "go"}


def content_of(page: Answer) -> bytes:
    if page["encoding"] == "base64":
        return base64.b64decode(page["content"])
    return str(page["content"]).encode("utf-8", "surrogatepass")


def follow(session: Session, **handle: Any) -> list[Answer]:
    """All pages by `next` alone."""
    pages = [session.fetch(**handle)]
    while "next" in pages[-1]:
        pages.append(session.host.call("recall/fetch", **pages[-1]["next"]))
    return pages


def test_a_large_result_is_shown_as_head_handle_and_tail_and_fetched_whole(host: LocalHost) -> None:
    host.configure(SMALL)
    session = host.open()
    text = "first line\n" + "middle " * 200 + "\nlast line"
    (spilled,) = session.append(GO, *turn("c1", text))["spilled"]
    assert (spilled["toolCallId"], spilled["bytes"]) == ("c1", len(text))
    shown = session.messages("model")[2]["content"][0]["content"]
    assert shown.startswith("first line\n")
    assert shown.endswith("last line")
    assert '{"toolCallId": "c1", "occurrence": 0}' in shown
    assert len(shown) < 400
    assert session.messages() == [GO, *turn("c1", text)]
    assert session.lines("model")[2]["fidelity"] == "truncate"
    host.reopen()
    session = host.open()
    assert session.messages("model")[2]["content"][0]["content"] == shown
    assert b"".join(map(content_of, follow(session, toolCallId="c1"))).decode() == text


def test_a_result_under_the_limit_is_shown_as_it_came(host: LocalHost) -> None:
    host.configure(SMALL)
    session = host.open()
    assert session.append(GO, *turn("c1", "x" * 200))["spilled"] == []
    assert session.messages("model") == [GO, *turn("c1", "x" * 200)]


FORMS: list[tuple[str, Any, bytes]] = [
    ("a string", "plain", b"plain"),
    ("nothing", None, b""),
    ("an empty string", "", b""),
    ("text blocks", [{"type": "text", "text": "a"}, {"type": "text", "text": "b\n"}], b"a\nb\n"),
    ("line ends and NUL", "a\r\nb\x00\u2028c\x85", "a\r\nb\x00\u2028c\x85".encode()),
    ("a lone surrogate", "x\ud800y", b"x\xed\xa0\x80y"),
    ("Chinese", "你好世界" * 60, ("你好世界" * 60).encode()),
    ("an unknown block", [{"type": "odd", "n": 1}], b'[{"type":"odd","n":1}]'),
]


@pytest.mark.parametrize(("given_content", "stored"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
def test_the_stored_form_of_a_result(host: LocalHost, given_content: Any, stored: bytes) -> None:
    host.configure(SMALL)
    session = host.open()
    session.append(GO, *turn("c1", given_content))
    for _ in range(2):
        pages = follow(session, toolCallId="c1")
        assert b"".join(map(content_of, pages)) == stored
        assert {page["totalBytes"] for page in pages} == {len(stored)}
        assert {page["digest"] for page in pages} == {"sha256:" + hashlib.sha256(stored).hexdigest()}
        assert [page["page"] for page in pages] == list(range(pages[0]["pages"]))
        host.reopen()
        session = host.open()


@pytest.mark.parametrize(
    ("page", "given_page"), [(0, None), (0, 0), (0, -5), (1, 1), (4, 4), (4, 5), (4, 10**9)]
)
def test_pages_are_clamped(host: LocalHost, page: int, given_page: int | None) -> None:
    host.configure(SMALL)
    session = host.open()
    session.append(GO, *turn("c1", "0123456789" * 45))
    fetched = session.fetch("c1", **({} if given_page is None else {"page": given_page}))
    assert (fetched["page"], fetched["pages"]) == (page, 5)
    assert fetched.get("next") == (
        None if page == 4 else {"sessionId": "s1", "toolCallId": "c1", "occurrence": 0, "page": page + 1}
    )
    assert fetched["content"] == ("0123456789" * 45)[page * 100 : page * 100 + 100]


RANGES: list[tuple[Answer, str, Answer | None]] = [
    ({"offset": 0, "length": 4}, "0123", {"offset": 4, "length": 4}),
    ({"offset": 6, "length": 4}, "6789", None),
    ({"offset": 6, "length": 400}, "6789", None),
    ({"offset": 3}, "3456789", None),
    ({"length": 3}, "012", {"offset": 3, "length": 3}),
    ({"offset": 10, "length": 1}, "", None),
    ({"offset": 10**9, "length": 1}, "", None),
]


@pytest.mark.parametrize(("part", "content", "more"), RANGES)
def test_byte_ranges(host: LocalHost, part: Answer, content: str, more: Answer | None) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "0123456789"))
    fetched = session.fetch("c1", **part)
    assert fetched["content"] == content
    assert fetched.get("next") == (more and {"sessionId": "s1", "toolCallId": "c1", "occurrence": 0, **more})


def test_a_range_that_cuts_a_character_is_base64(host: LocalHost) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "é你"))
    cut = session.fetch("c1", offset=1, length=2)
    assert (cut["encoding"], content_of(cut)) == ("base64", "é你".encode()[1:3])
    whole = session.fetch("c1", offset=2, length=3)
    assert (whole["encoding"], whole["content"]) == ("utf-8", "你")


LINES: list[tuple[Answer, str, Answer | None]] = [
    ({"startLine": 1, "endLine": 1}, "one", {"startLine": 2, "endLine": 2}),
    ({"startLine": 2, "endLine": 3}, "two\nthree", {"startLine": 4, "endLine": 4}),
    ({"startLine": 4, "endLine": 99}, "", None),
    ({"startLine": 3}, "three\n", None),
    ({"endLine": 2}, "one\ntwo", {"startLine": 3, "endLine": 4}),
]


@pytest.mark.parametrize(("part", "content", "more"), LINES)
def test_line_ranges(host: LocalHost, part: Answer, content: str, more: Answer | None) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "one\ntwo\nthree\n"))
    fetched = session.fetch("c1", **part)
    assert fetched["content"] == content
    assert fetched.get("next") == (more and {"sessionId": "s1", "toolCallId": "c1", "occurrence": 0, **more})


def test_a_reused_id_answers_with_the_newest_owner_and_names_all(host: LocalHost) -> None:
    session = host.open(dialect="openai-chat")
    for number in range(3):
        session.append(GO, *chat_turn("call_0", f"answer {number}"))
    fetched = session.fetch("call_0")
    assert fetched["content"] == "answer 2"
    assert [c["occurrence"] for c in fetched["candidates"]] == [0, 1, 2]
    assert {c["toolName"] for c in fetched["candidates"]} == {"look"}
    for candidate in fetched["candidates"]:
        one = session.fetch("call_0", occurrence=candidate["occurrence"])
        assert one["content"] == f"answer {candidate['occurrence']}"
        assert one["digest"] == candidate["digest"]
        assert "candidates" not in one
    with pytest.raises(Refused) as refused:
        session.fetch("call_0", occurrence=3)
    assert refused.value.kind == "notFound"


def test_the_next_call_of_a_reused_id_stays_with_its_owner(host: LocalHost) -> None:
    host.configure(SMALL)
    session = host.open(dialect="openai-chat")
    session.append(GO, *chat_turn("call_0", "a" * 250))
    first = session.fetch("call_0")
    session.append(*chat_turn("call_0", "b" * 250))
    second = session.host.call("recall/fetch", **first["next"])
    newest = session.fetch("call_0")
    assert second["content"] == "a" * 100
    assert newest["content"] == "b" * 100
    assert session.host.call("recall/fetch", **newest["next"])["content"] == "b" * 100


def test_a_message_is_fetched_by_its_id(host: LocalHost) -> None:
    session = host.open()
    ids = session.append(
        GO, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}, *turn("c1", "x")
    )
    assert session.fetch(messageId=ids["messageIds"][0])["content"] == "go"
    assert session.fetch(messageId=ids["messageIds"][3])["content"] == "x"


def test_the_list_pages_meet_and_say_what_the_view_still_shows(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 60_000})
    for number in range(40):
        session.append({"role": "user", "content": f"step {number}"}, *turn(f"c{number}", "word " * 1200))
    whole = session.call("recall/list")
    assert [(e["toolCallId"], e["turn"]) for e in whole["entries"]] == [(f"c{n}", n) for n in range(40)]
    assert all(e["inContext"] for e in whole["entries"])
    assert session.prepare()["report"]["promptReplaced"]
    entries = session.call("recall/list")["entries"]
    shown = str(session.messages("model"))
    assert {e["inContext"] for e in entries} == {True, False}
    for entry in entries:
        assert entry["inContext"] == (
            f"'tool_use_id': '{entry['toolCallId']}', 'content': 'word word" in shown
        )
        assert session.fetch(entry["toolCallId"])["totalBytes"] == entry["bytes"] == 6000
    pages: list[Answer] = []
    after: Answer = {}
    while True:
        page = session.call("recall/list", limit=7, **after)
        pages += page["entries"]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert pages == entries


def test_the_list_goes_on_behind_any_id_a_host_may_give_a_message(host: LocalHost) -> None:
    session = host.open()
    session.append(GO)
    for number in range(3):
        session.append(*turn(f"c{number}", "x"), meta=[None, {"id": f"a#b#{number}#7"}])
    first = session.call("recall/list", limit=1)
    second = session.call("recall/list", limit=5, after=first["next"])
    assert [e["toolCallId"] for e in second["entries"]] == ["c1", "c2"]


def test_what_a_compaction_took_away_is_fetched_after_a_restart(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 60_000})
    texts = {f"c{n}": f"{n} " + "word " * 1500 for n in range(20)}
    for call_id, text in texts.items():
        session.append({"role": "user", "content": call_id}, *turn(call_id, text))
    report = session.compact(strategy="deterministic")
    assert report["outcome"] == "applied"
    assert report["audit"]["toolOutputs"]["evicted"] == report["audit"]["toolOutputs"]["recoverable"] > 0
    host.reopen()
    session = host.open()
    for call_id, text in texts.items():
        assert session.fetch(call_id)["content"] == text
    for unit in report["units"]:
        if "handle" in unit:
            handle = unit["handle"]
            key = (
                "digest"
                if handle.startswith("sha256:")
                else "messageId"
                if handle.startswith("m_")
                else "toolCallId"
            )
            assert session.fetch(**{key: handle})["totalBytes"] > 0


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(st.sampled_from("a\né你😀"), max_size=60), page_bytes=st.integers(1, 9))
def test_pages_are_whole_characters_and_end_at_lines_where_they_can(text: str, page_bytes: int) -> None:
    data = text.encode()
    starts = [*paginate(data, page_bytes), len(data)]
    pages = [data[a:b] for a, b in itertools.pairwise(starts)]
    assert b"".join(pages) == data
    assert all(pages) or data == b""
    for page in pages[:-1]:
        if page_bytes >= 4:
            page.decode()
        assert len(page) <= max(page_bytes, 4)
        assert page.endswith(b"\n") or b"\n" not in page


def blob_of(host: LocalHost, session: Session, call_id: str, text: str) -> Path:
    """Where the ledger keeps the message of a call that printed more than a record holds."""
    before = set(host.root.rglob("*"))
    session.append(*turn(call_id, text))
    (made,) = [p for p in set(host.root.rglob("*")) - before if re.fullmatch("[0-9a-f]{64}", p.name)]
    return made


@behaviour("recall.told-apart")
def test_unknown_removed_damaged_and_ambiguous_are_told_apart(host: LocalHost) -> None:
    session = host.open()
    session.append(GO)
    removed = blob_of(host, session, "removed", "r" * 1_500_000)
    damaged = blob_of(host, session, "damaged", "d" * 1_500_000)
    session.append(*turn("kept", "needle here"))
    removed.unlink()
    damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
    host.reopen()
    session = host.open()
    for _ in range(2):
        for call_id, kind in (("nobody", "notFound"), ("removed", "expired"), ("damaged", "corrupt")):
            with pytest.raises(Refused) as refused:
                session.fetch(call_id)
            assert refused.value.kind == kind
            answer = session.call("tools/call", name="recall", arguments={"toolCallId": call_id})
            assert answer["isError"] is True
        assert session.fetch("kept")["content"] == "needle here"
    (hit,) = session.call("recall/search", query="needle here")["hits"]
    assert hit["toolCallId"] == "kept"


@behaviour("recall.told-apart")
def test_a_shortened_digest_finds_its_output_or_names_those_it_may_mean(host: LocalHost) -> None:
    session = host.open()
    session.append(GO)
    texts: dict[str, list[str]] = {}
    for number in itertools.count():
        begun = hashlib.sha256(f"text {number}".encode()).hexdigest()[:8]
        texts.setdefault(begun[:4], []).append(f"text {number}")
        if len(texts[begun[:4]]) == 2:
            break
    digests = []
    for number, text in enumerate(texts[begun[:4]]):
        session.append(*turn(f"c{number}", text))
        digests.append(hashlib.sha256(text.encode()).hexdigest())
    assert session.fetch(digest=digests[0])["content"] == texts[begun[:4]][0]
    assert session.fetch(digest="sha256:" + digests[1][:12])["content"] == texts[begun[:4]][1]
    with pytest.raises(Refused) as refused:
        session.fetch(digest=digests[0][:4])
    assert refused.value.kind == "notFound"


def test_an_ambiguous_digest_names_its_candidates() -> None:
    """Digests that begin alike for 8 digits take long to find, so the state is told of two."""
    state = SessionState()
    facts = [
        MessageFacts(
            id=f"m{n}",
            role="user",
            bytes=1,
            digest="",
            tokens=1,
            results=(ResultFacts(call_id=f"c{n}", bytes=n, tokens=1, digest=f"sha256:{'a' * 60}{n:04}"),),
        )
        for n in range(2)
    ]
    state.apply(MessagesAppended(messages=tuple(facts)), 0)
    with pytest.raises(Ambiguous) as refused:
        find(state, Handle(digest="a" * 8))
    candidates: Any = refused.value.facts["candidates"]
    assert [(c["messageId"], c["bytes"]) for c in candidates] == [("m0", 0), ("m1", 1)]
    assert find(state, Handle(digest=f"sha256:{'a' * 60}0001")).facts.id == "m1"


@behaviour("recall.redacted")
def test_recall_says_how_many_secrets_were_cut_out() -> None:
    state = SessionState()
    results = tuple(ResultFacts(call_id=i, bytes=1, tokens=1, digest=f"sha256:0{i}") for i in "ab")
    facts = MessageFacts(
        id="m",
        role="user",
        bytes=1,
        digest="",
        tokens=1,
        results=results,
        redacted=(Redacted("a", "aws", 2), Redacted("b", "github", 1)),
    )
    state.apply(MessagesAppended(messages=(facts,)), 0)
    assert find(state, Handle(tool_call_id="a")).redacted == ("aws", "aws")
    assert find(state, Handle(tool_call_id="b")).redacted == ("github",)
    assert find(state, Handle(message_id="m")).redacted == ("aws", "aws", "github")


@behaviour("recall.inside")
def test_search_inside_one_output_has_its_places_by_line_and_offset(host: LocalHost) -> None:
    host.configure({"recall": {"pageBytes": 1_000}})
    session = host.open(dialect="openai-chat")
    session.append(GO)
    rows = [f"row {number} of nothing" for number in range(3_000)]
    rows[400], rows[2_900] = "the marmot sleeps", "the marmot wakes"
    session.append(*chat_turn("c", "\n".join(rows)))
    session.append(*chat_turn("c", "marmot " * 50))
    first = session.call("recall/search", query="marmot", toolCallId="c", occurrence=0)["hits"]
    assert sorted(hit["line"] for hit in first) == [401, 2_901]
    for hit in first:
        assert hit["occurrence"] == 0
        assert "marmot" in session.fetch("c", occurrence=0, offset=hit["offset"], length=1_600)["content"]
        assert "marmot" in session.fetch("c", occurrence=0, page=hit["page"])["content"]
        line = session.fetch("c", occurrence=0, startLine=hit["line"], endLine=hit["line"])
        assert line["content"].startswith("the marmot")
    newest = session.call("recall/search", query="marmot", toolCallId="c")["hits"]
    assert {hit["occurrence"] for hit in newest} == {1}
    digest = session.fetch("c", occurrence=0)["digest"]
    by_digest = session.call("recall/search", query="marmot", digest=digest)["hits"]
    assert [hit["line"] for hit in by_digest] == [hit["line"] for hit in first]
    assert session.call("recall/search", query="beaver", toolCallId="c")["hits"] == []
    with pytest.raises(Refused) as refused:
        session.call("recall/search", query="marmot", toolCallId="nobody")
    assert refused.value.kind == "notFound"


def test_a_page_is_right_after_the_size_of_pages_was_changed(host: LocalHost) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "word " * 9_000 + "marmot " + "word " * 9_000))
    assert session.call("recall/search", query="marmot")["hits"][0]["page"] == 0
    host.configure({"recall": {"pageBytes": 1_000}})
    (hit,) = session.call("recall/search", query="marmot")["hits"]
    assert "marmot" in session.fetch("c1", page=hit["page"])["content"]


def test_binary_in_an_output_comes_back_as_it_was(host: LocalHost) -> None:
    session = host.open()
    text = bytes(range(256)).decode("latin-1") * 300
    session.append(GO, *turn("c1", text))
    assert b"".join(map(content_of, follow(session, toolCallId="c1"))) == text.encode()
    cut = session.fetch("c1", offset=129, length=1)
    assert cut["encoding"] == "base64"
    assert content_of(cut) == text.encode()[129:130]
