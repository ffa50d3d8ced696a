"""Nothing is counted twice, the table stays bounded, and threads may share it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ctxd.tokenizer.cache import CountCache, digest_of
from ctxd.tokenizer.encoding import Counter
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import HOSTILE, Counters


def tallying(seen: list[str]) -> Counter:
    """A counter that counts characters and writes down what it was asked."""

    def count(piece: str) -> int:
        seen.append(piece)
        return len(piece)

    return Counter("o200k_base", "tiktoken", count)


@behaviour("counting.once")
def test_a_content_is_counted_once_for_each_encoding(fast: Counters) -> None:
    seen: list[str] = []
    cache, counter = CountCache(), tallying(seen)
    assert [cache.count(counter, text) for text in ("one", "three", "one", "three")] == [3, 5, 3, 5]
    assert seen == ["one", "three"]
    assert cache.count(fast["cl100k_base"], "one") == 1
    assert (len(cache), cache.get("cl100k_base", digest_of("one"))) == (3, 1)


def test_counts_are_those_of_the_counter(fast: Counters) -> None:
    cache = CountCache()
    for _ in range(2):
        for text in [*HOSTILE, "\ud800", "\udfff"]:
            assert cache.count(fast["o200k_base"], text) == fast["o200k_base"].count(text)


def test_a_stored_count_is_believed() -> None:
    seen: list[str] = []
    cache = CountCache()
    cache.put("o200k_base", digest_of("stored with its event"), 4)
    assert cache.count(tallying(seen), "stored with its event") == 4
    assert seen == []


def test_zero_is_a_count() -> None:
    seen: list[str] = []
    cache, counter = CountCache(), tallying(seen)
    assert cache.count(counter, "") == cache.count(counter, "") == 0
    assert seen == [""]


def test_the_least_recently_used_count_goes_first() -> None:
    cache = CountCache(capacity=2)
    for name in (b"a", b"b"):
        cache.put("o200k_base", name, 1)
    assert cache.get("o200k_base", b"a") == 1
    cache.put("o200k_base", b"c", 1)
    assert [cache.get("o200k_base", name) for name in (b"a", b"b", b"c")] == [1, None, 1]
    cache.put("o200k_base", b"c", 2)
    assert (len(cache), cache.get("o200k_base", b"c")) == (2, 2)


def test_threads_share_it_and_it_stays_bounded() -> None:
    cache = CountCache(capacity=50)

    def work(start: int) -> bool:
        counter = tallying([])
        texts = ["x" * (start + n % 90) for n in range(2000)]
        return all(cache.count(counter, text) == len(text) for text in texts)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert len(cache) == 50
