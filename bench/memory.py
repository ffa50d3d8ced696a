"""What memory costs with 10,000 entries: a search, a search right after a write, and the index."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Ratio, Workbench, elapsed, typical
from tools.peer import Peer

ENTRIES, TOPICS = 10_000, 20
SEARCH_SECONDS = 0.020
WRITE_SECONDS = 0.060
ROUNDS = 200

_SYLLABLES = [
    "ka",
    "to",
    "mi",
    "ren",
    "sol",
    "ver",
    "ta",
    "lo",
    "pre",
    "dic",
    "an",
    "ser",
    "vi",
    "ce",
    "por",
    "mo",
]
_SIGNS = "部署数据库缓存接口测试发布回滚日志监控权限前端后端服务端口配置证书队列任务脚本"


class _Texts:
    """Entries of a vocabulary in which, as in any language, few words are common and most are rare."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        sizes = self._chance.choices((2, 3, 3, 4), k=4_000)
        self._words = ["".join(self._chance.choices(_SYLLABLES, k=size)) for size in sizes]
        self._weights = [1 / (place + 5) for place in range(len(self._words))]

    def words(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, self._weights, k=count))

    def signs(self, count: int) -> str:
        return "".join(self._chance.choices(_SIGNS, k=count))

    def entry(self, number: int) -> str:
        return f"- {self.words(9)} key{number} {self.signs(6)}"

    def query(self, number: int) -> str:
        kinds = (self.words(4), f"key{self._chance.randrange(ENTRIES)} {self.words(1)}", self.signs(4))
        return kinds[number % len(kinds)]


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """Searches are new every time; p95 counts, since one slow answer is what a person notices."""
    texts = _Texts()
    with scratch.ready_daemon(memory={"topicBytes": 4_000_000}) as peer:
        per = ENTRIES // TOPICS
        for topic in range(TOPICS):
            numbers = range(topic * per, (topic + 1) * per)
            _write(peer, scratch.workspace, f"topic {topic}", "\n".join(map(texts.entry, numbers)))
        _search(peer, scratch.workspace, "warm up")
        times = [
            elapsed(lambda: _search(peer, scratch.workspace, texts.query(n)))  # noqa: B023 - run at once
            for n in range(ROUNDS)
        ]
        fresh: list[float] = []
        writes: list[float] = []
        for number in range(30):
            entry = texts.entry(ENTRIES + number)
            writes.append(elapsed(lambda: _write(peer, scratch.workspace, "topic 3", entry)))  # noqa: B023
            query = f"key{ENTRIES + number}"
            fresh.append(elapsed(lambda: _search(peer, scratch.workspace, query)))  # noqa: B023
        _write(peer, scratch.workspace, "MEMORY", "\n".join(map(texts.entry, range(ENTRIES))))
        index = [elapsed(lambda: _index(peer, scratch.workspace)) for _ in range(5)]
    yield Ratio(f"search {ENTRIES:,} entries, p95", _p95(times), SEARCH_SECONDS, 1, "the budget")
    yield Ratio("search right after a write, p95", _p95(fresh), SEARCH_SECONDS, 2, "the budget of a search")
    yield Ratio("write an entry to a topic of 500", typical(writes), WRITE_SECONDS, 1, "the budget")
    yield Ratio(f"index of {ENTRIES:,} entries", typical(index), 0.5, 1, "the budget")


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def _write(peer: Peer, workspace: Path, topic: str, content: str) -> None:
    params = {"workspace": workspace.as_uri(), "topic": topic, "content": content}
    peer.request("memory/write", params)


def _search(peer: Peer, workspace: Path, query: str) -> None:
    peer.request("memory/search", {"workspace": workspace.as_uri(), "query": query})


def _index(peer: Peer, workspace: Path) -> None:
    index: dict[str, Any] = peer.request("memory/index", {"workspace": workspace.as_uri()})
    if index["lines"] > 200 or not index["omittedLines"]:
        raise RuntimeError("the index is not bounded")
