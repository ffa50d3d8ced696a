"""Reading a JSON document whose long lists are taken one element at a time.

Owns the outline of a document: where its members and the elements of its lists lie. A large document
is never held as a whole: memory is bounded by the largest element; and one that was cut off gives what
is whole. Must not know what it means.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from ctxd.importers.json_lines import Meter, parse
from ctxd.importers.steps import NoteTaker

MAX_VALUE_BYTES = 64 * 1024 * 1024
"""A larger member or element is not read, so that memory stays bounded."""

WHOLE_BYTES = 16 * 1024 * 1024
"""A sound document up to this size is decoded at once, which is faster."""

_BOM = b"\xef\xbb\xbf"
_CHUNK = 1024 * 1024
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\],:]', re.DOTALL)
_INSIDE = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""Everything up to the next bracket, or up to a string that goes on behind the chunk."""


class Document:
    """One JSON value in a file: a list, or an object.

    `names` are the object's members. `torn`: the file ends inside the value.
    """

    def __init__(self, path: Path, whole: Any, outline: _Outline, *, torn: bool) -> None:
        self._path = path
        self._whole = whole
        self._members, self._lists = outline.members, outline.lists
        self.torn = torn
        if whole is None:
            self.kind = outline.kind
            self.names = tuple(dict.fromkeys([*outline.members, *filter(None, outline.lists)]))
        else:
            self.kind = "object" if isinstance(whole, dict) else "list"
            self.names = tuple(whole) if isinstance(whole, dict) else ()

    kind: Literal["list", "object"]
    names: tuple[str, ...]
    torn: bool

    @classmethod
    def open(cls, path: Path, meter: Meter | None = None) -> Document:
        """Outline a file. Raises OSError, and ValueError where it is no list and no object."""
        outline = _Outline()
        size = path.stat().st_size
        if meter is not None:
            meter.begin("index", size)
        if size <= WHOLE_BYTES:
            try:
                whole = _decode(path.read_bytes().removeprefix(_BOM))
            except (ValueError, RecursionError):
                whole = None
            if isinstance(whole, dict | list):
                if meter is not None:
                    meter.advance(size)
                return cls(path, whole, outline, torn=False)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                outline.feed(chunk)
                if meter is not None:
                    meter.advance(len(chunk))
        torn = outline.finish()
        return cls(path, None, outline, torn=torn)

    def value(self, name: str) -> Any:
        """A member as a whole; None where it is absent, torn or too large."""
        if self._whole is not None:
            return self._whole.get(name) if isinstance(self._whole, dict) else None
        if name not in self._members:
            return None
        try:
            return _decode(self._read(*self._members[name]))
        except (ValueError, RecursionError):
            return None

    def elements(self, name: str | None, notes: NoteTaker) -> Iterator[tuple[int, Any]]:
        """The elements of a list with their 1-based place; none where it is no list.

        Noted: `tornDocument` (the file ends before the list does), `tooLong`, `tornRecord` (no JSON).
        """
        if self._whole is not None:
            values = self._whole if name is None else self.value(name)
            yield from enumerate(values if isinstance(values, list) else (), 1)
            return
        spans = self._lists.get(name, array("q"))
        for place in range(1, len(spans) // 2 + 1):
            start, end = spans[2 * place - 2], spans[2 * place - 1]
            if end - start > MAX_VALUE_BYTES:
                notes.note("tooLong", place)
                continue
            raw = self._read(start, end)
            if not raw.strip():
                continue
            try:
                value = _decode(raw)
            except (ValueError, RecursionError):
                notes.note("tornRecord", place)
                continue
            yield place, value
        if self.torn:
            notes.note("tornDocument", len(spans) // 2 + 1)

    def first(self, name: str | None, most: int = 1) -> list[Any]:
        """The first elements of a list."""
        values: list[Any] = []
        for _, value in self.elements(name, NoteTaker()):
            values.append(value)
            if len(values) == most:
                break
        return values

    def _read(self, start: int, end: int) -> bytes:
        if end - start > MAX_VALUE_BYTES:
            raise ValueError("too large")
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


class _Outline:
    """Spans of members and elements, found chunk by chunk. Offsets are bytes from the file's start."""

    def __init__(self) -> None:
        self.kind: Literal["list", "object"] = "object"
        self.members: dict[str, tuple[int, int]] = {}
        self.lists: dict[str | None, array[int]] = {}
        self._rest = b""
        self._at = 0
        self._depth = 0
        self._seen = False
        self._ended = False
        self._key: str | None = None
        self._value_start = -1
        self._list_depth = 0
        self._list: str | None = None
        self._element_start = -1

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes. Raises ValueError where they cannot begin a list or an object."""
        data = self._rest + chunk
        if not self._seen:
            head = data.removeprefix(_BOM).lstrip()[:1]
            if head and head not in (b"{", b"["):
                raise ValueError("neither a list nor an object")
            self._seen = bool(head)
        done = self._walk(data)
        if len(data) - done > 2 * MAX_VALUE_BYTES:
            raise ValueError("a string without an end")
        self._rest, self._at = data[done:], self._at + done

    def finish(self) -> bool:
        """Whether the document ended too early. Raises ValueError where there is none."""
        if not self._seen:
            raise ValueError("empty")
        return self._depth > 0

    def _walk(self, data: bytes) -> int:
        """How many bytes are understood; what is left begins inside a string."""
        at, size = 0, len(data)
        while at < size:
            if self._depth > max(1, self._list_depth):
                at = _INSIDE.match(data, at).end()  # type: ignore[union-attr]  # it matches nothing, too
                if at == size or data[at] == 0x22:
                    break
                self._depth += 1 if data[at] in b"{[" else -1
                at += 1
                continue
            match = _TOKEN.search(data, at)
            if match is None:
                return size
            token = match.group()
            if token == b'"':
                return match.start()
            self._take(token, match.start() + self._at)
            at = match.end()
        return at

    def _take(self, token: bytes, start: int) -> None:
        """One token of the document's own level, or of a list that is taken apart."""
        match token[:1]:
            case b"{" | b"[":
                self._open(token, start)
            case b"}" | b"]":
                self._close(start)
            case b",":
                if self._depth == self._list_depth:
                    self._end_element(start)
                elif self._depth == 1:
                    self._end_member(start)
            case b":":
                if self._depth == 1 and self._list_depth != 1 and self._value_start < 0:
                    self._value_start = start + 1
            case _:
                if self._depth == 1 and self._list_depth != 1 and self._value_start < 0:
                    self._key = _text(token)

    def _open(self, token: bytes, start: int) -> None:
        if self._depth == 0:
            if self._ended:
                raise ValueError("more than one value")
            self.kind = "object" if token == b"{" else "list"
            if self.kind == "list":
                self._enter_list(None, start)
        elif self._depth == 1 and self.kind == "object" and token == b"[" and self._key is not None:
            self._enter_list(self._key, start)
        self._depth += 1

    def _enter_list(self, name: str | None, start: int) -> None:
        self._list, self._list_depth, self._element_start = name, self._depth + 1, start + 1
        self.lists[name] = array("q")

    def _close(self, start: int) -> None:
        if self._depth == self._list_depth:
            self._end_element(start)
            self._list_depth = 0
        elif self._depth == 1:
            self._end_member(start)
        self._depth -= 1
        self._ended = self._depth == 0

    def _end_element(self, end: int) -> None:
        if end > self._element_start:
            self.lists[self._list].extend((self._element_start, end))
        self._element_start = end + 1

    def _end_member(self, end: int) -> None:
        if self._key is not None and self._value_start >= 0:
            self.members[self._key] = (self._value_start, end)
        self._key, self._value_start = None, -1


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError:
        return parse(data.decode("utf-8", errors="replace"))


def _text(token: bytes) -> str | None:
    try:
        value = _decode(token)
    except ValueError:
        return None
    return value if isinstance(value, str) else None
