"""The text of memory files: entries, the block that ctxd manages, and everything else, which is a person's.

An entry is one line, `- [2026-11-30] words`; `- ~~[2026-11-30] words~~` is one that a newer entry
replaced. Who wrote an entry is not in the text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote

import msgspec

BLOCK_START = "<!-- ctxd:topics:start -->"
BLOCK_END = "<!-- ctxd:topics:end -->"
BLOCK_HEADING = "## Topics"

_ENTRY = re.compile(
    r"[-*+] (?P<struck>~~)?\[(?P<day>\d{4}-\d{2}-\d{2})\] (?P<words>.*?)(?P<close>~~)?[ \t]*\r?\n?"
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_MARK = re.compile(r"<!--\s*ctxd:topics:(?:start|end)\s*-->")


Edit = Callable[[str | None], str | None]
"""The new text of a file from the one it has, None where there is none; None leaves it as it is."""


class Line(msgspec.Struct, frozen=True):
    """A line of a memory file that says something. `number` is 1-based; `day` is "" where it has none.

    `words` is the line without bullet, day and strike; `replaced`: a newer entry took its place.
    """

    number: int
    words: str
    day: str = ""
    replaced: bool = False


def plain(words: str) -> str:
    """Words on one line, runs of white space as one blank, without the marks of the managed block."""
    return " ".join(_MARK.sub(" ", words).split())


def entry_line(words: str, day: str) -> str:
    """An entry as a file has it, its line feed included. `words` are plain."""
    return f"- [{day}] {words}\n"


def lines_of(text: str) -> list[Line]:
    """What a memory file says, line by line; blank lines, headings' marks and the managed block left out."""
    found = []
    for number, line in enumerate(without_block(text, keep_lines=True).split("\n"), 1):
        if not line.strip() or set(line.strip()) <= set("-=*_# "):
            continue
        found.append(read_line(line, number))
    return found


def read_line(line: str, number: int = 0) -> Line:
    """One line of a file."""
    entry = _ENTRY.fullmatch(line)
    if entry is not None and bool(entry["struck"]) == bool(entry["close"]):
        return Line(number, plain(entry["words"]), entry["day"], bool(entry["struck"]))
    bullet = _BULLET.match(line)
    return Line(number, plain(line[bullet.end() :] if bullet else line.lstrip("# ")))


def entries_from(content: str, day: str) -> list[str]:
    """Lines to add for what was said: one line is an entry; of several, those with a bullet are entries.

    Headings, continued lines and entries that have a day stay as they are; blank lines go.
    """
    lines = [line.rstrip() for line in _MARK.sub("", content).replace("\r", "\n").split("\n")]
    lines = [line for line in lines if line.strip()]
    made = []
    for line in lines:
        read = read_line(line)
        alone = len(lines) == 1 and not line.lstrip().startswith("#")
        if not read.day and (alone or line.startswith(("- ", "* ", "+ "))):
            line = entry_line(read.words, day).rstrip("\n") if read.words else ""
        if line:
            made.append(line)
    return made


def append(text: str, added: str) -> str:
    """The text with more at its end, on a line of its own, in front of a block that ends it."""
    if not added:
        return text
    added = added if added.endswith("\n") else added + "\n"
    block = _find_block(text)
    if block is not None and not text[block[1] :].strip():
        head, tail = text[: block[0]], text[block[0] :]
        head = head.rstrip("\n") + "\n" if head.strip() else ""
        return f"{head}{added}\n{tail}"
    return (text if not text or text.endswith("\n") else text + "\n") + added


def strike(text: str, words: Sequence[str]) -> str:
    """The text with every entry of these words marked as replaced."""
    wanted = set(words)
    if not wanted:
        return text
    lines = text.split("\n")
    for index, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        if entry is not None and not entry["struck"] and plain(entry["words"]) in wanted:
            lines[index] = f"- ~~[{entry['day']}] {entry['words']}~~"
    return "\n".join(lines)


def with_block(text: str, topics: Sequence[str]) -> str:
    """The text with its managed block naming these topics; everything outside stays byte for byte."""
    block = _find_block(text)
    if not topics:
        return text if block is None else text[: block[0]] + text[block[1] :]
    lines = [f"- [{name}]({quote(name + '.md')})\n" for name in sorted(topics)]
    made = f"{BLOCK_START}\n{BLOCK_HEADING}\n{''.join(lines)}{BLOCK_END}\n"
    if block is None:
        if text and not text.endswith("\n"):
            text += "\n"
        return f"{text}\n{made}" if text else made
    return text[: block[0]] + made + text[block[1] :]


def without_block(text: str, *, keep_lines: bool = False) -> str:
    """The text without its managed block; with `keep_lines` its line feeds stay: lines keep numbers."""
    block = _find_block(text)
    if block is None:
        return text
    gap = "\n" * text.count("\n", *block) if keep_lines else ""
    return text[: block[0]] + gap + text[block[1] :]


def overwrite(text: str, content: str) -> str:
    """`content` in place of the text; the managed block is that of `text`, at the end, never `content`'s."""
    block = _find_block(text)
    content = _MARK.sub("", without_block(content))
    if block is None:
        return content
    kept = text[slice(*block)]
    if content and not content.endswith("\n"):
        content += "\n"
    return f"{content}\n{kept}" if content else kept


def _find_block(text: str) -> tuple[int, int] | None:
    """Where the managed block begins and ends: its marks, each alone on a line, and what is between."""
    start = _find_mark(text, BLOCK_START, 0)
    end = _find_mark(text, BLOCK_END, start[1]) if start else None
    if start is None or end is None:
        return None
    # A start that was left without its end is no part of the block behind it.
    while (later := _find_mark(text, BLOCK_START, start[1])) and later[0] < end[0]:
        start = later
    return start[0], end[1]


def _find_mark(text: str, mark: str, at: int) -> tuple[int, int] | None:
    while (at := text.find(mark, at)) >= 0:
        after = text.find("\n", at)
        end = len(text) if after < 0 else after + 1
        if (at == 0 or text[at - 1] == "\n") and not text[at + len(mark) : end].strip():
            return at, end
        at += len(mark)
    return None
