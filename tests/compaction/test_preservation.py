"""Preservation: a contract's references are looked for before and after, and put back."""

from __future__ import annotations

import pytest

from ctxd.compaction import preservation
from ctxd.model.contract import Artifact, ContractDeclared


def contract(pattern: str, *invariants: str) -> ContractDeclared:
    return ContractDeclared(artifacts=(Artifact("slides", pattern),), invariants=invariants)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("output/**/slide-*.png", "output/deck/slide-01.png", True),
        ("output/**/slide-*.png", "output/slide-01.png", True),
        ("output/**/slide-*.png", "/home/me/project/output/a/b/slide-9.png", True),
        ("output/**/slide-*.png", "output/deck/notes.md", False),
        ("*.csv", "report.csv", True),
        ("*.csv", "data/report.csv", True),
        ("data/*.csv", "data/old/report.csv", False),
        ("output", "output/deck/slide-01.png", False),
        ("/srv/?.log", "/srv/a.log", True),
        ("/srv/?.log", "/other/srv/a.log", False),
    ],
)
def test_a_pattern_matches_whole_paths_and_no_loose_prefix(pattern: str, path: str, matches: bool) -> None:
    found = preservation.references(contract(pattern), f"wrote {path}, then went on")
    assert (found.artifacts == (("slides", path),)) is matches


def test_what_was_never_mentioned_cannot_be_lost() -> None:
    before = preservation.references(contract("out/*.png", "Never push to main."), "nothing of it here")
    assert preservation.missing(before, "") == preservation.References((), ())


def test_what_went_missing_is_put_back_word_for_word() -> None:
    declared = contract("out/*.png", "Never push to main.", "Use tabs.")
    before = preservation.references(declared, "Never push to main. Use tabs. Wrote out/a.png and out/b.png.")
    lost = preservation.missing(before, "Use tabs. See out/a.png")
    assert preservation.lines(lost) == ("Invariant: Never push to main.", "Artifact slides: out/b.png")
    assert preservation.missing(
        before, "Use tabs. See out/a.png\n" + "\n".join(preservation.lines(lost))
    ) == (preservation.References((), ()))
    assert preservation.count(before, lost) == preservation.Preserved(2, 1, 2, 1)


def test_a_neighbour_of_a_path_does_not_count_as_the_path() -> None:
    before = preservation.references(contract("out/*.png"), "wrote out/a.png")
    assert preservation.missing(before, "there is out/a.png.bak/x and about/out/a.png").artifacts
    assert not preservation.missing(before, "see (out/a.png).").artifacts
