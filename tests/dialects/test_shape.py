"""Values of unknown shape: counts, blanks and compact JSON."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ctxd.dialects.base import BadShape
from ctxd.dialects.shape import compact, is_blank, valid_count, wire_size


@pytest.mark.parametrize(("value", "count"), [(0, 0), (7, 7), (2**53 - 1, 2**53 - 1)])
def test_a_safe_non_negative_integer_counts(value: Any, count: int) -> None:
    assert valid_count(value) == count


@pytest.mark.parametrize("value", [-1, 1.0, math.nan, math.inf, True, False, "7", None, 2**53, [7]])
def test_anything_else_does_not_count(value: Any) -> None:
    assert valid_count(value) is None


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \t\n\u3000", True), (".", False), (" x ", False)])
def test_white_space_alone_is_blank(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


def test_the_wire_size_is_bytes_of_utf_8() -> None:
    assert (wire_size("abc"), wire_size("é你"), wire_size("\ud800")) == (3, 5, 3)


def test_compact_json_keeps_surrogates_and_order() -> None:
    assert compact({"b": [1, None], "a": "\ud800é"}, "x") == '{"b":[1,null],"a":"\ud800é"}'


@pytest.mark.parametrize("seed", ["x", "\ud800"])
def test_nesting_without_end_is_a_bad_shape(seed: str) -> None:
    value: Any = [seed]
    for _ in range(100_000):
        value = [value, seed]
    with pytest.raises(BadShape) as caught:
        compact(value, "content.0")
    assert caught.value.path == "content.0"
