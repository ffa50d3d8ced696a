"""Which violations refuse a list, however few laws are asked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.dialects.refusal import refused
from ctxd.dialects.registry import NAMES, get
from ctxd.dialects.rules.pairing import Paired, pair
from tests.dialects.lists import any_list

BOTH = pytest.mark.parametrize("name", NAMES)
MANY = settings(max_examples=300, deadline=None)


@BOTH
@MANY
@given(data=st.data())
def test_a_law_that_says_it_never_refuses_never_does(name: str, data: st.DataObject) -> None:
    dialect, messages = get(name), data.draw(any_list(name))
    views = [dialect.view(message) for message in messages]
    every = [v for rule in dialect.rules for v in rule.violations(views) if v.mend == "refuse"]
    assert sorted(every, key=lambda v: v.index) == refused(dialect, views)


@BOTH
@MANY
@given(data=st.data())
def test_a_list_paired_once_reads_as_one_paired_anew(name: str, data: st.DataObject) -> None:
    dialect, messages = get(name), data.draw(any_list(name))
    views = [dialect.view(message) for message in messages]
    once = Paired(views)
    for layout in ("turns", "rows", "turns"):
        assert pair(once, layout) == pair(views, layout)
    assert pair(once, "turns") is pair(once, "turns")
