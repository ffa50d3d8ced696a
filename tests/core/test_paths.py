"""Two spellings of one file compare equal (octos section 11, weaknesses: paths were not normalised)."""

from __future__ import annotations

import pytest

from ctxd.core.paths import inside, normalize, of_uri
from tests.support.behaviour import behaviour


@pytest.mark.parametrize(
    "spelling",
    [
        "a/b.py",
        "./a/b.py",
        "a//b.py",
        "a/./b.py",
        "a/c/../b.py",
        "a\\b.py",
        "/project/a/b.py",
        "/project/x/../a/b.py",
    ],
)
def test_spellings_of_one_file_are_one_path(spelling: str) -> None:
    assert normalize(spelling, "/project") == "/project/a/b.py"


@pytest.mark.parametrize(("one", "two"), [("a.py", "A.py"), ("a.py", "b/a.py"), ("../a.py", "a.py")])
def test_different_files_are_different_paths(one: str, two: str) -> None:
    assert normalize(one, "/project") != normalize(two, "/project")


def test_a_drive_letter_is_absolute() -> None:
    assert (
        normalize("C:\\code\\a.py", "/project") == normalize("C:/code/./a.py", "/elsewhere") == "C:/code/a.py"
    )


def test_without_a_workspace_a_path_stands_for_itself() -> None:
    assert normalize("./a.py", "") == "a.py"


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("d:\\Work\\a.py", "D:\\Work", "D:/Work/a.py"),
        ("D:/Work/sub/../a.py", "d:/Work", "D:/Work/a.py"),
        ("sub\\a.py", "d:\\Work", "D:/Work/sub/a.py"),
        ("/a:b/c", "/root", "/a:b/c"),
        ("ab:c", "/root", "/root/ab:c"),
    ],
)
@behaviour("paths.drives")
def test_a_drive_is_one_drive_however_it_is_spelled(path: str, root: str, found: str) -> None:
    """Reports F72: `d:\\` and `D:\\` are one workspace."""
    assert normalize(path, root) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [("/d:/Work/a", "D:/Work/a"), ("/D:", "D:"), ("/dd:/x", "/dd:/x"), ("/home/x", "/home/x")],
)
def test_a_uri_of_a_drive_names_the_drive(path: str, found: str) -> None:
    assert of_uri(path) == found


def test_what_lies_below_a_former_root_lies_below_the_root() -> None:
    assert normalize("/old/src/a.py", "/new", ["/older", "/old"]) == "/new/src/a.py"
    assert normalize("/older/a.py", "/new", ["/older", "/old"]) == "/new/a.py"
    assert normalize("/oldest/a.py", "/new", ["/older", "/old"]) == "/oldest/a.py"
    assert normalize("/old", "/new", ["/old"]) == "/new"


@pytest.mark.parametrize(
    ("path", "folder", "found"),
    [
        ("/w/a", "/w", "a"),
        ("/w", "/w/", "."),
        ("/ws", "/w", None),
        ("/a", "/", "a"),
        ("D:/w/a", "d:\\w", "a"),
    ],
)
def test_inside_is_by_whole_names(path: str, folder: str, found: str | None) -> None:
    assert inside(path, folder) == found
