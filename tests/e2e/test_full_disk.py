"""A disk that takes no more: said at once, nothing half written, and over as soon as there is room again.

The limit on file size of the running daemon is the disk (`EFBIG` is as good as `ENOSPC`, reliability.md D9).
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.remote import Remote, remote
from tests.support.peer import PeerError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")


@contextmanager
def full_disk(session: Remote, limit: int = 0) -> Iterator[None]:
    """No file of the daemon may grow beyond `limit` bytes."""
    pid = session.peer.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_full_disk_refuses_appends_and_nothing_else(tmp_path: Path) -> None:
    with remote(tmp_path) as session:
        session.open(dialect="anthropic", model={"id": "claude-sonnet-4-5"})
        session.append(user("one"))
        expected = session.standing()
        with full_disk(session):
            for _ in range(2):
                with pytest.raises(PeerError) as refused:
                    session.append(said("two"), clientId="k")
                assert refused.value.kind == "storageFull"
                assert refused.value.data["hint"]
            assert session.standing() == expected
            prepared = session.prepare()
            assert prepared["messages"] == [user("one")]
            with pytest.raises(PeerError) as refused:
                session.report(prepared["requestId"], said("two"))
            assert refused.value.kind == "storageFull"
            assert session.standing() == expected
            assert session.open()["durable"] is False
            (listed,) = session.peer.request("session/list")["sessions"]
            assert listed["revision"] == expected[2]["revision"]
        answer = session.report(prepared["requestId"], said("two"))
        assert answer["revision"] == expected[2]["revision"] + 2
        assert session.append(user("three"), clientId="k")["durable"] is True
        expected = session.standing()
        session.kill()
        assert session.open()["durable"] is True
        assert session.standing() == expected


def test_what_does_not_fit_is_refused_and_what_fits_is_kept(tmp_path: Path) -> None:
    with remote(tmp_path) as session:
        session.open(dialect="anthropic")
        session.append(user("one"))
        blobs = {"c1": "x" * 3_000_000}
        call = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
        big = {"type": "tool_result", "tool_use_id": "c1", "content": blobs["c1"]}
        with full_disk(session, 100_000):
            for messages in (
                [user("y" * 200_000)],
                [{"role": "assistant", "content": [call]}, {"role": "user", "content": [big]}],
            ):
                with pytest.raises(PeerError) as refused:
                    session.append(*messages)
                assert refused.value.kind == "storageFull"
            assert session.append(said("small"))["revision"] == 3
        history = session.call("session/history")["messages"]
        assert [line["message"] for line in history] == [user("one"), said("small")]
        expected = session.standing()
        session.kill()
        session.open()
        assert session.standing() == expected


def test_a_checkpoint_that_cannot_be_kept_leaves_the_view_as_it_was(tmp_path: Path) -> None:
    with remote(tmp_path) as session:
        session.open(dialect="anthropic", model={"id": "m", "contextWindow": 60_000})
        for number in range(12):
            session.append(user(f"ask {number} " + "word " * 1500), said("answer " * 1500))
        expected = session.standing()
        with full_disk(session):
            with pytest.raises(PeerError) as refused:
                session.call("context/compact", strategy="deterministic")
            assert refused.value.kind == "checkpointFailed"
            assert session.standing() == expected
        assert session.call("context/compact", strategy="deterministic")["outcome"] == "applied"
