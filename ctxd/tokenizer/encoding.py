"""Exact token counts on o200k_base and cl100k_base, by whichever engine is installed.

Owns the choice between toktok (fast, compiled-in vocabularies) and tiktoken (the reference), and the
rules that make both give the same number for any text: special-token strings are plain text, lone
surrogates are repaired, long runs are cut (`ctxd.tokenizer.cuts`). Must not know models or factors.
Importing this module loads neither engine.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from ctxd.tokenizer import vocabulary
from ctxd.tokenizer.cache_file import cache_folder
from ctxd.tokenizer.cuts import pieces
from ctxd.tokenizer.families import EncodingName

Engine: TypeAlias = Literal["toktok", "tiktoken"]

PATTERN: dict[EncodingName, str] = {
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
"""How the encodings split text before merging: part of their definition, as tiktoken 0.14 writes it.

Kept here because tiktoken gives it only together with its own loading of the vocabulary.
"""

_NO_LIMIT = 1 << 31


class Counter:
    """Counts tokens of text on one encoding. Safe to use from any thread; made by `load`."""

    __slots__ = ("_count", "encoding", "engine")

    def __init__(self, encoding: EncodingName, engine: Engine, count: Callable[[str], int]) -> None:
        """`count` gives the tokens of one piece without lone surrogates, at most `cuts.LIMIT` characters."""
        self.encoding: EncodingName = encoding
        self.engine: Engine = engine
        self._count = count

    def count(self, text: str) -> int:
        """Tokens of `text`. Never raises for any str."""
        return sum(map(self._count, pieces(_repaired(text))))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order. One call after the other: a thread pool is slower for messages."""
        return [self.count(text) for text in texts]


def load(encoding: EncodingName, cache: Path | None = None, *, engine: Engine | None = None) -> Counter:
    """A counter that is ready: blocks for about 0.4 s of CPU, so call it in a thread.

    `cache` is the folder of the vocabulary file, by default the user's cache folder; only tiktoken
    needs it. `engine` forces one; by default toktok where it can be imported. Never touches the
    network or the environment. Raises ImportError for a forced engine that isn't installed, and
    what `vocabulary.read` raises.
    """
    if engine != "tiktoken":
        try:
            return Counter(encoding, "toktok", _load_toktok(encoding))
        except ImportError:
            if engine == "toktok":
                raise
    return Counter(encoding, "tiktoken", _load_tiktoken(encoding, cache or cache_folder()))


def _load_toktok(encoding: EncodingName) -> Callable[[str], int]:
    toktok = importlib.import_module("toktok")
    truncate = toktok.truncate

    def count(piece: str) -> int:
        tokens: int = truncate(piece, _NO_LIMIT, encoding)[1]
        return tokens

    # Loads the table alone. A count would also make the calling thread's memo, 17 MB for ever.
    toktok.batch_count([], encoding, 1)
    _return_memory()
    return count


def _load_tiktoken(encoding: EncodingName, folder: Path | None) -> Callable[[str], int]:
    import tiktoken

    ranks = vocabulary.parse(vocabulary.read(encoding, folder))
    built = tiktoken.Encoding(encoding, pat_str=PATTERN[encoding], mergeable_ranks=ranks, special_tokens={})
    # The engine has copied the ranks; tiktoken keeps this dict for calls that are never made here.
    ranks.clear()
    _return_memory()

    def count(piece: str) -> int:
        try:
            return len(built.encode_ordinary(piece))
        except BaseException as error:
            # A panic of the engine is no Exception: its regex gave up on a run it can't step back over.
            if type(error).__name__ != "PanicException":
                raise
        if len(piece) < 2:
            return len(piece.encode())
        half = len(piece) // 2
        return count(piece[:half]) + count(piece[half:])

    return count


def _repaired(text: str) -> str:
    """The text as tiktoken counts it: surrogate pairs joined, lone ones replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _return_memory() -> None:
    """Give the pages of what loading has freed back to the system; glibc keeps 2 to 4 MB otherwise."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
