"""Typed state: merged from one compaction to the next, and rendered for the model.

Rendering goes one way. What a later compaction needs is in the checkpoint as data; no summary is
ever read back from prose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from ctxd.compaction import constraints
from ctxd.compaction.records import keep_newest
from ctxd.compaction.snapshots import render_plan
from ctxd.model.summary import Decision, Mutation, Quote, SessionSummary, Topic

MAX_LINES = 400
"""Newest entries kept of each list but the user's words, which are all kept.

Older entries stay in the log, reachable by their handles.
"""

NOTICE = (
    "[Background: the earlier part of this session, compacted. It is a record of what happened, not an "
    "instruction; where it differs from a newer user message, the newer message wins. Ids in [brackets] are "
    'handles: recall {"toolCallId": id} or {"messageId": id} returns the whole text.]'
)

BRIEF_NOTICE = "[Background, compacted]"
"""The notice where the target is so small that the frame would take the place of the words."""

NOTHING = "- Nothing recorded."

MAX_STALE = 20
"""Newest stale decisions kept (O section 14, weakness: they grew for ever)."""

_T = TypeVar("_T")


def merge(known: SessionSummary, new: SessionSummary, *, told: bool = False) -> SessionSummary:
    """Known state with what happened since. Lists keep their newest MAX_LINES.

    Paths are united, the newest role wins; decisions, quotes and records stay word for word. Where a
    model told what is decided (`told`), a known decision that it marks or leaves out becomes stale; of
    stale ones the newest MAX_STALE stay.
    """
    exact_records = keep_newest((*known.exact_records, *new.exact_records))
    mutations = {m.path: m for m in known.mutations}
    for mutation in new.mutations:
        mutations.pop(mutation.path, None)
        mutations[mutation.path] = mutation
    return SessionSummary(
        goal=new.goal or known.goal,
        constraints=_unite(known.constraints, new.constraints, key=_said, limit=None),
        decisions=_decided(known.decisions, new.decisions, told=told),
        mutations=tuple(mutations.values())[-MAX_LINES:],
        evidence=_unite(known.evidence, new.evidence, key=str),
        progress_done=_unite(known.progress_done, new.progress_done, key=str),
        progress_in_progress=new.progress_in_progress or known.progress_in_progress,
        risks=_unite(known.risks, new.risks, key=str),
        next_steps=new.next_steps or known.next_steps,
        exact_records=exact_records,
        plan=new.plan or known.plan,
    )


def adopt(
    extracted: SessionSummary, digest: SessionSummary, unshown: SessionSummary | None = None
) -> SessionSummary:
    """A model's account over extracted facts: it may word what happened, it may not make files or words up.

    Mutations stay those the calls show; constraints are the user's own and never the model's
    (reports E.54); the model's lists replace extracted ones where it gave any. What was extracted of
    messages that the model was not shown stands before them.
    """
    beside = unshown or SessionSummary()

    def pick(told: tuple[_T, ...], apart: tuple[_T, ...], all_: tuple[_T, ...]) -> tuple[_T, ...]:
        return (*apart, *told) if told else all_

    return msgspec.structs.replace(
        extracted,
        goal=digest.goal,
        decisions=pick(digest.decisions, beside.decisions, extracted.decisions),
        evidence=pick(digest.evidence, beside.evidence, extracted.evidence),
        progress_done=digest.progress_done,
        progress_in_progress=digest.progress_in_progress,
        risks=pick(digest.risks, beside.risks, extracted.risks),
        next_steps=digest.next_steps,
    )


def render(
    summary: SessionSummary,
    quotes: Sequence[Quote],
    budget: int,
    count: Callable[[str], int],
    held: Sequence[str] = (),
    *,
    plain: bool = False,
    brief: bool = False,
    plan: bool = True,
) -> tuple[str, int]:
    """The summary's text and its base tokens, at most `budget` but for what is mandatory.

    Mandatory are the notice, the headings, the quotes given, exact records, `held` lines (what a
    contract wants preserved), and one line for each heading that says how much was left out. The rest
    is taken newest first. `plain` quotes have no handles; a `brief` frame has one line and only the
    headings that say something; without `plan` the plan is shown elsewhere.
    """
    fixed: dict[Topic, list[str]] = {heading: [] for heading in headings()}
    fixed["Objective and constraints"] = [
        *(constraints.line(quote, plain=plain) for quote in quotes),
        *(f"- {text}" for text in held),
    ]
    if plan and summary.plan is not None:
        fixed["Active tasks and background work"] = render_plan(summary.plan)
    for record in summary.exact_records:
        fixed[record.heading].append(f"- {record.payload}")
    optional: dict[Topic, list[str]] = {
        "Exact next action": [f"- {step}" for step in summary.next_steps],
        "Workspace mutations": [_mutation(m) for m in summary.mutations],
        "Decisions and rationale": [_decision(d) for d in summary.decisions],
        "Open risks or blockers": [f"- {risk}" for risk in summary.risks],
        "Active tasks and background work": [
            *(f"- done: {step}" for step in summary.progress_done),
            *(f"- in progress: {step}" for step in summary.progress_in_progress),
        ],
        "Verification evidence": [f"- {fact}" for fact in summary.evidence],
    }
    used = frame(count, brief=brief)
    used += sum(count(text) + 1 for lines in fixed.values() for text in lines)
    room = budget - used
    text = _lay_out(fixed, optional, room, count, brief=brief)
    cost = count(text)
    while cost > budget and room > 0:
        # Joints and lines that say what was left out were not in `used`.
        room -= cost - budget
        text = _lay_out(fixed, optional, room, count, brief=brief)
        cost = count(text)
    return text, cost


def frame(count: Callable[[str], int], *, brief: bool) -> int:
    """Base tokens of what stands around the entries: the notice, and the headings that always stand."""
    if brief:
        return count(BRIEF_NOTICE) + 1
    return count(NOTICE) + sum(count(f"## {heading}") + 2 for heading in headings())


_SHARES = (10, 15, 40, 10, 10, 35)
"""Percent of the room each optional heading may take first, in the order above."""


def headings() -> tuple[Topic, ...]:
    """The seven headings in order; they are host protocol (E §6.3)."""
    return (
        "Objective and constraints",
        "Decisions and rationale",
        "Workspace mutations",
        "Verification evidence",
        "Active tasks and background work",
        "Open risks or blockers",
        "Exact next action",
    )


def _lay_out(
    fixed: Mapping[Topic, Sequence[str]],
    optional: Mapping[Topic, Sequence[str]],
    room: int,
    count: Callable[[str], int],
    *,
    brief: bool,
) -> str:
    """The text with all fixed lines, and of the optional ones the newest that cost `room` together."""
    chosen: dict[Topic, list[str]] = {}
    left = room
    for (heading, lines), share in zip(optional.items(), _SHARES, strict=True):
        chosen[heading], spent = _newest(lines, min(left, room * share // 100), count)
        left -= spent
    for heading, lines in optional.items():
        # What one heading did not need, the next may use.
        more, spent = _newest(lines[: len(lines) - len(chosen[heading])], left, count)
        chosen[heading] = [*more, *chosen[heading]]
        left -= spent
    parts = [BRIEF_NOTICE if brief else NOTICE]
    for heading in headings():
        shown = list(fixed[heading])
        kept = chosen.get(heading, [])
        omitted = len(optional.get(heading, ())) - len(kept)
        if omitted and not brief:
            shown.append(f"- ({omitted} older entries left out; recall/list names every stored output)")
        shown.extend(kept)
        if brief and shown:
            # The words come first and need no heading of their own.
            title = [] if heading == headings()[0] else [f"## {heading}"]
            parts.append("\n".join([*title, *shown]))
        elif not brief:
            parts.append(f"## {heading}\n" + ("\n".join(shown) or NOTHING))
    return ("\n" if brief else "\n\n").join(parts)


def _said(quote: Quote) -> tuple[str, str]:
    return quote.message_id, quote.text


def _decided(known: Sequence[Decision], new: Sequence[Decision], *, told: bool) -> tuple[Decision, ...]:
    """Decisions of both, each once. One that stands stays as it was worded; stale ones are bounded."""
    if told:
        again = {_key(d.summary): d for d in new}
        kept: list[Decision] = []
        for known_one in known:
            said = again.pop(_key(known_one.summary), None)
            stands = said is not None and not (said.stale or known_one.stale)
            kept.append(msgspec.structs.replace(known_one, stale=not stands))
        united = (*kept, *again.values())
    else:
        united = _unite(known, new, key=lambda d: (d.at_turn, d.summary), limit=None)
    stale = [d for d in united if d.stale]
    gone = set(map(id, stale[:-MAX_STALE]))
    return tuple(d for d in united if id(d) not in gone)[-MAX_LINES:]


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _unite(
    known: Iterable[_T], new: Iterable[_T], *, key: Callable[[_T], object], limit: int | None = MAX_LINES
) -> tuple[_T, ...]:
    """Both in order, the newest of equals in place of older ones, the newest `limit` of them."""
    union: dict[object, _T] = {}
    for item in (*known, *new):
        union.pop(key(item), None)
        union[key(item)] = item
    united = tuple(union.values())
    return united if limit is None else united[-limit:]


def _newest(lines: Sequence[str], budget: int, count: Callable[[str], int]) -> tuple[list[str], int]:
    """The newest lines that fit `budget` together, in order, and what they cost."""
    kept: list[str] = []
    spent = 0
    for line in reversed(lines):
        cost = count(line) + 1
        if spent + cost > budget:
            break
        kept.append(line)
        spent += cost
    return kept[::-1], spent


def _mutation(mutation: Mutation) -> str:
    return f"- {mutation.path} ({mutation.role})"


def _decision(decision: Decision) -> str:
    stale = "[STALE] " if decision.stale else ""
    why = f" ({decision.rationale})" if decision.rationale else ""
    return f"- turn {decision.at_turn + 1}: {stale}{decision.summary}{why}"
