"""Whether a file is still what a session saw: proven by content, bounded by times, else unknown."""

from __future__ import annotations

import pytest

from ctxd.core.freshness import Freshness, Likeness, compare, judge
from ctxd.model.messages import FileOp

FILE = "import os\n\n\ndef main() -> None:\n    print(os.name)\n    return None\n"
LINES = FILE.split("\n")


def numbered(form: str, first: int = 1, last: int = len(LINES) - 1) -> str:
    return "\n".join(form.format(n, LINES[n - 1]) for n in range(first, last + 1))


@pytest.mark.parametrize("form", ["{:6}→{}", "{:6}\t{}", "{}: {}", "{}:{}", "{:05}| {}", "{:4} {}"])
def test_a_listing_is_the_file_whatever_stands_before_its_lines(form: str) -> None:
    likeness = compare(numbered(form), FILE)
    assert likeness == ("unknown" if form == "{:4} {}" else "whole")


@pytest.mark.parametrize(
    ("shown", "likeness"),
    [
        (FILE, "whole"),
        (FILE.replace("\n", "\r\n"), "whole"),
        ("\ufeff" + FILE, "whole"),
        (f"<file>\n{FILE}</file>", "whole"),
        (f"<path>a</path>\n{numbered('{:6}→{}')}\n\n<system-reminder>\nmind it\n</system-reminder>", "whole"),
        (numbered("{:6}→{}") + f"\n{len(LINES):6}→", "whole"),
        (numbered("{:6}→{}", 2, 5), "part"),
        ("\n".join(LINES[3:5]), "part"),
        ("The file was updated.\n" + numbered("{:6}→{}", 4, 6), "part"),
        (numbered("{:6}→{}").replace("os.name", "os.sep"), "different"),
        (numbered("{:6}→{}") + "\n     7→more\n     8→than there is", "different"),
        (FILE.replace("os.name", "os.sep"), "unknown"),
        ("File unchanged since last read.", "unknown"),
        ("12: found\n40: found", "unknown"),
        ("", "unknown"),
    ],
)
def test_what_a_tool_showed_is_compared_line_by_line(shown: str, likeness: Likeness) -> None:
    assert compare(shown, FILE) == likeness


def test_a_line_a_tool_cut_is_compared_as_far_as_it_goes() -> None:
    line = "x" * 3000
    shown = f"     1→first\n     2→{line[:2000]}... [truncated]\n     3→third"
    assert compare(shown, f"first\n{line}\nthird\n") == "whole"
    assert compare(shown, f"first\ny{line}\nthird\n") == "different"


def test_part_of_a_line_is_not_a_part_of_the_file() -> None:
    assert compare("print", FILE) == "unknown"


@pytest.mark.parametrize(
    ("likeness", "op", "mtime", "ctime", "freshness"),
    [
        ("whole", "read", 9_999, 9_999, "unchanged"),
        ("unknown", "read", 2_001, 2_001, "changed"),
        ("part", "read", 2_001, 2_001, "changed"),
        ("part", "read", 500, 500, "unchanged"),
        ("different", "read", 500, 500, "changed"),
        ("different", "edit", 500, 500, "unknown"),
        ("unknown", "read", 1_500, 1_500, "unknown"),
        ("unknown", "edit", 1_500, 1_500, "unchanged"),
        ("unknown", "write", 1_000, 2_000, "unchanged"),
        ("unknown", "edit", 500, 500, "unknown"),
        ("unknown", "edit", 1_500, 2_001, "unknown"),
        ("unknown", "edit", 2_001, 2_001, "changed"),
    ],
)
def test_times_say_what_content_does_not(
    likeness: Likeness, op: FileOp, mtime: int, ctime: int, freshness: Freshness
) -> None:
    """The call was recorded at 1 000, its result at 2 000."""
    assert judge(likeness, op, called_at=1_000, answered_at=2_000, mtime=mtime, ctime=ctime) == freshness
