"""What a contract wants preserved: looked for before and after, put back where it went missing (O §15).

A reference counts as preserved when its own words stand in what the model sees; a prefix or a
neighbour does not. What was never mentioned before a compaction cannot be lost by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from ctxd.model.contract import ContractDeclared

_PATH = re.compile(r"[\w./~+@-]*[\w+@-]")


class References(msgspec.Struct, frozen=True):
    """Invariants that were stated, and (artifact name, path) that were mentioned."""

    invariants: tuple[str, ...]
    artifacts: tuple[tuple[str, str], ...]


class Preserved(msgspec.Struct, frozen=True):
    """Counts for the audit: of all there were, how many stand by themselves and how many were put back."""

    artifacts: int
    artifacts_reinjected: int
    invariants: int
    invariants_reinjected: int


def references(contract: ContractDeclared, text: str) -> References:
    """What of a contract a text mentions."""
    invariants = tuple(line for line in contract.invariants if line in text)
    paths = sorted(set(_PATH.findall(text))) if contract.artifacts else []
    found: list[tuple[str, str]] = []
    for artifact in contract.artifacts:
        pattern = translate(artifact.pattern)
        found += [(artifact.name, path) for path in paths if pattern.fullmatch(path.removeprefix("./"))]
    return References(invariants, tuple(found))


def missing(before: References, shown: str) -> References:
    """What is not in `shown` any more."""
    return References(
        tuple(line for line in before.invariants if line not in shown),
        tuple((name, path) for name, path in before.artifacts if not _mentions(shown, path)),
    )


def join_lost(before: References, *lost: References) -> References:
    """What is in any of `lost`, in the order of `before`."""
    invariants = {line for one in lost for line in one.invariants}
    artifacts = {pair for one in lost for pair in one.artifacts}
    return References(
        tuple(line for line in before.invariants if line in invariants),
        tuple(pair for pair in before.artifacts if pair in artifacts),
    )


def lines(lost: References) -> tuple[str, ...]:
    """Lines that put it back, word for word."""
    return (
        *(f"Invariant: {line}" for line in lost.invariants),
        *(f"Artifact {name}: {path}" for name, path in lost.artifacts),
    )


def count(before: References, lost: References) -> Preserved:
    """The audit's numbers."""
    return Preserved(len(before.artifacts), len(lost.artifacts), len(before.invariants), len(lost.invariants))


def translate(pattern: str, *, anywhere: bool = True) -> re.Pattern[str]:
    """A path pattern as a regular expression: `*` and `?` within a segment, `**` across segments.

    A relative pattern also matches below any folder, since tools name files by absolute paths; not so
    without `anywhere`.
    """
    parts: list[str] = []
    index = 0
    while index < len(pattern):
        if pattern.startswith("**/", index):
            parts.append("(?:[^/]+/)*")
            index += 3
        elif pattern.startswith("**", index):
            parts.append(".*")
            index += 2
        elif pattern[index] in "*?":
            parts.append("[^/]*" if pattern[index] == "*" else "[^/]")
            index += 1
        else:
            parts.append(re.escape(pattern[index]))
            index += 1
    above = "" if pattern.startswith("/") or not anywhere else "(?:.*/)?"
    return re.compile(above + "".join(parts))


def join(texts: Iterable[str]) -> str:
    """Texts as one, so that nothing matches across two of them."""
    return "\n".join(texts)


def _mentions(shown: str, path: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", shown) is not None
