"""`memory/*`: what a workspace's sessions know of it, read and written (protocol.md, section 6).

A topic is a file of a person's as much as of ctxd's: what ctxd writes are entries, each with a record of
where it comes from, and one block with the list of topics. The rest is never touched.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import anyio
import msgspec

from ctxd.core import notes
from ctxd.core.abridgement import Abridged, Bounds, abridge, join
from ctxd.core.prompt import Layer, given
from ctxd.core.topics import INDEX, SUFFIX, topic_name
from ctxd.model.errors import CtxdError, InvalidParams, NotFound, ReadOnly
from ctxd.service.environment import Environment
from ctxd.service.memory.memories import Memory
from ctxd.service.memory.writing import Writing, remove
from ctxd.store.memory.files import Version
from ctxd.store.memory.folder import TopicFile
from ctxd.store.memory.journal import Source
from ctxd.tokenizer.families import UNKNOWN

Mode: TypeAlias = Literal["append", "overwrite"]

ENTRIES = 1_000
"""Newest entries of a topic whose provenance an answer holds."""

NAMED = 50
"""Topics that an error names."""


class Entry(msgspec.Struct, frozen=True):
    """An entry of ctxd's in a topic: its line, where it comes from and when it was written, ms since 1970."""

    line: int
    words: str
    at: int
    source: Source
    replaced: bool


class Topic(msgspec.Struct, frozen=True):
    """A topic as it is read; `entries` are those lines that ctxd wrote."""

    name: str
    text: str
    digest: str
    entries: tuple[Entry, ...]


class Headroom(msgspec.Struct, frozen=True):
    """What may still be written before a bound is reached: the index's for the index, else a topic's."""

    lines: int
    bytes: int
    tokens: int


class Wrote(msgspec.Struct, frozen=True):
    """What a write did. `replaced` entries gave way to new ones, `duplicates` were there already."""

    digest: str
    headroom: Headroom
    replaced: int = 0
    duplicates: int = 0


async def index(environment: Environment, workspace: str) -> Abridged:
    """The index within its bounds, with exactly what was left out; empty where memory is off."""
    options = environment.settings.memory
    if not options.enabled:
        return Abridged("", (), (), 0)
    memory = await environment.memories.of(workspace)
    lines, listed = await anyio.to_thread.run_sync(_read_index, memory)
    bounds = Bounds(options.index_lines, options.index_bytes, options.index_tokens)
    count = (await environment.counting.counter(UNKNOWN.encoding)).count
    return await environment.counting.run(abridge, lines, listed, bounds, count, INDEX + SUFFIX)


async def layer(environment: Environment, workspace: str) -> Layer | None:
    """The index as a layer of a prompt; None where there is none. What cannot be read is skipped."""
    try:
        text = (await index(environment, workspace)).quoted
    except CtxdError as error:
        return Layer("memory", skipped=error.kind)
    return given("memory", text) if text.strip() else None


async def list_topics(environment: Environment, workspace: str) -> list[TopicFile]:
    """All topics, most recently changed first."""
    memory = await environment.memories.of(workspace)
    found = await anyio.to_thread.run_sync(memory.folder.topics)
    return sorted(found, key=lambda topic: (-topic.modified_at, topic.name))


async def read(environment: Environment, workspace: str, topic: str) -> Topic:
    """A topic as it is now. Raises InvalidParams, NotFound with the `topics` there are, and refusals."""
    name = checked(topic)
    memory = await environment.memories.of(workspace)
    return await anyio.to_thread.run_sync(_read, memory, name)


async def write(
    environment: Environment,
    workspace: str,
    topic: str,
    content: str,
    *,
    mode: Mode = "append",
    if_digest: str | None = None,
    source: Source | None = None,
) -> Wrote:
    """Add entries to a topic, or replace it; an entry that says the same as one that is there adds nothing.

    Raises InvalidParams, Sensitive with the rule's name, RevisionConflict for a stale digest, TooLarge,
    Busy, ReadOnly where memory is off, and the store's errors.
    """
    name = checked(topic)
    options = environment.settings.memory
    _refuse_disabled(environment)
    memory = await environment.memories.of(workspace)
    work = Writing(
        memory,
        environment.memories.check,
        name,
        content,
        now=environment.now(),
        limits=(options.topic_lines, options.topic_bytes),
        if_digest=if_digest,
        source=source or Source(),
    )
    done = await anyio.to_thread.run_sync(work.append if mode == "append" else work.overwrite)
    after = done.after
    if name == INDEX:
        text = await anyio.to_thread.run_sync(lambda: join(*_read_index(memory)))
        count = (await environment.counting.counter(UNKNOWN.encoding)).count
        tokens = await environment.counting.run(count, text)
        bounds = Bounds(options.index_lines, options.index_bytes, options.index_tokens)
    else:
        text = after.shown
        tokens = await _tokens(environment, memory, name, done.before, after)
        bounds = Bounds(options.topic_lines, options.topic_bytes, options.topic_tokens)
    return Wrote(
        digest=after.digest,
        headroom=Headroom(
            max(0, bounds.lines - text.count("\n") - (not text.endswith("\n"))),
            max(0, bounds.bytes - len(text.encode())),
            max(0, bounds.tokens - tokens),
        ),
        replaced=done.replaced,
        duplicates=done.duplicates,
    )


async def delete(environment: Environment, workspace: str, topic: str) -> None:
    """Delete a topic; its bytes stay in the ledger. Raises as `read` and `write` do."""
    name = checked(topic)
    _refuse_disabled(environment)
    memory = await environment.memories.of(workspace)
    if not await anyio.to_thread.run_sync(remove, memory, name, environment.now()):
        raise await anyio.to_thread.run_sync(_no_topic, memory)


def checked(topic: str) -> str:
    """The name of a topic. Raises InvalidParams at `topic` for what can be none."""
    try:
        return topic_name(topic)
    except ValueError as error:
        raise InvalidParams.at("topic", str(error)) from None


def _refuse_disabled(environment: Environment) -> None:
    if not environment.settings.memory.enabled:
        raise ReadOnly("memory is switched off", hint="memory.enabled switches it on")


def _read_index(memory: Memory) -> tuple[list[str], list[str]]:
    """Lines of the index without its managed block, and of the list of topics as it is now."""
    version = memory.folder.read(INDEX)
    text = notes.without_block(version.shown, keep_lines=True).rstrip("\n") if version else ""
    topics = [f"- {topic.name}" for topic in memory.folder.topics() if topic.name != INDEX]
    return text.split("\n") if text.strip() else [], topics


def _read(memory: Memory, name: str) -> Topic:
    version = memory.folder.read(name)
    if version is None and (other := memory.folder.name_on_disk(name)) != name:
        name, version = other, memory.folder.read(other)
    if version is None:
        raise _no_topic(memory)
    memory.journal.refresh()
    entries = []
    for line, key in memory.lines(name, version.shown):
        record = memory.journal.entries.get(key)
        if record is not None:
            entries.append(Entry(line.number, line.words, record.at, record.source, line.replaced))
    return Topic(name, version.shown, version.digest, tuple(entries[-ENTRIES:]))


def _no_topic(memory: Memory) -> NotFound:
    names = [topic.name for topic in memory.folder.topics()]
    return NotFound("there is no such topic", hint="memory/list names those that exist", topics=names[:NAMED])


async def _tokens(
    environment: Environment, memory: Memory, name: str, before: Version | None, after: Version
) -> int:
    """Tokens of a topic as it is now; of one that only grew, what was added is counted alone."""
    count = (await environment.counting.counter(UNKNOWN.encoding)).count
    digest, known = memory.tokens.get(name, ("", 0))
    text, base = after.shown, 0
    if before is not None and before.digest == digest and after.text.startswith(before.text):
        text, base = text[len(before.shown) :], known
    tokens = base + await environment.counting.run(count, text)
    memory.tokens[name] = (after.digest, tokens)
    return tokens
