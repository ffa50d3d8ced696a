"""One thread commits for everybody; what fails is told to those who wait, and to nobody else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxd.model.errors import StorageFailed
from ctxd.model.records import Draft, Location, Record
from ctxd.store.log.writer import Append, Writer
from tests.store.desk import Desk, draft, names
from tests.support.behaviour import behaviour


class Shelf:
    """A log that commits to a list, or fails as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.groups: list[list[str]] = []
        self.error = error

    def commit(self, group: Sequence[Append]) -> None:
        self.groups.append([d.id for append in group for d in append.drafts])
        if self.error:
            raise self.error
        for append in group:
            append.records = [Record(1, 1, d.id, d.type, 0, b"", Location(1, 0, 1)) for d in append.drafts]


def drafts(*names: str) -> list[Draft]:
    return [draft(name) for name in names]


@pytest.mark.anyio
async def test_waiting_appends_are_committed_together_and_answered_each_with_its_own() -> None:
    writer, shelf = Writer(), Shelf()
    answers = await asyncio.gather(*(writer.append(shelf, drafts(f"a{n}", f"b{n}")) for n in range(50)))
    assert [[r.id for r in answer] for answer in answers] == [[f"a{n}", f"b{n}"] for n in range(50)]
    assert [name for group in shelf.groups for name in group] == [f"{x}{n}" for n in range(50) for x in "ab"]
    assert len(shelf.groups) < 50
    writer.close()


@pytest.mark.anyio
async def test_one_failing_log_does_not_touch_the_others() -> None:
    writer, good, bad = Writer(), Shelf(), Shelf(RuntimeError("broken"))
    answers = await asyncio.gather(
        writer.append(good, drafts("a")),
        writer.append(bad, drafts("b")),
        writer.append(good, drafts("c")),
        return_exceptions=True,
    )
    assert isinstance(answers[1], RuntimeError)
    assert not any(isinstance(answer, BaseException) for answer in (answers[0], answers[2]))
    assert [r.id for r in await writer.append(good, drafts("d"))] == ["d"]
    writer.close()


@pytest.mark.anyio
async def test_a_cancellation_comes_too_late_for_what_is_on_its_way_to_the_disk() -> None:
    """Whoever wrote a record must take it in: else memory and disk tell two stories until a restart."""
    writer, shelf = Writer(), Shelf()
    task = asyncio.create_task(writer.append(shelf, drafts("a")))
    await asyncio.sleep(0)
    task.cancel()
    assert [record.id for record in await task] == ["a"]
    assert task.cancelling() == 0
    await writer.append(shelf, drafts("b"))
    assert [name for group in shelf.groups for name in group] == ["a", "b"]
    writer.close()


@pytest.mark.anyio
async def test_an_append_cancelled_on_its_way_still_raises_what_went_wrong() -> None:
    writer = Writer()
    task = asyncio.create_task(writer.append(Shelf(RuntimeError("broken")), drafts("a")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(RuntimeError):
        await task
    writer.close()


def test_closing_commits_what_is_queued_though_its_loop_is_gone() -> None:
    writer, shelf = Writer(), Shelf()

    async def leave() -> None:
        task = asyncio.create_task(writer.append(shelf, drafts("a")))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    writer.close()
    assert shelf.groups == [["a"]]


@pytest.mark.anyio
async def test_a_closed_writer_refuses_instead_of_waiting_for_ever() -> None:
    writer = Writer()
    writer.close()
    with pytest.raises(StorageFailed):
        await writer.append(Shelf(), drafts("a"))


@behaviour("D1.one-sync")
def test_many_appends_at_once_take_far_fewer_syncs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = desk.open()
    syncs = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: syncs.append(real(fd)))
    desk.append_together(log, [[draft(f"m{n}")] for n in range(200)])
    assert 1 <= len(syncs) < 100
    log.close()
    assert names(desk.open().records) == [f"m{n}" for n in range(200)]


def test_a_large_body_is_handed_to_the_system_as_it_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = desk.open()
    body = b'"%s"' % (b"x" * 10_000_000)
    written: list[Sequence[bytes | memoryview]] = []
    real = os.writev

    def watch(fd: int, pieces: Sequence[bytes | memoryview]) -> int:
        written.append(pieces)
        return real(fd, pieces)

    monkeypatch.setattr(os, "writev", watch)
    desk.append_drafts(log, [Draft(id="big", type="said", data=body)])
    pieces = [piece for call in written for piece in call]
    assert max(map(len, pieces)) <= 1024 * 1024
    assert all(piece.obj is body for piece in pieces if isinstance(piece, memoryview))
    assert sum(len(piece) for piece in pieces if isinstance(piece, memoryview)) == len(body)
    assert Path(desk.segments()[-1]).stat().st_size > len(body)
