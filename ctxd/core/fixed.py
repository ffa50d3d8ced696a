"""What stands before the messages of every request: the model, system, tools, and the dialect spoken.

Functions on the folded state, called by `fold` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.model.events import SessionCreated, SessionUpdated

if TYPE_CHECKING:
    from ctxd.core.fold import SessionState


def create(state: SessionState, event: SessionCreated, at: int) -> None:
    """The session begins."""
    state.created = event
    state.dialect = event.dialect
    state.created_at = at
    state.model = event.model
    state.system, state.tools = event.system, event.tools
    state.system_tokens, state.tools_tokens = event.system_tokens, event.tools_tokens
    state.factor = event.factor


def update(state: SessionState, event: SessionUpdated) -> None:
    """Take in what changed. In another dialect every message is said anew, by another count."""
    if event.model is not None:
        state.model_changed = state.model_changed or event.model != state.model
        state.model = event.model
    if event.factor is not None:
        state.factor = event.factor
    if event.system is not None:
        state.system, state.system_tokens = event.system, event.system_tokens or 0
    if event.tools is not None:
        state.tools, state.tools_tokens = event.tools, event.tools_tokens or 0
    if event.dialect is not None and event.dialect != state.dialect:
        state.dialect = event.dialect
        state.is_mixed = True
        state.anchor = None
        state.generation += 1
