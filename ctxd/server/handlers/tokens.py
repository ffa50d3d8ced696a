"""`tokens/count`."""

from __future__ import annotations

from ctxd.core.facts import weigh
from ctxd.dialects import registry as dialects
from ctxd.model.errors import InvalidParams
from ctxd.model.events import Model
from ctxd.server.calls import Call
from ctxd.server.handlers import shapes
from ctxd.server.wire import tokens as wire
from ctxd.service.environment import choice_of
from ctxd.service.intake.admission import read_views
from ctxd.service.registry import Registry

INLINE_CHARS = 64 * 1024
"""Texts longer than this are counted in a thread."""


async def count(registry: Registry, params: wire.TokensCountParams, call: Call) -> wire.TokensCountResult:
    """Tokens of a text, or of messages with their framing, by the family's start factor."""
    if (params.text is None) == (params.messages is None):
        raise InvalidParams.at("text", "give either text or messages")
    choice = choice_of(shapes.model(params.model) if params.model else Model(id="gpt-4o"))
    counting = registry.environment.counting
    weigher = await counting.weigher(choice.encoding, choice.vision)
    media = 0
    if params.text is not None:
        text = params.text
        if len(text) > INLINE_CHARS:
            base = await counting.run(weigher.count, text)
        else:
            base = weigher.count(text)
    else:
        if params.dialect is None:
            raise InvalidParams.at("dialect", "messages need a dialect", hint=", ".join(dialects.NAMES))
        views = read_views(dialects.get(params.dialect).view, params.messages or [])
        weights = await counting.run(lambda: [weigh(view, weigher) for view in views])
        base = sum(w[0] for w in weights)
        media = sum(w[1] for w in weights)
    exact = choice.exact and params.text is not None
    return wire.TokensCountResult(
        tokens=round(base * choice.factor) + media, encoding=choice.encoding, exact=exact
    )
