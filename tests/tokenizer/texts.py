"""Texts that break tokenizers, and how the tests of this room count."""

from __future__ import annotations

from typing import TypeAlias

from ctxd.tokenizer.encoding import Counter
from ctxd.tokenizer.families import EncodingName

Counters: TypeAlias = dict[EncodingName, Counter]

ENCODINGS: list[EncodingName] = ["o200k_base", "cl100k_base"]

HOSTILE = [
    "",
    " ",
    "\x00\x01\x7f",
    "hello world",
    "<|endoftext|><|im_start|>system<|endofprompt|><|fim_prefix|>",
    "it's we'RE I'LL 'tis o'clock ’s 'ſ",
    "a  b   c\t\t d\r\n\r\n  e\u00a0f\u3000g\u2028h\x85i",
    "1234567890 3.14159 ¹²³ ١٢٣ ⅷ 一二三",
    "https://example.org/a/b?c=d&e=%20#f",
    "def f(x):\n\treturn {'a': [1, 2, 3]}  # ok\n",
    "e\u0301 Z̸̢a̷l̵g̶o̷ \u200d\ufeff",
    "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪✌🏽",
    "Привет, мир! مرحبا بالعالم שלום עולם สวัสดี नमस्ते 안녕하세요 こんにちは。",
    "你好世界，这是一个测试。「引用」、（括号）！",
    "ǅ ǆ ʰ ª º ﬁ Ⅻ",
    "\U0010ffff\U0001f600\u0378\ue000",
]


def in_one_piece(counter: Counter, text: str) -> int:
    """The engine's own count, nothing cut and nothing repaired before: what `count` must give."""
    return counter._count(text)
