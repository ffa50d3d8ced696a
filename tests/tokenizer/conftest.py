"""Counters are loaded once for the room: half a second and 60 MB each."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxd.tokenizer.encoding import load
from tests.tokenizer.texts import Counters


@pytest.fixture(scope="session")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that starts empty, for vocabularies and the compiled catalog."""
    return tmp_path_factory.mktemp("vocabularies")


@pytest.fixture(scope="session")
def reference(vocabularies: Path) -> Counters:
    """Both encodings on tiktoken."""
    return {
        "o200k_base": load("o200k_base", vocabularies, engine="tiktoken"),
        "cl100k_base": load("cl100k_base", vocabularies, engine="tiktoken"),
    }


@pytest.fixture(scope="session")
def fast(vocabularies: Path) -> Counters:
    """Both encodings on toktok, or on tiktoken again where toktok has no wheel."""
    return {
        "o200k_base": load("o200k_base", vocabularies),
        "cl100k_base": load("cl100k_base", vocabularies),
    }
