"""What every dialect can do. A dialect is a stateless value; all its methods are pure.

A method that makes a native value returns a new one and leaves its arguments as they were.
Members it does not understand survive in what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ctxd.model.blocks import MessageView, Role, Violation
from ctxd.model.messages import Usage


class BadShape(ValueError):
    """A native value that the dialect cannot read. `path` is dotted and relative to the value."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class Rule(Protocol):
    """One law of a provider.

    `messages` is a whole request's message list as block views. Rules are pure and linear in it.
    """

    @property
    def name(self) -> str: ...

    @property
    def refuses(self) -> bool:
        """Whether a violation may say `refuse`. Laws for which this is False are mended, always."""
        ...

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Indices `i` in 0..len where the list may be cut between `i-1` and `i` and both sides stay lawful.

        0 and len are always offered. Whoever keeps the second side puts a user message before it (a summary,
        the task); a list may be cut where all rules of its dialect offer it.
        """
        ...

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        """What is broken, in order of index."""
        ...


class Edit(msgspec.Struct, frozen=True):
    """One change made by `mend`. `index` is a position in the list that was given to `mend`."""

    rule: str
    index: int
    action: str
    detail: str


class Dialect(Protocol):
    """The codec of one provider's message format."""

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The provider's laws, in the order their mends apply."""
        ...

    @property
    def max_request_bytes(self) -> int:
        """Largest request the provider takes, bytes of JSON."""
        ...

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Read one native message. Raises BadShape; unknown blocks become `Opaque`."""
        ...

    def check_system(self, system: Any) -> str:
        """Text of a native system value, for counting. Raises BadShape."""
        ...

    def check_tools(self, tools: Sequence[Any]) -> list[str]:
        """Text of each tool declaration (compact JSON), for counting. Raises BadShape."""
        ...

    def usage(self, usage: Mapping[str, Any]) -> Usage | None:
        """Reported usage on the common scale; None when it holds no valid counts."""
        ...

    def with_results(self, message: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The message with the content of the named tool results (by call id) replaced by text.

        Only the result content changes: id, order, error flag, cache marks and siblings stay.
        """
        ...

    def with_text(self, message: Mapping[str, Any], text: str) -> dict[str, Any]:
        """The message with all its plain text replaced by `text`, media left out, calls kept."""
        ...

    def without_media(self, message: Mapping[str, Any], note: str) -> dict[str, Any]:
        """The message with each media block outside tool results replaced by the text `note`."""
        ...

    def make(self, role: Role, text: str) -> dict[str, Any]:
        """A plain native message. `role` is user or assistant."""
        ...

    def mend(
        self, messages: Sequence[Mapping[str, Any]], *, pending: bool
    ) -> tuple[list[Mapping[str, Any]], list[Edit]]:
        """A sendable list: what can be mended is, deterministically and idempotently.

        Only synthesized parts are added (a stub result for an older unanswered call) and unsendable
        ones left out (orphan results, empty blocks). Untouched messages are the same objects.
        With `pending`, unanswered calls of the newest assistant message are left alone when nothing
        follows them but results; otherwise they are stubbed too. What is returned breaks none of the
        rules. Raises BadShape for an unreadable message, its path led by the message's index.
        """
        ...
