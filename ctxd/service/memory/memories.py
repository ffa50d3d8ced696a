"""The memories of a daemon: one for each workspace, opened when it is first asked for.

Owns where a memory lies and what it is made of. Everything of one memory blocks and belongs in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import anyio
import msgspec

from ctxd.core.notes import Line, lines_of
from ctxd.embeddings.static import Neighbours
from ctxd.service.homes import settle
from ctxd.store.layout import Layout, state_root
from ctxd.store.ledger import Ledger
from ctxd.store.memory.episodes import Episodes
from ctxd.store.memory.folder import MemoryFolder, open_in_state
from ctxd.store.memory.index import MemoryIndex
from ctxd.store.memory.journal import Journal, entry_key
from ctxd.workspace.boundary import Boundary

if TYPE_CHECKING:
    from ctxd.service.environment import Environment

TEXTS_KEPT = 32
"""Topics whose lines are kept as they were last read."""

IN_WORKSPACE = ".ctxd/memory"

Check = Callable[[str], Sequence[str]]
"""Names of the rules by which a text holds secrets; none for a text that may be kept. Blocking."""


class Memory:
    """What is remembered of one workspace."""

    def __init__(self, layout: Layout, workspace: str, *, in_workspace: bool, now: Callable[[], int]) -> None:
        self.workspace = workspace
        self.in_workspace = in_workspace
        self.journal = Journal(layout.folder)
        self.episodes = Episodes(layout)
        place = "-in-workspace" if in_workspace else ""
        self.index = MemoryIndex(layout.folder / f"memory{place}.sqlite3")
        self.searching = Lock()
        self.neighbours: Neighbours | None = None
        """Texts by meaning, once they were wanted and could be had; `neighbours_of`: of which index."""
        self.neighbours_of = -1
        self.tokens: dict[str, tuple[str, int]] = {}
        """Topic to the digest of a version and the tokens it has."""
        self._lines: dict[str, tuple[str, list[tuple[Line, str]]]] = {}
        self._layout = layout
        self._now = now
        self._ledger = Ledger(layout)
        self.folder = MemoryFolder(
            self._enter, self._ledger, mode=0o644 if in_workspace else 0o600, is_wiped=self._is_wiped
        )

    def lines(self, topic: str, text: str) -> list[tuple[Line, str]]:
        """What a topic's text says, each line with the key of its entry; a text that only grew is read on."""
        had, lines = self._lines.get(topic, ("", []))
        more = text[len(had) :]
        if not (had.endswith("\n") and text.startswith(had) and "ctxd:topics" not in more):
            had, lines, more = "", [], text
        before = had.count("\n")
        lines = lines + [
            (
                msgspec.structs.replace(line, number=line.number + before) if before else line,
                entry_key(topic, line.words),
            )
            for line in lines_of(more)
        ]
        self._lines[topic] = (text, lines)
        while len(self._lines) > TEXTS_KEPT:
            self._lines.pop(next(iter(self._lines)))
        return lines

    def close(self) -> None:
        """Settle and let go. Blocking."""
        self.folder.close()
        self.index.close()
        self._ledger.close()

    def _enter(self, create: bool) -> int | None:
        if not self.in_workspace:
            return open_in_state(self._layout, create)
        with Boundary(self.workspace) as boundary:
            return boundary.enter(IN_WORKSPACE, create=create)

    def _is_wiped(self, topic: str, seconds: float) -> bool:
        self.journal.refresh()
        return self.journal.wiped.get(topic, -1) >= self._now() - round(seconds * 1000)


class Memories:
    """All memories that are open. `check` looks for secrets in what is to be written.

    `home` tells where what belongs to a workspace is kept; whoever has asked that before answers from memory.
    """

    def __init__(self, environment: Environment, check: Check) -> None:
        self.check = check
        self.home: Callable[[str], Awaitable[Layout]] = self._settle
        self._environment = environment
        self._open: dict[tuple[Path, str], Memory] = {}
        self._lock = anyio.Lock()

    async def of(self, workspace: str) -> Memory:
        """The memory of the workspace folder at a path. Raises StorageFull, StorageFailed."""
        layout = await self.home(workspace)
        in_workspace = self._environment.settings.memory.location == "workspace"
        key = layout.folder, workspace if in_workspace else ""
        now = self._environment.now
        async with self._lock:
            if key not in self._open:
                self._open[key] = await anyio.to_thread.run_sync(
                    lambda: Memory(layout, workspace, in_workspace=in_workspace, now=now)
                )
        return self._open[key]

    async def _settle(self, workspace: str) -> Layout:
        storage = self._environment.settings.storage
        root = state_root(storage.root)
        return await anyio.to_thread.run_sync(
            lambda: settle(root, workspace, force_network=storage.force_network)
        )

    async def close(self) -> None:
        """Close all of them."""
        memories, self._open = list(self._open.values()), {}
        for memory in memories:
            await anyio.to_thread.run_sync(memory.close)
