"""Real sessions through a whole daemon: each request is lawful, and typed by the SDKs of all dialects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

from ctxd.dialects.registry import NAMES, get
from ctxd.dialects.translate import translate
from tests.service.host import Answer, LocalHost, Session
from tests.support import natives, sdk
from tests.support.behaviour import behaviour
from tests.support.recordings import FOLDER, RECORDINGS

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no transcripts in {FOLDER}")

WINDOWS = (200_000, 60_000, 20_000)
TIGHT = {
    "recall": {"spillBytes": 12_000, "headBytes": 1000, "tailBytes": 500},
    "elision": {"minMessages": 8, "keepTurns": 2, "oversizedBytes": 2_000},
}


def play(session: Session, dialect: str, messages: list[Any]) -> Iterator[Answer]:
    """Append, prepare and report as recorded; each prepared request."""
    codec = get(dialect)
    phase = "turnStart"
    # What no provider would take is not what a host has: the recording as a sender would have mended it.
    for side, run in groupby(
        codec.mend(messages, pending=False)[0], lambda m: codec.view(m).role == "assistant"
    ):
        group = list(run)
        if not side:
            session.append(*group)
            phase = "turnStart" if any(codec.view(m).is_user_turn for m in group) else "iteration"
            continue
        made = session.prepare(phase)
        yield made
        usage = natives.usage(dialect, made["projection"]["tokens"] + 7)
        session.report(made["requestId"], *group, usage=usage)


@behaviour("recordings.typed")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", RECORDINGS)
def test_every_request_of_a_recording_is_lawful_and_typed_in_every_dialect(
    host: LocalHost, name: str, window: int
) -> None:
    host.configure(TIGHT)
    dialect, read = RECORDINGS[name]
    session = host.open(dialect=dialect, model={"id": "m", "contextWindow": window})
    changed = 0
    last: list[Any] = []
    for made in play(session, dialect, read()):
        last = made["messages"]
        if made["report"]["stages"]:
            changed += 1
            check(host, dialect, last, others=changed % 8 == 1)
    check(host, dialect, last, others=True)
    if window == 20_000 and name in ("codex", "long-three-compactions"):
        assert session.project(detail="items")["generation"] > 5


def check(host: LocalHost, dialect: str, messages: list[Any], *, others: bool) -> None:
    verdict = host.call("context/validate", dialect=dialect, messages=messages)
    assert verdict == {"ok": True, "violations": []}
    assert sdk.faults(dialect, messages, recorded=True) == []
    for target in NAMES if others else ():
        if target != dialect:
            sent, _ = translate(messages, get(dialect), get(target))
            assert host.call("context/validate", dialect=target, messages=sent)["ok"]
            assert sdk.faults(target, sent) == []


@behaviour("recordings.recall")
@pytest.mark.parametrize("name", ["codex", "gemini"])
def test_every_output_of_a_recording_comes_back(host: LocalHost, name: str) -> None:
    host.configure(TIGHT)
    dialect, read = RECORDINGS[name]
    session = host.open(dialect=dialect, model={"id": "m", "contextWindow": 20_000})
    messages = read()
    for _ in play(session, dialect, messages):
        pass
    host.reopen()
    host.open(dialect=dialect)
    outputs = [r for m in messages for r in get(dialect).view(m).results]
    assert len(outputs) > 10
    for result in outputs:
        pages, more = "", {"sessionId": session.id, "toolCallId": result.call_id}
        while more:
            page = host.call("recall/fetch", **more)
            pages += page["content"]
            more = page.get("next")
        assert pages == result.text
