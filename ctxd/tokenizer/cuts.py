"""Places where a text may be cut so that the counts of its parts add up to the count of the whole.

Pure. Keeps every engine's work on one piece bounded, whatever a tool printed: a run of a million
characters costs no engine more than linear time and no more memory than one piece needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LIMIT = 49_152
"""Longest piece, characters. 3 * 2**14: hard cuts fall between whole groups of three digits and whole
power-of-two runs, which are how the encodings group long runs."""

# After a letter or number and before ASCII punctuation, symbol, space or control, or common
# punctuation of other scripts, both encodings always start a new piece: measured over 860 000 random
# cuts with no difference. Not before an apostrophe (it's). Greedy, so that the last such place is found.
SAFE_AFTER = (
    r"\x00-&(-/:-@\[-`{-\x7f\xa0\u2010-\u2018\u201a-\u2027\u2030-\u205e\u3000-\u3003\u3008-\u3011"
    r"\uff01-\uff06\uff08-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_LAST_SAFE_CUT = re.compile(rf".*[^\W_](?=[{SAFE_AFTER}])", re.DOTALL)


def pieces(text: str, limit: int = LIMIT) -> Iterator[str]:
    """The text in pieces of at most `limit` characters, cut at the last safe place of each.

    Counts of the pieces add up exactly, unless a run longer than `limit` holds no safe place: it is
    cut hard, at a cost of at most a few tokens in a million characters.
    """
    start = 0
    while len(text) - start > limit:
        found = _LAST_SAFE_CUT.match(text, start, start + limit)
        end = found.end() if found else start + limit
        yield text[start:end]
        start = end
    yield text[start:] if start else text
