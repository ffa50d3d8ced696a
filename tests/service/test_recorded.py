"""Real sessions, call by call: the prefix stands still, outputs come back, a crash changes nothing."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.service.host import Answer, LocalHost, Session
from tests.service.recorded import AIRLINE, LONG, SAMPLE, TIGHT, Moment, open_for, outputs, play, read_one
from tests.support.behaviour import behaviour

WINDOW = 20_000
WINDOWS = (200_000, 60_000, WINDOW)


def needs(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")


def settled(messages: list[Answer]) -> int:
    """How many messages stand before the newest assistant turn."""
    start = len(messages)
    while start > 0 and messages[start - 1]["role"] != "assistant":
        start -= 1
    while start > 0 and messages[start - 1]["role"] == "assistant":
        start -= 1
    return start


@behaviour("context.prefix")
@behaviour("fold.grows")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("path", [SAMPLE, LONG, AIRLINE], ids=lambda path: path.stem)
def test_between_two_changes_of_the_view_a_request_only_grows_at_its_end(
    host: LocalHost, path: Path, window: int
) -> None:
    needs(path)
    transcript = read_one(path)
    before: Answer | None = None
    for moment in play(open_for(host, transcript, window), transcript):
        if moment.method != "context/prepare":
            continue
        after = moment.answer
        if before is not None:
            common = count_common(before["messages"], after["messages"])
            if after["generation"] == before["generation"]:
                assert common >= settled(before["messages"])
            else:
                assert after["report"]["promptReplaced"]
            assert after["cache"]["stablePrefixMessages"] == common
            rewritten = common < len(before["messages"])
            assert bool(after["cache"].get("reason")) == rewritten
            assert after["cache"].get("invalidatedAt") == (common if rewritten else None)
        before = after


def count_common(old: list[Answer], new: list[Answer]) -> int:
    return next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))


@behaviour("context.prepare-twice")
def test_preparing_twice_is_one_request(host: LocalHost) -> None:
    transcript = read_one(SAMPLE)
    session = open_for(host, transcript, WINDOW)
    for moment in play(session, transcript):
        if moment.method == "context/prepare":
            again = session.prepare(moment.answer["report"]["phase"])
            for name in ("requestId", "revision", "generation", "messages", "fingerprint", "projection"):
                assert again[name] == moment.answer[name], name
            assert again["report"]["stages"] == []


def test_the_view_a_host_reads_is_the_view_it_sends(host: LocalHost) -> None:
    host.configure(TIGHT)
    transcript = read_one(SAMPLE)
    session = open_for(host, transcript, WINDOW)
    for moment in play(session, transcript):
        if moment.method == "context/prepare":
            assert session.messages("model") == moment.answer["messages"]


def standing(session: Session) -> dict[str, Any]:
    """Everything a restart must not change."""
    projection = session.project(detail="items")
    return {
        "view": session.history_bytes("model"),
        "transcript": session.history_bytes("transcript"),
        "projection": projection,
        "outputs": session.call("recall/list"),
    }


@behaviour("crash.any-call")
@pytest.mark.parametrize("path", [SAMPLE, AIRLINE], ids=lambda path: path.stem)
def test_a_crash_after_any_call_changes_nothing_that_was_answered(folder: Path, path: Path) -> None:
    """What lies on disk after each call is opened by another daemon, as after `kill -9`."""
    needs(path)
    transcript = read_one(path)
    stages: set[str] = set()
    with LocalHost(folder / "state", TIGHT) as host:
        session = open_for(host, transcript, WINDOW if path == SAMPLE else 9_000)
        for number, moment in enumerate(play(session, transcript)):
            stages |= changes(moment)
            if number % 3 and not changes(moment):
                continue
            expected = standing(session)
            crashed = folder / "crashed"
            with host.copy(crashed) as other:
                again = other.open(session.id, None)
                assert again.info["revision"] == expected["projection"]["revision"]
                assert standing(again) == expected
                assert again.prepare()["fingerprint"] == again.project()["fingerprint"]
            shutil.rmtree(crashed)
    if path == SAMPLE:
        assert {"spill", "elision", "compaction"} <= stages


def changes(moment: Moment) -> set[str]:
    """What a call did to the view beside growing it."""
    if moment.method == "session/append":
        return {"spill"} if moment.answer["spilled"] else set()
    if moment.method == "context/prepare":
        return {stage["stage"] for stage in moment.answer["report"]["stages"]}
    return set()


def test_a_session_that_is_reopened_at_random_calls_goes_on_as_if_nothing_had_been(folder: Path) -> None:
    """Two plays of one recording, one of them interrupted: the same views at the end, byte for byte."""
    transcript = read_one(SAMPLE)
    chance = random.Random(7)
    ends: list[str] = []
    for interrupted in (False, True):
        with LocalHost(folder / f"state-{interrupted}", TIGHT) as host:
            session = open_for(host, transcript, WINDOW)
            for moment in play(session, transcript):
                if interrupted and moment.method != "context/prepare" and chance.random() < 0.2:
                    host.reopen()
                    session.info = host.open(session.id, None).info
            ends.append(name_anew(json.dumps(session.messages("model"))))
    assert ends[0] == ends[1]


def name_anew(text: str) -> str:
    """The text with ctxd's own ids numbered in order: no two plays have the same."""
    names: dict[str, str] = {}
    return re.sub(r"\b[mc]_[0-9a-f]{20}\b", lambda m: names.setdefault(m[0], f"id{len(names)}"), text)


@behaviour("recall.bytes")
@behaviour("recall.every-output")
@pytest.mark.parametrize("path", [SAMPLE, AIRLINE], ids=lambda path: path.stem)
def test_every_output_of_a_real_session_comes_back_byte_for_byte(host: LocalHost, path: Path) -> None:
    needs(path)
    host.configure(TIGHT)
    transcript = read_one(path)
    session = open_for(host, transcript, WINDOW)
    for _ in play(session, transcript):
        pass
    host.reopen()
    host.open(session.id, None)
    expected = outputs(transcript)
    listed = session.call("recall/list")["entries"]
    assert [(e["toolCallId"], e["bytes"]) for e in listed] == [(i, len(stored)) for i, stored in expected]
    for number, ((call_id, stored), entry) in enumerate(zip(expected, listed)):
        owners = [owner for owner, _ in expected]
        handle = {"toolCallId": call_id, "occurrence": owners[:number].count(call_id)}
        assert follow(session, **handle) == stored
        assert follow(session, digest=entry["digest"], offset=0, length=777) == stored
        assert follow(session, "\n", **handle, startLine=1, endLine=40) == stored
        if owners.count(call_id) == 1:
            assert follow(session, toolCallId=call_id) == stored


def follow(session: Session, joint: str = "", **handle: Any) -> bytes:
    """A whole stored form by `next` alone."""
    parts: list[bytes] = []
    params: dict[str, Any] | None = {"sessionId": session.id, **handle}
    while params is not None:
        page = session.host.call("recall/fetch", **params)
        content = page["content"]
        parts.append(
            base64.b64decode(content)
            if page["encoding"] == "base64"
            else content.encode("utf-8", "surrogatepass")
        )
        params = page.get("next")
    return joint.encode().join(parts)
