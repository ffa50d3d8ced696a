from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.core.merging import keeps, merge

texts = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(lambda ls: "".join(line + "\n" for line in ls))


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "merged"),
    [
        ("a\nb\n", "a\nb\nt\n", "a\nb\no\n", "a\nb\nt\no\n"),
        ("a\nb\n", "t\na\nb\n", "a\nb\no\n", "t\na\nb\no\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\no\n", "a\nc\no\n"),
        ("a\nb\n", "a\nB\n", "a\nb\no\n", "a\nB\no\n"),
        ("a\nhal", "a\nhalf a line\n", "a\nhal\no\n", "a\nhalf a line\no\n"),
        ("", "t\n", "o\n", "t\no\n"),
        ("a\n", "", "a\no\n", "o\n"),
        ("a\nb\n", "a\nt\nb\n", "b\n", "b\nt\n"),
        ("a\n", "a\nsame\n", "a\nsame\n", "a\nsame\n"),
    ],
)
def test_both_changes_stand(base: str, theirs: str, ours: str, merged: str) -> None:
    assert merge(base, theirs, ours) == merged


@given(base=texts, theirs=texts, ours=texts)
def test_no_line_that_either_put_in_is_lost(base: str, theirs: str, ours: str) -> None:
    made = merge(base, theirs, ours).splitlines()
    put = (set(theirs.splitlines()) | set(ours.splitlines())) - set(base.splitlines())
    assert put <= set(made)


@given(base=texts, changed=texts)
def test_one_change_alone_is_that_change(base: str, changed: str) -> None:
    assert merge(base, changed, base) == changed
    assert merge(base, base, changed) == changed


@given(old=texts, place=st.integers(0, 20), more=texts)
def test_putting_something_in_keeps_everything(old: str, place: int, more: str) -> None:
    assert keeps(old, old[:place] + more + old[place:])


def test_taking_something_out_does_not() -> None:
    assert not keeps("a\nb\nc\n", "a\nc\n")
    assert not keeps("a\nb\n", "b\na\n")
    assert not keeps("aa", "a")
