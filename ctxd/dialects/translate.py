"""A message list of one dialect in another: what a host needs that changes providers in mid-conversation.

Text, calls with arguments, results, images, documents and system messages cross. Signatures, reasoning,
cache marks and what only one provider knows are left behind, each named as a `Loss`: another provider
refuses them, or reads them as what they are not. Pure, and the same list always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ctxd.dialects.base import Dialect
from ctxd.dialects.crossing import anthropic, gemini, openai_chat, openai_responses
from ctxd.dialects.crossing.pieces import Answered, Called, Loss, LossKind, Note, Piece, Policy, Said, Turn

SYSTEM = "[A message of the system, not of the user:]\n\n"
"""What stands before a system message where a provider takes none among the messages."""

POLICIES: dict[str, Policy] = {
    "anthropic": Policy(r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_-]{1,128}", has_system=False),
    "openai-chat": Policy(r"[a-zA-Z0-9_-]{1,40}", r"[a-zA-Z0-9_-]{1,64}", has_system=True),
    "openai-responses": Policy(r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_-]{1,64}", has_system=True),
    # The signature is the one Google's document "Thought signatures" names for histories of other models.
    "gemini": Policy(
        r"[^\s]{1,128}",
        r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
        has_system=False,
        signature="skip_thought_signature_validator",
    ),
}
"""What each provider takes of foreign messages, as far as its documents and its refusals say."""


class Carried(msgspec.Struct, frozen=True):
    """Messages in the other dialect, as yet unmended. `sources`: the index each was (first) read from."""

    messages: tuple[dict[str, Any], ...]
    sources: tuple[int, ...]
    losses: tuple[Loss, ...]


def translate(
    messages: Sequence[Mapping[str, Any]], source: Dialect, target: Dialect, *, policy: Policy | None = None
) -> tuple[list[Mapping[str, Any]], list[Loss]]:
    """A list that `target` takes, and what of `messages` is not in it, in order of index.

    The newest calls may stay unanswered. Raises BadShape for a message `source` cannot read, and
    KeyError for a dialect without a reader.
    """
    carried = carry(messages, source, target, policy=policy)
    losses = list(carried.losses)
    mended, edits = target.mend(carried.messages, pending=True)
    losses += [
        Loss(carried.sources[edit.index], "rule", edit.rule) for edit in edits if edit.action == "remove"
    ]
    return mended, sorted(losses, key=lambda loss: loss.index)


def carry(
    messages: Sequence[Mapping[str, Any]],
    source: Dialect,
    target: Dialect,
    *,
    policy: Policy | None = None,
    taken: Iterable[str] = (),
) -> Carried:
    """As `translate`, but what the target's laws ask is left to whoever mends the whole list.

    `taken` are the ids of calls that stand before these messages.
    """
    takes = policy or POLICIES[target.name]
    losses: list[Loss] = []

    def noting(index: int) -> Note:
        def note(what: LossKind, detail: str) -> None:
            losses.append(Loss(index, what, detail))

        return note

    reader, writer = _CROSSINGS[source.name], _CROSSINGS[target.name]
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        source.view(message)
        turns.append(reader.read(message, index, noting(index)))
    names = _Names(takes, taken)
    made: list[dict[str, Any]] = []
    sources: list[int] = []
    for turn in _join(turns):
        note = noting(turn.source)
        fitted = names.fit(_spoken(turn, takes, note), note)
        if not fitted.pieces:
            continue
        for message in writer.write(fitted, takes.signature, note):
            made.append(message)
            sources.append(turn.source)
    return Carried(tuple(made), tuple(sources), tuple(losses))


def translate_system(system: Any, source: Dialect, target: Dialect) -> Any:
    """A system prompt in the target's form: its text. Raises BadShape."""
    text = source.check_system(system)
    match target.name:
        case "openai-chat":
            return [{"role": "system", "content": text}] if text else []
        case "gemini":
            return {"parts": [{"text": text}] if text else []}
        case _:
            return text


class _Crossing(NamedTuple):
    """A dialect's reader and writer."""

    read: Callable[[Mapping[str, Any], int, Note], Turn]
    write: Callable[[Turn, str, Note], list[dict[str, Any]]]


_CROSSINGS = {
    "anthropic": _Crossing(anthropic.read, anthropic.write),
    "openai-chat": _Crossing(openai_chat.read, openai_chat.write),
    "openai-responses": _Crossing(openai_responses.read, openai_responses.write),
    "gemini": _Crossing(gemini.read, gemini.write),
}


def _join(turns: Sequence[Turn]) -> list[Turn]:
    """Turns that say something, one for each answer of the model and for each batch of results."""
    joined: list[Turn] = []
    for turn in turns:
        if not turn.pieces:
            continue
        before = joined[-1] if joined else None
        if before is not None and before.side == turn.side and _belong(before, turn):
            joined[-1] = msgspec.structs.replace(before, pieces=(*before.pieces, *turn.pieces))
        else:
            joined.append(turn)
    return joined


def _belong(before: Turn, turn: Turn) -> bool:
    return turn.side == "assistant" or (before.answers_only and turn.answers_only)


def _spoken(turn: Turn, policy: Policy, note: Note) -> Turn:
    """A system turn as the user's where the target has none; nothing blank, and nothing of another side's."""
    pieces: list[Piece] = []
    for piece in turn.pieces:
        match piece:
            case Said(text=text) if not text.strip():
                continue
            case Called() if turn.side != "assistant":
                note("rule", "blockRole")
            case Answered() if turn.side != "user":
                note("rule", "blockRole")
            case _:
                pieces.append(piece)
    if turn.side == "system" and not policy.has_system:
        note("role", "system")
        said = "\n\n".join(piece.text for piece in pieces if isinstance(piece, Said))
        return Turn("user", (Said(SYSTEM + said),) if said else (), turn.source)
    return msgspec.structs.replace(turn, pieces=tuple(pieces))


class _Names:
    """Call ids and tool names the target takes.

    Ids map one to one: the second call of an id gets one of its own, since most providers want them unique.
    """

    def __init__(self, policy: Policy, taken: Iterable[str]) -> None:
        self._ids = re.compile(policy.call_ids)
        self._names = re.compile(policy.names)
        self._uses: Counter[str] = Counter()
        self._taken: set[str] = set(taken)
        self._calls: dict[str, Called] = {}

    def fit(self, turn: Turn, note: Note) -> Turn:
        """The turn with every id and name fitted; a result has those of the newest call of its id."""
        return msgspec.structs.replace(turn, pieces=tuple([self._fit(piece, note) for piece in turn.pieces]))

    def _fit(self, piece: Piece, note: Note) -> Piece:
        match piece:
            case Called(call_id=call_id, name=name):
                fitted = msgspec.structs.replace(
                    piece, call_id=self._new_id(call_id), name=self._fit_name(name, note)
                )
                self._calls[call_id] = fitted
                return fitted
            case Answered(call_id=call_id):
                call = self._calls.get(call_id)
                if call is None:
                    return msgspec.structs.replace(piece, call_id=self._new_id(call_id), name="unknown")
                return msgspec.structs.replace(
                    piece, call_id=call.call_id, name=call.name, is_free=call.is_free
                )
            case _:
                return piece

    def _new_id(self, call_id: str) -> str:
        self._uses[call_id] += 1
        number = self._uses[call_id]
        fitted = call_id
        while number > 1 or fitted in self._taken or not self._ids.fullmatch(fitted):
            seed = json.dumps([call_id, number])
            fitted = f"call_{hashlib.sha256(seed.encode()).hexdigest()[:24]}"
            if fitted not in self._taken:
                break
            number += 1
        self._taken.add(fitted)
        return fitted

    def _fit_name(self, name: str, note: Note) -> str:
        if self._names.fullmatch(name):
            return name
        note("name", "tool")
        fitted = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
        return fitted if self._names.fullmatch(fitted) else f"tool_{fitted}"[:64]
