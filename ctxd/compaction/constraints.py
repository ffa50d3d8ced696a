"""The user's own words, and which of them must stay when not all can.

All words stay verbatim while they fit their budget. When they don't, pasted bulk inside messages is
clipped first; then sentences that bind stay before the rest: what was asked, forbidden, preferred or
fixed, the strictest first and the newest of equals first. What a newer statement on the same subject
replaced goes in any case. Words are taken from people and the host only, never from tools or the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ctxd.compaction.statements import BINDS, Statement, read, sentences_of
from ctxd.compaction.supersession import Change, Said, changes, dimensions
from ctxd.compaction.vocabulary import LEAD_IN
from ctxd.model.summary import Quote

BULK_CHARS = 1_200
"""A user message longer than this holds pasted material; its middle is clipped first."""

BULK_HEAD, BULK_TAIL = 600, 400

CARRIED_CHARS = 262_144
"""Characters of words that typed state carries; beyond, the oldest messages keep what binds only."""

STALE_KEPT = 20
"""Newest superseded quotes that typed state still names."""

GAP = "[…]"
"""Stands for words left out of a quote."""

Count = Callable[[str], int]


class Words(msgspec.Struct, frozen=True):
    """Quotes to place and the base tokens their lines cost; `left_out` messages are not shown whole.

    `held` are the binding statements that still hold, shown or not; `short` says that some are not
    shown. `carried` is what typed state carries on. `plain`: lines have no handle, for want of room.
    """

    quotes: tuple[Quote, ...]
    tokens: int
    left_out: int
    held: tuple[Quote, ...] = ()
    carried: tuple[Quote, ...] = ()
    short: bool = False
    plain: bool = False


def choose(
    quotes: Sequence[Quote],
    budget: int,
    count: Count,
    *,
    newer: Sequence[Quote] = (),
    elsewhere: str = "",
    plain: bool = False,
) -> Words:
    """The user's words within `budget` base tokens, in the order they were said.

    `newer` are words that stay in the view anyway: they are not placed, but may replace older ones.
    `elsewhere` names a message that is shown whole in another place; it is carried and not placed.
    `plain` leaves handles out from the start.
    """
    live, carried, updates = resolve(quotes, newer)
    held = tuple(
        Quote(text, quote.message_id) for quote in live for text, _ in binding(quote.text) if GAP not in text
    )
    live = [quote for quote in live if quote.message_id != elsewhere]
    whole = Words((), 0, 0, held, carried, plain=plain)
    for kept in (live, distinct := _distinct(live), [clip(quote) for quote in distinct]):
        tokens = _tokens(kept, count, plain=plain)
        if tokens <= budget:
            return msgspec.structs.replace(
                whole, quotes=tuple(kept), tokens=tokens, left_out=sum(1 for q in kept if GAP in q.text)
            )
    return _select(kept, budget, count, whole, updates)


def line(quote: Quote, *, plain: bool) -> str:
    """How a quote is shown: with the handle of its message, unless there is no room for handles."""
    body = quote.text.replace("\n", "\n  ")
    about = f' (about "{quote.about}")' if quote.about else ""
    if plain:
        return f"- {body}{about}"
    return f"- User [{quote.message_id}]{about}: " + ("\n  " if "\n" in body else "") + body


def clip(quote: Quote) -> Quote:
    """A long message without its middle but for what binds there; its id is the handle to the whole."""
    text = quote.text
    if len(text) <= BULK_CHARS:
        return quote
    middle = [
        text[s.start : s.end]
        for s in sentences_of(text)
        if s.end > BULK_HEAD and s.start < len(text) - BULK_TAIL and read(text[s.start : s.end]).binds
    ]
    cut = max(0, len(text) - BULK_HEAD - BULK_TAIL - sum(map(len, middle)))
    gap = f"[… {cut} characters: recall this message …]"
    parts = [text[:BULK_HEAD], gap, *middle, text[-BULK_TAIL:]]
    shown = "\n".join(parts)
    return msgspec.structs.replace(quote, text=shown) if len(shown) < len(text) else quote


def binding(text: str) -> list[tuple[str, Statement]]:
    """The sentences of `text` that bind, as they stand, in order."""
    said = ((text[s.start : s.end], read(text[s.start : s.end])) for s in sentences_of(text))
    return [(sentence, statement) for sentence, statement in said if statement.binds]


def resolve(
    quotes: Sequence[Quote], newer: Sequence[Quote] = ()
) -> tuple[list[Quote], tuple[Quote, ...], frozenset[str]]:
    """Quotes that hold, without what newer statements replaced; what typed state carries on; the updates.

    A sentence that only one of its values was replaced in keeps the rest, the value left out.
    """
    said: list[Said] = []
    spans: list[tuple[int, int]] = []
    texts = [*quotes, *newer]
    for group, quote in enumerate(texts):
        for sentence in sentences_of(quote.text):
            text = quote.text[sentence.start : sentence.end]
            said.append(Said(len(said), group, text, read(text)))
            spans.append((sentence.start, sentence.end))
    edits: dict[int, list[tuple[int, int, str]]] = {}
    stale: list[Quote] = []
    about: dict[int, str] = {}
    updates: set[str] = set()
    for change in changes(said):
        old, new = said[change.old], said[change.new]
        updates.add(new.text)
        if old.group >= len(quotes) or (change.bare and new.group >= len(quotes)):
            continue
        if change.bare:
            # An update of an update is about what the first one was about.
            first = about.get(old.group) or texts[old.group].about
            about[new.group] = first or _masked(old, change)
        if quotes[old.group].superseded_by:
            continue
        start, end = spans[change.old]
        edits.setdefault(old.group, []).append((start, end, _rest(old, new, change)))
        by = texts[new.group].message_id
        stale.append(Quote(old.text, quotes[old.group].message_id, superseded_by=by))
    live: list[Quote] = []
    for group, quote in enumerate(quotes):
        if quote.superseded_by:
            continue
        text = _edited(quote.text, edits.get(group, ()))
        if text or not quote.text:
            live.append(msgspec.structs.replace(quote, text=text, about=quote.about or about.get(group, "")))
    known = [quote for quote in quotes if quote.superseded_by]
    return live, (*[*known, *stale][-STALE_KEPT:], *_bounded(live)), frozenset(updates)


def _rest(old: Said, new: Said, change: Change) -> str:
    """What stays of a replaced statement: the part the new one says nothing about, or nothing."""
    if change.bare or not change.kinds:
        return ""
    values = [v for v in old.statement.values if v.kind not in change.kinds]
    restated = all(v.key in new.statement.keys(v.kind) for v in values)
    more = len(old.statement.about - new.statement.about - dimensions(change.kinds))
    stricter = old.statement.forbids and not new.statement.forbids
    if restated and not stricter and more < (2 if old.statement.strict else 3):
        return ""
    masked = _masked(old, change)
    return masked if read(masked).binds else ""


def _masked(old: Said, change: Change) -> str:
    """A statement with the replaced values left out."""
    text = old.text
    kinds = change.kinds or {v.kind for v in old.statement.values}
    for value in reversed(old.statement.values):
        if value.kind in kinds:
            text = text[: value.start] + GAP + text[value.end :]
    return text


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, rest in sorted(edits, reverse=True):
        text = text[:start] + rest + text[end:]
    return text.strip() if edits else text


def _distinct(quotes: Sequence[Quote]) -> list[Quote]:
    """Of messages with the same words, the newest."""
    newest = {" ".join(quote.text.split()).lower(): index for index, quote in enumerate(quotes)}
    return [quotes[index] for index in sorted(newest.values())]


def _bounded(quotes: Sequence[Quote]) -> list[Quote]:
    """Quotes of at most CARRIED_CHARS together: the oldest reduced to what binds, then left out."""
    excess = sum(len(quote.text) for quote in quotes) - CARRIED_CHARS
    kept = list(quotes)
    for index, quote in enumerate(kept):
        if excess <= 0:
            return kept
        shorter = f"\n{GAP}\n".join(text for text, _ in binding(quote.text))
        if len(shorter) < len(quote.text):
            excess -= len(quote.text) - len(shorter)
            kept[index] = msgspec.structs.replace(quote, text=shorter)
    kept = [quote for quote in kept if quote.text]
    while excess > 0 and kept:
        excess -= len(kept.pop(0).text)
    return kept


class _Piece(msgspec.Struct, frozen=True):
    """A sentence that may be shown: of quote `quote`, at `start:end` of its text."""

    quote: int
    start: int
    end: int
    tier: int
    weight: int
    cost: int


def _select(
    quotes: Sequence[Quote], budget: int, count: Count, whole: Words, updates: frozenset[str]
) -> Words:
    """Sentences tier by tier, as many as fit; then, where room is left, what is around them."""
    pieces = _pieces(quotes, updates, count)
    plain = whole.plain
    binding = [p for p in pieces if p.tier < _LOOSE]
    taken, short = _take(quotes, binding, budget, count, plain=plain)
    if short and not plain:
        plain = True
        taken, short = _take(quotes, binding, budget, count, plain=plain)
    if short:
        # Words that only say what kind of statement follows go before any statement does.
        pieces = [_without_lead(piece, quotes[piece.quote].text, count) for piece in pieces]
        binding = [p for p in pieces if p.tier < _LOOSE]
        taken, short = _take(quotes, binding, budget, count, plain=plain)
    taken, _ = _take(quotes, [p for p in pieces if p.tier == _LOOSE], budget, count, taken, plain=plain)
    chosen = _placed(quotes, taken)
    left = len(quotes) - sum(1 for quote in chosen if quote in quotes)
    return msgspec.structs.replace(
        whole,
        quotes=chosen,
        tokens=_tokens(chosen, count, plain=plain),
        left_out=left,
        short=short,
        plain=plain,
    )


def _take(
    quotes: Sequence[Quote],
    pieces: Sequence[_Piece],
    budget: int,
    count: Count,
    taken: Sequence[_Piece] = (),
    *,
    plain: bool,
) -> tuple[list[_Piece], bool]:
    """Pieces that fit beside those taken already, in the order they were taken; whether some did not fit.

    What a line costs is estimated from its parts and then counted; the last pieces go if it was more.
    """
    kept = list(taken)
    room = budget - _tokens(_placed(quotes, kept), count, plain=plain)
    shown = {piece.quote for piece in kept}
    short = False
    for piece in sorted(pieces, key=_rank):
        quote = quotes[piece.quote]
        cost = piece.cost + 1
        if piece.quote not in shown:
            cost = count(line(msgspec.structs.replace(quote, text="x"), plain=plain)) - 1 + piece.cost
        if cost > room:
            short = True
            continue
        shown.add(piece.quote)
        kept.append(piece)
        room -= cost
    while len(kept) > len(taken) and _tokens(_placed(quotes, kept), count, plain=plain) > budget:
        kept.pop()
        short = True
    return kept, short


def _rank(piece: _Piece) -> tuple[int, float, int, int]:
    """By tier; in it as much weight for the room as possible; the newest of equals."""
    return piece.tier, -min(piece.weight, _TOP) / piece.cost, -piece.quote, piece.start


def _placed(quotes: Sequence[Quote], pieces: Sequence[_Piece]) -> tuple[Quote, ...]:
    """The quotes that show these pieces, in the order they were said."""
    of: dict[int, list[_Piece]] = {}
    for piece in pieces:
        of.setdefault(piece.quote, []).append(piece)
    return tuple(_shown(quotes[index], of[index]) for index in sorted(of))


def _tokens(quotes: Sequence[Quote], count: Count, *, plain: bool) -> int:
    return sum(count(line(quote, plain=plain)) + 1 for quote in quotes)


_LOOSE = 4
"""Tier of what does not bind. Before it: what is demanded, forbidden or was changed; what is preferred
and how things are done; exact values; goals and what else binds."""

_TOP = 10
"""Weights from here on count alike."""


def _pieces(quotes: Sequence[Quote], updates: frozenset[str], count: Count) -> list[_Piece]:
    """Every sentence once, where it was said last."""
    found: dict[str, _Piece] = {}
    for index, quote in enumerate(quotes):
        for number, s in enumerate(sentences_of(quote.text)):
            text = quote.text[s.start : s.end]
            statement = read(text)
            weight = statement.weight - (_CUT if GAP in text else 0)
            if number and statement.refers and not statement.strict and not statement.values:
                # Alone it says little.
                weight = 1
            tier = _LOOSE
            if weight >= BINDS or text in updates:
                first = text in updates or (statement.strict and GAP not in text)
                tier = 0 if first else 1 if statement.directs else 2 if statement.exact else 3
            found.pop(text, None)
            found[text] = _Piece(index, s.start, s.end, tier, max(1, weight), count(text) + 1)
    return list(found.values())


_CUT = 3
"""Weight that a sentence loses with its value."""


def _without_lead(piece: _Piece, text: str, count: Count) -> _Piece:
    sentence = text[piece.start : piece.end]
    lead = LEAD_IN.match(sentence)
    if lead is None or lead.end() >= len(sentence):
        return piece
    rest = sentence[lead.end() :]
    return msgspec.structs.replace(piece, start=piece.start + lead.end(), cost=count(rest) + 1)


def _shown(quote: Quote, pieces: Sequence[_Piece]) -> Quote:
    """A quote of the pieces taken, gaps marked where words between them are left out."""
    text, end = "", 0
    for piece in sorted(pieces, key=lambda p: p.start):
        between = quote.text[end : piece.start]
        said = quote.text[piece.start : piece.end]
        if not text:
            text = said
        else:
            text += (between if not between.strip(" \t\r\n-*•") else f" {GAP} ") + said
        end = piece.end
    return msgspec.structs.replace(quote, text=text)
