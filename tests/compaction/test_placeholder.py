"""The text that stands for a result: what it says, and where a clipped one is cut."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.compaction.placeholder import clipped, cut, placeholder, size_of
from ctxd.model.events import ElisionReason
from ctxd.model.messages import CallFacts, ResultFacts
from tests.support.behaviour import behaviour

CALL = CallFacts("toolu_1", "Read", "read", path="src/a.py", target="src/a.py:1-40")
RESULT = ResultFacts("toolu_1", bytes=18_900, tokens=5_000, digest="sha256:00")
FAILED = ResultFacts("toolu_1", bytes=300, tokens=90, digest="sha256:00", is_error=True)


@behaviour("elision.placeholder")
def test_it_says_tool_target_outcome_size_reason_and_the_exact_way_back() -> None:
    assert placeholder(CALL, RESULT, "stale", occurrence=0) == (
        "[Read src/a.py:1-40: completed, 18.9 KB of output not shown (from an earlier turn). "
        'Kept whole; read it with recall {"toolCallId": "toolu_1", "occurrence": 0}]'
    )


def test_a_failure_is_said_as_a_failure() -> None:
    """Reports E.62: placeholder text must not look like a failure, nor hide one."""
    assert "failed" in placeholder(CALL, FAILED, "snipped")
    assert "failed" not in placeholder(CALL, RESULT, "snipped")


def test_a_result_whose_call_is_unknown_still_has_its_handle() -> None:
    assert '{"toolCallId": "toolu_1"}' in placeholder(None, RESULT, "oversized")


@pytest.mark.parametrize("reason", get_args(ElisionReason))
def test_every_reason_is_said_on_one_line(reason: ElisionReason) -> None:
    found = re.search(r"not shown \((.+)\)\.", placeholder(CALL, RESULT, reason))
    assert found is not None
    assert "\n" not in placeholder(CALL, RESULT, reason)


@given(st.text(min_size=1))
def test_the_recall_call_reads_back_whatever_the_id_holds(call_id: str) -> None:
    result = ResultFacts(call_id, bytes=1, tokens=1, digest="")
    found = re.search(r"recall (\{.*\})\]$", placeholder(None, result, "stale", occurrence=3), re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == {"toolCallId": call_id, "occurrence": 3}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (999, "999 B"),
        (1_000, "1.0 KB"),
        (18_949, "18.9 KB"),
        (3_200_000, "3.2 MB"),
    ],
)
def test_sizes_are_decimal_with_one_digit(size: int, text: str) -> None:
    assert size_of(size) == text


def test_a_clipped_result_keeps_head_and_tail_around_the_notice() -> None:
    text = clipped(CALL, RESULT, "clippedNewest", "HEAD" + "x" * 900 + "TAIL", head_bytes=4, tail_bytes=4)
    head, notice, tail = text.split("\n")
    assert (head, tail) == ("HEAD", "TAIL")
    assert notice == (
        "[Read src/a.py:1-40: completed, 18.9 KB of output, of which only beginning and end are shown "
        '(too large for the window). Kept whole; read it with recall {"toolCallId": "toolu_1"}, '
        "what is left out from offset 4]"
    )


@given(st.text(), st.integers(0, 40), st.integers(0, 40))
def test_cuts_fall_between_characters_and_never_overlap(text: str, head_bytes: int, tail_bytes: int) -> None:
    head, tail = cut(text, head_bytes, tail_bytes)
    shown = text.encode("utf-8", "replace").decode()
    assert shown.startswith(head)
    assert shown.endswith(tail)
    assert len(head.encode()) <= head_bytes
    assert len(tail.encode()) <= tail_bytes
    assert len(head) + len(tail) <= len(shown)


def test_cuts_waste_less_than_one_character_on_each_side() -> None:
    assert cut("世界世界", 4, 4) == ("世", "界")
    assert cut("a\U0001f600b", 4, 4) == ("a", "b")


def test_a_lone_surrogate_is_cut_without_raising() -> None:
    assert cut("\ud800abc", 2, 1) == ("?a", "c")
