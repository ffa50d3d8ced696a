"""Broken bytes are copied aside under their digest, once, and stay where they were (D5)."""

from __future__ import annotations

import hashlib

from tests.store.desk import Desk, names
from tests.support.behaviour import behaviour


@behaviour("D5.quarantine")
def test_broken_bytes_are_kept_once_under_their_digest(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    junk = bytes(range(256)) * 9000
    with desk.segments()[-1].open("ab") as file:
        file.write(junk)
    digest = hashlib.sha256(junk).hexdigest()
    folder = desk.layout().quarantine
    for _ in range(3):
        log = desk.open()
        assert [span.sha256 for span in log.health.spans] == [digest]
        log.close()
        assert [(p.name, p.read_bytes()) for p in folder.iterdir()] == [(digest, junk)]
    assert desk.segments()[0].read_bytes().endswith(junk)


def test_a_copy_that_was_lost_or_cut_is_made_again_at_the_next_opening(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    with desk.segments()[-1].open("ab") as file:
        file.write(b"some junk")
    desk.open().close()
    (copy,) = desk.layout().quarantine.iterdir()
    copy.write_bytes(b"some")
    desk.open().close()
    assert copy.read_bytes() == b"some junk"
    copy.unlink()
    log = desk.open()
    assert copy.read_bytes() == b"some junk"
    assert names(log.records) == ["a"]
