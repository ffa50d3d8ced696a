"""The manifest of behaviours holds both ways: no behaviour without a test, no claim without a behaviour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.behaviours import BEHAVIOURS
from tests.support.behaviour import behaviour, claims

TESTS = Path(__file__).parent
CLAIMS = list(claims(TESTS))
SOURCE = re.compile(
    r"reliability\.md D\d+|(behaviour|reliability|protocol|house|jsonrpc|blade|octos)\.md §\d+|"
    r"reports\.md [A-F]\d+|issue [23456], (build|shows \d)"
)


@pytest.mark.parametrize("claimed", BEHAVIOURS)
def test_a_behaviour_is_shown_by_a_test(claimed: str) -> None:
    assert [test for name, test in CLAIMS if name == claimed] != []


def test_every_claim_is_a_behaviour() -> None:
    assert {name for name, _ in CLAIMS} <= BEHAVIOURS.keys()


def test_a_claim_of_an_unknown_behaviour_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"no behaviour 'D99\.nothing'"):
        behaviour("D99.nothing")


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_is_one_sentence_with_a_source(name: str) -> None:
    sentence, source = BEHAVIOURS[name]
    assert re.fullmatch(r"[A-Za-z0-9]+(\.[a-z0-9-]+)+", name)
    assert re.fullmatch(r"[A-Z−`].*[^.]\.", sentence)
    assert SOURCE.fullmatch(source)
