"""Secrets that tools print in a whole session: looked for in everything the daemon leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ctxd.dialects import registry
from tests.support import natives
from tests.support.behaviour import behaviour
from tests.support.credentials import Credential, credentials, innocents
from tests.support.peer import Peer, PeerError

Message = dict[str, Any]

EACH = 3
"""Secrets printed with each call."""

BROKEN = "raise ImportError('no wheel for this machine')\n"


class Kept:
    """A daemon's session, and everything it ever said: answers, errors, notes, stderr."""

    def __init__(self, root: Path, environment: dict[str, str] | None = None) -> None:
        self.root = root
        self.heard: list[bytes] = []
        self._environment = environment
        self.start()

    def start(self, environment: dict[str, str] | None = None) -> None:
        log = self.root.parent / f"{self.root.name}.{len(self.heard)}.stderr"
        self.peer = Peer.start("--log-level", "DEBUG", log=log, environment=environment or self._environment)
        self.peer.initialize(options={"storage": {"root": str(self.root)}}, folders=[self.root.parent])

    def call(self, method: str, **params: Any) -> Any:
        asked = self.peer.ask(method, {"sessionId": "s1", **params})
        try:
            return self.peer.wait(asked)
        except PeerError as error:
            self.heard.append(json.dumps(error.data).encode())
            raise
        finally:
            self.heard.append(self.peer.bodies.get(asked, b""))

    def stop(self, *, kill: bool) -> None:
        if kill:
            self.peer.process.kill()
        else:
            self.peer.request("shutdown")
            self.peer.notify("exit")
        self.peer.wait_exit()
        self.heard += [json.dumps(message).encode() for message in self.peer.inbox]
        self.peer.inbox.clear()
        self.peer.__exit__(None, None, None)

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Every byte that was left or said, by where it is."""
        yield from (("an answer", body) for body in self.heard)
        for path in self.root.parent.rglob("*"):
            if path.is_file():
                yield str(path), path.read_bytes()


def leaks(kept: Kept, secrets: list[Credential]) -> list[tuple[str, str]]:
    """(kind, where) of every secret that is still somewhere, lines of a longer one included."""
    lines = [(c.kind, line.encode()) for c in secrets for line in c.secret.split("\n") if "-----" not in line]
    return [(kind, where) for where, data in kept.everything() for kind, line in lines if line in data]


@contextmanager
def kept(root: Path, environment: dict[str, str] | None = None) -> Iterator[Kept]:
    made = Kept(root / "state", environment)
    try:
        yield made
    finally:
        if made.peer.process.poll() is None:
            made.stop(kill=True)


def counted(answer: Message) -> int:
    """How many secrets an answer says were cut out."""
    return sum(one["count"] for one in answer["redacted"])


def step(session: Kept, dialect: str, number: int, result: Message) -> int:
    """A call and its result, by one of the two ways a host has; how many secrets were cut out."""
    name = f"t{number}"
    session.call(
        "session/append",
        messages=[natives.user(dialect, f"step {number}"), *natives.calling(dialect, [name])],
    )
    if number % 2:
        return counted(session.call("session/append", messages=[result]))
    session.call("context/prepare", phase="iteration", pending=[result])
    request = session.call("context/prepare", phase="iteration")["requestId"]
    messages = [result, natives.said(dialect, "ok")]
    return counted(session.call("context/report", requestId=request, outcome="ok", messages=messages))


def whole(session: Kept, call_id: str) -> str:
    """An output as recall gives it, page after page; each says that something was cut out."""
    text, page, pages = "", 0, 1
    while page < pages:
        fetched = session.call("recall/fetch", toolCallId=call_id, page=page)
        assert fetched["redactions"] > 0
        text, page, pages = text + fetched["content"], page + 1, fetched["pages"]
    return text


@behaviour("guard.nowhere")
@pytest.mark.parametrize("dialect", registry.NAMES)
def test_no_secret_outlives_a_session_a_compaction_and_a_crash(tmp_path: Path, dialect: str) -> None:
    secrets, lines = credentials(), innocents()
    with kept(tmp_path) as session:
        model = {"id": "m", "contextWindow": 40_000}
        session.call("session/open", workspace=tmp_path.as_uri(), dialect=dialect, model=model)
        cut = 0
        for number, start in enumerate(range(0, len(secrets), EACH)):
            printed = [c.line for c in secrets[start : start + EACH]]
            noise = "\n".join([*lines, "compiling module\n" * (2000 if number % 3 == 0 else 50)])
            result = natives.answer(dialect, f"t{number}", "\n".join([noise, *printed, noise]))
            if dialect == "anthropic" and number % 2:
                result["content"][0]["is_error"] = True
            cut += step(session, dialect, number, result)
        assert cut >= len(secrets)
        assert session.call("context/compact", strategy="deterministic")["outcome"] == "applied"
        session.stop(kill=True)
        assert leaks(session, secrets) == []
        session.start()
        session.call("session/open", workspace=tmp_path.as_uri())
        for form in ("jsonl", "markdown", "native"):
            session.call("session/export", format=form)
        for view in ("transcript", "model"):
            session.call("session/history", view=view)
        for entry in session.call("recall/list")["entries"]:
            assert all(line in whole(session, entry["toolCallId"]) for line in lines)
        session.call("recall/search", query="password token secret key")
        session.call("session/search", query="password token secret key")
        session.call("context/prepare", phase="turnStart")
        for refused in (
            natives.answer(dialect, "unknown", secrets[0].line),
            {"role": secrets[0].secret, "content": secrets[1].secret},
        ):
            with pytest.raises(PeerError):
                session.call("session/append", messages=[refused])
        session.stop(kill=False)
        assert leaks(session, secrets) == []


MISTAKES: list[tuple[str, Message]] = [
    ("session/append", {"messages": [{"role": "{}", "content": "x"}]}),
    ("session/open", {"workspace": "{}"}),
    ("session/open", {"sessionId": "../{}", "workspace": "file:///nowhere", "dialect": "anthropic"}),
    ("session/fork", {"at": "{}"}),
    ("context/prepare", {"phase": "{}"}),
    ("context/compact", {"upTo": "{}"}),
    ("context/contains", {"handle": "{}"}),
    ("recall/fetch", {"toolCallId": "{}"}),
    ("recall/fetch", {"digest": "{}"}),
    ("memory/read", {"workspace": "file:///nowhere", "topic": "{}"}),
    ("memory/delete", {"workspace": "file:///nowhere", "topic": "{}"}),
    ("workspace/readFile", {"path": "{}"}),
    ("workspace/readFile", {"path": "a.py", "startLine": "{}"}),
    ("contract/record", {"validatorId": "{}", "status": "pass"}),
    ("contract/record", {"validatorId": "v", "status": "{}"}),
    ("steer/push", {"kind": "{}", "content": "x"}),
    ("guard/sanitize", {"text": 1, "kind": "{}"}),
]
"""Requests that are wrong, `{}` for the secret in them."""

ECHOED: list[tuple[str, Message]] = [
    ("session/open", {"sessionId": "{}", "workspace": "file:///nowhere", "mode": "resume"}),
    ("session/history", {"sessionId": "{}", "view": "model"}),
    ("context/report", {"requestId": "{}", "outcome": "ok"}),
    ("context/commit", {"planId": "{}"}),
    ("tools/list", {"dialect": "{}"}),
    ("{}", {"path": "{}"}),
]
"""The same with the names of things, which an error says back to whoever gave them, and nobody else."""


def filled(value: Any, secret: str) -> Any:
    match value:
        case str():
            return value.replace("{}", secret)
        case list():
            return [filled(item, secret) for item in value]
        case dict():
            return {name: filled(item, secret) for name, item in value.items()}
    return value


@behaviour("guard.nowhere")
def test_no_secret_of_a_file_a_memory_or_a_mistake_outlives_them(tmp_path: Path) -> None:
    """Issue 5, shows 7: read files, memory writes and errors, beside what tools print."""
    secrets, lines = credentials(), innocents()
    assert len({c.kind for c in secrets}) >= 20
    project = tmp_path / "project"
    project.mkdir()
    files = []
    for number, start in enumerate(range(0, len(secrets), EACH)):
        path = project / f"notes{number}.txt"
        printed = [c.line for c in secrets[start : start + EACH]]
        path.write_text("\n".join([*lines[:3], *printed, f"end of {number}"]))
        files.append(path)
    (tmp_path / "daemon").mkdir()
    with kept(tmp_path / "daemon") as session:
        model = {"id": "m", "contextWindow": 40_000}
        session.call("session/open", workspace=project.as_uri(), dialect="anthropic", model=model)
        refused = 0
        for number, path in enumerate(files):
            try:
                said = session.call("workspace/readFile", path=path.name)["content"]
            except PeerError as error:
                assert error.kind == "sensitive"
                refused += 1
                continue
            assert all(line in said for line in lines[:3])
            assert said.endswith(f"end of {number}")
            tool = session.call("tools/call", name="read_file", arguments={"path": str(path)})
            assert not tool["isError"]
            session.call(
                "session/append",
                messages=[
                    natives.user("anthropic", f"step {number}"),
                    *natives.calling("anthropic", [f"t{number}"], "Edit", path.name),
                    natives.answer("anthropic", f"t{number}", "done"),
                    natives.said("anthropic", "of limits and files and more " * 300),
                ],
            )
        assert refused == 1, "the file with the private key"
        for one in secrets:
            for mode in ("append", "overwrite"):
                memory = {"workspace": project.as_uri(), "topic": "notes", "content": one.line, "mode": mode}
                with pytest.raises(PeerError) as error:
                    session.call("memory/write", **memory)
                assert error.value.kind == "sensitive"
                assert error.value.data["rule"]
            arguments = {"topic": "notes", "content": f"- fine\n- {one.line}"}
            assert session.call("tools/call", name="memory_write", arguments=arguments)["isError"]
        for number, (method, params) in enumerate(MISTAKES):
            for one in secrets[number % 3 :: 3]:
                with pytest.raises(PeerError):
                    session.call(filled(method, one.secret), **filled(params, one.secret))
        heard = list(session.heard)
        for number, (method, params) in enumerate(ECHOED):
            for one in secrets[number % 3 :: 3]:
                with pytest.raises(PeerError):
                    session.call(filled(method, one.secret), **filled(params, one.secret))
        session.heard = heard
        report = session.call("context/compact", strategy="deterministic")
        assert report["outcome"] == "applied"
        assert len(report["restoredFiles"]) == 5
        session.stop(kill=True)
        assert leaks(session, secrets) == []
        session.start()
        session.call("session/open", workspace=project.as_uri())
        for form in ("jsonl", "markdown", "native"):
            session.call("session/export", format=form)
        shown = json.dumps(session.call("session/history", view="model"))
        assert shown.count("[REDACTED:") >= 5
        session.call("workspace/recentFiles")
        session.call("memory/index", workspace=project.as_uri())
        assert session.call("memory/list", workspace=project.as_uri())["topics"] == []
        session.stop(kill=False)
        assert leaks(session, secrets) == []


@behaviour("guard.unscanned")
def test_without_a_scanner_outputs_are_marked_and_lose_their_secrets_later(tmp_path: Path) -> None:
    """The library does not load in the first daemon, as on a machine it was not built for."""
    broken = tmp_path / "broken" / "kingfisher_sdk.py"
    broken.parent.mkdir()
    broken.write_text(BROKEN)
    secrets = credentials()
    result = natives.answer("anthropic", "t1", "\n".join(c.line for c in secrets))
    with kept(tmp_path) as session:
        session.stop(kill=False)
        session.start({"PYTHONPATH": f"{broken.parent}:{Path(__file__).parents[2]}"})
        session.call("session/open", workspace=tmp_path.as_uri(), dialect="anthropic")
        messages = [natives.user("anthropic", "go"), *natives.calling("anthropic", ["t1"]), result]
        answer = session.call("session/append", messages=messages)
        assert "could not be scanned" in answer["warnings"][0]
        assert answer["redacted"] == []
        assert session.call("ctxd/status")["guard"] == "unavailable"
        session.stop(kill=True)
        assert {Path(where).parent.parent.name for _, where in leaks(session, secrets)} == {"objects"}
        session.start()
        info = session.call("session/open", workspace=tmp_path.as_uri())
        assert info["guard"] == {"secrets": "ready", "unscanned": 0}
        assert session.call("recall/fetch", toolCallId="t1")["redactions"] >= len(secrets)
        session.stop(kill=True)
        assert leaks(session, secrets) == []
