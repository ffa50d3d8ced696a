"""One echoing daemon for all tests of a module that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.peer import Peer

ECHO = ("-m", "tests.support.echo_server")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Peer]:
    with Peer.start(program=ECHO) as peer:
        peer.initialize()
        yield peer


@pytest.fixture
def peer(daemon: Peer) -> Iterator[Peer]:
    """The module's daemon, checked to have nothing left unread after each test."""
    yield daemon
    assert daemon.inbox == []
