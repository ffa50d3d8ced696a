"""A daemon per test, in this process, on a folder in memory: tests of what is said, not of the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.host import LocalHost

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory; elsewhere the usual temporary folder does."""


def _memory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ctxd-", dir=MEMORY if MEMORY.is_dir() else None)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder."""
    with _memory() as made:
        yield Path(made)


@pytest.fixture
def host(folder: Path) -> Iterator[LocalHost]:
    """A daemon with default options."""
    with LocalHost(folder / "state") as made:
        yield made


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    """An empty folder for all properties of a module."""
    with _memory() as made:
        yield Path(made)


@pytest.fixture(scope="module")
def daemon(quick_folder: Path) -> Iterator[LocalHost]:
    """A daemon with default options for all properties of a module."""
    with LocalHost(quick_folder / "state") as made:
        yield made
