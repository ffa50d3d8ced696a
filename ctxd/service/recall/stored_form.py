"""A stored form in memory: its pages, lines and byte ranges, and the few forms read lately.

Everything that reads a large form as a whole happens while it is made, which belongs in a thread; what is
asked afterwards touches a page and a chunk. Knows no session and no handle.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from bisect import bisect_left
from collections import OrderedDict
from itertools import accumulate
from mmap import mmap
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import InvalidParams

CACHE_BYTES = 96 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
"""Line feeds are counted by such chunks."""

RANGE_BYTES = 2 * 1024 * 1024
"""A byte or line range brings at most this much at once; `next` goes on."""

Encoding: TypeAlias = Literal["utf-8", "base64"]
Data: TypeAlias = bytes | mmap
"""Bytes that nobody changes any more."""


class Part(msgspec.Struct, frozen=True):
    """Which part to fetch: a page (the default), a byte range, or a line range (1-based, inclusive)."""

    page: int | None = None
    offset: int | None = None
    length: int | None = None
    start_line: int | None = None
    end_line: int | None = None


class Taken(msgspec.Struct, frozen=True):
    """A part that was cut out: bytes `start` to `stop`. `next` says how to go on; None at the end."""

    content: str
    encoding: Encoding
    page: int
    pages: int
    start: int
    stop: int
    next: Part | None


class StoredForm:
    """The bytes of one stored form. `digest` is `sha256:<hex>` of them. Reads all of them once."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.digest = "sha256:" + hashlib.sha256(self.data).hexdigest()
        chunks = range(0, len(self.data), CHUNK_BYTES)
        breaks = (self.data[start : start + CHUNK_BYTES].count(b"\n") for start in chunks)
        self._breaks = list(accumulate(breaks))
        self._pages: dict[int, tuple[int, ...]] = {}

    @property
    def lines(self) -> int:
        """How many lines; what follows the last line feed is one, even when it is empty."""
        return (self._breaks[-1] if self._breaks else 0) + 1

    def pages(self, page_bytes: int) -> tuple[int, ...]:
        """Where pages of that size begin."""
        starts = self._pages.get(page_bytes)
        if starts is None:
            starts = self._pages[page_bytes] = paginate(self.data, page_bytes)
        return starts

    def line_start(self, line: int) -> int:
        """Where a line begins; lines are from 1, and there are `lines` of them."""
        if line == 1:
            return 0
        chunk = bisect_left(self._breaks, line - 1)
        position = chunk * CHUNK_BYTES
        for _ in range(line - 1 - (self._breaks[chunk - 1] if chunk else 0)):
            position = self.data.find(b"\n", position) + 1
        return position

    def line_at(self, position: int) -> int:
        """The line that a byte is in."""
        chunk = min(position, len(self.data)) // CHUNK_BYTES
        before = self._breaks[chunk - 1] if chunk else 0
        return before + self.data[chunk * CHUNK_BYTES : position].count(b"\n") + 1

    def take(self, part: Part, page_bytes: int) -> Taken:
        """Cut a part out. Raises InvalidParams for lines there are not, or two ways to say which part."""
        check(part)
        starts = self.pages(page_bytes)
        if part.start_line is not None or part.end_line is not None:
            start, stop, more = self._lines(part)
            page = 0
        elif part.offset is not None or part.length is not None:
            start, stop, more = self._bytes(part)
            page = 0
        else:
            page = max(0, min(part.page or 0, len(starts) - 1))
            start = starts[page]
            stop = starts[page + 1] if page + 1 < len(starts) else len(self.data)
            more = Part(page=page + 1) if page + 1 < len(starts) else None
        content, encoding = _text(self.data[start:stop])
        return Taken(content, encoding, page, len(starts), start, stop, more)

    def piece(self, start: int, stop: int, most: int) -> tuple[int, int]:
        """Whole characters of a byte range, at most `most` bytes of them: where they begin and end.

        What has to be cut is cut after a line feed where there is one, as pages are.
        """
        data = self.data
        start = min(start, len(data))
        while start > 0 and start < len(data) and data[start] & 0xC0 == 0x80:
            start -= 1
        stop = max(start, min(stop, len(data)))
        return start, stop if stop - start <= most else _page_end(data, start, most)

    def _lines(self, part: Part) -> tuple[int, int, Part | None]:
        start = part.start_line or 1
        end = min(part.end_line or self.lines, self.lines)
        if start > self.lines or end < start:
            raise InvalidParams.at("startLine", f"the output has {self.lines} lines")
        first = self.line_start(start)
        last = self.line_start(end + 1) - 1 if end < self.lines else len(self.data)
        if last - first > RANGE_BYTES:
            last = _page_end(self.data, first, RANGE_BYTES)
            if self.data[last - 1 : last] != b"\n":
                return first, last, Part(offset=last, length=RANGE_BYTES)
            return first, last - 1, Part(start_line=self.line_at(last), end_line=end)
        size = end - start + 1
        more = Part(start_line=end + 1, end_line=min(end + size, self.lines)) if end < self.lines else None
        return first, last, more

    def _bytes(self, part: Part) -> tuple[int, int, Part | None]:
        start = min(part.offset or 0, len(self.data))
        length = part.length if part.length is not None else len(self.data) - start
        end = min(start + length, len(self.data))
        stop = min(end, start + RANGE_BYTES)
        left = length if stop == end else end - stop
        return start, stop, Part(offset=stop, length=left) if stop < len(self.data) else None


class Shelf:
    """Forms read lately, bounded in bytes; shared by all sessions of a daemon. Safe from any thread."""

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self._most = most
        self._forms: OrderedDict[str, StoredForm] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, digest: str) -> StoredForm | None:
        """The form of a digest, if it is still here."""
        with self._lock:
            form = self._forms.get(digest)
            if form is not None:
                self._forms.move_to_end(digest)
            return form

    def put(self, form: StoredForm) -> None:
        """Keep a form; the longest unused ones give way."""
        with self._lock:
            if form.digest in self._forms:
                return
            self._forms[form.digest] = form
            self._bytes += len(form.data)
            while self._bytes > self._most and len(self._forms) > 1:
                _, dropped = self._forms.popitem(last=False)
                self._bytes -= len(dropped.data)


def check(part: Part) -> None:
    """Raises InvalidParams where a part is named in more than one way."""
    ways = [
        part.page is not None,
        part.offset is not None or part.length is not None,
        part.start_line is not None or part.end_line is not None,
    ]
    if sum(ways) > 1:
        raise InvalidParams.at("page", "give one of page, offset with length, startLine with endLine")


def paginate(data: Data, page_bytes: int) -> tuple[int, ...]:
    """Where pages begin: after a line feed where there is one in the page, else at a character (O §17)."""
    starts = [0]
    while len(data) - starts[-1] > page_bytes:
        end = _page_end(data, starts[-1], page_bytes)
        if end == len(data):
            break
        starts.append(end)
    return tuple(starts)


def _page_end(data: Data, start: int, most: int) -> int:
    """The end of a page of at most `most` bytes, fewer than are left; a wider character is a page alone."""
    end = start + most
    line = data.rfind(b"\n", start, end)
    if line >= start:
        return line + 1
    while end > start and data[end] & 0xC0 == 0x80:
        end -= 1
    if end == start:
        end += 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
    return end


def _text(data: bytes) -> tuple[str, Encoding]:
    """Bytes as text, or as base64 where they are cut inside a character."""
    try:
        return data.decode("utf-8", "surrogatepass"), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "base64"
