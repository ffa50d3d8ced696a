"""A session opened at a bookmark is the session it was: the same state, the same bytes, the same outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.host import LocalHost
from tests.service.recorded import SAMPLE, TIGHT, open_for, outputs, play, read_one
from tests.support.behaviour import behaviour
from tests.support.session import snapshot

EAGER = {**TIGHT, "storage": {"bookmarkBytes": 1}}


def bookmarks(host: LocalHost) -> list[Path]:
    return sorted(host.root.rglob("*.bookmark"))


@behaviour("bookmark.same")
@pytest.mark.parametrize("every", [1, 7, 1000])
def test_a_recorded_session_closed_now_and_then_is_the_same_with_and_without_bookmarks(
    folder: Path, every: int
) -> None:
    transcript = read_one(SAMPLE)
    with LocalHost(folder / "state", EAGER) as host:
        session = open_for(host, transcript, 20_000)
        for number, moment in enumerate(play(session, transcript)):
            if moment.method == "context/report" and number % every == 0:
                session.call("session/close")
                session.host.open(dialect=None, mode="resume")
        host.reopen()
        assert bookmarks(host)
        marked = host.open(dialect=None, mode="resume")
        state = snapshot(host.registry.get("s1").state)
        view, said = marked.history_bytes(), marked.history_bytes("transcript")
        stored = [marked.fetch(call_id) for call_id, _ in outputs(transcript)]
        host.close()
        for path in bookmarks(host):
            path.unlink()
        host.start_again()
        plain = host.open(dialect=None, mode="resume")
        assert snapshot(host.registry.get("s1").state) == state
        assert (plain.history_bytes(), plain.history_bytes("transcript")) == (view, said)
        assert [plain.fetch(call_id) for call_id, _ in outputs(transcript)] == stored
