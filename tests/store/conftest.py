"""Fixtures of the store's tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.desk import Desk


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder where syncing costs nothing: in memory where the system has that, else on disk."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def desk(memory_path: Path) -> Iterator[Desk]:
    desk = Desk(memory_path / "state")
    yield desk
    desk.close()
