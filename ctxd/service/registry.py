"""The sessions of a daemon: opened once each, found by id, listed, closed."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec

from ctxd.core.fold import SessionState
from ctxd.dialects import registry as dialects
from ctxd.model.errors import CtxdError, InvalidParams, NotFound, SessionLocked, SessionNotFound
from ctxd.model.settings import Settings
from ctxd.service import opening
from ctxd.service.counting import Counting
from ctxd.service.environment import Environment
from ctxd.service.homes import announced, kin, settle, workspace_path, workspace_uri
from ctxd.service.host import Host
from ctxd.service.opening import Fixed, Mode
from ctxd.service.past import forking
from ctxd.service.past.forking import is_unfinished_fork
from ctxd.service.past.listing import Listing, Row, row_of
from ctxd.service.recall.stored_form import Shelf
from ctxd.service.recall.upkeep import Upkeep
from ctxd.service.session import Session, Written
from ctxd.service.tools.files import file_tool
from ctxd.service.tools.memory import memory_tools
from ctxd.service.tools.recall import recall_tool
from ctxd.service.tools.toolbox import Toolbox
from ctxd.store.deletion import delete_session
from ctxd.store.exports import write_export
from ctxd.store.layout import Layout, check_session_id, state_root, workspace_name
from ctxd.store.ledger import Ledger
from ctxd.store.log.event_log import SessionLog, open_log
from ctxd.store.log.writer import Writer
from ctxd.tokenizer.families import UNKNOWN


class Registry:
    """Everything one daemon owns. `client` names the host in leases."""

    def __init__(
        self,
        settings: Settings,
        *,
        client: str = "",
        host: Host | None = None,
        environment: Environment | None = None,
    ) -> None:
        cache = Path(settings.storage.cache).expanduser() if settings.storage.cache else None
        self.environment = environment or Environment(settings, Counting(cache), host=host)
        self.environment.memories.home = self._layout
        self.client = client
        self.shelf = Shelf()
        self.toolbox = Toolbox([recall_tool(self.shelf), *memory_tools(), file_tool()])
        self.upkeep = Upkeep()
        self.started = self.environment.now()
        self._sessions: dict[str, Session] = {}
        self._layouts: dict[str, Layout] = {}
        self._ledgers: dict[Path, Ledger] = {}
        self._writer = Writer()
        self._opening = anyio.Lock()
        self._listing = Listing(self.root)

    def warm_up(self) -> None:
        """Begin to load the encoding that all families but OpenAI's older ones are counted in."""
        self.environment.counting.begin(UNKNOWN.encoding)

    @property
    def root(self) -> Path:
        """The state folder."""
        return state_root(self.environment.settings.storage.root)

    @property
    def sessions(self) -> list[Session]:
        return list(self._sessions.values())

    def configure(self, settings: Settings) -> None:
        """Take new settings; sessions see them at their next call."""
        self.environment.settings = settings

    def get(self, session_id: str) -> Session:
        """An open session. Raises SessionNotFound."""
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(
                "no such session is open here", hint="session/open it first", sessionId=session_id
            )
        return session

    def chosen(self, session_id: str | None, workspace: str | None) -> list[Session]:
        """One session, or all that are open in a workspace. Raises SessionNotFound."""
        if session_id is not None:
            return [self.get(session_id)]
        home = self._known_home(workspace_path(workspace or ""))
        return [session for session in self.sessions if session.home == home]

    async def keep_export(self, session: Session, form: str, content: str) -> str:
        """Write an export to a new file of the state folder; its path."""
        layout = Layout(self.root / session.home)
        name = f"{session.session_id}.{session.state.revision}.{form}"
        return await anyio.to_thread.run_sync(write_export, layout, name, content)

    async def open(
        self,
        workspace: str,
        *,
        session_id: str | None,
        mode: Mode,
        read_only: bool,
        dialect: str | None,
        fixed: Fixed,
    ) -> Session:
        """Open or create a session; a second opening in this daemon finds the first.

        Raises InvalidParams, UnknownDialect, SessionNotFound and the store's errors. A session that
        another process writes is opened read-only; opening it again takes it over once that process
        has let go.
        """
        path = workspace_path(workspace)
        name = session_id or self.environment.new_id("s")
        check_session_id(name)
        if dialect is not None:
            dialects.get(dialect)
        async with self._opening:
            layout = await self._home(path, name, mode)
            session = self._sessions.get(name)
            if session is not None and mode == "create":
                raise _taken()
            if session is not None and not session.writable and not read_only:
                session = await self._take_over(session, layout)
            if session is None:
                session = await self._open(
                    layout, path, name, mode, read_only, dialect, fixed, session_id is None
                )
            self._sessions[name] = session
            self.environment.watching.follow(session)
        self._agree(session, layout, dialect)
        if session.writable:
            async with session.lane:
                if layout is self._layouts[path]:
                    await opening.follow_move(session, path)
                await opening.update(session, fixed)
                await session.rescan()
        await session.look_up_window()
        await self._index(session)
        return session

    async def close_session(self, session_id: str) -> None:
        """Close one session and release its lease. Raises SessionNotFound."""
        session = self.get(session_id)
        await self.upkeep.end(session)
        async with session.lane:
            await self._index(session)
            del self._sessions[session_id]
            self.environment.watching.forget(session)
            await anyio.to_thread.run_sync(session.close)

    async def delete_session(self, session_id: str) -> None:
        """Close a session, then delete it for good. Raises SessionNotFound, SessionLocked, ReadOnly."""
        session = self.get(session_id)
        path = session.state.created.workspace if session.state.created else ""
        layout = Layout(self.root / session.home)
        if not session.writable:
            raise session.log.refusal()
        await self.close_session(session_id)
        await anyio.to_thread.run_sync(delete_session, layout, session_id, self.client)
        await anyio.to_thread.run_sync(self._listing.forget, session_id, path)
        memory = await self.environment.memories.of(path)
        await anyio.to_thread.run_sync(memory.episodes.forget, session_id)

    async def fork(self, session_id: str, at: str | None) -> Session:
        """A new session of the same workspace with the past of another, up to and with message `at`.

        Raises SessionNotFound, NotFound for an unknown or rewound `at`, and the store's errors; then
        nothing of the fork can be opened.
        """
        source = self.get(session_id)
        path = source.state.created.workspace if source.state.created else ""
        layout = Layout(self.root / source.home)
        if at is not None and at in source.state.gone:
            raise NotFound("no such message in this conversation", hint="session/history lists message ids")
        name = self.environment.new_id("s")
        async with source.lane:
            made = await anyio.to_thread.run_sync(self._copy, layout, session_id, name, at)
        log = await anyio.to_thread.run_sync(self._open_log, layout, name, False, True)
        try:
            for batch in forking.drafts(made, self.environment.new_id("f"), at):
                await log.append(batch)
        finally:
            await anyio.to_thread.run_sync(log.close)
        return await self.open(
            workspace_uri(path),
            session_id=name,
            mode="resume",
            read_only=False,
            dialect=None,
            fixed=Fixed(),
        )

    def _copy(self, layout: Layout, session_id: str, name: str, at: str | None) -> list[forking.Copy]:
        log = open_log(layout, session_id, writer=self._writer, client=self.client, mode="read")
        try:
            return forking.copies(log, name, at, SessionState())
        finally:
            log.close()

    async def rows(self, workspace: str | None) -> list[Row]:
        """Every session known, open or not, the most recently updated first."""
        wanted = None if workspace is None else self._known_home(workspace_path(workspace))
        known = await anyio.to_thread.run_sync(self._listing.rows)
        rows = {(row.home, row.session_id): row for row in known}
        for row in map(row_of, self._sessions.values()):
            rows[row.home, row.session_id] = row
        found = [r for r in rows.values() if wanted is None or r.home == wanted]
        return sorted(found, key=lambda row: (-row.updated_at, row.session_id))

    async def close(self) -> None:
        """Close everything; what was acknowledged is already on disk."""
        await anyio.to_thread.run_sync(self.environment.watching.close)
        for session in list(self._sessions.values()):
            await self.upkeep.end(session)
            async with session.lane:
                await self._index(session)
                await anyio.to_thread.run_sync(session.close)
        self._sessions.clear()
        for ledger in self._ledgers.values():
            ledger.close()
        self._ledgers.clear()
        await self.environment.memories.close()
        await anyio.to_thread.run_sync(self._writer.close)
        await anyio.to_thread.run_sync(self._listing.close)

    async def _take_over(self, session: Session, layout: Layout) -> Session:
        """The session opened to write where that is possible now, else as it is."""
        self._agree(session, layout, None)
        name = session.session_id
        log = await anyio.to_thread.run_sync(self._open_log, layout, name, False, False)
        if not log.is_writable:
            log.close()
            return session
        writing = await anyio.to_thread.run_sync(self._resume, layout, log, session.ledger, name)
        async with session.lane:
            await anyio.to_thread.run_sync(session.close)
        return writing

    async def _layout(self, path: str) -> Layout:
        if path not in self._layouts:
            force = self.environment.settings.storage.force_network
            self._layouts[path] = await anyio.to_thread.run_sync(
                lambda: settle(self.root, path, force_network=force)
            )
        return self._layouts[path]

    async def _home(self, path: str, session_id: str, mode: Mode) -> Layout:
        """The layout a session is in: its workspace's, or, to resume it, one that belongs with it."""
        layout = await self._layout(path)
        if mode != "resume":
            return layout
        folders = announced(self.environment.host.folders)

        def look() -> Layout:
            if layout.has_session(session_id):
                return layout
            others = (Layout(self.root / workspace_name(folder)) for folder in kin(path, folders))
            return next((other for other in others if other.has_session(session_id)), layout)

        return await anyio.to_thread.run_sync(look)

    def _known_home(self, path: str) -> str:
        """The name of a workspace's folder, as far as it was opened here; else that of its path."""
        known = self._layouts.get(path)
        return known.folder.name if known is not None else workspace_name(path)

    async def _ledger(self, layout: Layout) -> Ledger:
        """The ledger of a workspace, opened and swept once."""
        if layout.folder not in self._ledgers:
            self._ledgers[layout.folder] = await anyio.to_thread.run_sync(Ledger, layout)
        return self._ledgers[layout.folder]

    async def _open(
        self,
        layout: Layout,
        path: str,
        name: str,
        mode: Mode,
        read_only: bool,
        dialect: str | None,
        fixed: Fixed,
        invented: bool,
    ) -> Session:
        exists = not invented and await anyio.to_thread.run_sync(layout.has_session, name)
        if mode == "create" and exists:
            raise _taken()
        if (mode == "resume" or read_only) and not exists:
            raise SessionNotFound(
                "no such session in this workspace",
                hint="session/list names those that exist",
                sessionId=name,
            )
        if not exists and dialect is None:
            raise _needs_dialect()
        # What cannot be created is refused before anything of it is on disk.
        codec = None if dialect is None else dialects.get(dialect)
        event = None
        if codec is not None:
            event = await opening.created(self.environment, codec, name, path, fixed)
        ledger = await self._ledger(layout)
        log = await anyio.to_thread.run_sync(self._open_log, layout, name, read_only, not exists)
        if log.bookmark is not None or any(record.type == "sessionCreated" for record in log.records):
            if log.bookmark is None and is_unfinished_fork(log.records):
                log.close()
                raise SessionNotFound(
                    "this fork was never finished", hint="fork its parent again", sessionId=name
                )
            return await anyio.to_thread.run_sync(self._resume, layout, log, ledger, name)
        try:
            if codec is None or event is None:
                raise _needs_dialect()
            session = Session(
                log, ledger, self.environment, name, _index_path(layout, log, name), layout.snapshots
            )
            await session.commit([Written(event)])
        except CtxdError:
            log.close()
            raise
        return session

    def _open_log(self, layout: Layout, name: str, read_only: bool, create: bool) -> SessionLog:
        """The log for writing, or for reading when asked or when another process writes it."""
        segment_bytes = self.environment.settings.storage.segment_bytes
        if not read_only:
            try:
                return open_log(
                    layout,
                    name,
                    writer=self._writer,
                    client=self.client,
                    create=create,
                    segment_bytes=segment_bytes,
                )
            except SessionLocked:
                pass
        return open_log(layout, name, writer=self._writer, client=self.client, mode="read")

    def _resume(self, layout: Layout, log: SessionLog, ledger: Ledger, name: str) -> Session:
        session = Session(
            log, ledger, self.environment, name, _index_path(layout, log, name), layout.snapshots
        )
        if session.state.created is not None:
            dialects.get(session.state.created.dialect)
        return session

    def _agree(self, session: Session, layout: Layout, dialect: str | None) -> None:
        """Raises InvalidParams when the session is of another dialect or workspace than asked for."""
        if dialect is not None and dialect != session.dialect.name:
            raise InvalidParams.at("dialect", f"this session speaks {session.dialect.name}")
        if session.home != layout.folder.name:
            raise InvalidParams.at("workspace", "this session belongs to another workspace")

    async def _index(self, session: Session) -> None:
        if session.writable:
            await anyio.to_thread.run_sync(self._listing.put, row_of(session))


def _index_path(layout: Layout, log: SessionLog, name: str) -> Path | None:
    """Where a session's search indexes lie; a reader of somebody else's keeps its own in memory."""
    return layout.session_folder(name) if log.is_writable else None


def _needs_dialect() -> InvalidParams:
    return InvalidParams.at("dialect", "a new session needs a dialect", hint=", ".join(dialects.NAMES))


def _taken() -> InvalidParams:
    return InvalidParams.at(
        "sessionId", "a session with this id exists", hint="mode resume or openOrCreate opens it"
    )


class Status(msgspec.Struct, frozen=True):
    """The daemon as it stands; times in milliseconds."""

    uptime: int
    sessions: int
    counters: dict[str, int]
    root: str


def status(registry: Registry) -> Status:
    """Facts for `ctxd/status`."""
    environment = registry.environment
    return Status(
        uptime=environment.now() - registry.started,
        sessions=len(registry.sessions),
        counters=dict(environment.counters),
        root=str(registry.root),
    )
