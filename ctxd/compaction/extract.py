"""One-line facts out of units that leave the view, without a model.

What a call did comes from its facts, never from reading its output, but for the last line of an
error. Everything here is a record of what happened; none of it is an instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from ctxd.compaction.placeholder import size_of
from ctxd.core import fidelity
from ctxd.core.fold import Entry, SessionState
from ctxd.core.units import Unit
from ctxd.model.blocks import MessageView, ToolResult
from ctxd.model.events import Fidelity, UnitFate
from ctxd.model.messages import CallFacts, ResultFacts
from ctxd.model.summary import Decision, Mutation, SessionSummary

ANSWER_CHARS = 300
"""Characters kept of an answer that ended a turn."""

REMARK_CHARS = 160
"""Characters kept of what was said between calls."""

ERROR_CHARS = 160


class Item(msgspec.Struct, frozen=True):
    """A view entry with its message read as blocks."""

    entry: Entry
    view: MessageView


def read_item(entry: Entry, view: MessageView) -> Item:
    """An entry with its message as the view shows it: of a sanitized result that is what counts."""
    said = {elision.call_id: elision.placeholder for elision in entry.elided if not elision.hides}
    if said:
        blocks = [
            msgspec.structs.replace(block, text=said[block.call_id])
            if isinstance(block, ToolResult) and block.call_id in said
            else block
            for block in view.blocks
        ]
        view = MessageView(view.role, tuple(blocks), view.item)
    return Item(entry, view)


def extract(items: Sequence[Item], units: Sequence[Unit], state: SessionState) -> SessionSummary:
    """Typed state of the given units alone; merging it with what is known is the ledger's work."""
    decisions: list[Decision] = []
    mutations: list[Mutation] = []
    evidence: list[str] = []
    risks: list[str] = []
    for unit in units:
        for item in items[unit.start : unit.end]:
            facts = item.entry.facts
            if facts.inserted:
                continue
            if facts.role == "assistant":
                line = first_line(item.view.text, ANSWER_CHARS if unit.kind == "assistant" else REMARK_CHARS)
                if line:
                    decisions.append(Decision(at_turn=max(0, item.entry.turn - 1), summary=line))
            mutations.extend(
                Mutation(path=call.path, role=_role(call))
                for call in facts.calls
                if call.effect == "write" and call.path
            )
            texts = {block.call_id: block for block in item.view.blocks if isinstance(block, ToolResult)}
            for result in facts.results:
                call_facts = state.call_of(result.call_id, facts.id)
                # A call id that was used again names the newest result; the message id never changes hands.
                handle = result.call_id if len(state.results[result.call_id]) == 1 else facts.id
                evidence.append(_evidence(call_facts, result, handle))
                if result.is_error:
                    risks.append(_risk(call_facts, texts[result.call_id].text, handle))
    return SessionSummary(
        decisions=tuple(decisions), mutations=tuple(mutations), evidence=tuple(evidence), risks=tuple(risks)
    )


def first_line(text: str, limit: int) -> str:
    """The first line that says something, at most `limit` characters."""
    line = next((stripped for raw in text.splitlines() if (stripped := raw.strip())), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def fate(unit: Unit, items: Sequence[Item]) -> UnitFate:
    """A unit that is now only in the typed state, with the handle that brings it back.

    What an earlier compaction inserted has none: all it said is typed state.
    """
    facts = [item.entry.facts for item in items[unit.start : unit.end]]
    return UnitFate(
        message_ids=tuple(f.id for f in facts),
        fidelity="summary",
        handle=next((f.id for f in facts if not f.inserted), ""),
    )


def fate_of_kept(
    unit: Unit, items: Sequence[Item], clipped: Collection[str], state: SessionState
) -> UnitFate:
    """A unit that stays in the view, by what is shown of it: `clipped` are messages that a plan cuts now."""
    levels: dict[str, Fidelity] = {}
    for item in items[unit.start : unit.end]:
        shown = fidelity.of_entry(item.entry, state).fidelity
        message_id = item.entry.facts.id
        levels[message_id] = fidelity.lowest([shown, "truncate"]) if message_id in clipped else shown
    level = fidelity.lowest(levels.values())
    handle = next(i for i in levels if levels[i] == level) if level in ("truncate", "compact") else ""
    return UnitFate(message_ids=tuple(levels), fidelity=level, handle=handle)


def _role(call: CallFacts) -> str:
    name = call.name.lower()
    return "written" if "write" in name or "create" in name else "edited"


def _evidence(call: CallFacts | None, result: ResultFacts, handle: str) -> str:
    outcome = "failed" if result.is_error else "ok"
    name = call.name if call else "tool"
    target = f" {call.target}" if call and call.target else ""
    return f"{name}{target}: {outcome}, {size_of(result.bytes)} [{handle}]"


def _risk(call: CallFacts | None, text: str, handle: str) -> str:
    lines = [stripped for raw in text.splitlines() if (stripped := raw.strip())]
    last = lines[-1] if lines else ""
    said = last if len(last) <= ERROR_CHARS else last[: ERROR_CHARS - 1] + "…"
    name = call.name if call else "tool"
    target = f" {call.target}" if call and call.target else ""
    return f'{name}{target} failed, output ended: "{said}" [{handle}]'
