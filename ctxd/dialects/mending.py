"""Making a message list sendable: the engine all codecs share.

A pass runs its steps in order; passes repeat until one changes nothing, so mending a mended list is a
no-op by construction. Every step either leaves something unsendable out, gives a call the one result it
lacks, or moves a result or system message to the only place it may stand, so passes come to an end.
What no step touches stays the same object. No clock and no chance: the same list gives the same bytes.

Must not know how a native message is built; that is the codec's, behind `Bench`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from ctxd.dialects.base import BadShape, Edit
from ctxd.dialects.rules.content_present import ContentPresent
from ctxd.dialects.rules.first_message import FirstMessage
from ctxd.dialects.rules.pairing import Answer, Call, Layout, Pairing, pair
from ctxd.dialects.rules.site import WHOLE, Site
from ctxd.model.blocks import MessageView, Role, ToolCall

STUB = (
    "[No result: it was lost, or the call was interrupted before it finished. "
    "Whether it had side effects is not known.]"
)
"""Content of the result that stands in for a missing one (behaviour.md section 3; octos §29.4)."""

OPENING = "[The conversation goes on from an earlier one.]"
"""The user message put before a list that begins with the assistant's."""

Message: TypeAlias = Mapping[str, Any]
Step: TypeAlias = "Callable[[Desk], None]"


class Bench(Protocol):
    """What the engine needs to have done to native messages. Nothing given is ever changed in place."""

    def view(self, message: Message) -> MessageView: ...

    def make(self, role: Role, text: str) -> Message: ...

    def without(self, message: Message, blocks: frozenset[int]) -> Message | None:
        """The message without these blocks of its view; None when nothing sendable is left."""
        ...

    def without_blanks(self, message: Message) -> Message:
        """The message with the blank text blocks inside its results left out."""
        ...

    def results(self, message: Message, blocks: frozenset[int]) -> list[Any]:
        """Native results out of a message that also holds other things."""
        ...

    def stub(self, call: ToolCall, text: str, caller: Message) -> Any:
        """A native result for a call that `caller` made."""
        ...

    def lead(self, results: list[Any], following: Message | None) -> list[Message]:
        """Messages that begin with these results and go on with `following`, the rest of the turn."""
        ...


class Draft(msgspec.Struct, frozen=True):
    """A message on the desk; `source` is the index, in the list given, that an edit of it names."""

    source: int
    message: Message
    view: MessageView


class Desk:
    """The list being mended, and the edits made so far."""

    def __init__(self, bench: Bench, messages: Iterable[Message], *, pending: bool) -> None:
        self.bench = bench
        self.pending = pending
        self.edits: list[Edit] = []
        self.drafts = [self._first_draft(index, message) for index, message in enumerate(messages)]

    @property
    def views(self) -> list[MessageView]:
        return [draft.view for draft in self.drafts]

    def draft(self, source: int, message: Message) -> Draft:
        """A new or changed message."""
        return Draft(source, message, self.bench.view(message))

    def note(self, rule: str, source: int, action: str, detail: str) -> None:
        """Record an edit; `source` as in `Draft`."""
        self.edits.append(Edit(rule, source, action, detail))

    def _first_draft(self, index: int, message: Message) -> Draft:
        try:
            return self.draft(index, message)
        except BadShape as error:
            path = f"{index}.{error.path}" if error.path else str(index)
            raise BadShape(path, error.message) from error


class Removal(Protocol):
    """A law whose breaches are mended by leaving them out."""

    @property
    def name(self) -> str: ...

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]: ...


def mend(
    bench: Bench, steps: Sequence[Step], messages: Sequence[Message], *, pending: bool
) -> tuple[list[Message], list[Edit]]:
    """Run the steps until nothing changes. Raises BadShape, its path led by the message's index."""
    desk = Desk(bench, messages, pending=pending)
    while True:
        known = len(desk.edits)
        for step in steps:
            step(desk)
        if len(desk.edits) == known:
            return [draft.message for draft in desk.drafts], desk.edits


def leave_out(law: Removal) -> Step:
    """The step that leaves out what a law calls unsendable."""

    def step(desk: Desk) -> None:
        _leave_out(desk, law.name, law.unsendable(desk.views))

    return step


def clean_results(law: ContentPresent) -> Step:
    """The step that leaves blank text out of results, which themselves stay."""

    def step(desk: Desk) -> None:
        for site in law.blank_inside(desk.views):
            draft = desk.drafts[site.index]
            desk.drafts[site.index] = desk.draft(draft.source, desk.bench.without_blanks(draft.message))
            desk.note(law.name, draft.source, "remove", site.detail)

    return step


def settle_results(layout: Layout) -> Step:
    """The step that gives every call its one result, directly behind it.

    Orphans and second results are left out first (the next pass goes on from there). Then results that
    stand elsewhere are moved and missing ones stubbed: stubs come first, then results taken out of other
    messages; whole messages of misplaced results move as they are, behind those that stand right.
    """

    def step(desk: Desk) -> None:
        pairing = pair(desk.views, layout)
        orphans = [a for a in pairing.answers if a.place == "nowhere"]
        repeats = [a for a in pairing.answers if a.repeats]
        _leave_out(desk, "orphanResult", [_site(a, "answers no call") for a in orphans])
        if not orphans:
            _leave_out(desk, "duplicateResult", [_site(a, "was given before") for a in repeats])
        if orphans or repeats:
            return
        moved = [answer for answer in pairing.answers if answer.place in ("behind", "late")]
        missing = [c for c in pairing.unanswered if not (desk.pending and c.span == pairing.pending)]
        if not moved and not missing:
            return
        for answer in moved:
            rule = "resultOrder" if answer.place == "behind" else "orphanResult"
            detail = f"result for {answer.call_id} moved behind its call"
            desk.note(rule, desk.drafts[answer.index].source, "move", detail)
        for call in missing:
            detail = f"stub result for {call.call.call_id}"
            desk.note("unansweredCall", desk.drafts[call.index].source, "synthesize", detail)
        desk.drafts = _rearrange(desk, pairing, moved, missing)

    return step


def open_with_user(desk: Desk) -> None:
    """Put a fixed user message before a list that begins with the assistant's."""
    for violation in FirstMessage().violations(desk.views):
        desk.note(violation.rule, desk.drafts[0].source, "synthesize", violation.detail)
        desk.drafts.insert(0, desk.draft(desk.drafts[0].source, desk.bench.make("user", OPENING)))


def _leave_out(desk: Desk, rule: str, sites: Sequence[Site]) -> None:
    doomed: defaultdict[int, set[int]] = defaultdict(set)
    for site in sites:
        doomed[site.index].add(site.block)
        desk.note(rule, desk.drafts[site.index].source, "remove", site.detail)
    if doomed:
        drafts = (_reduce(desk, draft, doomed.get(i)) for i, draft in enumerate(desk.drafts))
        desk.drafts = [draft for draft in drafts if draft]


def _site(answer: Answer, fault: str) -> Site:
    return Site(answer.index, answer.block, f"result for {answer.call_id} {fault}")


def _reduce(desk: Desk, draft: Draft, blocks: set[int] | None) -> Draft | None:
    if not blocks:
        return draft
    if WHOLE in blocks:
        return None
    message = desk.bench.without(draft.message, frozenset(blocks))
    return None if message is None else desk.draft(draft.source, message)


def _rearrange(desk: Desk, pairing: Pairing, moved: list[Answer], missing: list[Call]) -> list[Draft]:
    taken: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for answer in moved:
        taken[answer.index][answer.block] = answer.span
    whole: defaultdict[int, list[Draft]] = defaultdict(list)
    loose: defaultdict[int, list[Any]] = defaultdict(list)
    for call in missing:
        loose[call.span].append(desk.bench.stub(call.call, STUB, desk.drafts[call.index].message))
    rest: list[Draft | None] = list(desk.drafts)
    for index, owners in taken.items():
        draft = desk.drafts[index]
        targets = set(owners.values())
        if len(targets) == 1 and len(owners) == len(draft.view.blocks):
            whole[targets.pop()].append(draft)
            rest[index] = None
            continue
        for target in sorted(targets):
            blocks = frozenset(block for block, owner in owners.items() if owner == target)
            loose[target].extend(desk.bench.results(draft.message, blocks))
        rest[index] = _reduce(desk, draft, set(owners))
    arranged: list[Draft] = list(desk.drafts[: pairing.spans[0].first])
    for number, span in enumerate(pairing.spans):
        arranged.extend(desk.drafts[span.first : span.end])
        settled = {a.index for a in pairing.answers if a.span == number and a.place == "first"}
        window = [(index, rest[index]) for index in range(span.end, span.stop)]
        leading = 0
        while leading < len(window) and _is_settled(window[leading], settled):
            leading += 1
        turn = [draft for _, draft in window[:leading] if draft]
        turn += whole[number]
        turn += [draft for _, draft in window[leading:] if draft]
        arranged.extend(_led(desk, loose[number], turn, desk.drafts[span.end - 1].source))
    return arranged


def _is_settled(entry: tuple[int, Draft | None], settled: set[int]) -> bool:
    index, draft = entry
    return index in settled and draft is not None and len(draft.view.results) == len(draft.view.blocks)


def _led(desk: Desk, results: list[Any], turn: list[Draft], source: int) -> list[Draft]:
    if not results:
        return turn
    following = turn[0] if turn else None
    messages = desk.bench.lead(results, following.message if following else None)
    made = [desk.draft(source, message) for message in messages[:-1]]
    last = messages[-1]
    if following is not None and last is following.message:
        return [*made, *turn]
    return [*made, desk.draft(following.source if following else source, last), *turn[1:]]
