"""The tool `recall` as a model uses it: what it says, how it goes on, how it answers mistakes."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from ctxd.core.facts import describe
from ctxd.dialects import registry
from ctxd.model.events import MessagesAppended
from ctxd.model.messages import Native, Redacted
from ctxd.service.session import Written
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

GO = {"role": "user", "content": "go"}
SMALL = {"recall": {"pageBytes": 2_000}}
ROWS = "".join(f"row {number:05} é\n" for number in range(2_000))


def ran(session: Session, call_id: str, text: Any, name: str = "Bash", **fields: Any) -> None:
    call = {"type": "tool_use", "id": call_id, "name": name, "input": {"command": f"run {call_id}"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text, **fields}
    session.append({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})


def chat(session: Session, call_id: str, text: str) -> None:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    session.append(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    )


def begun(host: LocalHost, **fields: Any) -> Session:
    session = host.open(**fields)
    session.append(GO)
    return session


def recall(session: Session, **arguments: Any) -> str:
    answer = session.call("tools/call", name="recall", arguments=arguments)
    assert answer["isError"] is False, answer
    return str(answer["content"])


def mistake(session: Session, **arguments: Any) -> str:
    answer = session.call("tools/call", name="recall", arguments=arguments)
    assert answer["isError"] is True, answer
    return str(answer["content"])


def next_call(content: str) -> dict[str, Any] | None:
    found = re.search(r"next: recall (\{.*\})\]", content)
    return json.loads(found[1]) if found else None


def body(content: str) -> str:
    """What was read, without what is said about it."""
    return content.rsplit("[recall:", 1)[0].removesuffix("\n") if "[recall:" in content else content


@behaviour("tools.dialects")
@pytest.mark.parametrize("dialect", registry.NAMES)
def test_the_tool_is_listed_in_every_dialect(host: LocalHost, dialect: str) -> None:
    tools = host.call("tools/list", dialect=dialect)["tools"]
    assert registry.get(dialect).check_tools(tools)
    assert '"recall"' in json.dumps(tools)
    session = host.open(dialect=dialect, tools=tools)
    assert host.call("tools/list", dialect=dialect, sessionId=session.id)["tools"] == tools


def test_an_unknown_dialect_or_session_is_the_hosts_mistake(host: LocalHost) -> None:
    with pytest.raises(Refused) as refused:
        host.call("tools/list", dialect="latin")
    assert refused.value.kind == "unknownDialect"
    with pytest.raises(Refused) as refused:
        host.call("tools/list", dialect="gemini", sessionId="nobody")
    assert refused.value.kind == "sessionNotFound"
    with pytest.raises(Refused) as refused:
        host.call("tools/call", sessionId="nobody", name="recall", arguments={})
    assert refused.value.kind == "sessionNotFound"


def test_a_small_output_comes_back_as_it_was_and_nothing_else(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "line one\nline two")
    assert recall(session, toolCallId="c1") == "line one\nline two"


def test_an_empty_output_is_empty(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "")
    assert recall(session, toolCallId="c1") == ""


@behaviour("recall.tool")
def test_the_words_of_a_placeholder_are_the_next_call(host: LocalHost) -> None:
    host.configure({"recall": {"spillBytes": 2_000, "headBytes": 600, "tailBytes": 300}})
    session = begun(host)
    ran(session, "c1", ROWS)
    shown = session.messages("model")[-1]["content"][0]["content"]
    found = re.search(r"read it with recall (\{.*?\}), what is left out from offset (\d+)\]", shown)
    assert found is not None
    whole = recall(session, **json.loads(found[1]))
    assert body(whole) and ROWS.startswith(body(whole))
    rest = recall(session, **json.loads(found[1]), offset=int(found[2]))
    head = shown.split("\n[Bash")[0]
    assert ROWS.startswith(head + body(rest))


@behaviour("tools.bounded")
@pytest.mark.parametrize("text", [ROWS, "é" * 20_000, "\n" * 9_000, "😀" * 7_001], ids=lambda t: t[:2])
@pytest.mark.parametrize("window", [8_192, 200_000])
def test_next_calls_alone_bring_all_of_it_and_each_answer_is_shown_whole(
    host: LocalHost, text: str, window: int
) -> None:
    host.configure(SMALL)
    session = begun(host, model={"id": "claude-sonnet-4-5", "contextWindow": window})
    ran(session, "c1", text)
    calls, found = 0, ""
    arguments: dict[str, Any] | None = {"toolCallId": "c1"}
    while arguments is not None:
        content = recall(session, **arguments)
        assert len(content.encode()) <= 2_000
        calls += 1
        said = content.rindex("[recall:")
        part = content[:said]
        arguments = next_call(content[said:])
        # A part that ends inside a line is set apart from what is said about it.
        found += part if text.startswith(found + part) else part.removesuffix("\n")
        assert ("end of output" in content[said:]) == (arguments is None)
    assert found == text
    assert calls > 2
    ran(session, "r1", content, name="recall")
    assert session.messages("model")[-1]["content"][0]["content"] == content


def test_o17_pages_are_counted_from_zero_and_clamped_to_the_last(host: LocalHost) -> None:
    host.configure(SMALL)
    session = begun(host)
    ran(session, "c1", ROWS)
    first, second = recall(session, toolCallId="c1", page=0), recall(session, toolCallId="c1", page=1)
    assert first == recall(session, toolCallId="c1")
    assert first != second
    last = recall(session, toolCallId="c1", page=9_999)
    assert ROWS.endswith(body(last) + "\n")
    assert next_call(last) is None
    assert "end of output" in last


def test_o17_the_footer_names_the_id_the_total_and_the_exact_next_call(host: LocalHost) -> None:
    host.configure(SMALL)
    session = begun(host)
    ran(session, "c1", ROWS)
    footer = recall(session, toolCallId="c1").rsplit("\n", 1)[1]
    total = len(ROWS.encode())
    match = re.fullmatch(
        rf'\[recall: bytes 0-(\d+) of {total}, lines 1-\d+ of 2001; next: recall (\{{"toolCallId": "c1", '
        r'"occurrence": 0, "offset": (\d+)\})\]',
        footer,
    )
    assert match is not None
    assert int(match[3]) == int(match[1]) + 1


def test_o17_a_change_of_limits_between_two_calls_repeats_and_loses_nothing(host: LocalHost) -> None:
    host.configure(SMALL)
    session = begun(host)
    ran(session, "c1", ROWS)
    first = recall(session, toolCallId="c1")
    host.configure({"recall": {"pageBytes": 9_000}})
    following = next_call(first)
    assert following is not None
    second = recall(session, **following)
    assert ROWS.startswith(body(first) + "\n" + body(second))


def test_lines_are_read_by_number_and_what_is_too_long_goes_on_at_the_next(host: LocalHost) -> None:
    host.configure(SMALL)
    session = begun(host)
    ran(session, "c1", ROWS)
    some = recall(session, toolCallId="c1", startLine=11, endLine=12)
    assert body(some) == "row 00010 é\nrow 00011 é"
    assert "lines 11-12 of 2001]" in some
    assert next_call(some) is None
    long = recall(session, toolCallId="c1", startLine=101, endLine=1_900)
    following = next_call(long)
    assert following is not None
    assert following["endLine"] == 1_900
    shown = body(long).count("\n") + 1
    assert following["startLine"] == 101 + shown
    assert body(recall(session, **following)).startswith(f"row {100 + shown:05}")


def test_any_handle_is_taken_where_a_call_id_is_asked_for(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "it")
    digest = session.fetch("c1")["digest"]
    message = session.lines()[0]["messageId"]
    for handle in ({"id": "c1"}, {"handle": digest}, {"digest": digest[7:20]}, {"tool_call_id": digest}):
        assert recall(session, **handle) == "it"
    for handle in ({"messageId": message}, {"toolCallId": message}):
        assert recall(session, **handle) == "go"


def test_a_reused_id_reads_the_newest_and_names_the_others(host: LocalHost) -> None:
    session = begun(host, dialect="openai-chat")
    for number in range(3):
        chat(session, "call_0", f"answer {number}")
    newest = recall(session, toolCallId="call_0")
    assert newest.startswith("answer 2\n[recall: this call id was used 3 times; this is the newest output")
    assert "0 (look, 8 B), 1 (look, 8 B)" in newest
    assert recall(session, toolCallId="call_0", occurrence=1) == "answer 1"
    assert "occurrence 0 to 2" in mistake(session, toolCallId="call_0", occurrence=3)


def test_a_failed_call_is_said_to_have_failed(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "no such file", is_error=True)
    assert recall(session, toolCallId="c1") == "no such file\n[recall: the call had failed]"


def test_an_attachment_is_named(host: LocalHost) -> None:
    session = begun(host)
    data = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    ran(session, "c1", [{"type": "text", "text": "seen"}, {"type": "image", "source": data}])
    assert "it holds 1 attachment(s)" in recall(session, toolCallId="c1")


@behaviour("recall.inside")
def test_a_query_with_a_handle_searches_that_output_alone(host: LocalHost) -> None:
    session = begun(host)
    lines = ROWS.split("\n")
    lines[700] = "the gateway queued the release as ticket QX-7731"
    lines[1_500] = "a ticket was closed by the gateway"
    ran(session, "c1", "\n".join(lines))
    ran(session, "c2", "gateway ticket gateway ticket gateway ticket")
    session.compact(strategy="deterministic", targetTokens=500)
    found = recall(session, toolCallId="c1", query="gateway ticket")
    assert "c2" not in found
    assert found.startswith("Best matches in this output:")
    assert "line 701:" in found
    assert "line 1501:" in found
    following = re.search(r"line 701: recall (\{.*?\})\n", found)
    assert following is not None
    assert "QX-7731" in recall(session, **json.loads(following[1]))


def test_a_query_alone_searches_everything_and_each_hit_says_how_to_read_on(host: LocalHost) -> None:
    session = begun(host)
    for number in range(5):
        ran(session, f"c{number}", f"{ROWS}\nanimal{number} was seen\n{ROWS}")
    found = recall(session, query="animal3")
    first = re.search(r"1\. Bash run c3, line (\d+): recall (\{.*?\})\n", found)
    assert first is not None
    assert int(first[1]) == 2_002
    assert "animal3 was seen" in recall(session, **json.loads(first[2]))
    assert recall(session, query="animal3", toolName="Read").startswith("No words of the query are in")


@behaviour("tools.bounded")
def test_hits_are_as_many_as_fit(host: LocalHost) -> None:
    host.configure(SMALL)
    session = begun(host)
    for number in range(30):
        ran(session, f"c{number}", "needle " + "值" * 700)
    found = recall(session, query="needle")
    assert 0 < len(found.encode()) <= 2_000
    assert "1. Bash" in found


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "Give a handle (toolCallId, messageId or digest) to read, or query to search."),
    ({"toolCallId": "nobody"}, 'Nothing is stored under "nobody". Use a handle exactly as a placeholder'),
    ({"messageId": "nobody"}, 'Nothing is stored under "nobody"'),
    ({"digest": "sha256:" + "0" * 64}, "Nothing is stored under"),
    ({"digest": "zz"}, "Nothing is stored under"),
    ({"toolCallId": "c1", "digest": "x"}, "Give one of toolCallId and digest, not both."),
    ({"toolCallId": "c1", "page": 1, "offset": 1}, "Give one of page, offset, and startLine with endLine."),
    ({"toolCallId": "c1", "startLine": 9}, "There are 2 lines"),
    ({"toolCallId": "c1", "startLine": 2, "endLine": 1}, "There are 2 lines"),
    ({"toolCallId": "c1", "pages": 1}, "did you mean page?"),
    ({"toolCallId": "c1", "page": "last"}, "page must be a whole number."),
    ({"query": " "}, "query is empty."),
    ({"query": "x", "page": 1}, "query searches; it takes no page."),
]


@behaviour("tools.mistakes")
@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
def test_a_mistake_is_answered_with_what_to_do(host: LocalHost, arguments: dict[str, Any], said: str) -> None:
    session = begun(host)
    ran(session, "c1", "one\ntwo")
    assert said in mistake(session, **arguments)


@behaviour("tools.mistakes")
@pytest.mark.parametrize("arguments", [None, [], 7, "x", "{", {"toolCallId": {}}, [{}], True])
def test_arguments_of_any_shape_are_answered(host: LocalHost, arguments: Any) -> None:
    session = begun(host)
    answer: Answer = session.call("tools/call", name="recall", arguments=arguments)
    assert answer["isError"] is True
    assert "It takes: toolCallId (string)" in answer["content"] or "Give a handle" in answer["content"]


def test_an_unknown_tool_is_answered_with_those_there_are(host: LocalHost) -> None:
    answer = begun(host).call("tools/call", name="shell", arguments={})
    tools = "recall, memory_read, memory_write, recall_memory, read_file"
    assert answer == {"content": f"There is no such tool. Tools: {tools}.", "isError": True}


def test_arguments_as_json_text_are_taken(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "it")
    answer = session.call("tools/call", name="recall", arguments='{"toolCallId": "c1"}')
    assert answer == {"content": "it", "isError": False}


def test_calling_a_tool_changes_nothing(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", ROWS)
    before = session.revision, session.history_bytes()
    recall(session, toolCallId="c1")
    recall(session, query="row")
    assert (session.revision, session.history_bytes()) == before


def test_a_query_in_a_message_is_answered_with_how_to_read_it(host: LocalHost) -> None:
    session = begun(host)
    message = session.lines()[0]["messageId"]
    assert "read a message by its messageId" in mistake(session, messageId=message, query="go")


@behaviour("recall.redacted")
def test_f75_recall_says_what_was_cut_out_before_storing(host: LocalHost) -> None:
    session = begun(host)
    ran(session, "c1", "first")
    opened = host.registry.get(session.id)
    block = {"type": "tool_result", "tool_use_id": "c2", "content": "key [REDACTED:github-pat] end"}
    value = {"role": "user", "content": [block]}
    native = Native(raw=json.dumps(value).encode(), value=value)

    async def store() -> None:
        weigher = await opened.weigher()
        facts = describe("m9", native, opened.view(native), weigher)
        facts = msgspec.structs.replace(facts, redacted=(Redacted("c2", "github-pat", 1),))
        async with opened.lane:
            await opened.commit([Written(MessagesAppended(messages=(facts,)), (native.raw,))])

    host.run(store)
    host.reopen()
    session = host.open()
    assert session.fetch("c2")["redactions"] == 1
    assert session.fetch("c1")["redactions"] == 0
    said = recall(session, toolCallId="c2")
    note = "1 secret was cut out before this was stored and cannot be read again (github-pat)"
    assert said.endswith(f"[recall: {note}]")


def test_lone_surrogates_and_control_characters_are_answered(host: LocalHost) -> None:
    session = begun(host)
    text = "a\ud83d b\x00\x1b[31m \udc00"
    ran(session, "c1", text)
    assert recall(session, toolCallId="c1") == text
    assert recall(session, query="31m")
