"""Reading JSON Lines that a crash, a full disk or two writers have damaged.

Owns recovery of records from bytes (reports F.66): fused lines give both records, torn records, NUL
runs and broken UTF-8 cost only themselves. Must not know what a record means.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol, TypeVar

import msgspec

from ctxd.importers.steps import NoteTaker

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is drained and skipped, so that memory stays bounded."""

_MOST_TRIES = 256
_METER_BYTES = 1024 * 1024
_NESTED_AFTER = (":", ",", "[")
_RECORD_START = re.compile(r'\{\s*"')


H = TypeVar("H", bound=msgspec.Struct)


class Meter(Protocol):
    """Told how far a file is read."""

    def begin(self, title: str, size: int) -> None:
        """A pass over `size` bytes begins."""
        ...

    def advance(self, count: int) -> None:
        """So many bytes of it were read since the last time."""
        ...


def read_lines(
    file: BinaryIO, notes: NoteTaker, *, max_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Lines with their 1-based number, without their line feed. A too long one is noted and left out."""
    number = 0
    while line := file.readline(max_bytes):
        number += 1
        if line.endswith(b"\n"):
            yield number, line[:-1]
        elif len(line) < max_bytes:
            yield number, line
        else:
            while (rest := file.readline(max_bytes)) and not rest.endswith(b"\n"):
                pass
            notes.note("tooLong", number)


def scan_lines(path: Path, notes: NoteTaker, meter: Meter | None, title: str) -> Iterator[tuple[int, bytes]]:
    """One pass over a file's lines. Raises OSError."""
    with path.open("rb", buffering=_METER_BYTES) as file:
        if meter is None:
            yield from read_lines(file, notes)
            return
        meter.begin(title, path.stat().st_size)
        told = 0
        for number, line in read_lines(file, notes):
            yield number, line
            if (at := file.tell()) - told > _METER_BYTES:
                meter.advance(at - told)
                told = at
        meter.advance(file.tell() - told)


def read_records(
    lines: Iterable[tuple[int, bytes]], notes: NoteTaker
) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSON objects with their 1-based line number.

    Noted: `blankLine`, `nulRun`, `invalidUtf8` (replaced by U+FFFD), `fusedLine` (more than one
    object on a line), `tornRecord` (bytes that are no whole object), `notARecord` (another JSON value).
    """
    decode = msgspec.json.decode
    for number, line in lines:
        if b"\0" not in line:
            try:
                value = decode(line)
            except (msgspec.MsgspecError, RecursionError):
                pass
            else:
                if isinstance(value, dict):
                    yield number, value
                else:
                    notes.note("notARecord", number)
                continue
        yield from _repair(number, line, notes)


def scan_heads(path: Path, shape: type[H], meter: Meter | None) -> Iterator[tuple[int, int, H]]:
    """(line, place on the line, head) of every record, its other members unread; notes nothing.

    All members of `shape` have defaults; one that has another type in a record has its default. Records
    are placed as `read_records` gives them. Raises OSError.
    """
    ignored = NoteTaker()
    decode = msgspec.json.Decoder(shape).decode
    for number, line in scan_lines(path, ignored, meter, "index"):
        if b"\0" not in line:
            try:
                yield number, 0, decode(line)
                continue
            except (msgspec.MsgspecError, RecursionError):
                pass
        for nth, (_, record) in enumerate(read_records([(number, line)], ignored)):
            yield number, nth, _read_head(record, shape)


def parse(text: str) -> Any:
    """One JSON value; NaN and Infinity are no JSON. Raises ValueError or RecursionError."""
    return json.loads(text, parse_constant=_refuse_constant)


def _repair(number: int, line: bytes, notes: NoteTaker) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects on a line that is not plainly one value."""
    if not line.strip():
        notes.note("blankLine", number)
        return
    pieces = [line]
    if b"\0" in line:
        notes.note("nulRun", number)
        pieces = [piece for piece in re.split(rb"\0+", line) if piece.strip()]
    found = 0
    for piece in pieces:
        for value in _recover(_decode(piece, number, notes), number, notes):
            if isinstance(value, dict):
                found += 1
                yield number, value
            else:
                notes.note("notARecord", number)
    if found > 1:
        notes.note("fusedLine", number)


def _read_head(record: dict[str, Any], shape: type[H]) -> H:
    head = shape()
    for field in msgspec.structs.fields(shape):
        if field.encode_name in record:
            with contextlib.suppress(msgspec.ValidationError, ValueError, RecursionError):
                setattr(head, field.name, msgspec.convert(record[field.encode_name], field.type))
    return head


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def _decode(piece: bytes, number: int, notes: NoteTaker) -> str:
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        notes.note("invalidUtf8", number)
        return piece.decode("utf-8", errors="replace")


def _recover(text: str, number: int, notes: NoteTaker) -> Iterator[Any]:
    """The whole line where it is sound, else every whole object found from left to right."""
    try:
        yield parse(text)
        return
    except (ValueError, RecursionError):
        pass
    at: int | None = 0
    while at is not None and at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            notes.note("tornRecord", number)
            at = _next_record(text, at + 1)
        else:
            yield value


def _next_record(text: str, start: int) -> int | None:
    """Where the next whole object begins that reaches the end of the text or another object.

    An object nested in the torn record also parses, but it follows a colon, comma or bracket.
    """
    for tried, match in enumerate(_RECORD_START.finditer(text, start)):
        if tried == _MOST_TRIES:
            return None
        at = match.start()
        if text[max(0, at - 8) : at].rstrip()[-1:] in _NESTED_AFTER:
            continue
        try:
            _, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        rest = text[end : end + 64].lstrip()
        if not rest or rest.startswith("{"):
            return at
    return None
