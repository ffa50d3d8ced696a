"""The text of the handoff: what E asks of it, within its bound."""

from __future__ import annotations

import pytest

from ctxd.compaction.handoff import MAX_BYTES, reminder

ASKED_FOR = [
    "objective",
    "constraints",
    "decisions",
    "files changed",
    "verified",
    "background",
    "blockers",
    "exact next action",
    "exact commands, arguments",
    "Do not claim success",
    "Do not create files",
    "Keep working",
]


@pytest.mark.parametrize("wanted", ASKED_FOR)
def test_it_asks_for_the_execution_frontier(wanted: str) -> None:
    assert wanted in " ".join(reminder(5_000).split())


def test_it_begins_with_its_tag_and_ends_with_the_headroom() -> None:
    lines = reminder(5_000).splitlines()
    assert lines[0] == '<token-budget-handoff version="1">'
    assert lines[-1] == "Remaining prompt-token headroom before compaction: 5000."


@pytest.mark.parametrize(("headroom", "said"), [(0, "0."), (-3, "0."), (2**53 - 1, "9007199254740991.")])
def test_headroom_is_never_negative_and_never_makes_it_too_long(headroom: int, said: str) -> None:
    text = reminder(headroom)
    assert text.endswith(f": {said}")
    assert len(text.encode()) <= MAX_BYTES


def test_it_says_that_it_does_not_come_from_the_user() -> None:
    assert "not from the user" in reminder(1)
