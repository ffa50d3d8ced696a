"""What a session takes from outside itself: time, identity, counting, settings.

The only clock and the only randomness of the room are here, so that tests can give their own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ctxd.core.facts import Weigher
from ctxd.guard.secrets import Secrets, Unscanned
from ctxd.model.blocks import Media
from ctxd.model.errors import Timeout
from ctxd.model.events import Model
from ctxd.model.settings import Settings, SummarizerOptions
from ctxd.service.compacting.breaker import Breaker
from ctxd.service.compacting.provider import ProviderSummarizer
from ctxd.service.counting import Counting
from ctxd.service.files.watching import Watching
from ctxd.service.host import Host, NoHost
from ctxd.service.memory.memories import Memories
from ctxd.tokenizer.cache_file import cache_folder
from ctxd.tokenizer.families import Choice, choose
from ctxd.tokenizer.media import tokens_of


def wall_clock() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def fresh_id(prefix: str) -> str:
    """A new id that nothing else has."""
    return f"{prefix}_{os.urandom(10).hex()}"


class Environment:
    """Shared by all sessions of a daemon. `settings` changes when the host changes options."""

    def __init__(
        self,
        settings: Settings,
        counting: Counting,
        *,
        now: Callable[[], int] = wall_clock,
        new_id: Callable[[str], str] = fresh_id,
        host: Host | None = None,
    ) -> None:
        self.settings = settings
        self.counting = counting
        self.now = now
        self.new_id = new_id
        self.host: Host = host or NoHost()
        self.breaker = Breaker()
        self.guard = Secrets(
            Path(settings.storage.cache).expanduser() if settings.storage.cache else cache_folder()
        )
        self.memories = Memories(self, check=self._rules_in)
        self.watching = Watching(self.host)
        self.counters: dict[str, int] = {}

    def note(self, counter: str, by: int = 1) -> None:
        """Count something for `ctxd/status`."""
        self.counters[counter] = self.counters.get(counter, 0) + by

    def _rules_in(self, text: str) -> Sequence[str]:
        """Names of the rules that find a secret in a text to be remembered. Blocking. Raises Timeout."""
        if not self.settings.guard.secrets:
            return ()
        try:
            return self.guard.name_rules(text)
        except Unscanned as error:
            raise Timeout("the text could not be searched for secrets", hint="try again later") from error

    def provider(self, options: SummarizerOptions) -> ProviderSummarizer:
        """The writer of summaries that options name."""
        return ProviderSummarizer(options)

    async def weigher(self, model: Model, encoding: str) -> Weigher:
        """How to weigh messages for a model in a session's base encoding."""
        choice = choice_of(model)
        return await self.counting.weigher(encoding, choice.vision)

    def media_weigher(self, model: Model) -> Callable[[Media], int]:
        """How to weigh media for a model; needs no encoding."""
        vision = choice_of(model).vision
        return lambda media: tokens_of(media, vision)


def choice_of(model: Model) -> Choice:
    """Encoding, start factor and image formula of a model's family."""
    return choose(model.id, model.provider)
