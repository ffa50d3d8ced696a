"""JSON-RPC messages: bytes to typed messages and back.

A body is scanned once; native values stay the host's own bytes (D3 of the wire: decoded once, never
rebuilt). Knows the method table's models, no lifecycle and no loop; safe to call from any thread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, TypeAlias

import msgspec

from ctxd.model.errors import InvalidParams
from ctxd.server.faults import Fault, invalid_params
from ctxd.server.framing import Oversized, sniff_id
from ctxd.server.method import Table
from ctxd.server.params import TOO_DEEP, Unmask, decode_params, decode_value
from ctxd.server.surrogates import mask
from ctxd.server.wire.base import Wire, members

Id: TypeAlias = int | str
Builtins: TypeAlias = Mapping[str, type[Wire]]
"""LSP's own methods and the models of their parameters."""


class Request(msgspec.Struct, frozen=True):
    """A request. `params` is the method's model, or the InvalidParams that says what is wrong with it."""

    id: Id
    method: str
    params: Any
    size: int = 0


class Notification(msgspec.Struct, frozen=True):
    """A notification, its `params` as in a request."""

    method: str
    params: Any


class Response(msgspec.Struct, frozen=True):
    """The host's answer to a request of ours; `error` is None on success."""

    id: Any
    result: Any
    error: Any


class Broken(msgspec.Struct, frozen=True):
    """What is no message. `id` is null unless it could be found."""

    id: Id | None
    fault: Exception


Inbound: TypeAlias = Request | Notification | Response | Broken


class _Head(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _Envelope(_Head):
    """A message whose parameters are an object, split in the same pass over the body."""

    params: dict[str, msgspec.Raw] | None = None


class _Odd(_Head):
    """A message whatever its parameters are."""

    params: msgspec.Raw = msgspec.Raw()


_envelopes = msgspec.json.Decoder(_Envelope)
_odd_ones = msgspec.json.Decoder(_Odd)

_ABSENT = msgspec.Raw()
_NULL = msgspec.Raw(b"null")
_VERSION = msgspec.Raw(b'"2.0"')
_BOM = b"\xef\xbb\xbf"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def decode(body: bytes, table: Table, builtins: Builtins) -> Inbound:
    """The message in a body. Never raises; what cannot be understood is `Broken`.

    Parameters of the methods in `table` (where somebody handles them) and `builtins` become their
    models; those of other methods are not looked at.
    """
    if body.startswith(_BOM):
        body = body[len(_BOM) :]
    unmask: Unmask = bytes
    try:
        try:
            envelope = _scan(body)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            body, unmask = mask(body)
            envelope = _scan(body)
        if b"\n" in body or b"\r" in body:
            # Line ends stand only between tokens, now that the body is known to be JSON.
            envelope = _scan(body.translate(_ONE_LINE))
    except msgspec.ValidationError:
        hint = "send one message per frame" if body.lstrip()[:1] == b"[" else None
        return Broken(None, Fault("invalidRequest", "the body is not a JSON object", hint=hint))
    except msgspec.DecodeError:
        return Broken(None, Fault("parseError", "the body is not JSON"))
    except RecursionError:
        return _too_deep(body)
    return _Reading(envelope, unmask, table, builtins, len(body)).message()


def reject(oversized: Oversized, limit: int) -> Broken:
    """The answer to a body that was drained: `limit` is what would have been read, bytes."""
    return Broken(
        sniff_id(oversized.head, oversized.tail),
        Fault(
            "tooLarge",
            f"a message of {oversized.size} bytes, {limit} are allowed",
            hint="append in smaller parts, or raise wire.maxMessageBytes",
            bytes=oversized.size,
            limit=limit,
        ),
    )


def encode(value: Any) -> bytes:
    """JSON text of plain values and wire models; native bytes in models are spliced in.

    Strings with lone surrogates come out as escapes. Raises TypeError or ValueError for what is
    not JSON.
    """
    return b"".join(encode_parts(value))


def encode_parts(value: Any) -> list[bytes]:
    """As `encode`, in parts: what is long of native messages is handed on as it is, not copied."""
    large: list[list[bytes]] = []

    def open_model(model: Any) -> dict[str, Any]:
        members = _open_model(model)
        for name, member in members.items():
            if isinstance(member, _Natives):
                large.append(member.raws)
                members[name] = _MARKED
        return members

    try:
        around = msgspec.json.encode(value, enc_hook=open_model).split(_MARK)
    except UnicodeEncodeError:
        return ["".join(_spell(value)).encode()]
    if len(around) != len(large) + 1:
        raise ValueError("a value holds the mark that stands for natives")
    parts = [around[0]]
    for raws, rest in zip(large, around[1:]):
        parts += _joined(raws)
        parts.append(rest)
    return parts


def _joined(raws: Sequence[bytes]) -> list[bytes]:
    """The texts with commas between them, in parts; only the small ones are copied."""
    parts: list[bytes] = []
    small: list[bytes] = []
    for raw in raws:
        if len(raw) < _LARGE:
            small.append(raw)
            continue
        parts += (b",".join([*small, b""]), raw, b",")
        small = []
    parts.append(b",".join(small))
    if not small:
        del parts[-2:]
    return parts


def _open_model(value: Any) -> dict[str, Any]:
    if not isinstance(value, Wire):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return {
        name: _splice(member)
        for attribute, name, required in members(type(value))
        if (member := getattr(value, attribute)) is not None or required
    }


class _Natives(msgspec.Struct, frozen=True):
    """Many bytes of native values that stand in one list."""

    raws: list[bytes]


_LARGE = 64 * 1024
_MARK = token_hex(16).encode()
_MARKED = msgspec.Raw(b"[%b]" % _MARK)


def _splice(member: Any) -> Any:
    """Bytes in a model are JSON text of native values."""
    match member:
        case bytes():
            return msgspec.Raw(member)
        case list() if member and isinstance(member[0], bytes):
            if sum(map(len, member)) > _LARGE:
                return _Natives(member)
            return msgspec.Raw(b"[%b]" % b",".join(member))
        case _:
            return member


def _spell(value: Any) -> list[str]:
    """JSON text in ASCII, piece by piece: slow, for values that hold lone surrogates."""
    match value:
        case str():
            return [json.dumps(value)]
        case msgspec.Raw():
            return [bytes(value).decode()]
        case _Natives(raws=raws):
            return ["[", b",".join(raws).decode(), "]"]
        case dict():
            parts = [[json.dumps(str(k)), ":", *_spell(v), ","] for k, v in value.items()]
            return ["{", *[text for part in parts for text in part][:-1], "}"]
        case list() | tuple():
            parts = [[*_spell(v), ","] for v in value]
            return ["[", *[text for part in parts for text in part][:-1], "]"]
        case Wire():
            return _spell(_open_model(value))
        case _:
            return [msgspec.json.encode(value, enc_hook=_open_model).decode()]


def _scan(body: bytes) -> _Envelope | _Odd:
    """The parts of a message. Raises DecodeError, RecursionError."""
    try:
        return _envelopes.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _odd_ones.decode(body)


class _Reading:
    """One envelope on its way to a message."""

    def __init__(
        self, envelope: _Envelope | _Odd, unmask: Unmask, table: Table, builtins: Builtins, size: int
    ) -> None:
        self._envelope = envelope
        self._unmask = unmask
        self._table = table
        self._builtins = builtins
        self._size = size

    def message(self) -> Inbound:
        envelope = self._envelope
        has_id = envelope.id != _ABSENT
        identity = self._value_or_none(envelope.id)
        usable = identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None
        if envelope.jsonrpc != _VERSION:
            return Broken(usable, Fault("invalidRequest", 'jsonrpc must be "2.0"'))
        if envelope.method == _ABSENT:
            if has_id and (envelope.result != _ABSENT or envelope.error != _ABSENT):
                return self._response(usable)
            return Broken(usable, Fault("invalidRequest", "neither method nor result nor error"))
        if has_id and usable is None:
            return Broken(None, Fault("invalidRequest", "an id must be a string or an integer"))
        method = self._value_or_none(envelope.method)
        if not isinstance(method, str):
            return Broken(usable, Fault("invalidRequest", "method must be a string"))
        params: Any
        try:
            params = self._params(method)
        except InvalidParams as error:
            params = error
        if usable is None:
            return Notification(method, params)
        return Request(usable, method, params, self._size)

    def _value(self, raw: msgspec.Raw) -> Any:
        return decode_value(self._unmask(bytes(raw)))

    def _value_or_none(self, raw: msgspec.Raw) -> Any:
        try:
            return None if raw == _ABSENT else self._value(raw)
        except (ValueError, RecursionError):
            return None

    def _response(self, identity: Id | None) -> Response:
        envelope = self._envelope
        try:
            error = None if envelope.error in (_ABSENT, _NULL) else self._value(envelope.error)
            result = None if envelope.result == _ABSENT else self._value(envelope.result)
        except (ValueError, RecursionError):
            return Response(identity, None, {"code": 0, "message": "an answer that cannot be read"})
        return Response(identity, result, error)

    def _params(self, method: str) -> Any:
        params = self._envelope.params
        given = None if params in (_ABSENT, _NULL) else params
        entry = self._table.get(method)
        model: type[Wire] | None
        if entry is not None and entry.direction == "toDaemon" and entry.handler is not None:
            entry.load()
            model = entry.params
        else:
            model = self._builtins.get(method)
        return None if model is None else decode_params(model, given, self._unmask)


def _too_deep(body: bytes) -> Broken:
    identity = sniff_id(body[:4096], body[-4096:])
    if identity is None:
        return Broken(None, Fault("parseError", f"the body is {TOO_DEEP}"))
    return Broken(identity, invalid_params([{"path": "", "message": TOO_DEEP}]))
