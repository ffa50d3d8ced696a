"""Every message of the real transcripts is read, edited and read again, and sent as its SDK would type it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ctxd.dialects.registry import get
from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary
from tests.support import sdk
from tests.support.recordings import CHAT, CODEX, FOLDER, RECORDINGS, codex

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no transcripts in {FOLDER}")
EVERY = pytest.mark.parametrize("name", RECORDINGS)


@EVERY
def test_every_message_is_read_and_edited(name: str) -> None:
    dialect_name, read = RECORDINGS[name]
    dialect = get(dialect_name)
    for message in read():
        view = dialect.view(message)
        assert view.blocks
        shorter = dialect.with_results(message, {result.call_id: "gone" for result in view.results})
        assert [r.text for r in dialect.view(shorter).results] == ["gone"] * len(view.results)
        assert dialect.view(dialect.with_text(message, "short")).calls == view.calls


@EVERY
def test_what_is_sent_of_it_is_lawful_and_typed_by_the_sdk(name: str) -> None:
    dialect_name, read = RECORDINGS[name]
    dialect = get(dialect_name)
    mended, _ = dialect.mend(read(), pending=False)
    assert [v for rule in dialect.rules for v in rule.violations([dialect.view(m) for m in mended])] == []
    assert sdk.faults(dialect_name, mended, recorded=True) == []


def test_lawful_chat_runs_are_left_as_they_are() -> None:
    for run in json.loads(CHAT.read_text()):
        mended, edits = get("openai-chat").mend(run["traj"], pending=True)
        assert edits == []
        assert all(a is b for a, b in zip(mended, run["traj"], strict=True))


def test_a_recorded_rollout_is_left_as_it_is() -> None:
    items = codex()
    mended, edits = get("openai-responses").mend(items, pending=True)
    assert edits == []
    assert all(a is b for a, b in zip(mended, items, strict=True))


def test_of_what_was_recorded_the_sdk_lacks_a_type_for_what_is_known_and_nothing_else() -> None:
    """What Codex sends without ids, and results that name their tool, is handed back as it came."""
    (rollout,) = read_transcripts(CODEX)
    items = [m for step in rollout.steps if not isinstance(step, Boundary) for m in step.messages]
    untyped = [item["type"] for item in items if sdk.faults("openai-responses", [item])]
    assert Counter(untyped) == {"reasoning": 125, "message": 9}
    assert sdk.faults("openai-responses", items, recorded=True) == []
    run = json.loads(CHAT.read_text())[0]["traj"]
    assert {m["role"] for m in run if sdk.faults("openai-chat", [m])} == {"tool"}
    assert sdk.faults("openai-chat", run, recorded=True) == []
