"""The nouns that cross from one dialect to another, and what is said where something cannot.

A turn is what one side says at once. Text, calls with their arguments, results and attachments cross;
signatures, sealed reasoning, cache marks and what only one provider knows do not. Knows no dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from ctxd.model.blocks import MediaKind, Role

LossKind: TypeAlias = Literal[
    "reasoning", "signature", "item", "cacheMark", "media", "citations", "role", "name", "rule"
]
"""What was left behind. `role`: a system message that is said as the user's. `name`: a tool's name that the
target does not take and that was changed. `rule`: a law of the target left it out."""

Side: TypeAlias = Literal["system", "user", "assistant"]

SIDES: dict[Role, Side] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
}
"""Which side a role speaks for; a tool's results are the user's side."""

Note: TypeAlias = Callable[[LossKind, str], None]
"""How readers and writers say what they leave behind: the kind, and a detail that holds no content."""


class Loss(msgspec.Struct, frozen=True):
    """One thing that did not cross; `index` is the message's place in the list that was given."""

    index: int
    what: LossKind
    detail: str


class Said(msgspec.Struct, frozen=True):
    """Words."""

    text: str


class Attached(msgspec.Struct, frozen=True):
    """An image, document or recording: base64 `data` of type `mime`, or a public `url`."""

    kind: MediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    name: str = ""


class Called(msgspec.Struct, frozen=True):
    """A call. `arguments` is JSON text of an object, or with `is_free` any text."""

    call_id: str
    name: str
    arguments: str
    is_free: bool = False


class Answered(msgspec.Struct, frozen=True):
    """The result of a call; `text` is its stored form. `name` and `is_free` are the call's."""

    call_id: str
    text: str
    attached: tuple[Attached, ...] = ()
    is_error: bool = False
    name: str = ""
    is_free: bool = False


Piece: TypeAlias = Said | Attached | Called | Answered


class Turn(msgspec.Struct, frozen=True):
    """What one side says at once; `source` is the index of the first message it was read from."""

    side: Side
    pieces: tuple[Piece, ...]
    source: int

    @property
    def answers_only(self) -> bool:
        """Whether it holds results and nothing else."""
        return all(isinstance(piece, Answered) for piece in self.pieces)


class Policy(msgspec.Struct, frozen=True):
    """What a provider takes of messages that another made. Both patterns are of whole strings.

    `signature` is what it wants in place of a signature it never gave. `has_system` tells whether system
    messages may stand among the others with every model served.
    """

    call_ids: str
    names: str
    has_system: bool
    signature: str = ""


def as_object(call: Called) -> dict[str, Any]:
    """A call's arguments as an object; text that is none is its only member, `input`."""
    if not call.is_free:
        try:
            value = msgspec.json.decode(call.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
    return {"input": call.arguments}


def as_json(call: Called) -> str:
    """A call's arguments as JSON text of an object, as they came where they are that."""
    if not call.is_free and call.arguments.lstrip().startswith("{"):
        return call.arguments
    return (
        json.dumps({"input": call.arguments}, ensure_ascii=False) if call.is_free or call.arguments else "{}"
    )


def failed(answer: Answered) -> str:
    """A result's text for dialects that have no word for failure."""
    if not answer.is_error or answer.text[:20].lstrip().lower().startswith("error"):
        return answer.text
    return f"Error: {answer.text}"


def stand_in(attached: Attached, note: Note) -> str:
    """The words in place of an attachment that the target does not take."""
    note("media", attached.kind)
    kind = "file" if attached.kind == "other" else attached.kind
    return f"[An attachment ({kind}) was here. It could not be carried over from another provider.]"


def data_url(attached: Attached) -> str:
    """The attachment's own data as a `data:` URL."""
    return f"data:{attached.mime};base64,{attached.data}"


def parse_data_url(url: str) -> tuple[str, str]:
    """(type, base64) of a `data:` URL; ("", "") for any other URL or encoding."""
    head, comma, data = url.partition(",")
    if not comma or head[:5].lower() != "data:" or not head.lower().endswith(";base64"):
        return "", ""
    return head[5:-7].partition(";")[0].lower(), data
