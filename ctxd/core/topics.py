"""Names of memory topics: what can be one, and which names mean the same topic. Pure.

A topic is a file `<name>.md` on any system, so a name is refused that some system would read otherwise.
"""

from __future__ import annotations

import re
import unicodedata

INDEX = "MEMORY"
"""The topic that is the index itself."""

SUFFIX = ".md"
MAX_CHARS = 80
MAX_BYTES = 200

_FORBIDDEN = re.compile(r'[/\\:*?"<>|]')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?")
_SHORTENED = re.compile(r"(?i)[^.]{1,6}~\d+(\..*)?")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def topic_name(given: str) -> str:
    """The name as files have it: composed, without `.md`; the index is always `MEMORY`.

    Raises ValueError that says what is wrong with the name, never the name itself.
    """
    name = unicodedata.normalize("NFC", given)
    if any(unicodedata.category(c) in _UNSEEN for c in name):
        raise ValueError("must not hold control, format or bidirectional characters")
    if name.lower().endswith(SUFFIX):
        name = name[: -len(SUFFIX)]
    if not name.strip():
        raise ValueError("must not be empty")
    if _FORBIDDEN.search(name):
        raise ValueError('must not hold any of / \\ : * ? " < > |')
    if name != name.strip() or name[0] in ".~" or name[-1] == ".":
        raise ValueError("must not begin with a dot, a tilde or a space, nor end with a dot or a space")
    if _DEVICES.fullmatch(name) or _SHORTENED.fullmatch(name):
        raise ValueError("is a name that some systems give to something else")
    if len(name) > MAX_CHARS or len(name.encode()) > MAX_BYTES:
        raise ValueError(f"must have at most {MAX_CHARS} characters and {MAX_BYTES} bytes")
    return INDEX if topic_key(name) == topic_key(INDEX) else name


def topic_key(name: str) -> str:
    """Equal for names that the most forgiving file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def topic_of(file_name: str) -> str | None:
    """The topic that a file of the memory folder is; None for a file that is none."""
    if not file_name.endswith(SUFFIX):
        return None
    try:
        name = topic_name(file_name)
    except ValueError:
        return None
    return name if name + SUFFIX == file_name else None
