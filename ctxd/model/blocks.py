"""The block view: what a native message says, in words every dialect shares.

A view is read-only and lossy on purpose. Nothing is ever sent from a view; bytes that go
to a provider are the host's own, or were made by the dialect from them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
MediaKind: TypeAlias = Literal["image", "document", "audio", "other"]


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Plain text, a refusal included."""

    text: str


class Media(msgspec.Struct, frozen=True, tag="media"):
    """An image, document or other attachment. `wire_bytes` is its size in the request's JSON.

    `width`/`height` are pixels when the data's header could be read, else 0.
    `detail` is OpenAI's `low`/`high`/`auto` where given.
    """

    kind: MediaKind
    wire_bytes: int
    width: int = 0
    height: int = 0
    detail: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """A call the model made. `arguments` is JSON text as the dialect carries it."""

    call_id: str
    name: str
    arguments: str


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    """The answer to one call. `text` is its stored form.

    Stored form (protocol.md, section 10): a string as it is; text blocks joined by a newline;
    anything else compact JSON. `media` are the attachments inside it, `blanks` how many blank text
    blocks stand in its list content (no provider takes those).
    """

    call_id: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    blanks: int = 0


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning"):
    """Thinking. `signed` blocks may never be edited; `opaque_bytes` counts encrypted data.

    `lapses`: once the user speaks again, the provider leaves it out of what it reads, and of what it counts.
    """

    text: str
    signed: bool = False
    opaque_bytes: int = 0
    lapses: bool = False


class Opaque(msgspec.Struct, frozen=True, tag="opaque"):
    """A block of a type this version does not know; `name` is that type, `json` its compact JSON text."""

    name: str
    json: str


Block: TypeAlias = Text | Media | ToolCall | ToolResult | Reasoning | Opaque


class _Lazy(cached_property[T]):
    """As from Python 3.12 on, without a lock: views are many, and what two threads work out is the same."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        assert self.attrname is not None
        value = instance.__dict__[self.attrname] = self.func(instance)
        return value


class MessageView(msgspec.Struct, frozen=True, dict=True):
    """One native message read as blocks, in the message's own order.

    `item` is the provider's id of it where its laws know one, else "".
    """

    role: Role
    blocks: tuple[Block, ...]
    item: str = ""

    @_Lazy
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple([b for b in self.blocks if isinstance(b, ToolCall)])

    @_Lazy
    def results(self) -> tuple[ToolResult, ...]:
        return tuple([b for b in self.blocks if isinstance(b, ToolResult)])

    @property
    def text(self) -> str:
        """The plain text of the message: its text blocks joined by a newline."""
        return "\n".join(b.text for b in self.blocks if isinstance(b, Text))

    @property
    def is_user_turn(self) -> bool:
        """True when a person speaks: a user message that holds more than tool results."""
        return self.role == "user" and any(not isinstance(b, ToolResult) for b in self.blocks)


class Violation(msgspec.Struct, frozen=True):
    """A broken provider rule, as a value.

    `index` is the message's position in the list that was checked (0-based).
    `mend` says what ctxd does about it when it renders a request: `synthesize` (a stub result is
    added), `remove` (an unsendable part is left out), `merge`, or `refuse` (the append is refused,
    because mending it would invent or lose something).
    """

    rule: str
    index: int
    detail: str
    mend: Literal["synthesize", "remove", "merge", "refuse"] = "refuse"
