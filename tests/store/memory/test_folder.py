"""Memory files while others write them too. An editor here is plain file operations: it knows no lock."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxd.core import notes
from ctxd.model.errors import Busy, CtxdError, NotRegularFile, OutsideWorkspace, SymlinkRefused, TooLarge
from ctxd.store import swap
from ctxd.store.files import names_in
from ctxd.store.layout import Layout, open_layout
from ctxd.store.ledger import Ledger
from ctxd.store.memory import files as single_files
from ctxd.store.memory import folder as folder_module
from ctxd.store.memory import settling
from ctxd.store.memory.files import digest_of
from ctxd.store.memory.folder import MemoryFolder, open_in_state
from tests.support.behaviour import behaviour


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return open_layout(tmp_path / "state", str(tmp_path))


@pytest.fixture
def open_folder(layout: Layout) -> Iterator[Callable[[], MemoryFolder]]:
    """Opens the same memory as another daemon would."""
    opened: list[MemoryFolder] = []

    def make() -> MemoryFolder:
        folder = MemoryFolder(
            lambda create: open_in_state(layout, create),
            Ledger(layout),
            mode=0o600,
            is_wiped=lambda topic, seconds: topic in wiped,
        )
        opened.append(folder)
        return folder

    wiped: set[str] = set()
    make.wiped = wiped  # type: ignore[attr-defined]
    yield make
    for folder in opened:
        folder.close()


@pytest.fixture
def folder(open_folder: Callable[[], MemoryFolder]) -> MemoryFolder:
    return open_folder()


@pytest.fixture
def files(layout: Layout) -> Path:
    return layout.folder / "memory"


def add(folder: MemoryFolder, topic: str, words: str) -> None:
    folder.change(topic, lambda text: notes.append(text or "", f"- {words}"), added=lambda: [f"- {words}"])


def text_of(folder: MemoryFolder, topic: str) -> str:
    version = folder.read(topic)
    return "" if version is None else version.text


def test_a_topic_is_written_read_listed_and_deleted(folder: MemoryFolder, files: Path) -> None:
    assert folder.read("a") is None
    assert folder.topics() == []
    before, after = folder.change("a", lambda _: "one\n")
    assert before is None
    assert after is not None
    assert after == folder.read("a")
    assert after.digest == digest_of("one\n")
    assert [(t.name, t.bytes) for t in folder.topics()] == [("a", 4)]
    assert stat.S_IMODE((files / "a.md").stat().st_mode) == 0o600
    gone = folder.delete("a")
    assert gone is not None
    assert gone.text == "one\n"
    assert folder.delete("a") is None
    assert names_in(files) == []


@behaviour("D14.previous-version")
def test_a_version_that_loses_something_is_kept_in_the_ledger(folder: MemoryFolder, layout: Layout) -> None:
    folder.change("a", lambda _: "one\ntwo\n")
    folder.change("a", lambda _: "two\n")
    folder.delete("a")
    ledger = Ledger(layout)
    assert ledger.get(digest_of("one\ntwo\n")) == b"one\ntwo\n"
    assert ledger.get(digest_of("two\n")) == b"two\n"
    ledger.close()


def test_a_version_that_only_grows_is_not_kept_again_and_again(folder: MemoryFolder, layout: Layout) -> None:
    for number in range(50):
        add(folder, "a", f"entry {number}")
    assert [path for path in layout.objects.rglob("*") if path.is_file()] == []


def test_bytes_that_are_no_text_stay_as_they_are(folder: MemoryFolder, files: Path) -> None:
    files.mkdir(mode=0o700)
    (files / "a.md").write_bytes(b"caf\xe9\r\n\xff\xfe")
    version = folder.read("a")
    assert version is not None
    assert version.shown == "caf\ufffd\r\n\ufffd\ufffd"
    add(folder, "a", "more")
    assert (files / "a.md").read_bytes() == b"caf\xe9\r\n\xff\xfe\n- more\n"


def test_a_file_keeps_the_permissions_a_person_gave_it(folder: MemoryFolder, files: Path) -> None:
    folder.change("a", lambda _: "one\n")
    (files / "a.md").chmod(0o640)
    add(folder, "a", "two")
    assert stat.S_IMODE((files / "a.md").stat().st_mode) == 0o640


def plant(kind: str, files: Path, outside: Path) -> None:
    path = files / "a.md"
    match kind:
        case "link":
            path.symlink_to(outside)
        case "dangling link":
            path.symlink_to(files / "nowhere")
        case "link inside":
            (files / "b.md").write_text("b")
            path.symlink_to("b.md")
        case "hard link":
            os.link(outside, path)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            os.chdir(files)
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind("a.md")


REFUSALS: dict[str, type[CtxdError]] = {
    "link": SymlinkRefused,
    "dangling link": SymlinkRefused,
    "link inside": SymlinkRefused,
    "hard link": OutsideWorkspace,
    "pipe": NotRegularFile,
    "folder": NotRegularFile,
    "socket": NotRegularFile,
}


@behaviour("memory.safe-files")
@pytest.mark.parametrize("kind", REFUSALS)
def test_what_is_no_plain_file_of_its_own_is_neither_read_nor_written_nor_listed(
    folder: MemoryFolder, files: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outside = tmp_path / "outside"
    outside.write_text("secret")
    files.mkdir(mode=0o700)
    plant(kind, files, outside)
    for attempt in (
        lambda: folder.read("a"),
        lambda: folder.change("a", lambda _: "changed"),
        lambda: folder.delete("a"),
    ):
        with pytest.raises(REFUSALS[kind]):
            attempt()
    assert outside.read_text() == "secret"
    assert "a" not in [topic.name for topic in folder.topics()]


@behaviour("memory.safe-files")
def test_a_memory_folder_that_is_a_link_is_refused(folder: MemoryFolder, files: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    files.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CtxdError):
        folder.change("a", lambda _: "x")
    assert names_in(tmp_path / "elsewhere") == []


def test_a_huge_file_is_refused_by_its_size_alone(folder: MemoryFolder, files: Path) -> None:
    files.mkdir(mode=0o700)
    with (files / "a.md").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        folder.read("a")
    with pytest.raises(TooLarge):
        folder.change("b", lambda _: "x" * (single_files.MAX_BYTES + 1))


def test_what_an_edit_raises_changes_nothing(folder: MemoryFolder, files: Path) -> None:
    folder.change("a", lambda _: "one\n")

    def refuse(text: str | None) -> str:
        raise Busy("no")

    with pytest.raises(Busy):
        folder.change("a", refuse)
    assert names_in(files) == ["a.md"]
    assert text_of(folder, "a") == "one\n"


@behaviour("memory.editor")
@pytest.mark.parametrize("exchanges", [True, False], ids=["exchange", "rename"])
def test_an_editor_that_saves_before_the_replacement_is_seen(
    folder: MemoryFolder, files: Path, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(folder_module, "exchange", lambda *_: False)
    folder.change("a", lambda _: "one\n")
    saves = iter(["one\nby rename\n"])

    def edit(text: str | None) -> str:
        for saved in saves:
            (files / "draft").write_text(saved)
            (files / "draft").replace(files / "a.md")
        return notes.append(text or "", "ours")

    folder.change("a", edit)
    assert text_of(folder, "a") == "one\nby rename\nours\n"


@behaviour("memory.editor")
def test_an_editor_that_saves_in_the_last_moment_is_displaced_and_put_back(
    folder: MemoryFolder, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.change("a", lambda _: "one\n")
    real = swap.exchange
    saves = iter(["one\nin the last moment\n"])

    def late(descriptor: int, one: str, other: str) -> bool:
        for saved in saves:
            (files / "draft").write_text(saved)
            (files / "draft").replace(files / "a.md")
        return real(descriptor, one, other)

    monkeypatch.setattr(folder_module, "exchange", late)
    add(folder, "a", "ours")
    assert text_of(folder, "a") == "one\nin the last moment\n- ours\n"
    assert names_in(files) == ["a.md"]


@behaviour("memory.editor")
def test_what_an_editor_still_writes_into_a_replaced_file_is_merged(
    folder: MemoryFolder, files: Path
) -> None:
    folder.change("a", lambda _: "one\ntwo\n")
    with (files / "a.md").open("r+") as editor:
        add(folder, "a", "ours")
        editor.truncate(0)
        editor.write("one\nbetween\ntwo\nhalf")
        editor.flush()
        assert text_of(folder, "a") in ("one\ntwo\n- ours\n", "one\nbetween\ntwo\nhalf\n- ours\n")
        editor.write(" and half\n")
    assert text_of(folder, "a") == "one\nbetween\ntwo\nhalf and half\n- ours\n"


@behaviour("memory.editor")
@pytest.mark.parametrize("in_place", [True, False])
def test_an_entry_that_an_editor_overwrote_unseen_is_put_back(
    open_folder: Callable[[], MemoryFolder], files: Path, in_place: bool
) -> None:
    one, other = open_folder(), open_folder()
    add(one, "a", "first")
    add(other, "a", "second")
    stale = "a person's own\n"
    if in_place:
        (files / "a.md").write_text(stale)
    else:
        (files / "draft").write_text(stale)
        (files / "draft").replace(files / "a.md")
    one.settle()
    other.settle()
    assert text_of(one, "a") == "a person's own\n- first\n- second\n"


@behaviour("memory.editor")
def test_nobody_need_ask_for_an_overwritten_entry_to_come_back(
    folder: MemoryFolder, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.05)
    back = threading.Event()
    real = settling.with_lines

    def seen(text: str, lines: list[str]) -> str | None:
        made = real(text, lines)
        if made is not None:
            back.set()
        return made

    monkeypatch.setattr(settling, "with_lines", seen)
    add(folder, "a", "first")
    (files / "a.md").write_text("a person's own\n")
    assert back.wait(10)
    folder.close()
    assert (files / "a.md").read_text() == "a person's own\n- first\n"


def test_an_entry_that_was_struck_or_deleted_by_a_daemon_stays_so(
    open_folder: Callable[[], MemoryFolder], files: Path
) -> None:
    one, other = open_folder(), open_folder()
    add(one, "a", "[2026-11-30] first")
    other.change("a", lambda text: notes.strike(text or "", ["first"]))
    one.settle()
    assert text_of(one, "a") == "- ~~[2026-11-30] first~~\n"
    open_folder.wiped.add("a")  # type: ignore[attr-defined]
    other.delete("a")
    one.settle()
    assert names_in(files) == []


def test_a_person_may_delete_an_entry_once_it_has_settled(
    folder: MemoryFolder, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(folder, "a", "first")
    monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.0)
    folder.settle()
    (files / "a.md").write_text("")
    folder.settle()
    assert text_of(folder, "a") == ""


@behaviour("D14.one-writer")
def test_changes_of_several_daemons_come_one_after_another(open_folder: Callable[[], MemoryFolder]) -> None:
    folders = [open_folder() for _ in range(4)]
    threads = [
        threading.Thread(target=lambda n=n, f=f: [add(f, "a", f"{n}.{i}") for i in range(15)])  # type: ignore[misc]
        for n, f in enumerate(folders)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(text_of(folders[0], "a").split("\n")) == sorted(
        ["", *[f"- {n}.{i}" for n in range(4) for i in range(15)]]
    )


def test_a_lock_that_is_held_too_long_is_busy(
    open_folder: Callable[[], MemoryFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "LOCK_SECONDS", 0.01)
    one, other = open_folder(), open_folder()
    with one.locked(), pytest.raises(Busy):
        other.change("a", lambda _: "x")


def test_many_topics_in_a_moment_hold_few_files_open(folder: MemoryFolder) -> None:
    before = len(names_in(Path("/proc/self/fd")))
    for number in range(200):
        for words in ("one", "two"):
            add(folder, f"topic {number % 100}", f"{words} {number}")
    assert len(names_in(Path("/proc/self/fd"))) <= before + settling.HELD + 4


def test_what_a_killed_process_left_is_swept_when_it_is_old(folder: MemoryFolder, files: Path) -> None:
    files.mkdir(mode=0o700)
    for name, age in ((".ctxd-tmp-1-old", 2 * 3600), (".ctxd-tmp-2-new", 0)):
        (files / name).write_text("x")
        at = (files / name).stat().st_mtime - age
        os.utime(files / name, (at, at))
    folder.change("a", lambda _: "x")
    assert names_in(files) == [".ctxd-tmp-2-new", "a.md"]


def test_names_that_a_forgiving_file_system_takes_for_one_are_one_topic(folder: MemoryFolder) -> None:
    folder.change("Notes", lambda _: "x")
    assert folder.name_on_disk("notes") == "Notes"
    assert folder.name_on_disk("other") == "other"
