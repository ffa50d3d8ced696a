"""A session without a daemon: events folded as the service would, from conversations in short.

Ids are m1, m2, … in the order messages come. Counting is plain: a token is four characters begun, an image
weighs its pixels over 750. `stored` is what the ledger would give back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ctxd.compaction import fallback
from ctxd.compaction.extract import Item
from ctxd.core import epochs, steering
from ctxd.core.anchor import Anchor
from ctxd.core.budget import Limits, Window, limit
from ctxd.core.facts import Weigher, describe
from ctxd.core.fold import Entry, SessionState
from ctxd.core.projection import Projection, project
from ctxd.dialects import registry
from ctxd.model.blocks import Media
from ctxd.model.events import (
    AnyEvent,
    CheckpointCommitted,
    Elision,
    Kept,
    Load,
    MessagesAppended,
    Model,
    Placed,
    Replacement,
    RequestReported,
    SessionCreated,
    SessionUpdated,
    TokensCounted,
    ViewElided,
    decode,
    encode,
)
from ctxd.model.messages import Inserted, MessageFacts, Native, Usage
from ctxd.model.settings import Budget
from ctxd.model.steering import SteeringDrained, SteerKind, SteerPushed
from tests.support import conversation

WORKSPACE = "/project"


def count(text: str) -> int:
    """Tokens of a text: one for every four characters begun."""
    return -(-len(text) // 4)


def weigh_media(media: Media) -> int:
    """Tokens of an image: pixels over 750."""
    return media.width * media.height // 750


WEIGHER = Weigher(count=count, media=weigh_media)


class Session:
    """Events so far and the state they fold to. `window` is tokens, None for unknown."""

    def __init__(
        self,
        text: str = "",
        *,
        dialect: str = "anthropic",
        window: int | None = None,
        factor: float = 1.0,
        system: str = "",
        model: str = "m",
    ) -> None:
        self.dialect = registry.get(dialect)
        self.window = window
        self.events: list[tuple[AnyEvent, int]] = []
        self.state = SessionState()
        self.stored: dict[str, Native] = {}
        self.now = 1_000
        self._made = 0
        created = SessionCreated(
            session_id="s",
            workspace=WORKSPACE,
            dialect=dialect,
            model=Model(id=model, context_window=window),
            encoding="test",
            factor=factor,
            system=system,
            system_tokens=count(system),
        )
        self.apply(created)
        if text:
            self.say(text)

    def apply(self, event: AnyEvent) -> None:
        """Record an event as it comes back from a log, and fold it."""
        read = decode(str(event.__struct_config__.tag), encode(event))
        assert read is not None
        self.events.append((read, self.now))
        self.state.apply(read, self.now)

    def say(
        self,
        text: str,
        *,
        usage: Usage | None = None,
        client_id: str = "",
        deferred: bool = False,
        hidden: bool = False,
    ) -> list[str]:
        """Append a conversation as one event; the ids of its messages."""
        values = conversation.natives(text, self.dialect.name)
        return self.append(values, usage=usage, client_id=client_id, deferred=deferred, hidden=hidden)

    def append(
        self,
        values: Sequence[dict[str, Any]],
        *,
        usage: Usage | None = None,
        client_id: str = "",
        deferred: bool = False,
        hidden: bool = False,
    ) -> list[str]:
        """Append native messages as one event; their ids."""
        facts: list[MessageFacts] = []
        for item in _natives(values):
            message_id = self._next_id()
            self.stored[message_id] = item
            facts.append(self._describe(message_id, item, deferred=deferred, hidden=hidden))
        ids = tuple(f.id for f in facts)
        self.apply(
            MessagesAppended(
                messages=tuple(facts),
                usage=usage,
                client_id=client_id,
                all_ids=ids if client_id else (),
            )
        )
        return list(ids)

    def answer(
        self,
        text: str,
        usage: Usage | None,
        *,
        request: str = "r",
        predicted: int = 0,
        pending: Load | None = None,
    ) -> list[str]:
        """A request sent as the view stands, and the provider's answer, both reported."""
        sent, extra = self.state.load, pending or Load()
        ids = self.say(text) if text else []
        after = self.state.load
        self.apply(
            RequestReported(
                request_id=f"{request}{len(self.events)}",
                outcome="ok",
                usage=usage,
                load=Load(sent.fixed, sent.view + extra.view, sent.media + extra.media),
                response=Load(view=after.view - sent.view, media=after.media - sent.media),
                predicted=predicted,
                message_ids=tuple(ids),
            )
        )
        return ids

    def steer(self, steer_id: str, kind: SteerKind = "followUp", content: str = "more") -> None:
        """Something is said into the turn."""
        self.apply(SteerPushed(steer_id=steer_id, kind=kind, content=content))

    def drain(self, *, begins_turn: bool = False, retries: bool = False) -> steering.Due:
        """What waits is taken in as a request would; what that was."""
        due = steering.due(self.state.steering, self.state.turn, begins_turn=begins_turn, retries=retries)
        facts = []
        for steer in due.messages:
            made = self.own(steer.content, "")
            marked = msgspec.structs.replace(made, steered=steer.kind, user_turn=steer.kind == "followUp")
            facts.append(marked)
        taken = (*due.controls, *due.messages, *due.stale)
        if taken:
            dropped = tuple(steer.id for steer in due.stale)
            ids = tuple(steer.id for steer in taken)
            self.apply(SteeringDrained(steer_ids=ids, messages=tuple(facts), dropped=dropped))
        return due

    def update(
        self, *, model: str | None = None, system: str | None = None, tools: str | None = None
    ) -> None:
        """`session/update`; None leaves a part as it is."""
        self.apply(
            SessionUpdated(
                model=Model(id=model) if model else None,
                system=system,
                tools=tools,
                system_tokens=None if system is None else count(system),
                tools_tokens=None if tools is None else count(tools),
            )
        )

    def elide(self, *elisions: Elision) -> None:
        """Record a batch of elisions."""
        self.apply(ViewElided(elisions=tuple(elisions), stage="elision"))

    def settle(self) -> None:
        """Count what was appended with counting deferred."""
        waiting = sorted(self.state.uncounted, key=self.state.positions.__getitem__)
        counts = []
        for message_id in waiting:
            facts = self._describe(message_id, self.stored[message_id])
            counts.append((message_id, facts.tokens, tuple(r.tokens for r in facts.results)))
        self.apply(TokensCounted(counts=tuple(counts)))

    def items(self) -> list[Item]:
        """The view with its messages read, as the compactor hands it to a plan."""
        return [
            Item(entry, self.dialect.view(self.stored[entry.facts.id].value)) for entry in self.state.view
        ]

    def plan(self, *, requested: int | None = None, keep_messages: int = 6) -> fallback.Plan:
        """The deterministic plan for the view as it stands."""
        return fallback.plan(
            self.state,
            self.items(),
            window=self.window,
            keep_messages=keep_messages,
            count=count,
            requested=requested,
        )

    def commit(self, plan: fallback.Plan) -> None:
        """Make a plan's checkpoint, as the compactor does."""
        bodies = 0

        def place(insert: fallback.Insert | None) -> list[Replacement]:
            nonlocal bodies
            if insert is None:
                return []
            bodies += 1
            return [Placed(self.own(insert.text, insert.kind), bodies - 1)]

        pins: list[Replacement] = [Kept(message_id) for message_id in plan.pinned]
        tail: list[Replacement] = [Kept(e.facts.id) for e in self.state.view[plan.tail :]]
        summary, files, task = place(plan.summary), place(plan.restored), place(plan.task)
        if plan.task_first:
            order = [*summary, *pins, *files, *task, *tail]
        else:
            order = [*summary, *pins, *tail, *files, *task]
        self.apply(
            CheckpointCommitted(
                checkpoint_id=f"c{len(self.state.checkpoints) + 1}",
                version=1,
                covers=len(self.state.view),
                replacement=tuple(order),
                summary=plan.state,
                trigger="manual",
                reason="manual",
                strategy="deterministic",
                tokens_before=plan.before,
                tokens_after=plan.after,
                units=plan.units,
                elisions=plan.elisions,
            )
        )

    def own(self, text: str, inserted: Inserted) -> MessageFacts:
        """Facts of a message that ctxd makes, its body stored."""
        value = self.dialect.make("user", text)
        item = Native(raw=msgspec.json.encode(value), value=value)
        message_id = self._next_id()
        self.stored[message_id] = item
        facts = self._describe(message_id, item)
        return msgspec.structs.replace(facts, inserted=inserted, user_turn=False)

    def limits(self) -> Limits | None:
        """Limits of the window, with the reserve's rule."""
        known = Window(self.window, "host" if self.window else "unknown")
        return limit(known, Model(), Budget())

    def project(self, pending: str = "") -> Projection:
        """The projection of the next request, `pending` a conversation not yet appended."""
        facts = [
            self._describe("p", item) for item in _natives(conversation.natives(pending, self.dialect.name))
        ]
        load = Load(view=sum(f.tokens for f in facts), media=sum(f.media_tokens for f in facts))
        return project(self.state, self.limits(), pending=load, pending_bytes=sum(f.bytes for f in facts))

    def shown(self) -> list[dict[str, Any]]:
        """The model view as native messages, elisions applied, before mending."""
        return [
            self.dialect.with_results(
                self.stored[entry.facts.id].value, {e.call_id: e.placeholder for e in entry.elided}
            )
            if entry.elided
            else self.stored[entry.facts.id].value
            for entry in self.state.view
        ]

    def replayed(self, upto: int | None = None) -> SessionState:
        """A state folded anew from the first `upto` events."""
        return fold(self.events[:upto])

    def _describe(
        self, message_id: str, item: Native, *, deferred: bool = False, hidden: bool = False
    ) -> MessageFacts:
        view = self.dialect.view(item.value)
        return describe(message_id, item, view, None if deferred else WEIGHER, hidden=hidden)

    def _next_id(self) -> str:
        self._made += 1
        return f"m{self._made}"


def _natives(values: Sequence[dict[str, Any]]) -> list[Native]:
    return [Native(raw=msgspec.json.encode(value), value=value) for value in values]


def fold(events: Sequence[tuple[AnyEvent, int]], state: SessionState | None = None) -> SessionState:
    """The state of events, or `state` with them."""
    state = state or SessionState()
    for event, at in events:
        state.apply(event, at)
    return state


def snapshot(state: SessionState) -> dict[str, Any]:
    """Everything a state holds, as values that compare."""
    held = {name: value for name, value in vars(state).items() if not name.startswith("_")}
    found = {name: getattr(state, name) for name in ("positions", "places", "calls", "results", "digests")}
    return {**_plain(held), **_plain(found), "digest": state.view_digest()}


def _plain(value: Any) -> Any:
    match value:
        case Entry():
            return (value.facts, value.turn, value.elided, value.lapsed)
        case Anchor():
            return {name: getattr(value, name) for name in value.__slots__}
        case epochs.Before():
            return tuple(_plain(getattr(value, name)) for name in value.__struct_fields__)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
