"""Two changes of one text made into one, line by line; where they meet both are kept. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher


def merge(base: str, theirs: str, ours: str) -> str:
    """`ours` with what `theirs` changed of `base`: lines taken out go, lines put in come.

    A line put in stands behind the line it stood behind, else at the end. Lines that both put in come once.
    """
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    was, new, now = (_lines(text) for text in (base, theirs, ours))
    head = _shared(was, new)
    tail = _shared(was[head:][::-1], new[head:][::-1])
    was_end, new_end = len(was) - tail, len(new) - tail
    matcher = SequenceMatcher(None, was[head:was_end], new[head:new_end], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        gone = Counter(was[head + i1 : head + i2])
        put = new[head + j1 : head + j2]
        before = new[head + j1 - 1] if head + j1 else None
        now = _apply(now, gone, put, before, at_start=head + j1 == 0)
    return "".join(now)


def keeps(old: str, new: str) -> bool:
    """Whether `new` is `old` with something put in at one place, so that nothing of it is lost."""
    if new.startswith(old):
        return True
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    return new.endswith(old[low:]) and len(new) >= len(old)


def _apply(
    now: list[str], gone: Counter[str], put: Sequence[str], before: str | None, *, at_start: bool
) -> list[str]:
    kept: list[str] = []
    place: int | None = None
    for line in now:
        if gone[line]:
            gone[line] -= 1
            place = len(kept) if place is None else place
        else:
            kept.append(line)
    here = set(kept)
    put = [line for line in put if line not in here or not line.strip()]
    if place is None:
        found = next((i for i in range(len(kept) - 1, -1, -1) if kept[i] == before), None)
        place = 0 if at_start else len(kept) if found is None else found + 1
    return [*kept[:place], *put, *kept[place:]]


def _lines(text: str) -> list[str]:
    """Lines with their line feeds, the last one too: a line that was cut short is still the same line."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
