"""Whatever a message holds, in any dialect: it comes back as the bytes it came in, after a restart too."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects.registry import NAMES
from tests.service.host import LocalHost
from tests.support import natives
from tests.support.behaviour import behaviour

_names = itertools.count()

TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
"""Every plane, controls, NUL, lone surrogates."""

NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**53, 2**53 + 1, 2**63, 2**64, 10**40]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e16]),
)

VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

EXTRA = st.dictionaries(TEXT.map(lambda name: f"x{name}"), VALUES, max_size=3)
"""Members nobody knows."""


def unknown(dialect: str, extra: dict[str, Any]) -> dict[str, Any]:
    """A message that holds something of a type nobody knows."""
    match dialect:
        case "openai-responses":
            return {"type": "hologram", **extra}
        case "gemini":
            return {"role": "model", "parts": [{"hologram": extra}]}
        case _:
            return {"role": "user", "content": [{"type": "hologram", **extra}]}


@st.composite
def messages(draw: st.DrawFn, dialect: str) -> list[dict[str, Any]]:
    """A lawful conversation whose every level holds what nobody knows."""
    words = draw(st.lists(TEXT.filter(str.strip), min_size=1, max_size=3))
    native = [natives.user(dialect, words[0])]
    calls = natives.calling(dialect, ["c1"])
    result = natives.answer(dialect, "c1", draw(TEXT))
    native += [*calls, result]
    for text in words[1:]:
        native += [natives.said(dialect, text), natives.user(dialect, text)]
    made = []
    for message in native:
        member = "parts" if dialect == "gemini" else "content"
        if isinstance(message.get(member), list) and draw(st.booleans()):
            message = {**message, member: [{**part, **draw(EXTRA)} for part in message[member]]}
        made.append({**draw(EXTRA), **message, **draw(EXTRA)})
    if draw(st.booleans()):
        made.append(unknown(dialect, draw(EXTRA)))
    return made


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """JSON text of a value, spelled as some host might: escapes or not, spaces or not, odd numbers."""
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()) or _is_lone(value),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])),
    )
    return text.replace('"one"', draw(st.sampled_from(['"one"', '"\\u006fne"'])))


def _is_lone(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


@behaviour("native.any-bytes")
@pytest.mark.parametrize("dialect", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_message_comes_back_as_the_bytes_it_came_in(
    daemon: LocalHost, dialect: str, data: st.DataObject
) -> None:
    given_ = data.draw(messages(dialect))
    texts = [data.draw(spelled(message)).encode() for message in given_]
    session = daemon.open(f"s{next(_names)}", dialect)
    append(daemon, session.id, texts)
    check(daemon, session.id, texts)
    daemon.reopen()
    check(daemon, daemon.open(session.id, None).id, texts)


def append(daemon: LocalHost, session_id: str, texts: list[bytes]) -> None:
    """Append messages as these bytes: what arrived over a wire."""
    body = b",".join(texts)
    frame = b'{"jsonrpc":"2.0","id":1,"method":"session/append","params":{"sessionId":"%b","messages":[%b]}}'
    daemon.send("session/append", frame % (session_id.encode(), body))


def check(daemon: LocalHost, session_id: str, texts: list[bytes]) -> None:
    for view in ("transcript", "model"):
        daemon.call("session/history", sessionId=session_id, view=view)
        answer = daemon.bodies["session/history"]
        place = 0
        for text in texts if view == "transcript" else shown(texts):
            place = answer.find(text, place)
            assert place >= 0, view
            place += len(text)


def shown(texts: list[bytes]) -> list[bytes]:
    """Those a request shows as they came: lone surrogates are shown as replacement characters."""
    return [text for text in texts if not _is_lone(json.loads(text))]
