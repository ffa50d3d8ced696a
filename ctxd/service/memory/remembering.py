"""What outlives a compaction: an episode of it, and what the user asked to remember.

Comes after the checkpoint, is waited for, and can make no compaction fail: what goes wrong is said in its
report. What a failure or a cancellation left out is made up for after the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anyio
import msgspec

from ctxd.compaction.remembering import Memory as Chosen
from ctxd.compaction.remembering import choose
from ctxd.model.episode import Episode
from ctxd.model.errors import CtxdError, Sensitive, TooLarge
from ctxd.model.events import CheckpointCommitted
from ctxd.model.summary import SessionSummary
from ctxd.service.compacting.compactions import Compaction, Remembered
from ctxd.service.memory.memories import Check, Memory
from ctxd.service.memory.writing import Writing
from ctxd.service.session import Session
from ctxd.store.memory.journal import Source, entry_key

SECONDS = 10.0
"""How long memory may take of a compaction's time."""

EPISODES_AT_ONCE = 32


async def remember(session: Session, done: Compaction) -> Compaction:
    """The compaction with what was remembered of it. Must be called without the lane; raises nothing."""
    options = session.environment.settings.memory
    created = session.state.created
    if done.outcome != "applied" or done.summary is None or created is None:
        return done
    if not options.enabled or not (options.consolidate or options.episodes):
        return msgspec.structs.replace(done, remembered=Remembered("disabled"))
    work = asyncio.ensure_future(_remember(session, created.workspace, done.summary))
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            # The checkpoint stands: a cancellation that comes now comes too late and is dropped.
            if work.cancelled() or (task := asyncio.current_task()) is None:
                raise
            task.uncancel()
    kept = work.result()
    session.environment.note(f"memory.{kept.outcome}")
    return msgspec.structs.replace(done, remembered=kept)


async def _remember(session: Session, workspace: str, summary: SessionSummary) -> Remembered:
    checkpoints = tuple(session.state.checkpoints[-EPISODES_AT_ONCE:])
    with anyio.move_on_after(SECONDS):
        try:
            memory = await session.environment.memories.of(workspace)
            work = _Work(session, memory, checkpoints)
            return await anyio.to_thread.run_sync(work.run, summary, abandon_on_cancel=True)
        except CtxdError as error:
            return Remembered("failed", failure=error.kind)
        except Exception:  # noqa: BLE001 - whatever goes wrong here, the checkpoint stands
            return Remembered("failed", failure="internal")
    return Remembered("failed", failure="timeout")


class _Work:
    """Blocking; made in a thread, of what it was given: the session goes on meanwhile."""

    def __init__(
        self, session: Session, memory: Memory, checkpoints: tuple[CheckpointCommitted, ...]
    ) -> None:
        environment = session.environment
        self._check: Check = environment.memories.check
        self._options = environment.settings.memory
        self._memory = memory
        self._session_id = session.session_id
        self._checkpoints = checkpoints
        self._now = environment.now()

    def run(self, summary: SessionSummary) -> Remembered:
        """Keep episodes, then consolidate. Raises CtxdError."""
        episodes = self._keep_episodes() if self._options.episodes else 0
        if not self._options.consolidate:
            return Remembered("nothing", episodes=episodes)
        return msgspec.structs.replace(self._consolidate(summary), episodes=episodes)

    def _keep_episodes(self) -> int:
        missing = set(self._memory.episodes.missing([c.checkpoint_id for c in self._checkpoints]))
        for event in self._checkpoints:
            if event.checkpoint_id in missing:
                clean, redacted = self._without_secrets(event.summary)
                self._memory.episodes.put(
                    Episode(event.checkpoint_id, self._session_id, self._now, clean, redacted=redacted)
                )
        return len(missing)

    def _consolidate(self, summary: SessionSummary) -> Remembered:
        memory = self._memory
        memory.journal.refresh()
        # What a person deleted stays deleted: it was remembered once.
        chosen = choose(summary.constraints, lambda m: entry_key(m.topic, m.words) in memory.journal.entries)
        written: list[Chosen] = []
        rejected = duplicates = 0
        options = self._options
        for entry in chosen:
            source = Source("user", self._session_id, entry.message_id)
            try:
                done = Writing(
                    memory,
                    self._check,
                    entry.topic,
                    entry.words,
                    now=self._now,
                    limits=(options.topic_lines, options.topic_bytes),
                    source=source,
                ).append()
            except (Sensitive, TooLarge):
                rejected += 1
                continue
            duplicates += done.duplicates
            if not done.duplicates:
                written.append(entry)
        return Remembered(
            "written" if written else "nothing",
            entries=len(written),
            topics=tuple(sorted({entry.topic for entry in written})),
            rejected=rejected,
            duplicates=duplicates,
        )

    def _without_secrets(self, summary: SessionSummary) -> tuple[SessionSummary, int]:
        """The summary without items that hold a secret, and how many those are."""
        # One scan for all where nothing is found: hundreds of short ones take ten times as long.
        if not self._check("\n".join(map(_text, _items(summary)))):
            return summary, 0
        fields: dict[str, Any] = {}
        redacted = 0
        for name in summary.__struct_fields__:
            value = getattr(summary, name)
            if isinstance(value, tuple):
                fields[name] = tuple(v for v in value if not self._check(_text(v)))
                redacted += len(value) - len(fields[name])
            elif name in ("goal", "plan") and value and self._check(_text(value)):
                fields[name] = "" if name == "goal" else None
                redacted += 1
        return msgspec.structs.replace(summary, **fields), redacted


def _items(summary: SessionSummary) -> Iterator[object]:
    """What a summary says, item by item."""
    for name in summary.__struct_fields__:
        value = getattr(summary, name)
        yield from value if isinstance(value, tuple) else (value,)


def _text(value: object) -> str:
    """Everything an item of a summary says, for a scanner."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
