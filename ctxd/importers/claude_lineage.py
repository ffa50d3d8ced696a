"""Which records of a Claude Code file belong to the conversation, and which were rewound.

Owns the tree that `parentUuid` makes: the path to the newest leaf, and what hangs on it. One API
message is several lines, each the parent of the next and of its own tool result, so a fork alone is no
rewind: lines of one message and results of kept calls stay. Holds about 150 bytes per record. Must not
know what the messages say.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd.importers.json_lines import Meter, scan_heads

Standing: TypeAlias = Literal["main", "rewound", "sidechain", "repeated"]

_ROOT, _LOST = -1, -2
_PROMPT, _ASSISTANT, _RESULT, _BOUNDARY, _SUMMARY, _OTHER = range(6)
_REPEATED = -1


class _Block(msgspec.Struct):
    type: str | None = None


class _Message(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: list[_Block] | str | None = None


class _Head(msgspec.Struct, rename="camel"):
    """What of a record says where it stands."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | msgspec.UnsetType | None = msgspec.UNSET
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    source_tool_use_id: str | None = msgspec.field(name="sourceToolUseID", default=None)
    agent_id: str | None = None
    message: _Message | None = None


class Lineage:
    """Where every record of one file stands.

    `model` is the newest one named; `sidechains` are the names of conversations beside the main one, in
    order. Where a file holds nothing but one sidechain (a subagent's own file), that is the main one.
    """

    def __init__(self) -> None:
        self.model = ""
        self.sidechains: list[str] = []
        self._places: dict[bytes, int] = {}
        self._first = array("i", [0])
        """By line: one more than the node of its first record, 0 for none."""
        self._more: dict[tuple[int, int], int] = {}
        self._parents = array("i")
        self._kinds = bytearray()
        self._messages = array("q")
        self._groups = array("i")
        self._kept = bytearray()

    @classmethod
    def scan(cls, path: Path, meter: Meter | None = None) -> Lineage:
        """Read a file for its tree alone. Raises OSError; damage never raises."""
        lineage = cls()
        groups: dict[str, int] = {}
        for line, nth, head in scan_heads(path, _Head, meter):
            lineage._add(line, nth, head, groups)
        lineage._settle(groups)
        return lineage

    def standing(self, line: int, nth: int) -> Standing:
        """What the `nth` record (0-based) of a line is to the main conversation."""
        node = self._node(line, nth)
        if node == _REPEATED - 1:
            return "repeated"
        if node < 0:
            return "main"
        if self._groups[node]:
            return "sidechain"
        return "main" if self._kept[node] else "rewound"

    def group(self, line: int, nth: int) -> int:
        """One more than the place in `sidechains` of the conversation a record is in; 0 for none."""
        node = self._node(line, nth)
        return self._groups[node] if node >= 0 else 0

    def _node(self, line: int, nth: int) -> int:
        if nth:
            return self._more.get((line, nth), 0) - 1
        return self._first[line] - 1 if line < len(self._first) else -1

    def _add(self, line: int, nth: int, head: _Head, groups: dict[str, int]) -> None:
        if head.message is not None and head.message.model and head.message.model != "<synthetic>":
            self.model = head.message.model
        node = len(self._kinds) + 1
        if head.uuid:
            key = _key(head.uuid)
            if key in self._places:
                node = _REPEATED
            else:
                self._places[key] = node - 1
        elif head.type not in ("user", "assistant") and head.subtype != "compact_boundary":
            return
        if nth:
            self._more[(line, nth)] = node
        else:
            self._first.extend([0] * (line + 1 - len(self._first)))
            self._first[line] = node
        if node == _REPEATED:
            return
        kind = _kind(head)
        parent = self._parent(head, kind)
        group = 0
        if head.is_sidechain:
            name = head.agent_id or ""
            if not name and parent >= 0 and self._groups[parent]:
                group = self._groups[parent]
            else:
                group = groups.setdefault(name or f"{line}", len(groups) + 1)
        self._parents.append(parent)
        self._kinds.append(kind)
        self._messages.append(hash(head.message.id) if head.message and head.message.id else 0)
        self._groups.append(group)

    def _parent(self, head: _Head, kind: int) -> int:
        given = head.parent_uuid
        if kind == _BOUNDARY and not given:
            given = head.logical_parent_uuid or msgspec.UNSET
        if given is None:
            return _ROOT if kind == _PROMPT else _LOST
        if given is msgspec.UNSET:
            return _LOST
        return self._places.get(_key(given), _LOST)

    def _settle(self, groups: dict[str, int]) -> None:
        self._places = {}
        self.sidechains = list(groups)
        if len(groups) == 1 and all(self._groups):
            self.sidechains = []
            self._groups = array("i", bytes(4 * len(self._groups)))
        self._kept = bytearray(len(self._kinds))
        at = self._leaf_before(len(self._kinds))
        while at >= 0:
            self._kept[at] = 1
            parent = self._parents[at]
            if parent == _ROOT:
                break
            at = self._leaf_before(at) if parent == _LOST else parent
        for node, kind in enumerate(self._kinds):
            if not self._kept[node] and not self._groups[node]:
                self._kept[node] = self._hangs_on(node, kind)

    def _leaf_before(self, node: int) -> int:
        """The nearest earlier prompt or answer of the main conversation; else any record of it."""
        fallback = -1
        for earlier in range(node - 1, -1, -1):
            if self._groups[earlier]:
                continue
            if self._kinds[earlier] in (_PROMPT, _ASSISTANT):
                return earlier
            if self._kinds[earlier] in (_BOUNDARY, _SUMMARY):
                return earlier if fallback < 0 else fallback
            fallback = earlier if fallback < 0 else fallback
        return fallback

    def _hangs_on(self, node: int, kind: int) -> bool:
        """Whether a record off the path belongs to one that is kept."""
        parent = self._parents[node]
        if parent < 0:
            return parent == _LOST and kind != _PROMPT
        if not self._kept[parent]:
            return False
        if kind == _ASSISTANT:
            return self._messages[node] == self._messages[parent] != 0
        return kind in (_RESULT, _OTHER)


def _key(uuid: str) -> bytes:
    """A uuid in 16 bytes; any other id as it is."""
    try:
        return bytes.fromhex(uuid.replace("-", ""))
    except ValueError:
        return uuid.encode("utf-8", "surrogatepass")


def _kind(head: _Head) -> int:
    if head.subtype == "compact_boundary":
        return _BOUNDARY
    if head.type == "assistant":
        return _ASSISTANT
    if head.type != "user":
        return _OTHER
    if head.is_compact_summary:
        return _SUMMARY
    content = head.message.content if head.message is not None else None
    results = isinstance(content, list) and any(block.type == "tool_result" for block in content)
    return _RESULT if results or head.source_tool_use_id else _PROMPT
