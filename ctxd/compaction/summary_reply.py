"""Judging a model's summary before anything is built on it, and reading it as typed state.

A reply is prose under seven headings. It may word what happened; it cannot add to the user's words
or to the files that calls changed (reports E.54, E.57).
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction.ledger import headings
from ctxd.model.summary import Decision, SessionSummary, Topic

Flaw: TypeAlias = Literal["empty", "refusal", "headings", "larger", "notText"]

MAX_ITEMS = 80
MAX_ITEM_CHARS = 700
"""What is taken from a reply at most, per heading and per item."""

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL | re.IGNORECASE)
_ANALYSIS = re.compile(r"<analysis>.*?</analysis>", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_REFUSAL = re.compile(
    r"^\W*(?:i['’]?m\s+(?:sorry|unable)|sorry\b|i\s+(?:can(?:not|['’]t)|am\s+(?:sorry|unable))|as\s+an\s+ai\b"
    r"|抱歉|对不起|我(?:无法|不能))",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^(?:no\s+evidence(?:\s+observed)?|nothing(?:\s+recorded)?|none|n/?a|无|没有)[.。]?$", re.IGNORECASE
)
_DONE = re.compile(r"^(?:\[x\]|done:?|completed:?|已完成[:：]?)\s*", re.IGNORECASE)
_OPEN = re.compile(r"^(?:\[[ >~-]\]|in\s+progress:?|pending:?|进行中[:：]?)\s*", re.IGNORECASE)
_STALE = re.compile(r"^\[STALE\]\s*", re.IGNORECASE)


class Verdict(msgspec.Struct, frozen=True):
    """Either the reply as typed state, or its flaw."""

    digest: SessionSummary | None = None
    flaw: Flaw | None = None


def judge(text: str, *, source_chars: int, turn: int, is_text: bool = True) -> Verdict:
    """Check a reply. `source_chars` is the length of what was summarised, `turn` the newest user turn."""
    if not is_text:
        return Verdict(flaw="notText")
    body = _ANALYSIS.sub("", text)
    found = _SUMMARY.search(body)
    body = (found[1] if found else body).strip()
    if not body:
        return Verdict(flaw="empty")
    sections = split(body)
    if len(sections) < len(headings()):
        return Verdict(flaw="refusal" if _REFUSAL.match(body) else "headings")
    if len(body) >= source_chars:
        return Verdict(flaw="larger")
    return Verdict(digest=_digest(sections, turn))


def split(body: str) -> dict[Topic, list[str]]:
    """List items under each of the seven headings that occur; lines elsewhere are dropped."""
    wanted = {heading.lower(): heading for heading in headings()}
    sections: dict[Topic, list[str]] = {}
    current: list[str] | None = None
    for line in body.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            topic = wanted.get(" ".join(heading[1].strip("*_: ").lower().split()))
            current = sections.setdefault(topic, []) if topic else None
            continue
        if current is None or not line.strip():
            continue
        if _BULLET.match(line) or not current:
            current.append(_BULLET.sub("", line).strip())
        else:
            current[-1] += "\n" + line.strip()
    return sections


def _digest(sections: dict[Topic, list[str]], turn: int) -> SessionSummary:
    items = {topic: _telling(lines) for topic, lines in sections.items()}
    tasks = items.get("Active tasks and background work", [])
    goal = items.get("Objective and constraints", [])
    return SessionSummary(
        goal=goal[0] if goal else "",
        decisions=tuple(
            Decision(at_turn=turn, summary=_STALE.sub("", item), stale=bool(_STALE.match(item)))
            for item in items.get("Decisions and rationale", [])
        ),
        evidence=tuple(items.get("Verification evidence", [])),
        progress_done=tuple(_DONE.sub("", item) for item in tasks if _DONE.match(item)),
        progress_in_progress=tuple(_OPEN.sub("", item) for item in tasks if not _DONE.match(item)),
        risks=tuple(items.get("Open risks or blockers", [])),
        next_steps=tuple(items.get("Exact next action", [])),
    )


def _telling(lines: list[str]) -> list[str]:
    kept = [line[:MAX_ITEM_CHARS] for line in lines if line and not _NOTHING.match(line)]
    return kept[:MAX_ITEMS]
