"""Which workspace a folder is for is a hint: written whole, read with suspicion, and lost without harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxd.store.homes import NAME, Home, read_home, write_home
from tests.store.desk import Desk


def test_what_was_noted_is_read_and_noted_again(desk: Desk) -> None:
    layout = desk.layout()
    assert read_home(layout) is None
    write_home(layout, Home("/a", "1-2", "3-4"))
    write_home(layout, Home("/b", "1-2", "3-4"))
    assert read_home(layout) == Home("/b", "1-2", "3-4")
    assert [path.name for path in layout.folder.iterdir() if "workspace" in path.name] == [NAME]
    assert (layout.folder / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"path": 1}', "\0" * 100])
def test_what_cannot_be_read_says_nothing(desk: Desk, text: str) -> None:
    layout = desk.layout()
    (layout.folder / NAME).write_text(text)
    assert read_home(layout) is None


def test_a_link_in_its_place_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    layout = desk.layout()
    victim = tmp_path / "victim"
    victim.write_text('{"path": "/a"}')
    (layout.folder / NAME).symlink_to(victim)
    assert read_home(layout) is None
    write_home(layout, Home("/b"))
    assert victim.read_text() == '{"path": "/a"}'
    assert read_home(layout) == Home("/b")
