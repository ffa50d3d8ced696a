"""`@behaviour("D4.torn-tail")`: the test shows that behaviour of `tests/behaviours.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviours import BEHAVIOURS


def behaviour(*ids: str) -> pytest.MarkDecorator:
    """Claim behaviours for a test. Raises ValueError for an id the manifest does not have."""
    for unknown in set(ids) - BEHAVIOURS.keys():
        raise ValueError(f"no behaviour {unknown!r} in tests/behaviours.py")
    return pytest.mark.behaviour(*ids)


def claims(tests: Path) -> Iterator[tuple[str, str]]:
    """(behaviour id, test) of every decorated test function below the folder, read from the source."""
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for claimed in _claimed(node):
                    yield claimed, f"{path.relative_to(tests)}::{node.name}"


def _claimed(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="behaviour"), args=ids):
                yield from (i.value for i in ids if isinstance(i, ast.Constant) and isinstance(i.value, str))
