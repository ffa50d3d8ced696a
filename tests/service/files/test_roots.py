"""A workspace of several folders: a session in one is shown files of the others, confined like its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.files.test_path_attacks import read, shown_by_compaction, use_tool
from tests.service.files.test_restoring import Work, paths, reasons
from tests.service.host import LocalHost, Session
from tests.service.test_homes import Roots
from tests.support.behaviour import behaviour
from tests.workspace.attacks import ATTACKS, INSIDE, SECRET, Attack, Place
from tests.workspace.test_races import EXCHANGE, running


@pytest.fixture
def answers() -> Roots:
    return Roots()


@pytest.fixture
def host(folder: Path, answers: Roots) -> Iterator[LocalHost]:
    with LocalHost(folder / "state", answers=answers) as made:
        yield made


@pytest.fixture
def beside(host: LocalHost, answers: Roots, tmp_path: Path) -> tuple[Work, Work]:
    """A session at work in one folder, and one in the folder beside it."""
    one, two = Work(host, tmp_path / "one"), Work(host, tmp_path / "two", "s2")
    answers.folders = (one.root.as_uri(), two.root.as_uri())
    for work in (one, two):
        work.put("a.py", "b.py")
    return one, two


def elsewhere(work: Work, other: Work, *names: str) -> list[str]:
    """Files of another root that a session reads, by the absolute paths its tools use."""
    found = [str(other.root / name) for name in names]
    work.read(*found)
    return found


@behaviour("roots.shown")
def test_f72_a_file_touched_in_another_root_is_shown_after_a_compaction(beside: tuple[Work, Work]) -> None:
    one, two = beside
    one.read("a.py")
    (there,) = elsewhere(one, two, "a.py")
    one.talk()
    assert paths(one.compact()) == [there, "a.py"]
    assert f'file "{there}"' in one.shown()
    assert "line 3 of a.py" in one.shown()
    listed = one.session.call("workspace/recentFiles")["files"]
    assert [file["path"] for file in listed] == [there, "a.py"]
    found = one.session.call("workspace/readFile", path=there)
    assert found["content"] == Path(there).read_text()
    assert found["inContext"]
    assert one.session.call("context/contains", path=there)["inContext"]
    tool = one.session.call("tools/call", name="read_file", arguments={"path": there})
    assert "line 3 of a.py" in tool["content"]


def test_a_file_of_another_root_that_changed_is_not_said_to_be_in_context(beside: tuple[Work, Work]) -> None:
    one, two = beside
    (there,) = elsewhere(one, two, "a.py")
    assert one.session.call("workspace/readFile", path=there)["inContext"]
    Path(there).write_text("# another\n")
    found = one.session.call("workspace/readFile", path=there)
    assert (found["content"], found["inContext"]) == ("# another\n", False)


def test_the_same_name_in_two_roots_is_two_files(beside: tuple[Work, Work]) -> None:
    one, two = beside
    (two.root / "a.py").write_text("# of two\n")
    (there,) = elsewhere(one, two, "a.py")
    assert not one.session.call("context/contains", path="a.py")["inContext"]
    found = one.session.call("workspace/readFile", path="a.py")
    assert found["content"] == (one.root / "a.py").read_text()
    assert one.session.call("workspace/readFile", path=there)["content"] == "# of two\n"


def test_what_the_other_folders_session_touched_is_not_this_ones(beside: tuple[Work, Work]) -> None:
    one, two = beside
    two.read("a.py")
    one.read("b.py")
    one.talk()
    assert paths(one.compact()) == ["b.py"]


@behaviour("roots.announced")
def test_a_folder_that_is_not_announced_any_more_is_outside(
    beside: tuple[Work, Work], answers: Roots
) -> None:
    one, two = beside
    (there,) = elsewhere(one, two, "a.py")
    assert read_by(one, there) == "ok"
    answers.folders = (one.root.as_uri(),)
    assert read_by(one, there) == "outsideWorkspace"
    one.talk()
    report = one.compact()
    assert paths(report) == []
    assert reasons(report) == {there: "outsideWorkspace"}


@behaviour("roots.announced")
def test_a_session_apart_from_what_was_announced_has_its_own_folder_alone(
    host: LocalHost, beside: tuple[Work, Work], tmp_path: Path
) -> None:
    _, two = beside
    apart = Work(host, tmp_path / "apart", "s3")
    (there,) = elsewhere(apart, two, "a.py")
    assert read_by(apart, there) == "outsideWorkspace"


def test_a_root_that_is_not_there_or_is_no_local_folder_hides_no_other(
    beside: tuple[Work, Work], answers: Roots
) -> None:
    one, two = beside
    gone = (one.root.parent / "gone").as_uri()
    answers.folders = (gone, "vscode-vfs://github/x", "file://host/share", *answers.folders)
    (there,) = elsewhere(one, two, "a.py")
    assert read_by(one, there) == "ok"


def read_by(work: Work, path: str) -> str:
    answer = work.session.call("tools/call", name="read_file", arguments={"path": path})
    return "outsideWorkspace" if answer["isError"] and "outside" in answer["content"] else "ok"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """The other root, under attack."""
    return Place.made_in(tmp_path)


@pytest.fixture
def session(host: LocalHost, answers: Roots, place: Place, tmp_path: Path) -> Session:
    own = tmp_path / "own"
    own.mkdir()
    answers.folders = (own.as_uri(), place.root.as_uri())
    opened = host.open(workspace=own.as_uri())
    opened.append({"role": "user", "content": "go"})
    return opened


def absolute(place: Place, path: str) -> str:
    return path if path.startswith("/") else f"{place.root}/{path}"


OTHERWISE = {8: "notRegularFile"}
"""An empty name below a root is the root itself."""


@behaviour("roots.confined")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.number} {a.name}")
def test_every_attack_is_answered_in_another_root_as_in_the_own(
    session: Session, place: Place, attack: Attack
) -> None:
    path = absolute(place, attack.stage(place))
    assert read(session, path) == OTHERWISE.get(attack.number, attack.answer)
    use_tool(session, path)
    assert set(shown_by_compaction(session)) <= {INSIDE}


@behaviour("roots.confined")
def test_nothing_leads_from_one_root_to_another_but_its_own_path(session: Session, place: Place) -> None:
    own = place.root.parent / "own"
    (own / "link").symlink_to(place.root)
    assert read(session, f"{own}/link/ok.txt") == "symlinkRefused"
    assert read(session, "link/ok.txt") == "symlinkRefused"
    assert read(session, f"{own}/../ws/ok.txt") == "outsideWorkspace"
    assert read(session, "../ws/ok.txt") == "outsideWorkspace"
    assert read(session, "ok.txt") == "notFound"
    assert read(session, f"{place.root}/ok.txt") == "inside"


@behaviour("roots.confined")
def test_a_root_replaced_by_a_link_leads_nowhere(session: Session, place: Place) -> None:
    assert read(session, f"{place.root}/ok.txt") == "inside"
    (place.outside / "ok.txt").write_bytes(SECRET)
    place.root.rename(place.root.parent / "moved")
    place.root.symlink_to(place.outside)
    assert read(session, f"{place.root}/ok.txt") == "inside"


@behaviour("workspace.raced")
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_in_another_root_leaks_nothing(session: Session, place: Place, what: str) -> None:
    parent = what == "40 parent"
    (place.outside / "ok.txt").write_bytes(SECRET)
    place.link("link", place.outside if parent else place.secret)
    target = place.root / ("a" if parent else "ok.txt")
    path = f"{place.root}/a/ok.txt" if parent else f"{place.root}/ok.txt"
    told: Counter[str] = Counter()
    with running(EXCHANGE, target, place.root / "link"):
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            told[read(session, path)] += 1
    assert told.keys() == {"inside", "symlinkRefused"}
