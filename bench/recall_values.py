"""Exact values that left the view: how many one search and one page bring back.

usage: python -m bench.recall_values [--per N] [--words N] [--no-arguments] [--misses N] [--half HALF]

Every recorded session is compacted to 20k tokens; values from the middle of the evicted outputs are asked
for with the words around them and the arguments of the call, never with the value itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.harness import Workbench, workbench
from bench.recordings import Message, Recording, recordings
from bench.sessions import BATCH
from ctxd.dialects import registry
from ctxd.report.tool_outputs import find_results, store_form
from tools.peer import Peer

TARGET = 20_000
PAGE_BYTES = 4_000
PAGE_TOKENS = 2_000

KINDS: dict[str, re.Pattern[str]] = {
    "path": re.compile(r"(?<![\w/.-])(?:\.{0,2}/)?(?:[\w@.-]+/){2,}[\w.-]+\.[A-Za-z]{1,5}\b"),
    "hash": re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"),
    "error": re.compile(
        r"\b(?:[A-Z]{1,4}\d{3,5}|E[A-Z]{4,}|[A-Z]{2,}(?:_[A-Z]+){1,}|(?:HTTP|exit code|status) \d{1,3})\b"
    ),
    "version": re.compile(r"(?<![\w.])v?\d+\.\d+\.\d+(?:[-+][\w.]+)?\b(?!\.\d)"),
    "port": re.compile(r"(?<=[\w\]]:)\d{4,5}\b(?![:.\d])|(?<=port )\d{2,5}\b"),
    "id": re.compile(
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
        r"|\b[a-z]+(?:_[a-z]+)*_\d{4,}\b|\b(?:toolu|call|msg|req|chatcmpl)_[A-Za-z0-9]{8,}\b|(?<=#)\d{3,}\b"
        r"|(?<=\")[A-Z0-9]{6}(?=\")"
    ),
}

_WORD = re.compile(r"[\w./@-]*\w")


class Value(msgspec.Struct, frozen=True):
    """A value of an output. `needle` is it with its surroundings, so that no other mention counts."""

    call_id: str
    kind: str
    text: str
    needle: str
    query: str


class Wanted(msgspec.Struct, frozen=True):
    """What is asked: values of each kind and recording, words remembered on each side of a value."""

    per: int = 20
    words: int = 8
    arguments: bool = True
    half: str | None = None


class Tally(msgspec.Struct):
    """What became of the values of one recording."""

    asked: int = 0
    stored: int = 0
    first: int = 0
    any: int = 0
    largest_page: int = 0
    search_ms: list[float] = []
    fill_ms: float = 0.0
    indexed: int = 0


def values_of(recording: Recording, evicted: frozenset[str], wanted: Wanted) -> list[Value]:
    """Up to `wanted.per` values of every kind, spread over the outputs, the same on every run."""
    calls = dict(_calls(recording))
    found: dict[str, list[Value]] = {kind: [] for kind in KINDS}
    for call_id, content in find_results(recording.messages):
        if call_id in evicted and call_id in calls:
            text = store_form(content).decode("utf-8", "replace")
            for value in _values_in(call_id, text, calls[call_id], wanted):
                found[value.kind].append(value)
    chosen: list[Value] = []
    for kind, values in found.items():
        distinct = list({value.text: value for value in values}.values())
        random.Random(f"{recording.name} {kind}").shuffle(distinct)
        chosen += distinct[: wanted.per]
    return chosen


def _values_in(call_id: str, text: str, asked: str, wanted: Wanted) -> Iterator[Value]:
    """Values of the middle three fifths of an output that its arguments do not name already."""
    low, high = len(text) // 5, len(text) * 4 // 5
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text, low, high):
            value = match.group()
            if value in asked or len(text) < 400:
                continue
            query = _query(text, match.start(), match.end(), asked if wanted.arguments else "", wanted.words)
            if query:
                needle = text[max(0, match.start() - 12) : match.end() + 12]
                yield Value(call_id, kind, value, needle, query)


def _query(text: str, start: int, end: int, asked: str, words: int) -> str:
    """The words around a value and the call's arguments, without any word that holds part of the value."""
    value = text[start:end].lower()
    around = (
        text[max(0, start - 200) : start].split()[-words * 2 :],
        text[end : end + 200].split()[: words * 2],
    )
    before = _WORD.findall(" ".join(around[0]))[-words:]
    after = _WORD.findall(" ".join(around[1]))[:words]
    near = [w for w in (*before, *after) if len(w) > 1 and not _reveals(w, value)]
    if len(near) < min(3, words):
        return ""
    return " ".join([*near, *(w for w in _WORD.findall(asked)[:24] if not _reveals(w, value))])


def _reveals(word: str, value: str) -> bool:
    word = word.lower()
    return value in word or (len(word) > 3 and word in value)


def _calls(recording: Recording) -> Iterator[tuple[str, str]]:
    """(call id, its name and arguments as words) of every call."""
    view = registry.get(recording.dialect).view
    for message in recording.messages:
        for call in view(message).calls:
            yield call.call_id, f"{call.name} {_flat(_decoded(call.arguments))}"


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flat(value: Any) -> str:
    match value:
        case Mapping():
            return " ".join(_flat(item) for item in value.values())
        case list():
            return " ".join(map(_flat, value))
        case _:
            return str(value)


def ask(
    scratch: Workbench, peer: Peer, recording: Recording, number: int, wanted: Wanted
) -> tuple[Tally, list[Any]]:
    """Play a recording, compact it, ask for its values."""
    session = {"sessionId": f"values{number}"}
    scratch.open(peer, session["sessionId"], dialect=recording.dialect)
    for start in range(0, len(recording.messages), BATCH):
        peer.request("session/append", {**session, "messages": recording.messages[start : start + BATCH]})
    tokens = peer.request("context/project", session)["tokens"]
    peer.request(
        "context/compact", {**session, "strategy": "deterministic", "targetTokens": min(TARGET, tokens // 4)}
    )
    evicted = frozenset(e["toolCallId"] for e in _listed(peer, session) if not e["inContext"])
    tally = Tally()
    began = time.perf_counter()
    peer.request("recall/search", {**session, "query": "warm up"})
    tally.fill_ms = (time.perf_counter() - began) * 1000
    tally.indexed = sum(len(store_form(c)) for _, c in find_results(recording.messages))
    misses = []
    for value in values_of(recording, evicted, wanted):
        odd = hashlib.sha256(f"{recording.name} {value.text}".encode()).digest()[0] & 1
        if wanted.half and (wanted.half == "held-out") != bool(odd):
            continue
        tally.asked += 1
        tally.stored += _is_stored(peer, session, value)
        began = time.perf_counter()
        hits = peer.request("recall/search", {**session, "query": value.query})["hits"]
        tally.search_ms.append((time.perf_counter() - began) * 1000)
        pages = [_page(peer, session, hit, tally) for hit in hits[:1]]
        shown = [hit["snippet"] for hit in hits]
        first = value.needle in "\n\0".join([*shown[:1], *pages])
        tally.first += first
        tally.any += first or any(value.needle in snippet for snippet in shown)
        if not first:
            misses.append((value, hits))
    return tally, misses


def _is_stored(peer: Peer, session: Message, value: Value) -> bool:
    """Whether some output of the value's call has it; a call id may have been used again."""
    handle = {**session, "toolCallId": value.call_id}
    owners = peer.request("recall/fetch", handle).get("candidates") or [{"occurrence": None}]
    for owner in owners:
        params: Message | None = {**handle, "occurrence": owner["occurrence"]}
        text = ""
        while params is not None:
            page = peer.request("recall/fetch", params)
            text += page["content"]
            params = page.get("next")
        if value.needle in text:
            return True
    return False


def _page(peer: Peer, session: Message, hit: Message, tally: Tally) -> str:
    handle = {"toolCallId": hit["toolCallId"], "page": hit["page"]}
    if hit.get("occurrence") is not None:
        handle["occurrence"] = hit["occurrence"]
    text: str = peer.request("recall/fetch", {**session, **handle})["content"]
    size = peer.request("tokens/count", {"text": text, "model": {"id": "gpt-4o"}})["tokens"]
    tally.largest_page = max(tally.largest_page, size)
    return text if size <= PAGE_TOKENS else ""


def _listed(peer: Peer, session: Message) -> Iterator[Message]:
    params: Message = dict(session)
    while True:
        page = peer.request("recall/list", params)
        yield from page["entries"]
        if "next" not in page:
            return
        params["after"] = page["next"]


def main() -> int:
    """Run over all recordings; 1 when a value is not stored or fewer than 90 % are found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per", type=int, default=20, help="values of each kind and recording")
    parser.add_argument("--words", type=int, default=8, help="words remembered on each side of a value")
    parser.add_argument("--no-arguments", action="store_true", help="ask without the call's arguments")
    parser.add_argument("--misses", type=int, default=0, help="print that many values that were not found")
    parser.add_argument("--half", choices=("tuned", "held-out"), help="one half of the values only")
    arguments = parser.parse_args()
    wanted = Wanted(arguments.per, arguments.words, not arguments.no_arguments, arguments.half)
    table = Table(
        "recording", "values", "stored", "top page", "or a snippet", "page tokens", "search ms", "MB/s"
    )
    total = Tally()
    console = Console(width=130)
    with workbench(Path("build/bench-cache").absolute()) as scratch:
        options = {"recall": {"pageBytes": PAGE_BYTES}, "compaction": {"auto": False}}
        with scratch.daemon(**options) as peer:
            for number, recording in enumerate(recordings()):
                tally, misses = ask(scratch, peer, recording, number, wanted)
                _add(total, tally)
                _row(table, recording.name, tally)
                for value, hits in misses[: arguments.misses]:
                    _show(console, recording.name, value, hits)
    _row(table, "all", total)
    console.print(table)
    return 0 if total.stored == total.asked and total.first * 10 >= total.asked * 9 else 1


def _show(console: Console, name: str, value: Value, hits: list[Message]) -> None:
    console.print(f"{name} {value.kind} {value.text!r} near {value.needle!r}", markup=False)
    console.print(f"  asked {value.query!r}", markup=False)
    for hit in hits[:3]:
        right = "*" if hit["toolCallId"] == value.call_id else " "
        place = f"{hit['toolCallId']} page {hit['page']} {hit['score']}"
        console.print(f"  {right} {place} {hit['snippet'][:110]!r}", markup=False)


def _add(total: Tally, tally: Tally) -> None:
    total.asked += tally.asked
    total.stored += tally.stored
    total.first += tally.first
    total.any += tally.any
    total.largest_page = max(total.largest_page, tally.largest_page)
    total.search_ms = [*total.search_ms, *tally.search_ms]
    total.fill_ms += tally.fill_ms
    total.indexed += tally.indexed


def _row(table: Table, name: str, tally: Tally) -> None:
    def share(count: int) -> str:
        return f"{100 * count / tally.asked:.1f} %" if tally.asked else ""

    table.add_row(
        name,
        str(tally.asked),
        share(tally.stored),
        share(tally.first),
        share(tally.any),
        str(tally.largest_page),
        f"{statistics.median(tally.search_ms):.1f}" if tally.search_ms else "",
        f"{tally.indexed / 1000 / tally.fill_ms:.1f}" if tally.fill_ms else "",
    )


if __name__ == "__main__":
    raise SystemExit(main())
