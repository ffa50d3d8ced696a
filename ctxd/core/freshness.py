"""Whether a file is still what a session saw of it: by content where that can be told, else by times.

Tools show files in their own ways: bare, with line numbers, with notes around. Only what is proven is
said; everything else is `unknown`. Pure.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from ctxd.model.messages import FileOp

Freshness: TypeAlias = Literal["changed", "unchanged", "unknown"]
Likeness: TypeAlias = Literal["whole", "part", "different", "unknown"]

TICK_MS = 10
"""File times may lag behind the clock by one tick of the kernel."""

MIN_RUN = 3
"""So many numbered lines in a row are a listing; fewer may be anything."""

LONG_LINE = 500
"""Tools cut lines longer than this; their beginnings are compared."""

_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:→|\t|\||│|:)(.*)")


def judge(
    likeness: Likeness, op: FileOp, *, called_at: int, answered_at: int, mtime: int, ctime: int
) -> Freshness:
    """Freshness of a file since its newest touch. Times are milliseconds of one clock.

    `called_at` and `answered_at` are when the touching call and its result were recorded, `mtime` and
    `ctime` the file's. A file last written between both was written by the call itself, to within a tick.
    """
    if likeness == "whole":
        return "unchanged"
    if mtime > answered_at or (likeness == "different" and op == "read"):
        return "changed"
    if likeness == "part":
        return "unchanged"
    own = called_at - TICK_MS <= mtime and ctime <= answered_at
    return "unchanged" if op != "read" and own else "unknown"


def judge_told(at: int, mtime: int, ctime: int) -> Freshness:
    """Freshness of a file since a touch that the host told the moment it happened."""
    if mtime > at:
        return "changed"
    return "unchanged" if ctime <= at else "unknown"


def compare(shown: str, content: str) -> Likeness:
    """What a tool's text shows of a file's content: the whole, a part of it, or something else.

    `different` only where the text is plainly a numbered listing whose lines are not the file's.
    """
    shown, content = _plain(shown), _plain(content)
    if not shown or not content:
        return "unknown"
    if _holds_lines(shown, content):
        return "whole"
    lines = content.split("\n")
    run = _numbered(shown)
    if run:
        if all(number <= len(lines) and _same(text, lines[number - 1]) for number, text in run.items()):
            return "whole" if len(run) >= len(lines) else "part"
        if len(run) >= MIN_RUN:
            return "different"
    return "part" if _holds_lines(content, shown) else "unknown"


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip("\n")


def _holds_lines(text: str, part: str) -> bool:
    """Whether `part` stands in `text` as whole lines."""
    return f"\n{part}\n" in f"\n{text}\n"


def _numbered(text: str) -> dict[int, str]:
    """The longest run of lines that count upwards by one, without their numbers; blank ends left out."""
    best: dict[int, str] = {}
    run: dict[int, str] = {}
    expected = -1
    for line in text.split("\n"):
        match = _NUMBERED.fullmatch(line)
        number = int(match[1]) if match else -1
        if match is None or number != expected:
            best, run = (run if len(run) > len(best) else best), {}
        if match is not None:
            run[number] = match[2]
            expected = number + 1
        else:
            expected = -1
    best = run if len(run) > len(best) else best
    while best and not best[max(best)].strip():
        best.popitem()
    best.pop(0, None)
    return best


def _same(shown: str, line: str) -> bool:
    shown, line = shown.strip(), line.strip()
    return shown == line or (len(shown) > LONG_LINE and line.startswith(shown[:LONG_LINE]))
