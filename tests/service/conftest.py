"""A daemon per test, in this process; and a folder that properties may open thousands of sessions in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.host import LocalHost


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "state") as made:
        yield made


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    """In memory where the system has such a place: a property waits for the disk at every append."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
