"""A host of a real daemon is told what becomes of the files its sessions touched, and of no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.behaviour import behaviour
from tests.support.peer import Peer


@behaviour("watcher.host")
def test_a_host_is_told_what_becomes_of_touched_files(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/other.py"):
        (root / name).write_text(f"# {name}\n")
    with Peer.start() as peer:
        peer.initialize(options={"storage": {"root": str(tmp_path / "state")}}, folders=[root])
        given = {"workspace": root.as_uri(), "sessionId": "s1", "dialect": "anthropic"}
        peer.request("session/open", given)
        call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/b.py"}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "# src/b.py\n"}
        messages = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
        peer.request("session/append", {"sessionId": "s1", "messages": messages})
        peer.notify("workspace/touch", {"sessionId": "s1", "path": "a.py", "op": "edit"})
        listed = peer.request("workspace/recentFiles", {"sessionId": "s1"})
        assert [file["path"] for file in listed["files"]] == ["a.py", "src/b.py"]
        told: dict[str, str] = {}
        (root / "src/other.py").write_text("# nobody asked\n")
        while "src/b.py" not in told:
            with (root / "src/b.py").open("a") as file:
                file.write("# more\n")
            peer.request("ctxd/status", {})
            for message in [m for m in peer.inbox if m.get("method") == "workspace/didChangeFiles"]:
                peer.inbox.remove(message)
                assert message["params"]["workspace"] == root.as_uri()
                told |= {change["path"]: change["change"] for change in message["params"]["changes"]}
        (root / "a.py").rename(root / "moved.py")
        while "a.py" not in told:
            params = peer.notification("workspace/didChangeFiles")
            told |= {c["path"]: c["change"] + " to " + c.get("movedTo", "") for c in params["changes"]}
        assert told["src/b.py"].startswith("modified")
        assert told["a.py"] == "moved to moved.py"
        assert told.keys() == {"a.py", "src/b.py"}
        assert peer.request("workspace/recentFiles", {"sessionId": "s1"})["files"][0]["changedSince"] is True
        peer.shutdown()
        peer.inbox.clear()


def test_a_host_that_wants_no_watching_is_told_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.py").write_text("# a\n")
    options = {"storage": {"root": str(tmp_path / "state")}, "workspace": {"watch": False}}
    with Peer.start() as peer:
        peer.initialize(options=options)
        given = {"workspace": root.as_uri(), "sessionId": "s1", "dialect": "anthropic"}
        peer.request("session/open", given)
        peer.notify("workspace/touch", {"sessionId": "s1", "path": "a.py", "op": "edit"})
        peer.request("workspace/recentFiles", {"sessionId": "s1"})
        threads = Path(f"/proc/{peer.process.pid}/task")
        if threads.is_dir():
            names = {(task / "comm").read_text().strip() for task in threads.iterdir()}
            assert not {name for name in names if "notify" in name}


LIMITED = """
import ctypes, os, sys
uid = os.getuid()
if ctypes.CDLL(None).unshare(0x10000000) != 0:
    sys.exit(77)
try:
    open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
    open("/proc/sys/user/max_inotify_watches", "w").write("0")
except OSError:
    sys.exit(77)
from ctxd.cli.main import main
sys.argv = ["ctxd", "serve"]
main()
"""


@behaviour("watcher.limit")
def test_a_daemon_without_watches_left_warns_its_host_and_still_tells_it(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.py").write_text("# a\n")
    peer = Peer.start(program=("-c", LIMITED), log=tmp_path / "log")
    try:
        peer.initialize(options={"storage": {"root": str(tmp_path / "state")}})
    except (AssertionError, BrokenPipeError):
        if peer.process.wait(20) != 77:
            raise
        peer.inbox.clear()
        peer.__exit__(None, None, None)
        pytest.skip("this system lets nobody have limits of their own")
    with peer:
        given = {"workspace": root.as_uri(), "sessionId": "s1", "dialect": "anthropic"}
        peer.request("session/open", given)
        peer.notify("workspace/touch", {"sessionId": "s1", "path": "a.py", "op": "edit"})
        warning = peer.notification("window/logMessage")
        assert warning["type"] == 2
        assert "files cannot be watched" in warning["message"]
        (root / "a.py").write_text("# changed\n")
        told = peer.notification("workspace/didChangeFiles")
        assert told["changes"] == [{"path": "a.py", "change": "modified"}]
    assert "files cannot be watched" in (tmp_path / "log").read_text()
