"""Judging a model's summary before anything is built on it, and reading it as typed state.

A reply is prose under seven headings. It may word what happened; it cannot add to the user's words
or to the files that calls changed (reports E.54, E.57).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction.ledger import headings
from ctxd.model.summary import Decision, SessionSummary, Topic

Flaw: TypeAlias = Literal["empty", "refusal", "headings", "larger", "notText"]

MAX_REPLY_CHARS = 400_000
MAX_ITEMS = 80
MAX_ITEM_CHARS = 700
"""What is looked at of a reply, and taken from it at most: items of a heading, characters of an item."""

MAX_HEADING_CHARS = 200
FENCE = "```"

_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_REFUSAL = re.compile(
    r"^\W*(?:(?:unfortunately|apologies|i\s+apologi[sz]e)\b|i['’]?m\s+(?:sorry|unable)|sorry\b"
    r"|i\s+(?:can(?:not|['’]t)|won['’]t|am\s+(?:sorry|unable|not\s+able))|as\s+an\s+ai\b"
    r"|(?:很|非常)?抱歉|对不起|我(?:无法|不能|不会))",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:no\s+evidence(?:\s+(?:observed|available))?|nothing(?:\s+(?:recorded|to\s+report))?|none|n/?a|无|没有|暂无)"
    r"\s*[.。]?",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?:\[x\]|[✅✓]|(?:\*\*)?(?:done|completed|finished|已完成|完成)(?:\*\*)?\s*[:：])\s*", re.IGNORECASE
)
_OPEN = re.compile(
    r"(?:\[[ >~-]\]|(?:\*\*)?(?:in\s+progress|pending|active|进行中|待办)(?:\*\*)?\s*[:：])\s*", re.IGNORECASE
)
_LABEL = re.compile(r"(?:(?:\*\*)?(?:decision|risk|决定|风险)(?:\*\*)?\s*[:：])\s*", re.IGNORECASE)
_STALE = re.compile(r"\[STALE\]\s*", re.IGNORECASE)
_REFERENCE = re.compile(r"(?:(?<=^)|(?<=[\s(,;]))\[(\d{1,6})\](?!\()")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


class Verdict(msgspec.Struct, frozen=True):
    """Either the reply as typed state, or its flaw."""

    digest: SessionSummary | None = None
    flaw: Flaw | None = None


def judge(
    text: str,
    *,
    source_chars: int,
    turn: int,
    known: Sequence[Decision] = (),
    unseen: Sequence[Decision] = (),
    handles: Mapping[int, str] | None = None,
    is_text: bool = True,
) -> Verdict:
    """Check a reply. `source_chars` is the length of what was summarised, `turn` its newest user turn.

    A decision of `known` that the reply repeats keeps its turn; `unseen` ones were not shown, so that
    leaving them out says nothing. `handles` are what numbers of
    messages in brackets stand for.
    """
    if not is_text:
        return Verdict(flaw="notText")
    if len(text) > MAX_REPLY_CHARS:
        return Verdict(flaw="larger")
    bodies = list(_bodies(_UNPRINTABLE.sub(" ", _SURROGATE.sub("\ufffd", text))))
    if not bodies:
        return Verdict(flaw="empty")
    for body in bodies:
        sections = split(body)
        if len(sections) == len(headings()):
            break
    else:
        return Verdict(flaw="refusal" if _REFUSAL.match(bodies[0]) else "headings")
    if len(body) >= source_chars:
        return Verdict(flaw="larger")
    digest = _digest(sections, turn, known, handles or {})
    if digest == SessionSummary():
        return Verdict(flaw="empty")
    if digest.decisions:
        digest = msgspec.structs.replace(digest, decisions=(*unseen, *digest.decisions))
    return Verdict(digest=digest)


def split(body: str) -> dict[Topic, list[str]]:
    """List items under each of the seven headings that occur; what stands elsewhere is dropped.

    A heading that comes twice goes on with its list. Code blocks keep their lines as they are,
    unless one that was never closed would hide a heading.
    """
    found = _split(body, fenced=True)
    return found if len(found) == len(headings()) else _split(body, fenced=False)


def _split(body: str, *, fenced: bool) -> dict[Topic, list[str]]:
    sections: dict[Topic, list[str]] = {}
    current: list[str] | None = None
    level, inside = 0, ""
    for line in body.splitlines():
        fence = _fence(line) if fenced else ""
        if inside:
            if current:
                current[-1] += "\n" + line.rstrip()
            inside = "" if fence and fence == line.strip() and fence.startswith(inside) else inside
            continue
        topic, depth = _topic(line)
        if topic is not None:
            current, level = sections.setdefault(topic, []), depth
        elif depth:
            # A heading of its own inside a section; one beside the seven ends it.
            current = current if depth > level else None
        elif current is not None and line.strip():
            inside = fence
            if (_BULLET.match(line) and not fence) or not current:
                current.append(_BULLET.sub("", line).strip())
            else:
                current[-1] += "\n" + (line.rstrip() if fence else line.strip())
    return sections


def _bodies(text: str) -> Iterator[str]:
    """What may be the summary, the likeliest first: the element, one that quotes its own tag, all of it."""
    text = _without(text, "<think>", "</think>") if text.lstrip().startswith("<think>") else text
    text = _without(text, "<analysis>", "</analysis>")
    low = text.lower()
    start = low.find("<summary>")
    if start >= 0:
        start += len("<summary>")
        for end in (low.find("</summary>", start), low.rfind("</summary>")):
            if body := _unwrapped(text[start : end if end >= start else None]):
                yield body
    elif body := _unwrapped(text):
        yield body


def _without(text: str, opening: str, closing: str) -> str:
    """The text without what stands between the tags; an element that never ends is left alone."""
    low, parts, at = text.lower(), [], 0
    while (start := low.find(opening, at)) >= 0 and (end := low.find(closing, start)) >= 0:
        parts.append(text[at:start])
        at = end + len(closing)
    return "".join([*parts, text[at:]])


def _unwrapped(text: str) -> str:
    """The text without white space and without a code block around all of it."""
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE) and "\n" in text:
        text = text.split("\n", 1)[1][: -len(FENCE)].strip()
    return text


def _fence(line: str) -> str:
    """The marks that open or close a code block; "" for any other line."""
    marks = line.strip()
    length = len(marks) - len(marks.lstrip(marks[:1]))
    return marks[:length] if length >= len(FENCE) and marks[0] in "`~" else ""


def _topic(line: str) -> tuple[Topic | None, int]:
    """Which of the seven headings a line is, and its level; level 0 is no heading at all.

    Some models set them in bold or number them instead.
    """
    if len(line) > MAX_HEADING_CHARS:
        return None, 0
    marked = _HEADING.match(line)
    title = re.sub(r"^\d[.)]\s+", "", marked[2] if marked else line.strip())
    plain = " ".join(title.strip("#*_:： \t").lower().split())
    topic = next((heading for heading in headings() if heading.lower() == plain), None)
    level = len(marked[1]) if marked else 0
    return topic, level or (2 if topic else 0)


def _digest(
    sections: Mapping[Topic, list[str]], turn: int, known: Sequence[Decision], handles: Mapping[int, str]
) -> SessionSummary:
    items = {topic: _telling(lines, handles) for topic, lines in sections.items()}
    tasks = items["Active tasks and background work"]
    goal = items["Objective and constraints"]
    earlier = {_key(decision.summary): decision for decision in known}
    return SessionSummary(
        goal=goal[0] if goal else "",
        decisions=tuple(_decision(item, turn, earlier) for item in items["Decisions and rationale"]),
        evidence=tuple(items["Verification evidence"]),
        progress_done=tuple(_DONE.sub("", item, count=1) for item in tasks if _DONE.match(item)),
        progress_in_progress=tuple(_unlabelled(_OPEN, item) for item in tasks if not _DONE.match(item)),
        risks=tuple(_unlabelled(_LABEL, item) for item in items["Open risks or blockers"]),
        next_steps=tuple(items["Exact next action"]),
    )


def _decision(item: str, turn: int, earlier: Mapping[str, Decision]) -> Decision:
    """A decision as it is known, or a new one. What is stale stays so."""
    said = _unlabelled(_LABEL, item)
    stale = _STALE.match(said) is not None
    said = _unlabelled(_LABEL, _unlabelled(_STALE, said))
    if (decision := earlier.get(_key(said))) is not None:
        return msgspec.structs.replace(decision, stale=stale or decision.stale)
    return Decision(at_turn=turn, summary=said, stale=stale)


def _unlabelled(label: re.Pattern[str], item: str) -> str:
    found = label.match(item)
    return item[found.end() :] if found else item


def _key(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".。")


def _telling(lines: Sequence[str], handles: Mapping[int, str]) -> list[str]:
    """Items that say something, clipped, with handles in place of the numbers of messages."""
    kept = [_clip(line) for line in lines if line and not _NOTHING.fullmatch(line)]

    def name(found: re.Match[str]) -> str:
        handle = handles.get(int(found[1]))
        return f"[{handle}]" if handle else found[0]

    return [_REFERENCE.sub(name, line).replace("\n", "\n  ") for line in kept[:MAX_ITEMS]]


def _clip(item: str) -> str:
    if len(item) <= MAX_ITEM_CHARS:
        return item
    cut = item[: MAX_ITEM_CHARS - 1] + "…"
    fences = sum(1 for line in cut.splitlines() if _fence(line))
    return f"{cut}\n{FENCE}" if fences % 2 else cut
