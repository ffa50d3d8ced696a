"""Issue 5, shows 1: a session of 300 turns on a real repository. After each compaction the files shown are
the newest five that may be, of this session and workspace, as they are now, inside the target."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.behaviour import behaviour
from tests.support.peer import Peer

Message = dict[str, Any]

TURNS = 300
COMPACTED_EVERY = 30
TARGET = 8_000
FILES = [f"src/{name}{n}.py" for n in range(10) for name in ("api", "core", "view", "test")]
GIT = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *GIT, *arguments], cwd=root, check=True, capture_output=True)


def text_of(name: str, version: int = 0) -> str:
    return f"# {name}, version {version}\n" + "".join(f"value_{n} = {n * version}\n" for n in range(6))


class Repository:
    """A repository with two branches, and the session's tools really at work in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.version = 0
        (root / "src").mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for name in FILES:
            (root / name).write_text(text_of(name))
        (root / ".env").write_text("KEY=hunter2\n")
        (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
        (root / "package-lock.json").write_text("{}\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "begin")
        git(root, "checkout", "-qb", "other")
        for name in FILES[::3]:
            (root / name).write_text(text_of(name, 1000))
        git(root, "rm", "-q", *FILES[1::9])
        git(root, "commit", "-qam", "other")
        git(root, "checkout", "-q", "main")

    def may_be_shown(self, name: str) -> bool:
        """By what stands there now; written down here apart from how the daemon tells it."""
        path = self.root / name
        inside = not name.startswith(("/", ".."))
        plain = path.is_file() and not path.is_symlink()
        return inside and plain and path.suffix == ".py"

    def switch(self, branch: str) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "work", "--allow-empty")
        git(self.root, "checkout", "-qf", branch)


class Agent:
    """One session, its daemon, and which files it touched, oldest first."""

    def __init__(self, peer: Peer, session_id: str, workspace: Path) -> None:
        self.peer = peer
        self.id = session_id
        self.workspace = workspace
        self.touched: dict[str, None] = {}
        self.calls = 0
        self.open()

    def open(self) -> None:
        given = {"workspace": self.workspace.as_uri(), "sessionId": self.id, "dialect": "anthropic"}
        self.peer.request("session/open", given)

    def call(self, method: str, **given: Any) -> Any:
        return self.peer.request(method, {"sessionId": self.id, **given})

    def turn(
        self, name: str, arguments: Message, result: str, *, meta: Any = None, error: bool = False
    ) -> None:
        self.calls += 1
        call_id = f"{self.id}-{self.calls}"
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": error}
        messages = [
            {"role": "user", "content": f"Step {self.calls}."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [block]},
            {"role": "assistant", "content": f"Did step {self.calls}."},
        ]
        self.call("session/append", messages=messages, meta=[None, meta, None, None])

    def touch(self, name: str) -> None:
        self.touched.pop(name, None)
        self.touched[name] = None

    def read(self, name: str) -> None:
        path = self.workspace / name
        if not path.is_file():
            self.turn("Read", {"file_path": str(path)}, "no such file", error=True)
            return
        lines = path.read_bytes().decode(errors="replace").split("\n")
        self.turn(
            "Read", {"file_path": str(path)}, "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines, 1))
        )
        self.touch(name)

    def talk(self) -> None:
        """What pushes every read out of the tail."""
        messages = []
        for n in range(10):
            messages.append({"role": "user", "content": f"And then, {n}?"})
            messages.append({"role": "assistant", "content": f"{n}: " + "of limits and files and more " * 90})
        self.call("session/append", messages=messages)


def shown(agent: Agent) -> dict[str, str]:
    """The files that stand in the model view, each with its text."""
    lines = agent.call("session/history", view="model")["messages"]
    found = [str(line["message"]["content"]) for line in lines if "[Background: the files" in str(line)]
    assert len(found) <= 1
    text = found[0] if found else ""
    mark = re.search(r"begin with (---[0-9a-f]{16})", text)
    if mark is None:
        return {}
    return dict(re.findall(rf'{mark[1]} file "([^"]+)": [^\n]*\n(.*?){mark[1]} end of', text, re.DOTALL))


def start(options: Message) -> Peer:
    peer = Peer.start()
    peer.initialize(options=options)
    return peer


def leave(peer: Peer) -> None:
    """Let the pipes of a daemon go that has ended; what it told is not asked for here."""
    peer.inbox.clear()
    peer.__exit__(None, None, None)


def work(agent: Agent, repository: Repository, chance: random.Random, outside: Path) -> None:
    """One turn: a tool call that really happens."""
    root = repository.root
    here = sorted(path.relative_to(root).as_posix() for path in (root / "src").iterdir())
    name = chance.choice([n for n in here if not (root / n).is_symlink()])

    def edit() -> None:
        repository.version += 1
        (root / name).write_text(text_of(name, repository.version))
        agent.turn("Edit", {"file_path": name, "old_string": "a", "new_string": "b"}, "The file was updated.")
        agent.touch(name)

    def write() -> None:
        repository.version += 1
        new = f"src/new{repository.version}.py"
        (root / new).write_text(text_of(new))
        agent.turn("Write", {"file_path": str(root / new), "content": text_of(new)}, "Written.")
        agent.touch(new)

    def rename() -> None:
        repository.version += 1
        new = f"src/moved{repository.version}.py"
        (root / name).rename(root / new)
        agent.turn("Bash", {"command": f"git mv {name} {new}"}, "")
        if chance.random() < 0.5:
            agent.read(new)

    def delete() -> None:
        (root / name).unlink()
        agent.turn("Bash", {"command": f"rm {name}"}, "")

    def tell() -> None:
        agent.peer.notify("workspace/touch", {"sessionId": agent.id, "path": name, "op": "edit"})
        agent.touch(name)

    def mean() -> None:
        agent.turn("Shell", {"line": "fmt"}, "ok", meta={"files": [{"path": name, "op": "edit"}]})
        agent.touch(name)

    def link() -> None:
        agent.read(name)
        (root / name).unlink()
        (root / name).symlink_to(outside)

    def patch() -> None:
        text = f"*** Begin Patch\n*** Update File: {name}\n@@\n-a\n+b\n*** End Patch"
        agent.turn("apply_patch", {"input": text}, "Done.")
        agent.touch(name)

    def odd() -> None:
        other = chance.choice([".env", "logo.png", "package-lock.json", str(outside)])
        agent.turn("Read", {"file_path": other}, "whatever")
        agent.touch(other)

    def fail() -> None:
        agent.turn("Edit", {"file_path": name, "old_string": "x", "new_string": "y"}, "no match", error=True)

    ways: list[Callable[[], None]] = [edit, write, rename, delete, tell, mean, link, patch, odd, fail]
    weights = [30, 8, 4, 3, 8, 8, 2, 8, 8, 6]
    if chance.random() < 0.35:
        agent.read(name)
    else:
        chance.choices(ways, weights)[0]()


@behaviour("restore.three-hundred-turns")
@pytest.mark.parametrize("seed", [5])
def test_after_every_compaction_just_the_newest_five_files_that_may_be_are_shown(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    outside = tmp_path / "outside.py"
    outside.write_text("SECRET = 'hunter2'\n")
    repository, elsewhere = Repository(tmp_path / "repo"), tmp_path / "elsewhere"
    shutil.copytree(repository.root, elsewhere)
    options = {"storage": {"root": str(tmp_path / "state")}, "compaction": {"auto": False}}
    peer = start(options)
    agent = Agent(peer, "s1", repository.root)
    other = Agent(peer, "s2", repository.root)
    foreign = Agent(peer, "s3", elsewhere)
    agent.call("session/append", messages=[{"role": "user", "content": "Look after the limits."}])
    compactions, seen = 0, set[str]()
    for turn in range(1, TURNS + 1):
        work(agent, repository, chance, outside)
        other.read(chance.choice(FILES))
        foreign.read(chance.choice(FILES))
        if turn in (100, 200):
            repository.switch("other" if turn == 100 else "main")
        if turn == 150:
            peer.process.kill()
            peer.wait_exit()
            leave(peer)
            peer = start(options)
            for each in (agent, other, foreign):
                each.peer = peer
                each.open()
        if turn % COMPACTED_EVERY:
            continue
        agent.talk()
        report = agent.call("context/compact", strategy="deterministic", targetTokens=TARGET)
        assert report["outcome"] == "applied"
        wanted = [name for name in reversed(agent.touched) if repository.may_be_shown(name)][:5]
        assert [file["path"] for file in report["restoredFiles"]] == wanted
        assert {file["reason"] for file in report.get("rejectedFiles", [])} <= {
            "notFound",
            "symlinkRefused",
            "sensitive",
            "binary",
            "generated",
            "outsideWorkspace",
        }
        assert shown(agent) == {name: (repository.root / name).read_text() for name in wanted}
        assert report["after"]["tokens"] <= report["target"] <= TARGET
        listed = agent.call("workspace/recentFiles")
        assert [file["path"] for file in listed["files"]] == wanted
        compactions += 1
        seen.update(wanted)
    assert compactions == TURNS // COMPACTED_EVERY
    assert len(agent.touched) >= 40
    assert len(seen) >= 20
    assert peer.shutdown() == 0
    leave(peer)
