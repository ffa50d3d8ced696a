"""Options: three layers, unknown keys named, bad values refused with their path and nothing changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxd.model.errors import InvalidParams
from ctxd.model.settings import Settings
from ctxd.server.options import MAX_FILE_BYTES, Options, read_file, unwrap
from tests.server.conftest import ECHO
from tests.support.behaviour import behaviour
from tests.support.peer import Peer, PeerError


@behaviour("options.order")
def test_a_change_outranks_the_host_and_the_host_the_file() -> None:
    options = Options()
    options.set("change", {"elision": {"keepTurns": 3}})
    options.set("init", {"elision": {"keepTurns": 2, "staleTurns": 2}})
    options.set("file", {"elision": {"keepTurns": 1, "staleTurns": 1, "minMessages": 1}})
    elision = options.settings.elision
    assert (elision.keep_turns, elision.stale_turns, elision.min_messages) == (3, 2, 1)
    assert options.settings.budget == Settings().budget


def test_a_new_layer_replaces_the_old_one_of_its_rank() -> None:
    options = Options()
    options.set("change", {"elision": {"keepTurns": 3}})
    options.set("change", {"recall": {"pageBytes": 9}})
    assert options.settings.elision == Settings().elision
    options.set("change", None)
    assert options.settings == Settings()


def test_null_leaves_an_option_to_the_layer_below() -> None:
    options = Options()
    options.set("file", {"elision": {"keepTurns": 1}})
    options.set("init", {"elision": {"keepTurns": None}, "recall": None})
    assert options.settings.elision.keep_turns == 1


@behaviour("options.bad-value")
@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"budget": {"handoffRatio": 1.5}}, ["budget.handoffRatio"]),
        ({"budget": {"handoffRatio": "0.5", "reserve": -1}}, ["budget.handoffRatio", "budget.reserve"]),
        ({"elision": []}, ["elision"]),
        ({"elision": {"enabled": 1}}, ["elision.enabled"]),
        ({"model": {"windows": {"a": 1, "b.c": "x"}}}, ["model.windows.b.c"]),
        ({"model": {"windows": 3}}, ["model.windows"]),
        ([], [""]),
        ("x", [""]),
    ],
)
def test_a_bad_value_is_named_by_its_path_and_changes_nothing(given: object, paths: list[str]) -> None:
    options = Options()
    options.set("init", {"elision": {"keepTurns": 2}})
    before = options.settings
    with pytest.raises(InvalidParams) as caught:
        options.set("change", given)
    errors: Any = caught.value.facts["errors"]
    assert [e["path"] for e in errors] == paths
    assert all("$" not in e["message"] for e in errors)
    assert options.settings is before


@behaviour("options.unknown")
def test_unknown_options_are_named_and_the_others_taken() -> None:
    options = Options()
    given = {"elison": {"x": 1}, "elision": {"keepturns": 1, "keepTurns": 4}, "recall": {}}
    assert options.set("init", given) == ["elison", "elision.keepturns"]
    assert options.settings.elision.keep_turns == 4


@pytest.mark.parametrize("settings", [{"ctxd": {"a": 1}, "other": 2}, {"a": 1}])
def test_a_change_is_read_wrapped_or_bare(settings: object) -> None:
    assert unwrap(settings) == {"a": 1}


def test_a_workspace_without_a_file_has_no_options(tmp_path: Path) -> None:
    assert read_file(tmp_path) == {}
    assert read_file(tmp_path / "nowhere") == {}


def test_the_file_is_toml_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / ".ctxd.toml").write_text('[model.windows]\n"a.b" = 1000\n[elision]\nkeepTurns = 7\n')
    options = Options()
    assert options.set("file", read_file(tmp_path)) == []
    assert options.settings.model.windows == {"a.b": 1000}
    assert options.settings.elision.keep_turns == 7


@pytest.mark.parametrize("what", ["broken", "binary", "large", "symlink", "folder", "fifo"])
def test_a_file_that_is_none_is_refused_without_its_content(tmp_path: Path, what: str) -> None:
    file = tmp_path / ".ctxd.toml"
    match what:
        case "broken":
            file.write_text("a secret = ")
        case "binary":
            file.write_bytes(b"\xff\xfe")
        case "large":
            file.write_text("# " + "x" * MAX_FILE_BYTES)
        case "symlink":
            (tmp_path / "target").write_text("")
            file.symlink_to("target")
        case "folder":
            file.mkdir()
        case _:
            os.mkfifo(file)
    with pytest.raises(InvalidParams) as caught:
        read_file(tmp_path)
    assert ".ctxd.toml" in caught.value.message
    assert "secret" not in caught.value.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ".ctxd.toml").write_text("[elision]\nkeepTurns = 5\nkeepTurn = 1\n")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / ".ctxd.toml").write_text("[elision]\nkeepTurns = 'many'\n")
    return tmp_path


@pytest.fixture
def peer(folder: Path) -> Iterator[Peer]:
    with Peer.start(program=ECHO) as started:
        yield started


def keep_turns(peer: Peer) -> int:
    return int(peer.request("test/host?")["number"])


def said(peer: Peer) -> str:
    message = peer.notification("window/logMessage")
    assert message["type"] == 2
    return str(message["message"])


@behaviour("options.order")
def test_through_the_wire_options_rise_from_file_to_host_to_change(peer: Peer, folder: Path) -> None:
    with pytest.raises(PeerError) as caught:
        peer.initialize(options={"elision": {"keepTurns": 0}}, folders=[folder / "one"])
    assert (caught.value.code, caught.value.kind) == (-32602, "invalidParams")
    assert caught.value.data["errors"][0]["path"] == "elision.keepTurns"

    peer.initialize(
        options={"nothing": 1}, folders=[folder / "one"], clientInfo={"name": "h", "version": "2"}
    )
    assert said(peer) == "initializationOptions: unknown options nothing"
    assert said(peer) == ".ctxd.toml: unknown options elision.keepTurn"
    assert keep_turns(peer) == 5
    host = peer.request("test/host?")
    assert host["text"] == "h 2"
    assert host["tree"]["folders"] == [(folder / "one").as_uri()]

    peer.notify("workspace/didChangeConfiguration", {"settings": {"ctxd": {"elision": {"keepTurns": 8}}}})
    assert keep_turns(peer) == 8
    peer.notify("workspace/didChangeConfiguration", {"settings": {"elision": {"keepTurns": "x"}}})
    assert "elision.keepTurns: Expected `int`" in said(peer)
    assert keep_turns(peer) == 8
    peer.notify("workspace/didChangeConfiguration", {"settings": {"elision": {}}})
    assert keep_turns(peer) == 5

    two = {"uri": (folder / "two").as_uri(), "name": "two"}
    one = {"uri": (folder / "one").as_uri(), "name": "one"}
    peer.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [two], "removed": [one]}})
    assert ".ctxd.toml was ignored: invalid params: elision.keepTurns" in said(peer)
    assert peer.request("test/host?")["tree"]["folders"] == [two["uri"]]


def test_a_limit_changed_later_holds_for_the_next_message(peer: Peer) -> None:
    peer.initialize(rootUri=None, workspaceFolders=None)
    peer.notify("workspace/didChangeConfiguration", {"settings": {"wire": {"maxMessageBytes": 1000}}})
    assert peer.request("test/echo") == {"text": "nothing"}
    with pytest.raises(PeerError) as caught:
        peer.request("test/echo", {"text": "x" * 2000})
    assert caught.value.kind == "tooLarge"


def test_what_the_host_can_do_and_its_root_are_learned(peer: Peer, folder: Path) -> None:
    peer.initialize(
        workspaceFolders=None,
        rootPath=os.fspath(folder),
        capabilities={"sampling": True, "compactHook": "yes"},
        clientInfo={"name": "h"},
    )
    host = peer.request("test/host?")
    assert host["text"] == "h"
    assert host["tree"] == {"folders": [folder.as_uri()], "sampling": True, "hook": False}


def test_the_trace_of_requests_is_sent_when_it_is_wanted(peer: Peer) -> None:
    peer.initialize(trace="verbose")
    peer.request("test/echo", {"text": "a secret"})
    trace = peer.notification("$/logTrace")
    assert trace["message"] == "test/echo - (2)"
    assert trace["verbose"].startswith("ok after ")
    peer.notify("$/setTrace", {"value": "messages"})
    peer.request("test/echo")
    assert peer.notification("$/logTrace") == {"message": "test/echo - (3)"}
    peer.notify("$/setTrace", {"value": "off"})
    peer.request("test/echo")
    peer.notify("$/setTrace", {"value": "loud"})
    assert "$/setTrace was ignored" in said(peer)


def test_a_cloned_repository_cannot_say_where_sessions_are_kept_or_whom_they_are_sent_to() -> None:
    options = Options()
    names = options.set(
        "file",
        {
            "storage": {"root": "/tmp/elsewhere"},
            "summarizer": {"provider": "openai", "model": "m", "baseUrl": "http://evil.example"},
            "elision": {"keepTurns": 7},
        },
    )
    assert names == ["storage (not from a file)", "summarizer (not from a file)"]
    assert options.settings.storage.root == ""
    assert options.settings.summarizer.base_url == ""
    assert options.settings.elision.keep_turns == 7
    assert options.set("init", {"storage": {"root": "/tmp/chosen"}}) == []
    assert options.settings.storage.root == "/tmp/chosen"
