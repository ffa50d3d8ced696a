"""The attacks of reliability.md, section 3, through every method that takes a path: nothing leaks anywhere.

`tests/workspace` shows the boundary itself; here is that no way in goes round it. What an answer, an error or
the model view says is searched for the secret as it goes over the wire.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxd.model.errors import InvalidParams
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour
from tests.workspace.attacks import ATTACKS, INSIDE, SECRET, Attack, Place
from tests.workspace.test_races import EXCHANGE, running

TESTS = Path(__file__).parents[2]

ELSEWHERE = {
    31: "test_what_is_mounted_inside_does_not_belong_to_it",
    32: "test_what_is_mounted_inside_does_not_belong_to_it",
    33: "test_of_a_file_of_a_tebibyte_no_more_is_read_than_asked",
    34: "test_an_unreadable_file_is_not_found",
    40: "test_exchanging_a_name_with_a_link_leaks_nothing",
    41: "test_exchanging_a_name_with_a_link_leaks_nothing",
    43: "test_a_file_that_grows_once_is_read_again",
    44: "test_a_file_that_is_unlinked_after_it_was_opened_is_not_found",
    45: "test_a_root_that_moves_is_still_the_root",
    46: "test_a_root_that_moves_is_still_the_root",
    55: "test_a_disk_that_hangs_holds_up_one_thread_and_no_compaction",
    57: "test_a_state_folder_of_another_user_is_refused",
    58: "test_a_lock_file_that_is_a_link_is_refused",
    59: "test_a_temporary_name_that_somebody_guessed_is_not_written_to",
}
"""Attacks that need more than a path: number to the test that stages them. 56 and 60 are about what memory
writes and are tested there."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.made_in(tmp_path)


@pytest.fixture
def session(host: LocalHost, place: Place) -> Session:
    opened = host.open(workspace=place.root.as_uri())
    opened.append({"role": "user", "content": "go"})
    return opened


def asked(session: Session, method: str, **given: Any) -> Answer:
    """The answer, or the error as `{"kind": ...}`; neither says the secret."""
    try:
        answer: Answer = session.call(method, **given)
    except Refused as refused:
        answer = {"kind": refused.kind, "error": str(refused)}
    assert SECRET.decode() not in json.dumps(answer)
    return answer


def read(session: Session, path: str) -> str:
    """`inside`, or the kind of the refusal."""
    answer = asked(session, "workspace/readFile", path=path)
    assert answer.get("content", INSIDE.decode()) == INSIDE.decode()
    return str(answer.get("kind", "inside"))


def use_tool(session: Session, path: str) -> None:
    """A read and a write by the model, both said to have succeeded."""
    for call_id, name in (("t1", "Read"), ("t2", "Edit")):
        call = {"type": "tool_use", "id": call_id, "name": name, "input": {"file_path": path}}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "done"}
        session.append({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})


def shown_by_compaction(session: Session) -> list[bytes]:
    """What a compaction shows of the session's files."""
    for n in range(2):
        session.append(
            {"role": "assistant", "content": f"{n} " + "of limits and files and more " * 400},
            {"role": "user", "content": f"Go on, {n}."},
        )
    report = session.compact(strategy="deterministic", targetTokens=1500)
    assert report["outcome"] == "applied"
    assert SECRET.decode() not in json.dumps(report)
    view = session.history_bytes("model")
    assert SECRET not in view
    mark = re.search(rb"begin with (---[0-9a-f]{16})", view)
    if mark is None:
        return []
    text = "".join(str(m["content"]) for m in session.messages("model"))
    body = re.escape(mark[1].decode()) + r" file [^\n]*\n(.*?)" + re.escape(mark[1].decode()) + " end of"
    return [found.encode() for found in re.findall(body, text, re.DOTALL)]


names = pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.number} {a.name}")


@behaviour("workspace.every-way")
@names
def test_reading_answers_what_the_boundary_answers(session: Session, place: Place, attack: Attack) -> None:
    assert read(session, attack.stage(place)) == attack.answer


@behaviour("workspace.every-way")
@names
def test_a_touched_path_is_listed_only_where_it_is_inside(
    session: Session, place: Place, attack: Attack
) -> None:
    """A path with `..` in it is first made one without; what it names then is looked for inside."""
    path = attack.stage(place)
    try:
        session.host.notify("workspace/touch", sessionId=session.id, path=path, op="read")
    except InvalidParams:
        # A name that no file can have, or that no log can keep.
        assert attack.number in (8, 10, 11, 36)
        return
    answer = asked(session, "workspace/recentFiles")
    for file in answer["files"]:
        place_of = place.root / file["path"]
        assert place_of.read_bytes() == INSIDE
        assert place_of.resolve().is_relative_to(place.root)
    if attack.answer == "inside" and "\\" not in path:
        assert len(answer["files"]) == 1


@behaviour("workspace.every-way")
@names
def test_a_compaction_restores_nothing_from_outside(session: Session, place: Place, attack: Attack) -> None:
    use_tool(session, attack.stage(place))
    assert set(shown_by_compaction(session)) <= {INSIDE}


@names
def test_asking_whether_a_path_is_in_context_looks_at_no_disk(
    session: Session, place: Place, attack: Attack
) -> None:
    path = attack.stage(place)
    use_tool(session, path)
    answer = asked(session, "context/contains", path=path)
    assert answer["inContext"] in (True, False)


def test_every_attack_of_the_list_has_a_test() -> None:
    sources = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    assert [name for name in ELSEWHERE.values() if f"def {name}(" not in sources] == []
    assert {attack.number for attack in ATTACKS} | ELSEWHERE.keys() | {56, 60} == set(range(1, 61))


def test_a_hard_link_is_refused_with_what_it_is_and_what_to_do(session: Session, place: Place) -> None:
    """24: by its kind it lies outside, for nobody can tell where its other name is."""
    (place.root / "hard.txt").hardlink_to(place.secret)
    with pytest.raises(Refused) as refused:
        session.call("workspace/readFile", path="hard.txt")
    assert refused.value.kind == "outsideWorkspace"
    assert refused.value.data["hint"] == "it is a hard link; copy it instead"
    use_tool(session, "hard.txt")
    listed = asked(session, "workspace/recentFiles")
    assert listed == {"files": [], "rejected": [{"path": "hard.txt", "reason": "outsideWorkspace"}]}
    place.secret.unlink()
    place.secret.write_bytes(SECRET)
    assert session.call("workspace/readFile", path="hard.txt")["content"] == SECRET.decode()


def test_a_file_of_a_tebibyte_is_too_large_to_read(session: Session, place: Place) -> None:
    """33."""
    with (place.root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert read(session, "huge") == "tooLarge"


def test_a_root_replaced_by_a_link_leads_nowhere(session: Session, place: Place) -> None:
    """45: what was opened before stays what is read, for every method."""
    assert read(session, "ok.txt") == "inside"
    (place.outside / "ok.txt").write_bytes(SECRET)
    place.root.rename(place.root.parent / "moved")
    place.root.symlink_to(place.outside)
    assert read(session, "ok.txt") == "inside"
    assert read(session, "secret.txt") == "notFound"
    use_tool(session, "ok.txt")
    assert shown_by_compaction(session) == [INSIDE]


def test_a_disk_that_hangs_is_a_timeout_then_busy(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """55."""
    answers = threading.Event()

    def hang(folder: int, name: str) -> int:
        answers.wait(60)
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr("ctxd.workspace.boundary.open_beneath", hang)
    monkeypatch.setattr("ctxd.workspace.boundary.open_by_steps", hang)
    monkeypatch.setattr("ctxd.service.files.confined.READ_SECONDS", 0.5)
    assert read(session, "ok.txt") == "timeout"
    assert read(session, "ok.txt") == "busy"
    answers.set()


def test_a_system_that_cannot_confine_answers_every_method_with_one_kind(
    session: Session, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """49 to 54 where they mean something: on Windows nothing is opened, and every way in says so."""
    monkeypatch.setattr("os.supports_dir_fd", set())
    assert read(session, "ok.txt") == "outsideWorkspace"
    use_tool(session, "ok.txt")
    listed = asked(session, "workspace/recentFiles")
    assert listed == {"files": [], "rejected": [{"path": "ok.txt", "reason": "outsideWorkspace"}]}
    assert shown_by_compaction(session) == []


PATIENCE = 30.0


def race(session: Session, place: Place, seconds: float, parent: bool) -> dict[str, int]:
    """Read, list and restore while another process exchanges a name with a link; how often each answered."""
    (place.outside / "ok.txt").write_bytes(SECRET)
    place.link("link", place.outside if parent else place.secret)
    path = "a/ok.txt" if parent else "ok.txt"
    use_tool(session, path)
    told: dict[str, int] = {}
    ways: list[Callable[[], str]] = [
        lambda: read(session, path),
        lambda: str(len(asked(session, "workspace/recentFiles")["files"])),
        lambda: str(set(shown_by_compaction(session)) <= {INSIDE}),
    ]
    with running(EXCHANGE, place.root / ("a" if parent else "ok.txt"), place.root / "link"):
        end, turn = time.monotonic() + seconds, 0
        # On a busy machine longer, until the file was met in its place at all.
        while time.monotonic() < end or ("inside" not in told and time.monotonic() < end + PATIENCE):
            answer = ways[2 if turn % 50 == 49 else turn % 2]()
            told[answer] = told.get(answer, 0) + 1
            turn += 1
    return told


@behaviour("workspace.raced")
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_leaks_nothing_through_any_method(
    session: Session, place: Place, what: str
) -> None:
    told = race(session, place, 1.0, what == "40 parent")
    assert "False" not in told
    assert told["inside"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_for_five_seconds_leaks_nothing(session: Session, place: Place, what: str) -> None:
    """Issue 5, shows 6."""
    told = race(session, place, 5.0, what == "40 parent")
    assert "False" not in told
    assert told["inside"] > 0
    assert told["symlinkRefused"] > 0
