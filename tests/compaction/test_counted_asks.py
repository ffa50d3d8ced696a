"""Asks that differ in a label only are different asks: none replaces another, however many there are."""

from __future__ import annotations

import pytest

from ctxd.compaction.constraints import choose
from ctxd.model.summary import Quote


def kept(texts: list[str]) -> list[str]:
    quotes = [Quote(text, f"m{number}") for number, text in enumerate(texts)]
    return [quote.text for quote in choose(quotes, 1_000_000, lambda text: len(text) // 4 + 1).quotes]


@pytest.mark.parametrize(
    "template",
    [
        "Do step {}.",
        "Look at test {}.",
        "Fix bug {} in a.py",
        "Review PR #{}.",
        "Close issue {}.",
        "Open page {}",
        "请做第{}步。",
        "看一下第 {} 章",
    ],
)
def test_every_numbered_ask_stays(template: str) -> None:
    texts = [template.format(number) for number in range(1, 25)]
    assert kept(texts) == texts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use 8 workers.", "Actually make that 12 workers."),
        ("Set the limit to 5.", "Set the limit to 7."),
        ("最多重试3次", "最多重试5次"),
    ],
)
def test_a_value_is_still_replaced_by_a_newer_one(old: str, new: str) -> None:
    assert kept([old, "Go on.", new]) == ["Go on.", new]
