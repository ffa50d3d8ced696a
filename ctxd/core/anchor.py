"""What predictions stand on: a provider's own count, and which part of the view it covered.

Owns how the anchor follows what becomes known later. Must not know events.
"""

from __future__ import annotations

from ctxd.model.events import Load
from ctxd.model.messages import Usage


class Anchor:
    """A report that has usage. `fixed`, `view`, `media` weigh the request it is about, `response` its answer.

    `awaiting`: the answer's messages are still to come. `said`: transcript positions of the answer, where
    it or something before it was not counted when it came; else empty.
    """

    __slots__ = (
        "awaiting",
        "fixed",
        "generation",
        "media",
        "model",
        "response",
        "response_media",
        "said",
        "usage",
        "view",
    )

    def __init__(self, usage: Usage, load: Load, response: Load, model: str, generation: int) -> None:
        self.usage = usage
        self.fixed = load.fixed
        self.view = load.view
        self.media = load.media
        self.response = response.view
        self.response_media = response.media
        self.model = model
        self.generation = generation
        self.awaiting = False
        self.said = range(0)

    def take_answer(self, tokens: int, media: int) -> None:
        """The answer has come: it weighs this much, and the provider has counted it already."""
        self.awaiting = False
        self.response, self.response_media = tokens, media

    def recount(self, position: int, tokens: int) -> int:
        """A message at `position` turned out to weigh `tokens` more; how many of them the request carried."""
        if position >= self.said.stop:
            return 0
        if position >= self.said.start:
            self.response += tokens
            return 0
        self.view += tokens
        return tokens
