from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ctxd.model.episode import Episode
from ctxd.model.summary import Decision, Quote, SessionSummary
from ctxd.store.layout import open_layout
from ctxd.store.memory.episodes import Episodes
from tests.support.behaviour import behaviour


@pytest.fixture
def episodes(tmp_path: Path) -> Episodes:
    return Episodes(open_layout(tmp_path / "state", "/w"))


def episode(session: str, checkpoint: str, goal: str = "g") -> Episode:
    summary = SessionSummary(
        goal=goal, constraints=(Quote("never", "m1"),), decisions=(Decision(0, "d", stale=True),)
    )
    return Episode(checkpoint, session, 5, summary)


@behaviour("memory.episodes")
def test_an_episode_comes_back_typed_as_it_was(episodes: Episodes) -> None:
    assert episodes.names() == []
    episodes.put(episode("s1", "c1"))
    assert episodes.names() == ["s1@c1"]
    assert episodes.read("s1@c1") == episode("s1", "c1")
    assert episodes.missing(["c0", "c1", "c2"]) == ["c0", "c2"]


def test_an_episode_is_never_changed(episodes: Episodes) -> None:
    episodes.put(episode("s1", "c1"))
    episodes.put(episode("s1", "c1", goal="other"))
    assert episodes.read("s1@c1") == episode("s1", "c1")


def test_the_episodes_of_one_session_are_forgotten_alone(episodes: Episodes) -> None:
    episodes.forget("s1")
    for session in ("s1", "s10"):
        episodes.put(episode(session, "c1"))
    episodes.forget("s1")
    assert episodes.names() == ["s10@c1"]


def test_what_cannot_be_read_is_no_episode(episodes: Episodes, tmp_path: Path) -> None:
    episodes.put(episode("s1", "c1"))
    (path,) = tmp_path.rglob("s1@c1.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b'{"checkpointId":"c1","sess')
    assert episodes.read("s1@c1") is None
    assert episodes.read("s1@c9") is None
