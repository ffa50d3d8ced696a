"""Messages: native bytes survive as they came, errors name fields, answers spell what they must."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.model.errors import InvalidParams
from ctxd.server.codec import (
    Broken,
    Inbound,
    Notification,
    Request,
    Response,
    decode,
    encode,
    encode_parts,
    reject,
)
from ctxd.server.framing import Oversized
from ctxd.server.wire.lifecycle import BUILTINS, SetTraceParams
from ctxd.server.wire.sessions import SessionAppendResult, Window
from tests.support.behaviour import behaviour
from tests.support.echo_server import TABLE, EchoParams, EchoResult

NATIVES = [
    b'{"role":"user","content":"plain"}',
    b'{ "spaces" : [ 1 , 2.50 , 1E2 , -0 , -0.0 ] }',
    b'{"cut":"\\ud83d","pair":"\\uD83D\\uDE00","escaped":"\\\\ud83d","swapped":"\\ude00\\ud83d"}',
    b'{"\\udead":1,"del":"\x7f","nul":"\\u0000"}',
    b'{"big":123456789012345678901234567890,"bigger":1e400,"tiny":1e-400,"long":' + b"7" * 5000 + b"}",
    b'{"a":1,"a":2,"null":null,"unknown":{"x":[]}}',
    b'{"deep":' + b"[" * 900 + b"]" * 900 + b"}",
    '{"text":"é 😀 \u2028 \ufeff"}'.encode(),
    b"{}",
]


def read(body: bytes) -> Inbound:
    return decode(body, TABLE, BUILTINS)


def ask(params: bytes, method: bytes = b"test/echo") -> Any:
    message = read(b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method, params))
    assert isinstance(message, Request)
    return message.params


def answer(result: object) -> bytes:
    return encode({"jsonrpc": "2.0", "id": 1, "result": result})


@behaviour("wire.native-bytes")
@pytest.mark.parametrize("native", NATIVES)
def test_a_native_message_is_the_same_bytes_in_and_out(native: bytes) -> None:
    params = ask(b'{"native":%b,"messages":[{},%b],"system":[%b]}' % (native, native, native))
    assert params.native.raw == native
    assert [m.raw for m in params.messages] == [b"{}", native]
    assert params.system.raw == b"[%b]" % native
    result = EchoResult(text="x", native=params.native.raw, messages=[m.raw for m in params.messages])
    assert answer(result).count(native) >= 2


def test_line_ends_between_tokens_become_spaces_and_nothing_else_changes() -> None:
    native = b'{\r\n\t"a": "x\\ny",\n"b":[1,\r2]}'
    params = ask(b'{"messages":[%b]}' % native)
    assert params.messages[0].raw == b'{  \t"a": "x\\ny", "b":[1, 2]}'
    assert params.messages[0].value == {"a": "x\ny", "b": [1, 2]}


def test_a_value_is_decoded_beside_its_bytes() -> None:
    values = ask(b'{"messages":[%b]}' % b",".join(NATIVES[:3])).messages
    assert values[1].value == {"spaces": [1, 2.5, 100.0, 0, 0.0]}
    assert values[2].value["cut"] == "\ud83d"
    assert values[2].value["pair"] == "😀"
    assert values[2].value["escaped"] == "\\ud83d"


@pytest.mark.parametrize("text", ["\ud83d", "a\ude00\ud83db", "😀", "\x00", "\x7f"])
def test_a_string_of_our_own_survives_lone_surrogates(text: str) -> None:
    params = ask(json.dumps({"text": text, "tree": {text: [text]}}).encode())
    assert params.text == text
    again = json.loads(answer(EchoResult(text=text, tree=params.tree, native=b'{"x": 1e400}')))
    assert again["result"]["text"] == text
    assert again["result"]["tree"] == {text: [text]}


@behaviour("wire.surrogates")
def test_an_answer_with_lone_surrogates_still_has_native_bytes_as_they_came() -> None:
    body = answer(EchoResult(text="\ud83d", native=NATIVES[1], messages=[NATIVES[4], NATIVES[7]]))
    assert all(n in body for n in (NATIVES[1], NATIVES[4], NATIVES[7]))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_json_value_is_the_same_bytes_in_and_out(value: object) -> None:
    native = json.dumps({"v": value}).encode()
    params = ask(b'{"native":%b}' % native)
    assert params.native.raw == native
    assert params.native.value == json.loads(native)


@behaviour("wire.null")
@pytest.mark.parametrize("null", ["text", "number", "messages", "tree"])
def test_null_means_absent(null: str) -> None:
    assert ask(json.dumps({null: None}).encode()) == EchoParams()


@behaviour("wire.null")
def test_nulls_inside_natives_stay() -> None:
    assert ask(b'{"messages":[{"a":null}]}').messages[0].value == {"a": None}


@pytest.mark.parametrize(
    ("params", "paths"),
    [
        (b'{"messages":{}}', ["messages"]),
        (b'{"messages":[{},null,1,[]]}', ["messages.1", "messages.2", "messages.3"]),
        (b'{"native":"x"}', ["native"]),
        (b'{"native":{"a":"\xff"}}', ["native"]),
        (b'{"system":"\xed\xa0\xbd"}', ["system"]),
        (b'{"text":"\xff"}', ["text"]),
        (b'{"number":1e400}', ["number"]),
        (b'{"tree":{"a":1},"number":"x","text":1}', ["number", "text"]),
        (b"[]", [""]),
    ],
)
def test_each_bad_field_is_named_once(params: bytes, paths: list[str]) -> None:
    error = ask(params)
    assert isinstance(error, InvalidParams)
    errors: Any = error.facts["errors"]
    assert sorted(e["path"] for e in errors) == paths


def test_at_most_fifty_errors_are_listed() -> None:
    errors: Any = ask(b'{"messages":[%b]}' % b",".join([b"1"] * 500)).facts["errors"]
    assert len(errors) == 50


@behaviour("wire.deep")
@pytest.mark.parametrize(
    ("body", "identity", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":%b}', 7, "invalidParams"),
        (b'{"jsonrpc":"2.0","params":%b,"id":"x","method":"m"}', "x", "invalidParams"),
        (b'{"jsonrpc":"2.0","method":"m","params":%b}', None, "parseError"),
    ],
)
def test_what_is_nested_too_deeply_is_answered(body: bytes, identity: object, kind: str) -> None:
    message = read(body % (b"[" * 100_000 + b"]" * 100_000))
    assert isinstance(message, Broken)
    assert message.id == identity
    assert message.fault.kind == kind  # type: ignore[attr-defined]  # both kinds of error have one


def test_a_native_message_nested_too_deeply_is_named() -> None:
    message = read(
        b'{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"messages":[{"a":%b}]}}'
        % (b"[" * 5000 + b"]" * 5000)
    )
    assert isinstance(message, Broken)
    assert message.id == 7


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"x"}') == Notification("x", None)


def test_builtins_have_models_and_other_params_are_not_looked_at() -> None:
    body = b'{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"verbose","more":1}}'
    assert read(body) == Notification("$/setTrace", SetTraceParams(value="verbose"))
    assert read(b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xff"}}') == Notification("x", None)


def test_an_answer_of_the_host_is_read_whatever_it_holds() -> None:
    assert read(b'{"jsonrpc":"2.0","id":"s1","result":null}') == Response("s1", None, None)
    assert read(b'{"jsonrpc":"2.0","id":"s1","error":{"code":1},"x":1}') == Response("s1", None, {"code": 1})
    unreadable = read(b'{"jsonrpc":"2.0","id":"s1","result":"\xff"}')
    assert isinstance(unreadable, Response)
    assert unreadable.error is not None


@behaviour("wire.oversize")
def test_an_oversized_body_is_refused_by_the_id_it_had() -> None:
    broken = reject(Oversized(10, b'{"id":3,', b"}"), 5)
    assert broken.id == 3
    assert broken.fault.facts == {"bytes": 10, "limit": 5}  # type: ignore[attr-defined]  # a Fault


def test_results_are_spelled_in_camel_case_without_what_is_absent() -> None:
    result = SessionAppendResult(
        revision=1, message_ids=["m"], spilled=[], redacted=[], warnings=[], durable=True
    )
    assert json.loads(encode(result)) == {
        "revision": 1,
        "messageIds": ["m"],
        "spilled": [],
        "redacted": [],
        "warnings": [],
        "durable": True,
    }


def test_a_required_member_that_is_unknown_is_null() -> None:
    assert encode(Window(value=None, source="unknown")) == b'{"value":null,"source":"unknown"}'


@pytest.mark.parametrize("value", [{"a": object()}, [{1, 2, object()}]])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_the_slow_spelling_says_the_same_as_the_fast_one() -> None:
    value = {"a": [1, 2.5, None, True, "é", msgspec.Raw(b"{}")], "b": {}, "c": Window(value=3, source="host")}
    slow = json.loads(encode({**value, "s": "\udead"}))
    assert slow == {**json.loads(encode(value)), "s": "\udead"}


def test_large_natives_are_handed_on_in_parts_of_their_own() -> None:
    sizes = [20_000, 20_000, 70_000, 10, 70_000, 70_000]
    natives = [b'{"n":%d,"text":"%b"}' % (size, b"x" * size) for size in sizes]
    result = EchoResult(text="\u00e9", messages=natives)
    plain = {"text": "\u00e9", "messages": [json.loads(native) for native in natives]}
    parts = encode_parts({"before": 1, "result": result, "after": result})
    assert [part for part in parts if len(part) > 65_536] == [n for n in natives if len(n) > 65_536] * 2
    assert json.loads(b"".join(parts)) == {"before": 1, "result": plain, "after": plain}
    assert json.loads(encode({"result": result, "s": "\udead"}))["result"] == plain


@given(st.lists(st.sampled_from([1, 100, 70_000]), min_size=1, max_size=8))
def test_natives_of_any_sizes_are_joined_as_a_list(sizes: list[int]) -> None:
    natives = [b'"%b"' % (b"x" * size) for size in [70_000, *sizes]]
    expected = b'{"text":"","messages":[%b]}' % b",".join(natives)
    assert encode(EchoResult(text="", messages=natives)) == expected
