"""What tools said, without its secrets, before anything else is done with it.

Messages in which nothing is found stay the bytes that came. What cannot be scanned is never stored in
silence: it is marked, kept in the ledger beside the log, and scanned again when the session is next settled.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ctxd.core.facts import Weigher, describe
from ctxd.dialects.outputs import Spot, has_outputs, spots, with_strings
from ctxd.guard.sanitize import Sanitized, sanitize
from ctxd.guard.secrets import INLINE_BYTES, Part, Redaction, Secrets, Unscanned
from ctxd.model.blocks import MessageView
from ctxd.model.errors import Sensitive, Timeout
from ctxd.model.events import OutputsScanned
from ctxd.model.messages import MessageFacts, Native, Redacted
from ctxd.service.bodies import BLOB_BYTES
from ctxd.service.requests.rendering import encode

if TYPE_CHECKING:
    from ctxd.service.environment import Environment
    from ctxd.service.session import Session

T = TypeVar("T")

RESCANS = 3
"""How often a daemon tries again to scan what it could not; the next one tries anew."""


MANY = 200
"""Messages from which looking for those with outputs leaves the loop."""

PATIENCE = 20e-6
"""Seconds a byte may take when it is scanned again: some fifteen times what the most hostile texts take."""


class Rescans(msgspec.Struct):
    """How often a session was scanned again in this process, and how many objects were taken out since."""

    tried: int = 0
    dropped: int = 0


class Rescanned(msgspec.Struct, frozen=True):
    """What a later scan found, ready to commit, and ledger digests that hold secrets."""

    event: OutputsScanned
    bodies: tuple[bytes, ...]


async def redact(session: Session, natives: Sequence[Native], *, patient: bool = False) -> Sequence[Native]:
    """The messages with the secrets in their outputs cut out. Others are the same objects.

    Work is done on the loop only where it is a matter of a millisecond. `patient` gives large outputs time
    in proportion, enough for the most hostile.
    """
    options = session.environment.settings.guard
    if not options.secrets:
        return natives

    def choose() -> list[tuple[int, str]]:
        named = enumerate(map(session.name_of, natives))
        return [(index, name) for index, name in named if has_outputs(name, natives[index].value)]

    wanted = choose() if len(natives) < MANY else await asyncio.to_thread(choose)
    if not wanted:
        return natives
    guard = session.environment.guard
    size = sum([len(natives[index].raw) for index, _ in wanted])
    seconds = options.timeout_ms / 1000 + (size * PATIENCE if patient else 0)

    def work() -> list[Native]:
        return [_cut(guard, name, natives[index], seconds) for index, name in wanted]

    made = work() if size <= INLINE_BYTES and guard.state == "ready" else await guard.run(work)
    session.environment.note("redactions", sum([one.count for native in made for one in native.redacted]))
    given = list(natives)
    for (index, _), native in zip(wanted, made, strict=True):
        given[index] = native
    return given


def foresee(session: Session, views: Iterable[MessageView]) -> None:
    """Load the scanner while the tools run whose outputs will need it."""
    if session.environment.settings.guard.secrets and any(view.calls for view in views):
        session.environment.guard.begin()


def warn(session: Session, natives: Sequence[Native], positions: Sequence[int]) -> list[str]:
    """What has to be said of messages that were taken, by their places in the append."""
    if not session.environment.settings.guard.secrets:
        if any(has_outputs(session.name_of(native), native.value) for native in natives):
            return ["guard.secrets is off: what tools said is stored with the secrets in it"]
        return []
    return [
        f"messages.{position} could not be scanned for secrets; it is kept aside and scanned again later"
        for native, position in zip(natives, positions)
        if native.unscanned
    ]


async def clean(environment: Environment, text: str) -> Redaction:
    """A text to serve, without its secrets. Raises Timeout where it cannot be scanned."""
    if not environment.settings.guard.secrets:
        return Redaction(text, ())
    (made,) = await _scan(environment, lambda: environment.guard.redact([Part(text)]))
    return made


async def refuse(environment: Environment, text: str) -> None:
    """Refuse a text that holds a secret. Raises Sensitive with its rule, Timeout if it cannot be scanned."""
    if not environment.settings.guard.secrets:
        return
    if rules := await _scan(environment, lambda: environment.guard.name_rules(text)):
        raise Sensitive("this text holds a secret", hint="leave it out; name where it is kept", rule=rules[0])


async def examine(environment: Environment, text: str, *, refuse: bool) -> Sanitized:
    """A text as it may be shown (`ctxd/guard/sanitize.py`). Raises Timeout where it cannot be scanned."""

    def work() -> Sanitized:
        secrets = environment.guard.find(text) if environment.settings.guard.secrets else []
        return sanitize(text, secrets, refuse=refuse)

    return await _scan(environment, work)


async def _scan(environment: Environment, work: Callable[[], T]) -> T:
    try:
        return await environment.guard.run(work)
    except Unscanned:
        raise Timeout(
            "the text could not be scanned for secrets in time", hint="try again, or give less of it"
        ) from None


async def rescan(session: Session) -> Rescanned | None:
    """Scan again what was kept aside; None where nothing came of it. The caller holds the lane."""
    state = session.state
    if (
        not state.unscanned
        or session.rescans.tried >= RESCANS
        or not session.environment.settings.guard.secrets
    ):
        return None
    session.rescans.tried += 1
    ids = sorted(state.unscanned, key=state.positions.__getitem__)
    weigher = await session.weigher()
    clean: list[str] = []
    facts: list[MessageFacts] = []
    bodies: list[bytes] = []
    for message_id in ids:
        (native,) = await session.natives([message_id])
        (scanned,) = await redact(session, [native], patient=True)
        old = state.transcript[state.positions[message_id]]
        if scanned.unscanned:
            continue
        if not scanned.redacted:
            clean.append(message_id)
            continue
        made = await session.environment.counting.run(_describe, session, old, scanned, weigher)
        if made.blob:
            await asyncio.to_thread(session.ledger.put, scanned.raw)
        facts.append(made)
        bodies.append(scanned.raw)
    if not clean and not facts:
        return None
    dropped = [state.transcript[state.positions[f.id]].blob for f in facts]
    event = OutputsScanned(clean=tuple(clean), messages=tuple(facts), dropped=tuple(filter(None, dropped)))
    return Rescanned(event, tuple(bodies))


def drop(session: Session) -> int:
    """Take out of the ledger what was found to hold secrets; how much that is in all. Blocking."""
    state = session.state
    for digest in sorted(state.withdrawn - {facts.blob for facts in state.transcript if facts.blob}):
        session.ledger.remove(digest)
    return len(state.withdrawn)


def _describe(session: Session, old: MessageFacts, native: Native, weigher: Weigher) -> MessageFacts:
    """Facts of a message whose secrets were cut out after it was stored; what the host said of it stays."""
    made = describe(old.id, native, session.view(native), weigher, hidden=old.hidden)
    results = [
        msgspec.structs.replace(new, is_error=was.is_error)
        for was, new in zip(old.results, made.results, strict=True)
    ]
    return msgspec.structs.replace(
        made,
        calls=old.calls,
        results=tuple(results),
        user_turn=old.user_turn,
        pinned=old.pinned,
        unscanned=False,
        blob="sha256:" + made.digest if made.bytes > BLOB_BYTES else "",
    )


def _cut(guard: Secrets, dialect: str, native: Native, seconds: float) -> Native:
    """The message without the secrets of its outputs, or marked where one of them could not be scanned."""
    deadline = time.monotonic() + seconds
    changed: list[tuple[Spot, str]] = []
    cuts = Counter({(one.call_id, one.rule): one.count for one in native.redacted})
    unscanned = False
    for call_id, group in groupby(spots(dialect, native.value), key=lambda spot: spot.call_id):
        found = list(group)
        parts = [Part(spot.text, f"{spot.name}: " if spot.name else "") for spot in found]
        try:
            redactions = guard.redact(parts, max(0.0, deadline - time.monotonic()))
        except Unscanned:
            unscanned = True
            continue
        for spot, redaction in zip(found, redactions, strict=True):
            if redaction.rules:
                changed.append((spot, redaction.text))
                cuts.update([(call_id, rule) for rule in redaction.rules])
    if not changed and not unscanned and not native.unscanned:
        return native
    try:
        value = with_strings(native.value, changed) if changed else native.value
        raw = _encode(value) if changed else native.raw
    except RecursionError:  # nested too deeply to be written anew
        return msgspec.structs.replace(native, unscanned=True)
    redacted = tuple([Redacted(call_id, rule, count) for (call_id, rule), count in cuts.items()])
    return Native(raw=raw, value=value, dialect=native.dialect, redacted=redacted, unscanned=unscanned)


def _encode(value: dict[str, Any]) -> bytes:
    """Compact JSON. Lone surrogates and very large numbers only the slow encoder can say."""
    try:
        return encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, separators=(",", ":")).encode("ascii")
