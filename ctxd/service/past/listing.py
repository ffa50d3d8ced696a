"""The list of sessions: an index that is never the truth, filled from logs where it says too little.

A row counts as long as the session's files have the size they had when it was written.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import msgspec

from ctxd.core.budget import WindowSource
from ctxd.core.fold import SessionState
from ctxd.model.errors import CtxdError, StoreError
from ctxd.model.events import Model
from ctxd.service.reading import read_events
from ctxd.service.session import Session
from ctxd.store.indexes.sessions import SessionIndex, SessionRow
from ctxd.store.layout import Layout, find_layouts, segment_name, segment_numbers
from ctxd.store.log.event_log import open_log
from ctxd.store.log.writer import Writer


class Row(msgspec.Struct, frozen=True):
    """A session as a list shows it; times in milliseconds."""

    session_id: str
    workspace: str
    dialect: str
    model: Model
    window: int | None
    window_source: WindowSource
    revision: int
    epoch: int
    generation: int
    access: Literal["write", "readOnly"]
    created_at: int
    updated_at: int
    bytes: int
    home: str
    """The name of its workspace's folder in the state folder."""


def row_of(session: Session) -> Row:
    """The row of an open session."""
    window = session.window()
    return _row(
        session.session_id,
        session.state,
        session.log.health.bytes,
        session.home,
        window=window.value,
        source=window.source,
        access="write" if session.writable else "readOnly",
    )


class Listing:
    """Rows of the sessions below a state folder. Blocking; call in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index = SessionIndex(root / "index.sqlite3")
        self._writer: Writer | None = None

    def put(self, row: Row) -> None:
        """Remember a session as it stands. Where the index cannot be written, the next list reads the log."""
        layout = Layout(self._root / row.home)
        with contextlib.suppress(StoreError):
            self._put(msgspec.structs.replace(row, bytes=_size_of(layout, row.session_id)))

    def _put(self, row: Row) -> None:
        self._index.put(
            SessionRow(
                session_id=row.session_id,
                workspace=row.workspace,
                dialect=row.dialect,
                model_id=row.model.id,
                created_at=row.created_at,
                updated_at=row.updated_at,
                revision=row.revision,
                bytes=row.bytes,
                epoch=row.epoch,
                generation=row.generation,
                model=msgspec.json.encode(row.model).decode("utf-8"),
                home=row.home,
            )
        )

    def forget(self, session_id: str, workspace: str) -> None:
        """A session was deleted."""
        self._index.remove(session_id, workspace)

    def rows(self) -> list[Row]:
        """Every session that has a log; those that are not in the index as they stand are read once."""
        known = {(row.home, row.session_id): row for row in reversed(self._indexed())}
        found: list[Row] = []
        for layout in find_layouts(self._root):
            for session_id in layout.session_ids():
                row = known.get((layout.folder.name, session_id))
                if row is not None and row.bytes == _size_of(layout, session_id):
                    found.append(_from_index(row))
                elif (read := self._read(layout, session_id)) is not None:
                    self.put(read)
                    found.append(read)
        return found

    def close(self) -> None:
        self._index.close()
        if self._writer is not None:
            self._writer.close()

    def _indexed(self) -> list[SessionRow]:
        try:
            return self._index.rows()
        except StoreError:
            return []

    def _read(self, layout: Layout, session_id: str) -> Row | None:
        """Fold a log that the index does not know; None for an unreadable one, which hides no other (D5)."""
        if self._writer is None:
            self._writer = Writer()
        try:
            log = open_log(layout, session_id, writer=self._writer, mode="read")
        except CtxdError:
            return None
        state = SessionState()
        unreadable: list[int] = []
        for readable, found in read_events(log.records, unreadable):
            state.apply_all(zip(found, [record.at for record in readable]))
        log.close()
        if state.created is None or unreadable:
            return None
        return _row(session_id, state, log.health.bytes, layout.folder.name)


def _size_of(layout: Layout, session_id: str) -> int:
    """Bytes of all segments of a session."""
    folder = layout.session_folder(session_id)
    numbers = segment_numbers([path.name for path in folder.iterdir()], session_id)
    return sum((folder / segment_name(session_id, number)).stat().st_size for number in numbers)


def _row(
    session_id: str,
    state: SessionState,
    size: int,
    home: str,
    *,
    window: int | None = None,
    source: WindowSource = "unknown",
    access: Literal["write", "readOnly"] = "write",
) -> Row:
    created = state.created
    known = state.model.context_window
    return Row(
        session_id=session_id,
        workspace=created.workspace if created else "",
        dialect=state.dialect,
        model=state.model,
        window=window or known,
        window_source="host" if known else source,
        revision=state.revision,
        epoch=state.epoch,
        generation=state.generation,
        access=access,
        created_at=state.created_at,
        updated_at=state.updated_at,
        bytes=size,
        home=home,
    )


def _from_index(row: SessionRow) -> Row:
    model = msgspec.json.decode(row.model, type=Model) if row.model else Model(id=row.model_id)
    return Row(
        session_id=row.session_id,
        workspace=row.workspace,
        dialect=row.dialect,
        model=model,
        window=model.context_window,
        window_source="host" if model.context_window else "unknown",
        revision=row.revision,
        epoch=row.epoch,
        generation=row.generation,
        access="write",
        created_at=row.created_at,
        updated_at=row.updated_at,
        bytes=row.bytes,
        home=row.home,
    )
