"""`workspace/readFile` and the model tool `read_file`: a file's lines within the budget of a tool result.

What is served is always the file as it is now. That it stands in the model view already is said beside it,
and only of content that is really there: nobody can be sent to a result that was evicted (O §23.3).
"""

from __future__ import annotations

import msgspec

from ctxd.core import freshness
from ctxd.core.paths import inside
from ctxd.model.errors import CtxdError, InvalidParams, NotFound
from ctxd.model.messages import Native
from ctxd.service.intake.guarding import clean
from ctxd.service.recall.contains import Contained, contains
from ctxd.service.session import Session, decode
from ctxd.workspace.ranges import Lines, Over, read_lines
from ctxd.workspace.roots import Roots


class FileText(msgspec.Struct, frozen=True):
    """Lines of a file, and whether the view shows the whole file as it is now (`seen.since` says where)."""

    lines: Lines
    seen: Contained


async def read_file(
    session: Session,
    path: str,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int | None = None,
    most: int | None = None,
) -> FileText | Over:
    """Read lines `start` to `end` (1-based, included) of a file of the session's workspace, `most` bytes.

    A file in another folder of the host's workspace is named by its absolute path.

    `Over` where that is more than the budget, with a range that fits; `Lines.next` is the range after. Raises
    InvalidParams for a range or an offset outside the file and for what is no text, NotFound,
    OutsideWorkspace, SymlinkRefused, NotRegularFile, TooLarge, Sensitive, Busy and Timeout.
    """
    if start is not None and start < 1:
        raise InvalidParams.at("startLine", "lines are numbered from 1")
    if offset is not None and offset < 0:
        raise InvalidParams.at("offset", "it must not be negative")
    created = session.state.created
    if created is None:
        raise NotFound("the session has no workspace")
    settings = session.environment.settings
    budget = min(settings.workspace.read_bytes, settings.recall.spill_bytes)
    if most is not None:
        budget = min(budget, most)
    root = created.workspace
    name = _settled(path, session)

    def read(roots: Roots) -> Lines | Over:
        boundary = roots.of(name)
        found = read_lines(boundary, name, start, end, offset, budget)
        return msgspec.structs.replace(found, path=roots.name(boundary, found.path, name))

    found = await session.files.use(root, read)
    if isinstance(found, Over):
        return found
    seen = await _seen(session, found)
    cleaned = await clean(session.environment, found.text)
    return FileText(msgspec.structs.replace(found, text=cleaned.text), seen)


def _settled(path: str, session: Session) -> str:
    """The path, where it lies below a folder that the workspace was before it moved, as a relative one."""
    for folder in session.state.former:
        if path.startswith("/") and (below := inside(path, folder)) is not None:
            return below
    return path


async def _seen(session: Session, found: Lines) -> Contained:
    """Whether the view shows the whole file, and what it shows is what was just read."""
    held = contains(session, handle=None, path=found.path)
    if not held.in_context:
        return held
    entry = session.state.view[session.state.places[held.since]]
    for file in entry.facts.files:
        if entry.facts.inserted and file.path == found.path:
            return held if file.digest == found.digest else Contained(False, reason="changed")
    try:
        (raw,) = await session.bodies.read([held.since])
        view = session.view(Native(raw, decode(raw), session.bodies.dialect_of(held.since)))
    except CtxdError:
        return Contained(False, reason="changed")
    if any(freshness.compare(block.text, found.whole) == "whole" for block in view.results):
        return held
    return Contained(False, reason="changed")
