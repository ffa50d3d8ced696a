"""The text that stands for a result that is not shown.

It is written for a model and never read back: what was elided is a typed fact in the log.
"""

from __future__ import annotations

import json

from ctxd.model.events import ElisionReason
from ctxd.model.messages import CallFacts, ResultFacts

_WHY: dict[ElisionReason, str] = {
    "spilled": "too large to show whole",
    "turnBudget": "more than the results of this turn may show together",
    "stale": "from an earlier turn",
    "oversized": "large",
    "superseded": "a newer read of the same range follows",
    "snipped": "from an older tool turn",
    "cacheExpired": "from an older tool turn",
    "clippedNewest": "too large for the window",
    "byteBudget": "too large for the request",
    "sanitized": "shown otherwise than it came",
}

_LEAST_SHOWN = 16
"""Bytes of a result that are worth showing beside the line that says how to read the rest."""

_OFFSET_DIGITS = 8
"""Room for the digits of an offset, one of which is there in any case."""


def placeholder(
    call: CallFacts | None, result: ResultFacts, reason: ElisionReason, *, occurrence: int | None = None
) -> str:
    """One line: tool, target, outcome, size, why, and the exact recall call (behaviour.md, section 4).

    `occurrence` (0 = oldest) tells apart results of one call id: several servers count their ids anew in
    every message, and a handle has to stay right when that happens later.
    """
    return f"[{_head(call, result, reason, 'output not shown')} {_recall(result.call_id, occurrence)}]"


def clipped(
    call: CallFacts | None,
    result: ResultFacts,
    reason: ElisionReason,
    text: str,
    *,
    head_bytes: int,
    tail_bytes: int,
    occurrence: int | None = None,
) -> str:
    """Head and tail of `text`, cut at character boundaries, and between them a line like `placeholder`'s.

    It also says where what is left out begins, in bytes of the stored form.
    """
    head, tail = cut(text, head_bytes, tail_bytes)
    said = _head(call, result, reason, "output, of which only beginning and end are shown")
    # A lone surrogate is shown as one other character; in the stored form it is three bytes.
    offset = len(text[: len(head)].encode("utf-8", "surrogatepass"))
    recall = f"{_recall(result.call_id, occurrence)}, what is left out from offset {offset}"
    return f"{head}\n[{said} {recall}]\n{tail}"


def fitted(
    call: CallFacts | None,
    result: ResultFacts,
    reason: ElisionReason,
    text: str,
    *,
    most_bytes: int,
    head_bytes: int,
    tail_bytes: int,
    occurrence: int | None = None,
) -> str:
    """As `clipped`, of at most `most_bytes` in all; `head_bytes` and `tail_bytes` give the proportion.

    Where so little fits that nothing could be shown, a `placeholder`, which may be longer than that.
    """
    bare = clipped(call, result, reason, "", head_bytes=0, tail_bytes=0, occurrence=occurrence)
    room = most_bytes - len(bare.encode("utf-8", "replace")) - _OFFSET_DIGITS
    if room < _LEAST_SHOWN or head_bytes + tail_bytes == 0:
        return placeholder(call, result, reason, occurrence=occurrence)
    head = min(head_bytes, room * head_bytes // (head_bytes + tail_bytes))
    tail = min(tail_bytes, room - head)
    return clipped(call, result, reason, text, head_bytes=head, tail_bytes=tail, occurrence=occurrence)


def cut(text: str, head_bytes: int, tail_bytes: int) -> tuple[str, str]:
    """The first and last bytes of a text as whole characters; the tail never overlaps the head.

    Of a long text only the ends are looked at.
    """
    if len(text) > head_bytes + tail_bytes:
        head = text[:head_bytes].encode("utf-8", "replace")[:head_bytes]
        end = text[len(text) - tail_bytes :].encode("utf-8", "replace")
        tail = end[max(0, len(end) - tail_bytes) :]
    else:
        data = text.encode("utf-8", "replace")
        head = data[:head_bytes]
        tail = data[max(head_bytes, len(data) - tail_bytes) :]
    return head.decode("utf-8", "ignore"), tail.decode("utf-8", "ignore")


def size_of(count: int) -> str:
    """`812 B`, `18.9 KB`, `3.2 MB`: decimal, one digit."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _head(call: CallFacts | None, result: ResultFacts, reason: ElisionReason, shown: str) -> str:
    name = call.name if call else "tool"
    target = f" {call.target}" if call and call.target else ""
    outcome = "failed" if result.is_error else "completed"
    return f"{name}{target}: {outcome}, {size_of(result.bytes)} of {shown} ({_WHY[reason]})."


def _recall(call_id: str, occurrence: int | None) -> str:
    arguments: dict[str, object] = {"toolCallId": call_id}
    if occurrence is not None:
        arguments["occurrence"] = occurrence
    return f"Kept whole; read it with recall {json.dumps(arguments, ensure_ascii=False)}"
