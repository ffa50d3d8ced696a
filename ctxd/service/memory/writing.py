"""One change of a topic: entries added, text replaced, a topic deleted. Blocking; belongs in a thread.

Order is the point: secrets are refused before anything is looked at, the file is changed under the
memory's lock, and what was done is recorded before the lock is let go.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import msgspec

from ctxd.compaction.statements import read
from ctxd.compaction.supersession import Said, changes
from ctxd.core import notes
from ctxd.core.relevance import index_terms
from ctxd.core.topics import INDEX
from ctxd.model.errors import InvalidParams, RevisionConflict, Sensitive, TooLarge
from ctxd.service.memory.memories import Check, Memory
from ctxd.store.memory.files import Version, digest_of
from ctxd.store.memory.journal import Deed, Record, Source, entry_key

COMPARED = 300
"""Newest entries of a topic that are looked at for what a new one may take the place of."""

ALIKE = 2
"""Words that two entries about one subject share at least."""

JUDGED = 40
"""Entries read as statements at a time; a write of more entries than that replaces nothing."""

_DEFINES = re.compile(r"\b(?:is|are|equals?|means?|stands\s+for)\b|[=:：]|是|为|叫", re.IGNORECASE)
"""It says what something is, and not only which of many it speaks of."""


class Written(msgspec.Struct, frozen=True):
    """The topic before and after, and how many entries gave way to new ones or were there already."""

    before: Version | None
    after: Version
    replaced: int = 0
    duplicates: int = 0


class _Plan(msgspec.Struct):
    """What an edit came to when it was last made: lines added, their words, entries replaced."""

    lines: list[str] = []
    words: list[str] = []
    replaced: list[str] = []
    duplicates: int = 0


class Writing:
    """A write to one topic. `now` is ms since 1970; `limits` are lines and bytes of a topic.

    Raises Sensitive where `check` finds something.
    """

    def __init__(
        self,
        memory: Memory,
        check: Check,
        topic: str,
        content: str,
        *,
        now: int,
        limits: tuple[int, int],
        source: Source,
        if_digest: str | None = None,
    ) -> None:
        self._memory = memory
        self._check = check
        self._topic = topic
        self._content = content
        self._now = now
        self._limits = limits
        self._source = source
        self._if_digest = if_digest
        self._plan = _Plan()

    def append(self) -> Written:
        """Add the content's lines as entries, where they say something new."""
        return self._commit(self._add, "added")

    def overwrite(self) -> Written:
        """Replace all that the topic says; the index keeps its list of topics."""
        return self._commit(self._replace, "overwritten")

    def _commit(self, edit: notes.Edit, deed: Deed) -> Written:
        if rules := self._check(f"{self._topic}\n{self._content}"):
            raise Sensitive("memory keeps no secrets", hint="leave the secret out", rule=rules[0])
        memory = self._memory
        with memory.folder.locked():
            self._topic = memory.folder.name_on_disk(self._topic)
            memory.journal.refresh()
            added = (lambda: self._plan.lines) if deed == "added" else None
            before, after = memory.folder.change(self._topic, edit, added=added)
            if after is None:
                raise InvalidParams.at("content", "says nothing")
            plan = self._plan
            if before is None or after.digest != before.digest:
                memory.journal.append(self._records(deed, before))
            if before is None:
                list_in_index(memory)
            return Written(before, after, len(plan.replaced), plan.duplicates)

    def _records(self, deed: Deed, before: Version | None) -> list[Record]:
        digest = before.digest if before else ""
        topic = self._topic
        wiped = (
            [] if deed == "added" else [Record(deed, topic, self._now, source=self._source, before=digest)]
        )
        replaced = tuple(entry_key(topic, words) for words in self._plan.replaced)
        added = [
            Record(
                "added",
                topic,
                self._now,
                key=entry_key(topic, words),
                source=self._source,
                replaced=replaced,
                before=digest,
            )
            for words in self._plan.words
        ]
        return [*wiped, *added]

    def _replace(self, text: str | None) -> str:
        self._refuse_stale(text)
        made = notes.overwrite(text or "", self._content) if self._topic == INDEX else self._content
        self._plan = _Plan(words=[line.words for line in notes.lines_of(self._content)])
        return self._bounded(made)

    def _add(self, text: str | None) -> str | None:
        self._refuse_stale(text)
        self._plan = plan = _Plan()
        said = self._memory.lines(self._topic, text or "")
        known = {key for line, key in said if not line.replaced}
        day = time.strftime("%Y-%m-%d", time.gmtime(self._now / 1000))
        for line in notes.entries_from(self._content, day):
            words = notes.read_line(line).words
            key = entry_key(self._topic, words)
            if words and key in known:
                plan.duplicates += 1
                continue
            plan.lines.append(line)
            if words:
                known.add(key)
                plan.words.append(words)
        if not plan.words:
            plan.lines.clear()
            return None
        plan.replaced = self._replaced_by(plan.words, said)
        made = notes.append(notes.strike(text or "", plan.replaced), "\n".join(plan.lines))
        return self._bounded(made)

    def _replaced_by(self, new: Sequence[str], said: Sequence[tuple[notes.Line, str]]) -> list[str]:
        """Entries that ctxd wrote and that a new one says otherwise about the same subject."""
        if len(new) > JUDGED:
            return []
        known = self._memory.journal.entries
        own = [line.words for line, key in said if line.day and not line.replaced and key in known]
        subjects = [{*index_terms(words)} for words in new]
        near = [
            words
            for words in own[-COMPARED:]
            if any(len(subject.intersection(index_terms(words))) >= ALIKE for subject in subjects)
        ]
        texts = [*near[-JUDGED:], *new]
        first = len(texts) - len(new)
        found = changes([Said(place, place, text, read(text)) for place, text in enumerate(texts)])
        pairs = [(texts[c.old], texts[c.new]) for c in found if c.old < first <= c.new and not c.bare]
        return [old for old, new in pairs if _takes_place(old, new)]

    def _refuse_stale(self, text: str | None) -> None:
        if self._if_digest is None:
            return
        actual = "" if text is None else digest_of(text)
        if actual != self._if_digest:
            raise RevisionConflict(
                "the topic was changed since it was read",
                hint="memory/read it again; the version written last is still there",
                expected=self._if_digest,
                actual=actual,
            )

    def _bounded(self, text: str) -> str:
        lines, limit = self._limits
        size = len(text.encode("utf-8", "replace"))
        if text.count("\n") > lines or size > limit:
            raise TooLarge(
                f"the topic would have more than {lines} lines or {limit} bytes",
                hint="begin another topic, or overwrite this one with less",
                bytes=size,
                limit=limit,
            )
        return text


def _takes_place(old: str, new: str) -> bool:
    """Whether a new entry says otherwise than an old one even where nothing else is known.

    Memory has no conversation around it: what only counts on (`issue 12`, `issue 13`) replaces nothing.
    """
    statement = read(new)
    if not statement.binds or not (statement.changes or _DEFINES.search(new)):
        return False
    found = changes([Said(0, 0, old, read(old)), Said(1, 1, new, statement)])
    return any(not c.bare and "label" not in c.kinds for c in found)


def remove(memory: Memory, topic: str, now: int) -> bool:
    """Delete a topic, recorded and taken from the index's list; False where there was none."""
    with memory.folder.locked():
        topic = memory.folder.name_on_disk(topic)
        gone = memory.folder.delete(topic)
        if gone is None:
            return False
        memory.journal.append([Record("deleted", topic, now, before=gone.digest)])
        if topic != INDEX:
            list_in_index(memory)
        return True


def list_in_index(memory: Memory) -> None:
    """Make the index's block name the topics there are. The caller holds the lock."""
    names = [topic.name for topic in memory.folder.topics() if topic.name != INDEX]
    memory.folder.change(INDEX, lambda text: notes.with_block(text or "", names) or text)
