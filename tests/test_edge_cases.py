"""The list of edge cases holds: every test it names exists, and every section of the references is in it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.edge_cases import CASES, Case

TESTS = Path(__file__).parent
SECTIONS = ("E8", "E12", "E14", "O5", *(f"O{n}" for n in (16, 17, 18, 19, 22, 23, 24, 27, 28, 29, 30, 31)))

FUNCTIONS = {
    node.name
    for path in TESTS.rglob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.section} {case.sentence}")
def test_an_edge_case_is_shown_by_tests_or_decided_otherwise(case: Case) -> None:
    assert [name for name in case.tests if f"test_{name}" not in FUNCTIONS] == []
    assert case.tests or case.otherwise
    assert case.otherwise == "" or not case.sentence.startswith("!") or case.sentence in OTHERWISE


OTHERWISE = ("!without a session id", "!expiry")
"""Weaknesses that are none here, or are answered in another way."""


def test_every_section_has_its_edge_cases() -> None:
    assert {case.section for case in CASES} == set(SECTIONS)
