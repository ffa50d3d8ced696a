"""What a provider's report says of a session: where predictions stand, how far local counts are off.

Functions on the folded state, called by `fold` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.core.anchor import Anchor
from ctxd.model.events import Load, RequestReported
from ctxd.model.messages import Usage

if TYPE_CHECKING:
    from ctxd.core.fold import Entry, SessionState


def report(state: SessionState, event: RequestReported, at: int) -> None:
    """Take in the outcome of a request. What has no usage, or no known load, anchors nothing."""
    if event.outcome == "ok":
        state.last_call_at = at
        state.provider_calls += 1
        state.overflowed_at = None
    elif event.recovers:
        state.overflowed_at = state.generation
    state.steering.unproven = ()
    state.reported_at = state.revision + 1
    state.reported[event.request_id] = (state.revision + 1, event)
    if event.usage is None or event.load is None or event.outcome != "ok":
        if event.outcome == "ok":
            state.anchor = None
        return
    anchor = set_anchor(state, event.usage, event.load, event.response or Load(), predicted=event.predicted)
    if not event.message_ids:
        _seek_answer(state, anchor)


def set_anchor(state: SessionState, usage: Usage, load: Load, response: Load, *, predicted: int) -> Anchor:
    """Make a report what predictions stand on, and learn from it against the one before."""
    previous = state.anchor
    if previous is not None and previous.model == state.model.id and not state.uncounted:
        floor = max(
            previous.usage.completion, round(state.ratio * previous.response) + previous.response_media
        )
        counted = load.view - previous.view - previous.response + max(0, load.fixed - previous.fixed)
        media = load.media - previous.media - previous.response_media
        state.calibration = state.calibration.learn(
            counted=counted,
            reported=usage.prompt - previous.usage.prompt - floor - media,
            predicted=predicted,
            prompt=usage.prompt,
        )
    state.unseen = max(0.0, usage.prompt - state.ratio * (load.fixed + load.view) - load.media)
    state.anchor = Anchor(usage, load, response, state.model.id, state.generation)
    return state.anchor


def take_answer(state: SessionState, anchor: Anchor, entry: Entry) -> None:
    """The first message behind a reported request is its answer, or nothing is known of it (E §2.4)."""
    if entry.facts.role == "assistant":
        # What has lapsed since was a part of the answer all the same.
        anchor.take_answer(max(0, entry.facts.tokens) if entry.lapsed else entry.tokens, entry.media)
    else:
        state.anchor = None


def _seek_answer(state: SessionState, anchor: Anchor) -> None:
    """The answer of a report without messages was appended before it, or is still to come."""
    surplus = state.view_tokens - anchor.view
    if surplus <= 0:
        anchor.awaiting = True
        return
    place = len(state.view)
    while place > 0 and surplus > 0:
        place -= 1
        surplus -= state.view[place].tokens
    if surplus:
        state.anchor = None
    else:
        take_answer(state, anchor, state.view[place])
