from __future__ import annotations

import socket

import pytest

from ctxd.embeddings.static import FLOOR, Neighbours, fuse
from tests.support.behaviour import behaviour

pytest.importorskip("wordllama")

TEXTS = {
    7: "We deploy with blue/green releases, never on Fridays",
    8: "Invoices are stored in PostgreSQL and archived to S3",
    9: "The parser must reject unknown fields",
}


@pytest.fixture(scope="module")
def neighbours() -> Neighbours:
    made = Neighbours()
    made.update(TEXTS)
    return made


@behaviour("memory.vectors")
def test_what_means_the_same_in_other_words_is_near(neighbours: Neighbours) -> None:
    (first, *_) = neighbours.nearest("deploying new releases on friday", 3)
    assert first[0] == 7
    assert first[1] >= FLOOR
    assert [
        number for number, _ in neighbours.nearest("bills archived in a database, invoice storage", 3)
    ] == [8]


@behaviour("memory.vectors")
@pytest.mark.parametrize(
    "query", ["quantum flux capacitor", "banana bread recipe", "who won the world cup", "", "zzz qqq"]
)
def test_what_means_something_else_is_not(neighbours: Neighbours, query: str) -> None:
    assert neighbours.nearest(query, 3) == []


@behaviour("memory.vectors")
def test_the_weights_are_there_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    Neighbours().update({1: "words"})


def test_texts_come_and_go(neighbours: Neighbours) -> None:
    made = Neighbours()
    assert made.nearest("anything", 3) == []
    made.update({1: TEXTS[7], 2: TEXTS[8]})
    made.update({2: TEXTS[8], 3: TEXTS[9]})
    assert [number for number, _ in made.nearest(TEXTS[7], 3)] == []
    assert [number for number, _ in made.nearest(TEXTS[9], 1)] == [3]
    made.update({})
    assert made.nearest(TEXTS[9], 3) == []


def test_what_stands_high_in_both_rankings_is_worth_most() -> None:
    worth = fuse([[1, 2, 3], [2, 4]])
    assert sorted(worth, key=lambda number: -worth[number]) == [2, 1, 4, 3]
