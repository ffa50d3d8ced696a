"""A workspace beside a secret, both ways of opening, and a count of descriptors around every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.workspace.beneath import is_supported, open_beneath
from ctxd.workspace.boundary import Opener
from ctxd.workspace.walk import open_by_steps
from tests.workspace.attacks import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.made_in(tmp_path)


@pytest.fixture(params=["openat2", "walk", "walk as on macOS"])
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Opener:
    """The ways of opening. macOS has neither handles without access nor the number of a mount."""
    if request.param == "walk as on macOS":
        step = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        monkeypatch.setattr("ctxd.workspace.walk._STEP", step)
        monkeypatch.setattr("ctxd.workspace.walk._mount_of", lambda fd: "")
        return open_by_steps
    if request.param == "walk":
        return open_by_steps
    if not is_supported():
        pytest.skip("this kernel or sandbox has no openat2")
    return open_beneath


@pytest.fixture(autouse=True)
def every_descriptor_is_given_back() -> Iterator[None]:
    is_supported()
    before = descriptors()
    yield
    assert descriptors() == before


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/dev/fd"))  # noqa: PTH208
