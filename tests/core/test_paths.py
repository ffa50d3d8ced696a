"""Two spellings of one file compare equal (octos section 11, weaknesses: paths were not normalised)."""

from __future__ import annotations

import pytest

from ctxd.core.paths import normalize


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
