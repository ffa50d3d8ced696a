"""What a compaction kept, lost and can give back, counted from its result and not from its intent."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from ctxd.core.fold import Entry
from ctxd.model.summary import ExactRecord, Quote

_RUN = re.compile(r"[\w./-]+")
_STOP = re.compile(r"\.")


class Kept(msgspec.Struct, frozen=True):
    """`verbatim` of `total` stand word for word in the new view; `reinjected` were put back."""

    total: int
    verbatim: int
    reinjected: int = 0


class Outputs(msgspec.Struct, frozen=True):
    """Tool outputs no longer shown whole, and how many of them can be fetched."""

    evicted: int
    recoverable: int


class Files(msgspec.Struct, frozen=True):
    """Distinct paths named by calls of the view before and after, and those whose outputs are kept."""

    before: int
    after: int
    recoverable: int


class Audit(msgspec.Struct, frozen=True):
    """The audit of one compaction (protocol.md, section 3)."""

    constraints: Kept
    exact_records: Kept
    tool_outputs: Outputs
    files_mentioned: Files


def audit(
    before: Sequence[Entry],
    kept: Collection[str],
    shown: str,
    quotes: Sequence[Quote],
    records: Sequence[ExactRecord],
    stored: Collection[str],
) -> Audit:
    """Audit a replacement.

    `kept` are ids of messages still shown, `shown` the text of all that the new view shows in
    plain words, `stored` ids of messages whose bytes are in the log.
    """
    evicted = [
        (entry.facts.id, result)
        for entry in before
        for result in entry.facts.results
        if entry.facts.id not in kept or any(e.call_id == result.call_id for e in entry.elided)
    ]
    paths = {call.path for entry in before for call in entry.facts.calls if call.path}
    still = {c.path for entry in before if entry.facts.id in kept for c in entry.facts.calls if c.path}
    named = still | mentioned(paths - still, shown)
    held = {c.path for entry in before if entry.facts.id in stored for c in entry.facts.calls if c.path}
    return Audit(
        constraints=Kept(len(quotes), sum(1 for q in quotes if _stands(q.text, shown))),
        exact_records=Kept(len(records), sum(1 for r in records if r.payload in shown)),
        tool_outputs=Outputs(len(evicted), sum(1 for message_id, _ in evicted if message_id in stored)),
        files_mentioned=Files(len(paths), len(named), len(held)),
    )


def mentioned(paths: Collection[str], shown: str) -> set[str]:
    """The paths that stand in a text by themselves and not inside a longer one; a stop may follow.

    Linear in the text: it is cut once into runs of the characters that paths are made of.
    """
    runs: set[str] = set()
    for run in set(_RUN.findall(shown)) if paths else ():
        runs.add(run)
        runs.update([run[: stop.start()] for stop in _STOP.finditer(run)])
    return {path for path in paths if path in runs or (not _RUN.fullmatch(path) and _names(shown, path))}


def _names(shown: str, path: str) -> bool:
    """As `_named`, for a path of other characters."""
    return path in shown and re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", shown) is not None


def _stands(text: str, shown: str) -> bool:
    """True when every line of `text` is shown; indentation may differ."""
    return all(line.strip() in shown for line in text.splitlines())
