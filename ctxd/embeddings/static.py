"""Texts near each other in meaning, by static embeddings (`ctxd-server[vectors]`), offline.

The weights come with the package: nothing is ever fetched. They know English; Chinese, Japanese and
Korean characters they read one by one, so that any two texts in them seem alike. Loading takes a second
and belongs in a thread. Not safe from several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FLOOR = 0.35
"""Cosine from which two English texts are about the same; unrelated ones stay below 0.2."""


class Neighbours:
    """Texts by number. Raises ImportError where the extra is not installed."""

    def __init__(self) -> None:
        import numpy
        import wordllama

        self._numpy = numpy
        # Its own folder holds weights and vocabulary; with any other it would look for a network.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        self._numbers: list[int] = []
        self._rows: Any = numpy.zeros((0, 1), dtype=numpy.float32)

    def update(self, there: Mapping[int, str]) -> None:
        """Know exactly these texts; those known already are not read again."""
        known = dict(zip(self._numbers, range(len(self._numbers)), strict=True))
        kept = [number for number in self._numbers if number in there]
        new = [number for number in there if number not in known]
        if not new and len(kept) == len(self._numbers):
            return
        rows = self._rows[[known[number] for number in kept]]
        if new:
            made = self._embed([there[number] for number in new])
            rows = self._numpy.concatenate([rows, made]) if kept else made
        self._numbers = [*kept, *new]
        self._rows = rows

    def nearest(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Numbers of the texts nearest to a query and their cosines, nearest first, from FLOOR on."""
        if not self._numbers:
            return []
        cosines = self._rows @ self._embed([query])[0]
        order = self._numpy.argsort(-cosines, kind="stable")[:limit]
        found = ((self._numbers[int(i)], float(cosines[int(i)])) for i in order)
        return [(number, cosine) for number, cosine in found if cosine >= FLOOR]

    def _embed(self, texts: Sequence[str]) -> Any:
        rows = self._model.embed(list(texts))
        lengths = self._numpy.linalg.norm(rows, axis=1, keepdims=True)
        return rows / self._numpy.maximum(lengths, 1e-9)


def fuse(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """Reciprocal rank fusion: what each number is worth, by its places in several rankings."""
    worth: dict[int, float] = {}
    for ranking in rankings:
        for place, number in enumerate(ranking, 1):
            worth[number] = worth.get(number, 0.0) + 1 / (60 + place)
    return worth
