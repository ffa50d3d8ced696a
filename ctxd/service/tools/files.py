"""The tool `read_file`: lines of a file of the workspace as it is now, as many as one answer may hold."""

from __future__ import annotations

from ctxd.model.tools import Parameter, ToolAnswer, ToolDeclaration
from ctxd.service.files.reads import read_file
from ctxd.service.session import Session
from ctxd.service.tools.arguments import Arguments
from ctxd.service.tools.toolbox import ModelTool, answer_bytes
from ctxd.workspace.ranges import Over, Range

NOTE_BYTES = 512
"""Room for what is said around the lines."""

DECLARATION = ToolDeclaration(
    "read_file",
    "Read lines of a text file in the workspace as it is now. Where a range is more than one answer holds, "
    "nothing is cut: the answer names a range that fits.",
    (
        Parameter(
            "path",
            "string",
            "Path of the file, relative to the workspace or absolute and inside it.",
            True,
            aliases=("filePath", "file", "filename", "absolutePath"),
        ),
        Parameter("startLine", "integer", "First line, from 1.", minimum=1, aliases=("start", "line")),
        Parameter("endLine", "integer", "Last line, included.", minimum=1, aliases=("end",)),
        Parameter("offset", "integer", "Bytes of the range to skip, for a line that is too long.", minimum=0),
    ),
)


def file_tool() -> ModelTool:
    """The tool."""
    return ModelTool(DECLARATION, _run)


async def _run(session: Session, arguments: Arguments) -> ToolAnswer:
    found = await read_file(
        session,
        arguments["path"],
        arguments.get("startLine"),
        arguments.get("endLine"),
        offset=arguments.get("offset"),
        most=answer_bytes(session) - NOTE_BYTES,
    )
    if isinstance(found, Over):
        return ToolAnswer(
            f"[read_file: {found.path} has {found.total} lines, {found.size} bytes; one answer holds at most "
            f"{found.budget} bytes. Read {_spell(found.suggestion)} first.]"
        )
    lines = found.lines
    notes = [f"{lines.path}, lines {lines.range.start}-{lines.range.end} of {lines.total}"]
    if lines.next is not None:
        notes.append(f"go on with {_spell(lines.next)}")
    if lines.lossy:
        notes.append("bytes that are no text are shown as U+FFFD")
    if lines.torn:
        notes.append("the file was being written meanwhile")
    return ToolAnswer(f"{lines.text.rstrip(chr(10))}\n[read_file: {'; '.join(notes)}]")


def _spell(span: Range) -> str:
    offset = f", offset={span.offset}" if span.offset else ""
    return f"startLine={span.start}, endLine={span.end}{offset}"
