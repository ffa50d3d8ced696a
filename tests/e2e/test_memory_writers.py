"""Two daemons and a person's editor write the same topics at once: no entry is lost, no file is torn."""

from __future__ import annotations

import itertools
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.behaviour import behaviour
from tests.support.peer import Peer

TOPICS = ("notes", "MEMORY")


class Editor:
    """A person's editor: reads a file whole, adds a line, writes it whole. It knows no lock."""

    def __init__(self, folder: Path, *, in_place: bool) -> None:
        self._folder = folder
        self._in_place = in_place
        self.saved: list[tuple[str, str]] = []
        self.torn: list[str] = []

    def save(self, topic: str, line: str) -> None:
        path = self._folder / f"{topic}.md"
        text = path.read_text() if path.exists() else ""
        if text and not text.endswith("\n"):
            self.torn.append(text[-60:])
        text += line + "\n"
        if self._in_place:
            with path.open("w") as file:
                file.write(text)
        else:
            draft = path.with_suffix(".swp")
            draft.write_text(text)
            draft.replace(path)
        self.saved.append((topic, line))


def start(root: Path, workspace: Path) -> Peer:
    peer = Peer.start()
    options = {"storage": {"root": str(root)}, "memory": {"topicLines": 1_000_000, "topicBytes": 8_000_000}}
    peer.initialize(options=options, folders=[workspace])
    return peer


def write_until(
    peer: Peer,
    workspace: Path,
    name: str,
    goes_on: Callable[[int], bool],
    wrote: list[tuple[str, str]],
    begun: queue.Queue[bool],
) -> None:
    for number in itertools.takewhile(goes_on, itertools.count()):
        topic = TOPICS[number % 2]
        words = f"{name} entry {number}"
        begun.put(True)
        peer.request("memory/write", {"workspace": workspace.as_uri(), "topic": topic, "content": words})
        wrote.append((topic, words))


def run(tmp_path: Path, goes_on: Callable[[int], bool], *, in_place: bool) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    root = tmp_path / "state"
    with start(root, workspace) as one, start(root, workspace) as other:
        for topic in TOPICS:
            one.request(
                "memory/write", {"workspace": workspace.as_uri(), "topic": topic, "content": f"about {topic}"}
            )
        (folder,) = root.glob("*/memory")
        editor = Editor(folder, in_place=in_place)
        wrote: list[tuple[str, str]] = []
        failures: list[BaseException] = []

        def guarded(work: Callable[[], None]) -> threading.Thread:
            def body() -> None:
                try:
                    work()
                except BaseException as error:  # noqa: BLE001 - shown by the test
                    failures.append(error)

            thread = threading.Thread(target=body)
            thread.start()
            return thread

        def edit() -> None:
            # Three saves for each write of a daemon, while that is on its way.
            saves = itertools.count()
            while begun.get():
                for number in itertools.islice(saves, 3):
                    editor.save(TOPICS[number % 2], f"- a person's line {number}")

        begun: queue.Queue[bool] = queue.Queue()
        writers = [
            guarded(lambda: write_until(one, workspace, "first", goes_on, wrote, begun)),
            guarded(lambda: write_until(other, workspace, "second", goes_on, wrote, begun)),
        ]
        person = guarded(edit)
        for thread in writers:
            thread.join()
        begun.put(False)
        person.join()
        assert failures == []
        texts = {}
        for topic in TOPICS:
            params = {"workspace": workspace.as_uri(), "topic": topic}
            for peer in (one, other, one):
                texts[topic] = peer.request("memory/read", params)["text"]
            assert texts[topic] == (folder / f"{topic}.md").read_text()
        missing = [words for topic, words in wrote if f"] {words}\n" not in texts[topic]]
        assert missing == []
        assert [line for topic, line in editor.saved if f"{line}\n" not in texts[topic]] == []
        if not in_place:
            assert editor.torn == []
        known = {words for _, words in wrote} | {line for _, line in editor.saved}
        for topic, text in texts.items():
            for line in text.splitlines():
                words = line.partition("] ")[2] or line
                own = line.endswith((f"about {topic}", "[notes](notes.md)"))
                assert words in known or own or not line.startswith("- "), line
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
        assert len(wrote) > 20


MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory: a short test need not wait for a disk."""


@behaviour("memory.writers")
@pytest.mark.parametrize("in_place", [False, True], ids=["renames", "in place"])
def test_two_daemons_and_an_editor_lose_no_entry(in_place: bool) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        run(Path(folder), lambda number: number < 60, in_place=in_place)


@pytest.mark.slow
@behaviour("memory.writers")
@pytest.mark.parametrize("in_place", [False, True], ids=["renames", "in place"])
def test_two_daemons_and_an_editor_write_for_30_seconds_and_lose_no_entry(
    tmp_path: Path, in_place: bool
) -> None:
    until = time.monotonic() + 30
    run(tmp_path, lambda _: time.monotonic() < until, in_place=in_place)


@behaviour("memory.writers")
def test_killed_in_the_middle_of_writes_a_daemon_leaves_whole_files_with_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    root = tmp_path / "state"
    acknowledged: list[str] = []
    for round_ in range(3):
        peer = start(root, workspace)
        for number in range(5):
            words = f"round {round_} write {number}"
            peer.request(
                "memory/write", {"workspace": workspace.as_uri(), "topic": "notes", "content": words}
            )
            acknowledged.append(words)
        for number in range(20):
            peer.ask(
                "memory/write",
                {
                    "workspace": workspace.as_uri(),
                    "topic": "notes",
                    "content": f"round {round_} late {number}",
                },
            )
        peer.process.kill()
        peer.__exit__(ConnectionError, None, None)
    with start(root, workspace) as peer:
        params = {"workspace": workspace.as_uri(), "topic": "notes"}
        lines = peer.request("memory/read", params)["text"].split("\n")
        said = [line.partition("] ")[2] for line in lines if line]
        assert [words for words in said if words in acknowledged] == acknowledged
        assert all(words.startswith("round ") for words in said)
        assert len(said) == len(set(said))
        peer.request("memory/write", {**params, "content": "after all that"})
