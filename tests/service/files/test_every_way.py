"""The attacks of reliability.md, section 3, through every method that has a path, a pattern, a topic or a
workspace among its parameters, and every file that is looked for by name: none goes round the boundary.

`test_path_attacks` has the ways whose answers say what the boundary said; here are all the others, and that
there are no more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from ctxd.model.errors import CtxdError
from ctxd.server.methods import METHODS
from ctxd.server.options import FILE_NAME, Options, read_file
from ctxd.workspace.prompt_layers import FILES
from tests.service.files.test_path_attacks import asked, shown_by_compaction, use_tool
from tests.service.host import Answer, LocalHost, Session
from tests.support.behaviour import behaviour
from tests.workspace.attacks import ATTACKS, INSIDE, SECRET, Attack, Place
from tests.workspace.test_races import EXCHANGE, running

NODES = tuple(a for a in ATTACKS if a.number in {13, 14, 16, 17, 18, 19, 20, 23, 24, 25, 26, 27, 28, 29, 42})
"""Attacks that are something which lies in the workspace under a name of one part: a link, a hard link, a
pipe, a device, a folder. They are staged and then moved to the name that a method looks for."""

names = pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.number} {a.name}")
nodes = pytest.mark.parametrize("attack", NODES, ids=lambda a: f"{a.number} {a.name}")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace under attack; nothing outside it is another afterwards."""
    made = Place.made_in(tmp_path)
    before = sorted(made.outside.iterdir())
    yield made
    assert sorted(made.outside.iterdir()) == before
    assert made.secret.read_bytes() == SECRET


@pytest.fixture
def session(host: LocalHost, place: Place) -> Iterator[Session]:
    opened = host.open(workspace=place.root.as_uri())
    opened.append({"role": "user", "content": "go"})
    yield opened
    assert kept(host) == []


def kept(host: LocalHost) -> list[Path]:
    """Files of the state folder that hold the secret, but for names that somebody gave the file itself."""
    files = (path for path in host.root.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if path.stat().st_nlink == 1 and SECRET in path.read_bytes()]


def planted(place: Place, attack: Attack, name: str) -> None:
    """The attack, under a name that is looked for."""
    staged = place.root / attack.stage(place)
    target = place.root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if staged != target:
        staged.rename(target)


def bare(host: LocalHost, method: str, **given: Any) -> Answer:
    """As `asked`, for a method without a session."""

    class Sessionless(Session):
        def call(self, method: str, **params: Any) -> Any:
            return host.call(method, **params)

    return asked(Sessionless(host, {"sessionId": ""}), method, **given)


@behaviour("workspace.every-way")
@names
def test_the_models_tool_reads_what_lies_inside_and_nothing_else(
    session: Session, place: Place, attack: Attack
) -> None:
    answer = asked(session, "tools/call", name="read_file", arguments={"path": attack.stage(place)})
    said = str(answer.get("content", ""))
    assert (INSIDE.decode() in said) == (attack.answer == "inside")
    assert answer.get("isError", True) == (attack.answer != "inside")


@behaviour("workspace.every-way")
@names
def test_a_path_that_a_message_names_is_shown_only_where_it_is_inside(
    session: Session, place: Place, attack: Attack
) -> None:
    path = attack.stage(place)
    message = {"role": "user", "content": "I changed something."}
    asked(session, "session/append", messages=[message], meta=[{"files": [{"path": path, "op": "edit"}]}])
    for file in asked(session, "workspace/recentFiles")["files"]:
        assert (place.root / file["path"]).resolve().is_relative_to(place.root)
        assert (place.root / file["path"]).read_bytes() == INSIDE
    assert set(shown_by_compaction(session)) <= {INSIDE}


@behaviour("workspace.every-way")
@names
def test_a_contract_learns_nothing_of_what_lies_outside(
    session: Session, place: Place, attack: Attack
) -> None:
    """Neither that it is there nor that it changed: a pass stays fresh whatever happens outside."""
    path = attack.stage(place)
    declared = {"name": "x", "pattern": path or "?"}
    validators = [{"id": "v", "required": True, "phase": "completion"}]
    answer = asked(session, "contract/declare", artifacts=[declared], invariants=[], validators=validators)
    if "kind" in answer:
        # A pattern that is too long, or that no log can keep.
        assert attack.number in (11, 36)
        return
    use_tool(session, path)
    asked(session, "contract/record", validatorId="v", status="pass", evidencePath=path)
    asked(session, "contract/record", validatorId="v", status="pass")
    before = asked(session, "contract/status")
    if attack.number not in (3, 9):
        lacks = [lack for lack in before.get("missing", []) if lack["kind"] == "artifact"]
        assert (lacks == []) == (attack.answer == "inside")
    place.secret.write_bytes(b"another secret")
    try:
        assert asked(session, "contract/status") == before
    finally:
        place.secret.write_bytes(SECRET)


@behaviour("workspace.every-way")
@names
def test_a_handle_is_no_path(session: Session, place: Place, attack: Attack) -> None:
    path = attack.stage(place)
    for handle in ("toolCallId", "digest", "messageId"):
        for given in (path, f"sha256:{path}"):
            assert "kind" in asked(session, "recall/fetch", **{handle: given})
    assert asked(session, "tools/call", name="recall", arguments={"toolCallId": path})["isError"]


@behaviour("workspace.every-way")
@names
def test_a_session_id_is_no_path(host: LocalHost, session: Session, place: Place, attack: Attack) -> None:
    """60, for the other name that files are called by."""
    path = attack.stage(place)
    before = {p for p in place.root.parent.rglob("*") if host.root not in p.parents}
    given = {"workspace": place.root.as_uri(), "sessionId": path, "dialect": "anthropic"}
    answer = bare(host, "session/open", **given)
    assert answer.get("sessionId", path) == path
    assert {p for p in place.root.parent.rglob("*") if host.root not in p.parents} == before
    if "/" in path or "\0" in path or path in ("", ".", "..."):
        assert answer["kind"] == "invalidParams"


@behaviour("workspace.every-way")
@names
@pytest.mark.parametrize("location", ["state", "workspace"])
def test_a_topic_is_no_path(tmp_path: Path, place: Place, attack: Attack, location: str) -> None:
    """60: a topic named like a path is refused, or is a file of that very name in the memory's folder."""
    path = attack.stage(place)
    with LocalHost(tmp_path / "state", {"memory": {"location": location}}) as host:
        memory = place.root / ".ctxd/memory"
        before = {p for p in place.root.rglob("*") if memory not in p.parents}
        given = {"workspace": place.root.as_uri(), "topic": path}
        wrote = bare(host, "memory/write", **given, content="an entry")
        read = bare(host, "memory/read", **given)
        assert ("kind" in wrote) == ("kind" in read)
        assert ("kind" in wrote) or "an entry" in read["text"]
        bare(host, "memory/delete", **given)
        after = {p for p in place.root.rglob("*") if memory not in p.parents}
        assert after - before <= {place.root / ".ctxd", memory}
        assert kept(host) == []
        if "/" in path or "\\" in path or "\0" in path:
            assert wrote["kind"] == "invalidParams"


@behaviour("workspace.every-way")
@nodes
@pytest.mark.parametrize("name", [name for files in FILES.values() for name in files])
def test_an_instruction_file_that_is_none_of_the_workspaces_is_in_no_prompt(
    host: LocalHost, place: Place, attack: Attack, name: str
) -> None:
    planted(place, attack, name)
    built = bare(host, "prompt/build", workspace=place.root.as_uri())
    assert built["text"] == ""
    (layer,) = built["layers"]
    assert layer["path"] == name
    assert layer["skipped"] == attack.answer


@behaviour("workspace.every-way")
@nodes
@pytest.mark.parametrize("location", ["state", "workspace"])
@pytest.mark.parametrize("topic", ["preferences", "MEMORY"])
def test_a_topic_that_is_something_else_is_neither_read_nor_written_through(
    tmp_path: Path, place: Place, attack: Attack, location: str, topic: str
) -> None:
    """56: the target of a write, made beforehand by somebody; through every method and tool of memory, the
    prompt, and what a compaction remembers."""
    with LocalHost(tmp_path / "state", {"memory": {"location": location}}) as host:
        given = {"workspace": place.root.as_uri()}
        host.call("memory/write", **given, topic="other", content="something else")
        folder = place.root / ".ctxd/memory"
        if location == "state":
            (folder,) = host.root.glob("*/memory")
        (folder / f"{topic}.md").unlink(missing_ok=True)
        (place.root / attack.stage(place)).rename(folder / f"{topic}.md")
        session = host.open(**given)
        named = {**given, "topic": topic}
        answers = [
            bare(host, "memory/read", **named),
            bare(host, "memory/write", **named, content="an entry"),
            bare(host, "memory/write", **named, content="a text", mode="overwrite"),
            asked(session, "tools/call", name="memory_read", arguments={"topic": topic}),
            asked(session, "tools/call", name="memory_write", arguments={"topic": topic, "content": "x"}),
        ]
        assert [answer for answer in answers if not (answer.get("isError") or "kind" in answer)] == []
        assert {answer["kind"] for answer in answers[:3]} == {attack.answer}
        bare(host, "memory/index", **given)
        listed = bare(host, "memory/list", **given)["topics"]
        assert topic not in [one["name"] for one in listed]
        for query in ("hunter2", "something else", "entry"):
            bare(host, "memory/search", **given, query=query)
            asked(session, "tools/call", name="recall_memory", arguments={"query": query})
        bare(host, "prompt/build", **given)
        session.append({"role": "user", "content": "Remember: the port is 8443."})
        shown_by_compaction(session)
        bare(host, "memory/delete", **named)
        assert place.secret.read_bytes() == SECRET
        assert (place.root / "ok.txt").read_bytes() == INSIDE if attack.number != 42 else True
        assert kept(host) == []


@behaviour("workspace.every-way")
@nodes
def test_the_file_of_options_is_the_workspaces_own(place: Place, attack: Attack) -> None:
    """What it names is told to the host when it is unknown: an option outside would be."""
    place.secret.write_text("hunter2 = 1\n")
    (place.root / "ok.txt").write_text("hunter2 = 1\n")
    planted(place, attack, FILE_NAME)
    try:
        assert Options().set("file", read_file(place.root)) == []
    except CtxdError as error:
        assert SECRET.decode() not in json.dumps([error.message, error.kind])
    else:
        pytest.fail("it was taken for a file of options")
    finally:
        place.secret.write_bytes(SECRET)


def git(store: Path, *arguments: str) -> bytes:
    """Everything git says of a store of snapshots, uncompressed."""
    return subprocess.run(
        ["git", f"--git-dir={store}", *arguments], check=True, capture_output=True, env={**os.environ}
    ).stdout


@behaviour("workspace.every-way")
@nodes
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_snapshot_and_the_way_back_follow_nothing_that_leads_outside(
    tmp_path: Path, place: Place, attack: Attack
) -> None:
    """What lies in the state folder is compressed: git says what is in it."""
    with LocalHost(tmp_path / "state", {"workspace": {"snapshots": True}}) as host:
        session = host.open(workspace=place.root.as_uri())
        (place.root / "mine.py").write_text("one")
        path = place.root / attack.stage(place)
        session.append({"role": "user", "content": "begin"})
        (store,) = host.root.glob("*/snapshots")
        copied = git(store, "cat-file", "--batch-all-objects", "--batch")
        assert b"one" in copied
        assert SECRET not in copied
        before = session.lines()[0]["messageId"]
        if not path.is_dir():
            path.unlink()
            path.write_text("what the session wrote")
        use_tool(session, str(path))
        use_tool_on(session, "mine.py", place.root / "mine.py")
        prepared = session.prepare()
        session.report(prepared["requestId"], {"role": "assistant", "content": "Done."})
        answer = asked(session, "session/rewind", to=before, mode="code")
        assert (place.root / "mine.py").read_text() == "one", answer
        assert place.secret.read_bytes() == SECRET


def use_tool_on(session: Session, name: str, path: Path) -> None:
    """A write that really happens."""
    path.write_text("two")
    call = {"type": "tool_use", "id": "t9", "name": "Write", "input": {"file_path": name}}
    result = {"type": "tool_result", "tool_use_id": "t9", "content": "done"}
    session.append({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})


def test_every_method_that_could_name_a_file_is_tested_here_or_there() -> None:
    """By the names of parameters; whoever adds one says here where its attacks are."""
    tested = {
        ("workspace/readFile", "path"): "test_reading_answers_what_the_boundary_answers",
        ("workspace/touch", "path"): "test_a_touched_path_is_listed_only_where_it_is_inside",
        ("context/contains", "path"): "test_asking_whether_a_path_is_in_context_looks_at_no_disk",
        ("context/contains", "handle"): "asks the log alone",
        ("session/append", "path"): "test_a_path_that_a_message_names_is_shown_only_where_it_is_inside",
        ("context/report", "path"): "the same event as of session/append",
        ("contract/declare", "pattern"): "test_a_contract_learns_nothing_of_what_lies_outside",
        ("contract/record", "evidencePath"): "test_a_contract_learns_nothing_of_what_lies_outside",
        ("memory/read", "topic"): "test_a_topic_is_no_path",
        ("memory/write", "topic"): "test_a_topic_is_no_path",
        ("memory/delete", "topic"): "test_a_topic_is_no_path",
        ("recall/search", "digest"): "asks the log alone",
        ("recall/fetch", "digest"): "test_a_handle_is_no_path",
        ("tools/call", "arguments"): "test_the_models_tool_reads_what_lies_inside_and_nothing_else",
    }
    named = {"path", "pattern", "evidencePath", "topic", "digest", "handle", "arguments", "file", "folder"}
    found = {
        (method.name, field)
        for method in METHODS.values()
        if method.direction == "toDaemon"
        for field in fields_of(method.params)
        if field in named
    }
    assert found == tested.keys()
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in tested.values() if " " not in name and f"def {name}(" not in sources] == []


def fields_of(model: Any, seen: frozenset[Any] = frozenset()) -> set[str]:
    """Names on the wire of all members of a model, those of models inside it too."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return set().union(*(fields_of(part, seen) for part in get_args(model)))
    if model in seen:
        return set()
    found: set[str] = set()
    for name, field in model.model_fields.items():
        found |= {field.alias or name} | fields_of(field.annotation, seen | {model})
    return found


Work = Callable[[], object]


def race_ways(host: LocalHost, session: Session, place: Place, what: str) -> tuple[Path, list[Work]]:
    """What is exchanged with a link, and everything that looks there."""
    given = {"workspace": place.root.as_uri()}
    match what:
        case "instructions":
            ways: list[Work] = [lambda: bare(host, "prompt/build", **given)["text"][-7:]]
            return place.root / ".claude", ways
        case "instruction file":
            return place.root / "CLAUDE.md", [lambda: bare(host, "prompt/build", **given)["text"][-7:]]
        case "contract":
            asked(
                session,
                "contract/declare",
                artifacts=[{"name": "only outside", "pattern": "a/only.txt"}],
                invariants=[],
                validators=[],
            )
            return place.root / "a", [lambda: len(asked(session, "contract/status")["missing"])]
        case "tools":
            ask = {"name": "read_file", "arguments": {"path": "a/ok.txt"}}
            return place.root / "a", [lambda: asked(session, "tools/call", **ask)["isError"]]
        case "memory":
            named = {**given, "topic": "notes"}
            count = iter(range(1_000_000))
            return place.root / ".ctxd/memory", [
                lambda: bare(host, "memory/read", **named).get("kind", "read"),
                lambda: bare(host, "memory/write", **named, content=f"entry {next(count)}").get(
                    "kind", "wrote"
                ),
                lambda: bare(host, "memory/search", **given, query="hunter2 entry").get("kind", "found"),
                lambda: bare(host, "memory/index", **given).get("kind", "index"),
            ]
        case _:
            raise AssertionError(what)


RACES = ("instructions", "instruction file", "contract", "tools", "memory")


PATIENCE = 30.0


def raced(tmp_path: Path, what: str, seconds: float) -> dict[str, int]:
    """How often each answer came while another process exchanged a name with a link."""
    place = Place.made_in(tmp_path)
    for name in ("instructions.md", "only.txt", "ok.txt", "notes.md"):
        (place.outside / name).write_bytes(SECRET)
    (place.root / "CLAUDE.md").write_bytes(INSIDE)
    (place.root / ".claude").mkdir()
    (place.root / ".claude/instructions.md").write_bytes(INSIDE)
    if what == "instructions":
        (place.root / "CLAUDE.md").unlink()
    told: dict[str, int] = {}
    with LocalHost(tmp_path / "state", {"memory": {"location": "workspace"}}) as host:
        session = host.open(workspace=place.root.as_uri())
        bare(host, "memory/write", workspace=place.root.as_uri(), topic="notes", content="begun")
        target, ways = race_ways(host, session, place, what)
        place.link("link", place.secret if what == "instruction file" else place.outside)
        with running(EXCHANGE, target, place.root / "link"):
            end, turn = time.monotonic() + seconds, 0
            # On a busy machine longer, until every answer came that comes in any race.
            while time.monotonic() < end or (
                not FAIR[what][0] <= told.keys() and time.monotonic() < end + PATIENCE
            ):
                answer = str(ways[turn % len(ways)]()).strip()
                told[answer] = told.get(answer, 0) + 1
                turn += 1
        assert kept(host) == []
    assert {path.name: path.read_bytes() for path in place.outside.iterdir()} == dict.fromkeys(
        ("instructions.md", "only.txt", "ok.txt", "notes.md", "secret.txt"), SECRET
    )
    return told


FAIR: dict[str, tuple[set[str], set[str]]] = {
    "instructions": ({"inside"}, {"inside", ""}),
    "instruction file": ({"inside"}, {"inside", ""}),
    "contract": ({"1"}, {"1"}),
    "tools": ({"True", "False"}, {"True", "False"}),
    "memory": (
        {"read", "wrote", "found", "index", "symlinkRefused"},
        {"read", "wrote", "found", "index", "symlinkRefused", "notRegularFile", "notFound", "busy"},
    ),
}
"""Answers that come in any race, and those that may."""


@behaviour("workspace.raced")
@pytest.mark.parametrize("what", RACES)
def test_exchanging_what_a_method_looks_for_leaks_nothing(tmp_path: Path, what: str) -> None:
    told = raced(tmp_path, what, 1.0)
    assert FAIR[what][0] <= told.keys() <= FAIR[what][1]


@pytest.mark.slow
@pytest.mark.parametrize("what", RACES)
def test_exchanging_what_a_method_looks_for_for_five_seconds_leaks_nothing(tmp_path: Path, what: str) -> None:
    """Issue 5, shows 6."""
    told = raced(tmp_path, what, 5.0)
    assert FAIR[what][0] <= told.keys() <= FAIR[what][1]
