"""The tool `recall`: what a placeholder or a summary names, read or searched by the model itself.

One answer is small enough to be shown whole when it comes back as a tool result. It says exactly how to go
on, by byte offset, so that a change of limits between two calls loses and repeats nothing (O §17).
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import msgspec

from ctxd.compaction.placeholder import size_of
from ctxd.model.errors import Ambiguous, NotFound
from ctxd.model.tools import Parameter, ToolAnswer, ToolDeclaration
from ctxd.service.recall.fetching import IN_THREAD_BYTES, Found, Handle, find, read
from ctxd.service.recall.searching import Hit, search
from ctxd.service.recall.stored_form import Shelf, StoredForm
from ctxd.service.session import Session
from ctxd.service.tools.arguments import Arguments, BadArguments
from ctxd.service.tools.toolbox import ModelTool, answer_bytes

HITS = 10
NOTE_BYTES = 512
"""Room for what is said around a part (O §17)."""

OWNERS = 10
"""Owners of a reused id, or candidates of a handle, that are named."""

DECLARATION = ToolDeclaration(
    name="recall",
    description=(
        "Read again what is no longer shown in full. Every tool output and message of this session is kept "
        "whole; placeholders and summaries name them by handles such as "
        '{"toolCallId": "...", "occurrence": 0}. Give a handle to read, from the beginning or from '
        "startLine or offset; the answer says how to go on. Give query to search for words: in one output if "
        "a handle is given too, else in all of them."
    ),
    parameters=(
        Parameter(
            "toolCallId",
            "string",
            "Id of the tool call whose output to read, as a placeholder names it.",
            aliases=("id", "handle", "callId", "toolUseId"),
        ),
        Parameter(
            "occurrence",
            "integer",
            "Which output of a call id that was used several times, 0 for the oldest.",
            minimum=0,
        ),
        Parameter("messageId", "string", "Id of the message to read, where a summary names one."),
        Parameter("digest", "string", "sha256 digest of the output, or the first 8 or more digits of it."),
        Parameter("query", "string", "Words to search for.", aliases=("search", "q", "pattern")),
        Parameter("toolName", "string", "Search only outputs of this tool.", aliases=("tool",)),
        Parameter("startLine", "integer", "First line to read, from 1.", minimum=1, aliases=("line",)),
        Parameter("endLine", "integer", "Last line to read.", minimum=1),
        Parameter("offset", "integer", "First byte to read.", minimum=0),
        Parameter("page", "integer", "Page to read, 0 for the first; beyond the end the last.", minimum=0),
    ),
)


class _Piece(msgspec.Struct, frozen=True):
    """A part that is shown: its first byte, the one behind it, and how to go on."""

    start: int
    stop: int
    next: dict[str, int] | None


def recall_tool(shelf: Shelf) -> ModelTool:
    """The tool, reading through the forms on a shelf."""

    async def run(session: Session, arguments: Arguments) -> ToolAnswer:
        found = _named(session, arguments)
        if "query" in arguments:
            return await _search(session, found, arguments)
        if found is None:
            raise BadArguments("Give a handle (toolCallId, messageId or digest) to read, or query to search.")
        form = await read(session, shelf, found)
        if len(form.data) > IN_THREAD_BYTES:
            return await anyio.to_thread.run_sync(_show, session, found, form, arguments)
        return _show(session, found, form, arguments)

    return ModelTool(DECLARATION, run)


def _named(session: Session, arguments: Arguments) -> Found | None:
    """What the arguments name; a tool call id may as well be any other handle."""
    ids = [name for name in ("toolCallId", "messageId", "digest") if arguments.get(name)]
    if not ids:
        return None
    if len(ids) > 1:
        raise BadArguments(f"Give one of {' and '.join(ids)}, not both.")
    value, occurrence = arguments[ids[0]], arguments.get("occurrence")
    state = session.state
    if ids[0] == "toolCallId" and value not in state.results:
        if state.find(value) is not None:
            return find(state, Handle(message_id=value))
        if value.startswith("sha256:"):
            ids = ["digest"]
    try:
        match ids[0]:
            case "toolCallId":
                return find(state, Handle(tool_call_id=value, occurrence=occurrence))
            case "messageId":
                return find(state, Handle(message_id=value))
            case _:
                return find(state, Handle(digest=value))
    except NotFound as error:
        known = len(state.results.get(value, ()))
        if known:
            raise BadArguments(f"This call id has {known} outputs: occurrence 0 to {known - 1}.") from error
        raise BadArguments(
            f"Nothing is stored under {json.dumps(value[:200], ensure_ascii=False)}. Use a handle exactly "
            "as a placeholder or a summary gives it, or query to search all outputs."
        ) from error
    except Ambiguous as error:
        candidates: Any = error.facts["candidates"]
        names = [f"{c['toolName']} {c['digest']} ({size_of(c['bytes'])})" for c in candidates[:OWNERS]]
        raise BadArguments(f"Several outputs have digests that begin so: {'; '.join(names)}.") from error


def _show(session: Session, found: Found, form: StoredForm, arguments: Arguments) -> ToolAnswer:
    """The part that was asked for, and what there is to know of it."""
    most = answer_bytes(session)
    handle = _handle(found, form)
    piece = _take(form, arguments, max(most // 2, most - NOTE_BYTES - len(json.dumps(handle))))
    content = form.data[piece.start : piece.stop].decode("utf-8", "surrogatepass")
    notes = _notes(found)
    if piece.start > 0 or piece.stop < len(form.data):
        notes.insert(0, _place(form, piece, handle))
    if not notes:
        return ToolAnswer(content)
    said = "\n".join(f"[recall: {note}]" for note in notes)
    return ToolAnswer(f"{content}{'' if content.endswith(chr(10)) or not content else chr(10)}{said}")


def _take(form: StoredForm, arguments: Arguments, most: int) -> _Piece:
    """Where the part lies. Raises BadArguments for lines there are not, or several ways to say which part."""
    ways = [arguments.keys() & {"startLine", "endLine"}, arguments.keys() & {"offset"}]
    ways.append(arguments.keys() & {"page"})
    if sum(map(bool, ways)) > 1:
        raise BadArguments("Give one of page, offset, and startLine with endLine.")
    size = len(form.data)
    if ways[0]:
        first = arguments.get("startLine", 1)
        last = min(arguments.get("endLine", form.lines), form.lines)
        if first > form.lines or last < first:
            raise BadArguments(f"There are {form.lines} lines; startLine and endLine must lie in that order.")
        begin = form.line_start(first)
        end = form.line_start(last + 1) if last < form.lines else size
        start, stop = form.piece(begin, end, most)
        if stop >= end:
            return _Piece(start, stop, None)
        at_line = form.data[stop - 1 : stop] == b"\n"
        more = {"startLine": form.line_at(stop), "endLine": last} if at_line else {"offset": stop}
        return _Piece(start, stop, more)
    if "offset" in arguments:
        start, stop = form.piece(arguments["offset"], size, most)
    else:
        starts = form.pages(most)
        page = min(arguments.get("page", 0), len(starts) - 1)
        start, stop = starts[page], starts[page + 1] if page + 1 < len(starts) else size
    return _Piece(start, stop, {"offset": stop} if stop < size else None)


def _place(form: StoredForm, piece: _Piece, handle: dict[str, Any]) -> str:
    """Which part this is of how much, and the exact next call; none at the end or behind what was asked."""
    size = len(form.data)
    if piece.start >= size:
        return f"there is nothing from byte {size} on; the output has {size} bytes, {form.lines} lines"
    lines = f"{form.line_at(piece.start)}-{form.line_at(piece.stop - 1)} of {form.lines}"
    said = f"bytes {piece.start}-{piece.stop - 1} of {size}, lines {lines}"
    if piece.next is not None:
        return f"{said}; next: recall {json.dumps({**handle, **piece.next}, ensure_ascii=False)}"
    return f"{said}; end of output" if piece.stop == size else said


def _notes(found: Found) -> list[str]:
    """What a reader has to know of an output beside its bytes."""
    notes: list[str] = []
    result = found.result
    if found.candidates:
        owners = [
            f"{o.occurrence} ({o.tool_name}, {size_of(o.bytes)})" for o in found.candidates[:-1][-OWNERS:]
        ]
        notes.append(
            f"this call id was used {len(found.candidates)} times; this is the newest output, "
            f"others by occurrence: {', '.join(owners)}"
        )
    if result is not None and result.is_error:
        notes.append("the call had failed")
    if found.redacted:
        count = len(found.redacted)
        secrets = "1 secret was" if count == 1 else f"{count} secrets were"
        rules = ", ".join(sorted(set(found.redacted)))
        notes.append(f"{secrets} cut out before this was stored and cannot be read again ({rules})")
    if result is not None and result.media:
        notes.append(f"it holds {result.media} attachment(s), which only a person can open from here")
    return notes


async def _search(session: Session, found: Found | None, arguments: Arguments) -> ToolAnswer:
    """The best places for a query, each with the call that reads on from there."""
    parts = arguments.keys() & {"startLine", "endLine", "offset", "page"}
    if parts:
        raise BadArguments(f"query searches; it takes no {', '.join(sorted(parts))}.")
    query = arguments["query"].strip()
    if not query:
        raise BadArguments("query is empty.")
    within: tuple[str, str] | None = None
    if found is not None:
        if found.result is None:
            raise BadArguments("query searches tool outputs; read a message by its messageId without query.")
        within = found.facts.id, found.result.call_id
    hits = await search(session, query[:4000], tool=arguments.get("toolName"), limit=HITS, within=within)
    where = "this output" if within else "the stored outputs"
    if not hits:
        return ToolAnswer(f"No words of the query are in {where}. Try other or fewer words.")
    return ToolAnswer(_list(session, hits, where))


def _list(session: Session, hits: list[Hit], where: str) -> str:
    """Hits, best first, as many as fit; the first always."""
    state = session.state
    said = f"Best matches in {where}:"
    room = answer_bytes(session) - len(said.encode())
    for number, hit in enumerate(hits, 1):
        handle: dict[str, Any] = {"toolCallId": hit.tool_call_id}
        if hit.occurrence is not None:
            handle["occurrence"] = hit.occurrence
        handle["offset"] = hit.offset
        call = state.call_of(hit.tool_call_id, hit.message_id)
        about = f"{call.name} {call.target}".strip() if call else "tool"
        text = (
            f"\n\n{number}. {about}, line {hit.line}: recall {json.dumps(handle, ensure_ascii=False)}\n"
            f"{hit.snippet}"
        )
        room -= len(text.encode("utf-8", "replace"))
        if room < 0 and number > 1:
            break
        said += text
    return said


def _handle(found: Found, form: StoredForm) -> dict[str, Any]:
    """The arguments that name this again, whatever is stored later."""
    if found.result is None:
        return {"messageId": found.facts.id}
    if found.occurrence is None:
        return {"digest": form.digest}
    return {"toolCallId": found.result.call_id, "occurrence": found.occurrence}
