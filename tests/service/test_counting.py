"""Encodings are loaded once for everybody, and what is counted much is counted in one thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ctxd.service.counting import Counting


@pytest.mark.anyio
async def test_all_large_counts_are_made_in_one_thread_which_is_not_the_loops() -> None:
    counting = Counting()
    threads = {*await asyncio.gather(*(counting.run(threading.get_ident) for _ in range(50)))}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


@pytest.mark.anyio
async def test_everybody_waits_for_the_same_load_and_no_cancellation_stops_it() -> None:
    counting = Counting()
    first = counting.begin("o200k_base")
    assert counting.begin("o200k_base") is first
    impatient = asyncio.create_task(counting.counter("o200k_base"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await counting.counter("o200k_base")).count("hello world") == 2
    assert counting.loaded == ["o200k_base"]


@pytest.mark.anyio
async def test_an_encoding_that_cannot_be_loaded_is_tried_again_and_never_named_as_loaded() -> None:
    counting = Counting()
    for _ in range(2):
        failed = counting.begin("no such encoding")
        with pytest.raises(Exception, match="no such encoding"):
            await counting.counter("no such encoding")
        assert failed.done()
        assert counting.begin("no such encoding") is not failed
    assert counting.loaded == []
