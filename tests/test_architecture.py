"""The map is true and the walls stand: layers, sizes, names, reachability, ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import grimp
import pytest

from tests.support.behaviour import behaviour
from tests.support.references import Project

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "ctxd").rglob("*.py"))
ROOM_BUDGET = 32
LINE_BUDGET = 400
BANNED_MODULES = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}
BANNED_CLASS = re.compile(r"(Manager|Helpers?|Utils?|Misc|Common)$")
ENTRY_POINTS = ("ctxd.__main__", "ctxd.cli", "tools.protocol")
"""What starts: the command, and the generator of protocol/."""
N = TypeVar("N", bound=ast.AST)


@behaviour("house.layers")
def test_the_walls_between_the_rooms_stand() -> None:
    lint = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
            "--no-logo",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert lint.returncode == 0, lint.stdout[-4000:] + lint.stderr[-2000:]


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_stays_within_the_line_budget(source: Path) -> None:
    lines = source.read_text().count("\n")
    assert lines <= LINE_BUDGET


def test_no_room_is_crowded() -> None:
    crowd = Counter(str(p.parent.relative_to(ROOT)) for p in SOURCES)
    assert {room: count for room, count in crowd.items() if count > ROOM_BUDGET} == {}


def test_nothing_is_imported_behind_the_walls_back() -> None:
    """Only rooms with an optional dependency import by name at run time."""
    hidden = {p.parent.name for p in SOURCES if re.search(r"\b(importlib|__import__)\b", _code(p))}
    assert hidden <= {"tokenizer", "summarizers"}


def test_no_module_is_named_after_nothing() -> None:
    named = [p for p in SOURCES if p.stem in BANNED_MODULES or p.parent.name in BANNED_MODULES]
    assert named == []


def test_no_class_is_named_after_nothing() -> None:
    classes = [
        f"{p.relative_to(ROOT)}:{n.name}" for p, n in _nodes(ast.ClassDef) if BANNED_CLASS.search(n.name)
    ]
    assert classes == []


def test_every_module_says_what_it_owns() -> None:
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []


def test_every_module_is_reached_from_an_entry_point() -> None:
    graph = grimp.build_graph("ctxd", "tools", cache_dir=None)
    started = {m for m in graph.modules if m.startswith(ENTRY_POINTS)}
    reached = started.union(*(graph.find_upstream_modules(m) for m in started))
    packages = {m.rsplit(".", depth)[0] for m in reached for depth in range(1, m.count(".") + 1)}
    modules = {m for m in graph.modules if m.startswith("ctxd")}
    assert sorted(modules - reached - packages) == []


def test_nothing_public_is_called_by_tests_alone() -> None:
    """A public function or class is named once more than where it is defined, or is registered."""
    users = [*SOURCES, *(ROOT / "tools").rglob("*.py")]
    words = Counter(w for p in users for w in re.findall(r"\w+", _code(p)))
    lonely = [
        f"{p.relative_to(ROOT)}:{n.name}"
        for p in SOURCES
        for n in ast.parse(p.read_text()).body
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not n.name.startswith("_")
        and not n.decorator_list
        and words[n.name] < 2
        and f"{_module(p)}:{n.name}" not in _scripts()
    ]
    assert lonely == []


def test_a_package_reexports_only_what_it_declares() -> None:
    for path in (p for p in SOURCES if p.name == "__init__.py"):
        tree = ast.parse(path.read_text())
        imported = {
            (a.asname or a.name)
            for n in tree.body
            if isinstance(n, ast.ImportFrom) and n.module != "__future__"
            for a in n.names
        }
        declared = {
            e.value
            for n in tree.body
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets)
            for e in ast.walk(n.value)
            if isinstance(e, ast.Constant)
        }
        assert imported == declared, path


def test_architecture_md_names_only_what_exists() -> None:
    project = Project(ROOT)
    stale = [name for name in project.names(ROOT / "ARCHITECTURE.md") if not project.knows(name)]
    assert stale == []


def test_contributing_md_names_only_what_exists() -> None:
    project = Project(ROOT)
    stale = [name for name in project.names(ROOT / "CONTRIBUTING.md") if not project.knows(name)]
    assert stale == []


def _nodes(kind: type[N]) -> Iterator[tuple[Path, N]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kind):
                yield path, node


def _code(path: Path) -> str:
    """The file without comments and docstrings; other strings (forward references) stay."""
    return ast.unparse(_Undocumented().visit(ast.parse(path.read_text())))


class _Undocumented(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return (
            ast.Pass() if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node
        )


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _scripts() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].values())
