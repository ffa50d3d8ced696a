"""Which files a session touched, as the host tells it and as the log has it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.service.files.test_restoring import Work, paths
from tests.service.host import Answer, LocalHost
from tests.support.behaviour import behaviour


@pytest.fixture
def work(host: LocalHost, tmp_path: Path) -> Work:
    return Work(host, tmp_path / "ws")


def touch(work: Work, path: str, op: str = "edit") -> None:
    work.session.host.notify("workspace/touch", sessionId=work.session.id, path=path, op=op)


def listed(work: Work, **given: Any) -> list[tuple[str, str, bool]]:
    files = work.session.call("workspace/recentFiles", **given)["files"]
    return [(file["path"], file["op"], file["changedSince"]) for file in files]


def refused(work: Work) -> dict[str, str]:
    found: Answer = work.session.call("workspace/recentFiles")
    return {file["path"]: file["reason"] for file in found["rejected"]}


def ran(work: Work, name: str, arguments: Answer, meta: Any = None, *, fails: bool = False) -> None:
    block = {"type": "tool_use", "id": f"x{work.session.revision}", "name": name, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": "done", "is_error": fails}
    work.session.append(
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [result]},
        meta=[meta, None],
    )


@behaviour("recent.sources")
def test_calls_meta_and_notifications_touch_and_the_newest_comes_first(work: Work) -> None:
    work.put("read.py", "told.py", "meta.py", "patched.py", "moved.py", "own.py")
    work.read("read.py")
    touch(work, "told.py", "write")
    ran(work, "Shell", {"command": "make"}, {"files": [{"path": "meta.py", "op": "write"}]})
    patch = "*** Begin Patch\n*** Update File: patched.py\n*** Move to: moved.py\n*** End Patch"
    ran(work, "apply_patch", {"input": patch})
    assert listed(work) == [
        ("moved.py", "edit", False),
        ("patched.py", "edit", False),
        ("meta.py", "write", False),
        ("told.py", "write", False),
        ("read.py", "read", False),
    ]


def test_a_tool_of_the_hosts_own_is_known_by_option(host: LocalHost, work: Work) -> None:
    work.put("a.py", "b.py")
    ran(work, "Peek", {"where": "a.py"})
    assert listed(work) == []
    options = {"readTools": ["peek"], "writeTools": ["mcp__my__poke"], "pathArguments": ["where"]}
    host.configure({"workspace": options})
    ran(work, "Peek", {"where": "a.py"})
    ran(work, "mcp__my__poke", {"where": "b.py"})
    assert listed(work) == [("b.py", "edit", False), ("a.py", "read", False)]


def test_what_failed_touched_nothing(work: Work) -> None:
    work.put("a.py")
    ran(work, "apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n"}, fails=True)
    ran(work, "Shell", {}, {"files": [{"path": "a.py", "op": "edit"}], "isError": True}, fails=True)
    assert listed(work) == []


def test_a_patch_given_to_a_shell_touches_its_files(work: Work) -> None:
    work.put("a.py", "b.py")
    heredoc = (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\n*** End Patch\nEOF"
    )
    ran(work, "shell", {"command": ["bash", "-lc", heredoc]})
    assert [path for path, _, _ in listed(work)] == ["b.py", "a.py"]


def test_a_list_of_paths_touches_each(work: Work) -> None:
    work.put("a.py", "b.py")
    ran(work, "read_many_files", {"paths": ["a.py", "b.py", "src/*.py"]})
    assert listed(work) == [("b.py", "read", False), ("a.py", "read", False)]


@behaviour("recent.durable")
def test_a_restart_forgets_no_touch_and_moves_no_revision(host: LocalHost, work: Work) -> None:
    work.put("a.py", "b.py")
    before = work.session.revision
    touch(work, "a.py", "edit")
    touch(work, str(work.root / "b.py"), "read")
    found = work.session.call("workspace/recentFiles")
    assert [file["path"] for file in found["files"]] == ["b.py", "a.py"]
    assert work.session.revision == before
    host.reopen()
    work.session = host.open(workspace=work.root.as_uri())
    assert work.session.call("workspace/recentFiles") == found


def test_a_touched_file_is_shown_after_a_compaction(work: Work) -> None:
    work.put("a.py")
    touch(work, "a.py", "edit")
    work.talk()
    assert paths(work.compact()) == ["a.py"]
    assert "line 3 of a.py" in work.shown()


def test_changed_since_is_by_the_moment_it_was_told(work: Work) -> None:
    """Written later; changed in its mode later; nothing later."""
    work.put("a.py", "b.py", "c.py")
    for name in ("a.py", "b.py", "c.py"):
        touch(work, name)
    later = (work.root / "b.py").stat().st_mtime + 5
    os.utime(work.root / "b.py", (later, later))
    told = work.session.call("workspace/recentFiles")["files"][0]["accessedAt"]
    while (work.root / "c.py").stat().st_ctime_ns // 1_000_000 <= told:
        (work.root / "c.py").chmod(0o600)
    found = work.session.call("workspace/recentFiles")["files"]
    assert {file["path"]: file["freshness"] for file in found} == {
        "a.py": "unchanged",
        "b.py": "changed",
        "c.py": "unknown",
    }


@behaviour("recent.refused")
def test_files_that_may_not_be_shown_are_named_with_the_reason(work: Work, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    work.put("good.py", ".env", "app.min.js", "package-lock.json", "node_modules/x/index.js", "go.go")
    (work.root / "image.png").write_bytes(b"\x89PNG\0")
    (work.root / "linked.py").symlink_to(outside)
    os.link(outside, work.root / "hard.py")
    (work.root / "go.go").write_text("// Code generated by protoc-gen-go. DO NOT EDIT.\npackage x\n")
    names = ["good.py", ".env", "app.min.js", "package-lock.json", "node_modules/x/index.js", "go.go"]
    for name in [*names, "image.png", "linked.py", "hard.py", "gone.py", "../outside.txt", str(outside)]:
        touch(work, name)
    assert listed(work) == [("good.py", "edit", False)]
    assert refused(work) == {
        ".env": "sensitive",
        "app.min.js": "generated",
        "package-lock.json": "generated",
        "node_modules/x/index.js": "generated",
        "go.go": "generated",
        "image.png": "binary",
        "linked.py": "symlinkRefused",
        "hard.py": "outsideWorkspace",
        "gone.py": "notFound",
        str(outside): "outsideWorkspace",
    }


def test_f73_a_link_to_a_key_is_refused_aloud_and_never_silently_missing(work: Work, tmp_path: Path) -> None:
    """Reports F73: `AGENTS.md -> ~/.ssh/config`; and a file that is what it seems is served beside it."""
    key = tmp_path / "config"
    key.write_text("IdentityFile ~/.ssh/hunter2\n")
    work.put("README.md")
    (work.root / "AGENTS.md").symlink_to(key)
    for name in ("AGENTS.md", "README.md"):
        touch(work, name, "read")
    work.talk()
    report = work.compact()
    assert paths(report) == ["README.md"]
    assert report["rejectedFiles"] == [{"path": "AGENTS.md", "reason": "symlinkRefused"}]
    assert "hunter2" not in work.session.history_bytes().decode()


def test_refused_files_however_many_take_nobodys_place(work: Work) -> None:
    work.put(*[f"good{n}.py" for n in range(6)])
    for n in range(6):
        touch(work, f"good{n}.py")
    for n in range(150):
        touch(work, f"gone{n}.py")
    assert [path for path, _, _ in listed(work)] == [f"good{n}.py" for n in (5, 4, 3, 2, 1)]
    assert len(listed(work, limit=6)) == 6


def test_another_sessions_touches_are_not_this_ones(host: LocalHost, work: Work) -> None:
    other = Work(host, work.root, "s2")
    work.put("a.py", "b.py")
    touch(work, "a.py")
    touch(other, "b.py")
    assert [path for path, _, _ in listed(work)] == ["a.py"]
    assert [path for path, _, _ in listed(other)] == ["b.py"]


def test_what_was_touched_in_turns_that_were_rewound_is_not_recent(work: Work) -> None:
    work.put("a.py", "b.py", "c.py")
    touch(work, "a.py")
    gone = work.session.append({"role": "user", "content": "try this"})["messageIds"][0]
    touch(work, "b.py")
    work.session.call("session/rewind", to=gone, mode="conversation")
    touch(work, "c.py")
    assert [path for path, _, _ in listed(work)] == ["c.py", "a.py"]


def test_a_fork_keeps_what_was_told_before(host: LocalHost, work: Work) -> None:
    work.put("a.py")
    touch(work, "a.py")
    forked = host.call("session/fork", sessionId=work.session.id)
    found = host.call("workspace/recentFiles", sessionId=forked["sessionId"])
    assert [file["path"] for file in found["files"]] == ["a.py"]


def test_a_name_no_file_can_have_is_not_kept(work: Work) -> None:
    with pytest.raises(Exception, match="no file can have this name"):
        touch(work, "a\0b")
    assert listed(work) == []
