"""Five compactions in a row on every real session, with each summariser, at three windows (issue 3, shows 1).

A session is fed in five parts and compacted behind each. In this process, for speed: the process itself is
what the other tests of this folder start.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.detect import UnknownFormat, read_transcripts
from ctxd.importers.steps import Boundary, Response, Results, Transcript, UserInput
from ctxd.report.tool_outputs import find_results, store_form
from ctxd.report.wire_check import check_request
from tests.service.host import Answer, LocalHost, Session
from tests.service.recorded import SAMPLE, SHARED
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost, plausible

WINDOWS = (200_000, 60_000, 20_000)
SUMMARISERS = ("deterministic", "model")
ROUNDS = 5
FETCHED = 6
"""Evicted outputs fetched back after each compaction, spread over all of them."""

OPTIONS = {"compaction": {"auto": False}, "summarizer": {"retryDelayMs": 0}}
"""Only the compactions of the test happen; elision is left on."""


SUFFIXES = (".json", ".jsonl", ".traj")


def paths() -> list[Path]:
    """Every recording."""
    found = [SAMPLE]
    for path in sorted(path for path in SHARED.glob("*/*") if path.suffix in SUFFIXES):
        try:
            read_transcripts(path)
        except UnknownFormat:
            continue
        found.append(path)
    return found


def test_the_shared_recordings_are_there() -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared/transcripts is not beside this checkout")
    assert len(paths()) > 6


@behaviour("compaction.five-times")
@pytest.mark.parametrize("summariser", SUMMARISERS)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_five_compactions_of_a_real_session_break_nothing_and_lose_nothing(
    tmp_path: Path, path: Path, window: int, summariser: str
) -> None:
    check(tmp_path, read_transcripts(path)[0], window, summariser)


@pytest.mark.slow
@pytest.mark.parametrize("summariser", SUMMARISERS)
@pytest.mark.parametrize("window", WINDOWS)
def test_five_compactions_of_every_session_of_every_recording(
    tmp_path: Path, window: int, summariser: str
) -> None:
    for path in paths():
        for number, transcript in enumerate(read_transcripts(path)[1:]):
            check(tmp_path / f"{path.stem}-{number}", transcript, window, summariser)


def check(folder: Path, transcript: Transcript, window: int, summariser: str) -> None:
    """Feed and compact a session five times; every promise is looked at after every compaction."""
    script = ScriptedHost(plausible)
    expected = stored(transcript)
    with LocalHost(folder / "state", OPTIONS, answers=script) as host:
        session = begin(host, transcript, window)
        applied = asked = 0
        for part in filter(None, parts(transcript)):
            feed(session, part)
            report = session.compact(strategy=summariser)
            applied += report["outcome"] == "applied"
            asked += report.get("strategy") == "model"
            judge(report, summariser)
            look_at_request(session)
            fetch_back(session, report, expected)
        assert applied >= 1 or session.project()["tokens"] < 6_000
        view = session.history_bytes("model")
        transcript_view = session.history_bytes("transcript")
        host.reopen()
        host.open(session.id, None)
        assert session.history_bytes("model") == view
        assert session.history_bytes("transcript") == transcript_view
    assert len(script.asked) >= asked
    assert summariser == "model" or script.asked == []


def begin(host: LocalHost, transcript: Transcript, window: int) -> Session:
    fields: dict[str, Any] = {"system": transcript.system, "tools": list(transcript.tools) or None}
    model = {"id": transcript.model or "gpt-4o", "contextWindow": window}
    return host.open("s1", transcript.dialect, model=model, **fields)


def parts(transcript: Transcript) -> Iterator[list[Answer]]:
    """The messages in five parts of about the same length, cut where they happen to be."""
    messages = [m for step in transcript.steps for m in native(step)]
    edges = [len(messages) * n // ROUNDS for n in range(ROUNDS + 1)]
    for start, end in pairwise(edges):
        yield messages[start:end]


def native(step: object) -> list[Answer]:
    match step:
        case UserInput() | Results() | Response():
            return list(step.messages)
        case Boundary():
            return []
        case _:
            raise AssertionError(step)


def stored(transcript: Transcript) -> dict[str, list[bytes]]:
    """Stored forms of all outputs by call id, oldest first."""
    found: dict[str, list[bytes]] = {}
    for step in transcript.steps:
        if isinstance(step, Results):
            for call_id, content in find_results(step.messages):
                found.setdefault(call_id, []).append(store_form(content))
    return found


def feed(session: Session, messages: list[Answer]) -> None:
    """Append in two halves; between changes of the view a request only grows at its end."""
    before: Answer | None = None
    half = len(messages) // 2
    for some in (messages[:half], messages[half:]):
        if not some:
            continue
        session.append(*some)
        prepared = session.prepare("iteration")
        if before is not None and prepared["generation"] == before["generation"]:
            settled = closed(before["messages"])
            assert prepared["messages"][:settled] == before["messages"][:settled]
        before = prepared


def closed(messages: list[Answer]) -> int:
    """How many messages stand before the newest assistant turn, which may still go on."""
    start = len(messages)
    while start > 0 and not is_models(messages[start - 1]):
        start -= 1
    while start > 0 and is_models(messages[start - 1]):
        start -= 1
    return start


def is_models(message: Answer) -> bool:
    """Whether the model made this message, content or item."""
    if "role" in message:
        return message["role"] in ("assistant", "model")
    return not str(message["type"]).endswith("_output")


def judge(report: Answer, summariser: str) -> None:
    assert report["outcome"] in ("applied", "noop"), report
    if report["outcome"] == "noop":
        return
    if report.get("failureReason") == "nothingToSummarise":
        # All that left was an older summary, or the middle of a result.
        assert [
            unit for unit in report["units"] if unit.get("handle") and unit["fidelity"] == "summary"
        ] == []
    elif report.get("failureReason") == "insufficientReduction":
        # Hardly more than the smallest target: room for a summary, or for a gain.
        assert report["before"]["tokens"] < 5_600
    else:
        assert report["strategy"] == summariser, report.get("failureReason")
    assert report["after"]["tokens"] * 20 <= report["before"]["tokens"] * 19
    if report["after"]["tokens"] > report["target"]:
        # Mandatory state alone is larger: nothing else stands beside it.
        kept = [unit for unit in report["units"] if unit["fidelity"] in ("full", "truncate")]
        assert len(kept) <= 1, report["units"]
    audit = report["audit"]
    if report["after"]["tokens"] <= report["target"]:
        # Where mandatory state alone is larger, no room is left for all words.
        assert audit["constraints"]["verbatim"] == audit["constraints"]["total"]
    assert audit["exactRecords"]["verbatim"] == audit["exactRecords"]["total"]
    assert audit["toolOutputs"]["recoverable"] == audit["toolOutputs"]["evicted"]
    assert audit["filesMentioned"]["recoverable"] == audit["filesMentioned"]["before"]


def look_at_request(session: Session) -> None:
    """The next request is one that a provider takes, and the same when asked again."""
    one, again = session.prepare("iteration"), session.prepare("iteration")
    assert one["messages"] == again["messages"]
    messages = one["messages"]
    sendable = closed_calls(messages)
    assert sendable == [] or check_request(session.info["dialect"], sendable) == []
    verdict = session.host.call("context/validate", dialect=session.info["dialect"], messages=messages)
    assert [v for v in verdict["violations"] if v["mend"] == "refuse"] == []


def closed_calls(messages: list[Answer]) -> list[Answer]:
    """The request without calls at its end that still wait, and their reasoning: parts may end there."""
    end = len(messages)
    while end > 0 and _has_calls(messages[end - 1]):
        end -= 1
    return messages[:end]


def _has_calls(message: Answer) -> bool:
    if message.get("type") in ("function_call", "reasoning"):
        return True
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return bool(message.get("tool_calls")) or any(b.get("type") == "tool_use" for b in blocks)


def fetch_back(session: Session, report: Answer, expected: dict[str, list[bytes]]) -> None:
    """Some of the outputs that are no longer shown, byte for byte."""
    listed = session.call("recall/list", limit=5_000)["entries"]
    gone = [entry for entry in listed if not entry["inContext"]]
    assert len(gone) >= report["audit"]["toolOutputs"]["evicted"] if report["outcome"] == "applied" else True
    for entry in gone[:: max(1, len(gone) // FETCHED)]:
        assert fetch(session, entry["digest"]) in expected[entry["toolCallId"]]


def fetch(session: Session, digest: str) -> bytes:
    found: list[bytes] = []
    params: Answer | None = {"sessionId": session.id, "digest": digest, "offset": 0, "length": 1_000_000}
    while params is not None:
        page = session.host.call("recall/fetch", **params)
        content = page["content"]
        plain = page["encoding"] == "utf-8"
        found.append(content.encode("utf-8", "surrogatepass") if plain else base64.b64decode(content))
        params = page.get("next")
    return b"".join(found)
