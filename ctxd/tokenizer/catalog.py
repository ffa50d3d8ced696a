"""The catalog of models that ships with genai-prices, compiled to what ctxd asks of it.

Owns the compiled file in the cache folder and the matching of ids. Importing genai-prices costs 0.2 s of
CPU and 15 MB for the life of a process (an HTTP client comes with it), so a child process does it once
for each installed version. Without a cache folder, or where no child can be started, it is imported
here. Its updater is never started. Must not know sessions; has no default for anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from ctxd.tokenizer.cache_file import replace

FORMAT = 1
"""Version of the compiled file. Raise it when a struct here changes."""

COMPILE_SECONDS = 30
"""How long a child may take before the catalog is compiled in this process."""


class Price(msgspec.Struct, frozen=True, array_like=True):
    """US dollars for a million tokens, at the lowest tier. None: the catalog names no such price."""

    input: float | None
    output: float | None
    cache_read: float | None
    cache_write: float | None


class Dated(msgspec.Struct, frozen=True, array_like=True):
    """A price and the first day it holds (ISO, UTC), empty for always."""

    since: str
    price: Price


class Model(msgspec.Struct, frozen=True, array_like=True):
    """`match` is the catalog's clause as JSON, read only when asked. `prices`: the last that holds, holds."""

    id: str
    match: msgspec.Raw
    window: int | None
    prices: tuple[Dated, ...]


class Seller(msgspec.Struct, frozen=True, array_like=True):
    """A provider. `fallbacks` are ids of sellers whose models it offers too."""

    id: str
    names: Any
    models_match: Any
    fallbacks: tuple[str, ...]
    models: tuple[Model, ...]


class Catalog(msgspec.Struct, frozen=True, array_like=True):
    """All sellers, in the catalog's order, which decides between several that match."""

    sellers: tuple[Seller, ...]

    def seller(self, name: str) -> Seller | None:
        """The seller of this id or of a name it also goes by."""
        name = name.lower().strip()
        exact = (seller for seller in self.sellers if seller.id == name)
        known = (seller for seller in self.sellers if seller.names and _matches(seller.names, name))
        return next(exact, None) or next(known, None)

    def maker(self, model_id: str) -> Seller | None:
        """The seller that owns ids like this one."""
        ref = model_id.lower()
        return next((s for s in self.sellers if s.models_match and _matches(s.models_match, ref)), None)

    def model(self, seller: Seller, model_id: str) -> Model | None:
        """The seller's model of this id, with a compact date (`-20251211`) read as a dashed one at need."""
        ref = model_id.lower()
        return self._model(seller, ref) or self._model(seller, _COMPACT_DATE.sub(r"-\1-\2-\3", ref))

    def _model(self, seller: Seller, ref: str) -> Model | None:
        others = (other for name in seller.fallbacks for other in self.sellers if other.id == name)
        for offered in (seller, *others):
            for model in offered.models:
                if _matches(msgspec.json.decode(model.match), ref):
                    return model
        return None


_SEAL_BYTES = 65
_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_SHORT_NUMBER = re.compile(r"(?<!\d)\d{1,3}$")


def load(folder: Path | None) -> Catalog:
    """The catalog, from the compiled file in `folder`, made when it is missing. Raises ImportError."""
    if folder is None:
        return _decode(compiled())
    path = folder / f"models-{FORMAT}-{_installed()}.json"
    found = _read(path)
    if found is None:
        _compile_in_child(path)
        found = _read(path)
    if found is not None:
        return found
    data = compiled()
    with contextlib.suppress(OSError):
        replace(path, seal(data))
    return _decode(data)


def compiled() -> bytes:
    """The compiled catalog as JSON, from genai-prices imported into this process."""
    from genai_prices.data import providers

    sellers = [
        Seller(
            id=provider.id,
            names=msgspec.to_builtins(provider.provider_match),
            models_match=msgspec.to_builtins(provider.model_match),
            fallbacks=tuple(provider.fallback_model_providers or ()),
            models=tuple(
                Model(
                    id=model.id,
                    match=msgspec.Raw(msgspec.json.encode(model.match)),
                    window=model.context_window,
                    prices=tuple(_dated(model.prices)),
                )
                for model in provider.models
            ),
        )
        for provider in providers
    ]
    return msgspec.json.encode(Catalog(tuple(sellers)))


def seal(data: bytes) -> bytes:
    """The file's content: the data's sha256 in hex, a line break, the data."""
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _read(path: Path) -> Catalog | None:
    """The catalog of a compiled file; None when it is missing, unreadable or not what `seal` made."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_SEAL_BYTES:]
    return _decode(data) if seal(data) == content else None


def _decode(data: bytes) -> Catalog:
    return msgspec.json.decode(data, type=Catalog)


def _installed() -> str:
    """Names the installed data without importing it: its size and time."""
    spec = importlib.util.find_spec("genai_prices")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("genai-prices is not installed", name="genai_prices")
    stat = (Path(spec.submodule_search_locations[0]) / "data.py").stat()
    return f"{stat.st_size:x}-{stat.st_mtime_ns:x}"


def _compile_in_child(path: Path) -> None:
    """Have a fresh interpreter write the file. What goes wrong shows in the file being absent.

    `-P`: the folder the daemon was started in must not be searched for modules, it is the user's.
    """
    if not sys.executable:
        return
    command = [sys.executable, "-P", "-m", "ctxd.tokenizer.catalog", str(path)]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=COMPILE_SECONDS,
            check=False,
        )


def _matches(clause: Any, text: str) -> bool:
    """Whether a clause of genai-prices names a lower-case text.

    One difference: a prefix that ends inside a version names nothing. `claude-opus-4-1` is not
    `claude-opus-4-10`. A prefix that ends in a year is the start of a date and may go on.
    """
    ((kind, value),) = clause.items()
    match kind:
        case "starts_with":
            prefix = str(value).lower()
            inside = text[len(prefix) :][:1].isdigit() and _SHORT_NUMBER.search(prefix) is not None
            return text.startswith(prefix) and not inside
        case "ends_with":
            return text.endswith(str(value).lower())
        case "contains":
            return str(value).lower() in text
        case "equals":
            return text == str(value).lower()
        case "regex":
            return re.search(value, text) is not None
        case "or_":
            return any(_matches(part, text) for part in value)
        case "and_":
            return all(_matches(part, text) for part in value)
        case _:
            return False


def _dated(prices: Any) -> list[Dated]:
    """Prices in the catalog's order. Those that hold for hours of the day only are left out."""
    if not isinstance(prices, list):
        return [Dated("", _price(prices))]
    dated = []
    for conditional in prices:
        since = getattr(conditional.constraint, "start_date", None)
        if conditional.constraint is None or since is not None:
            dated.append(Dated(since.isoformat() if since else "", _price(conditional.prices)))
    return dated


def _price(prices: Any) -> Price:
    def base(price: Any) -> float | None:
        """A price is a Decimal, or tiers with a `base`."""
        price = getattr(price, "base", price)
        return None if price is None else float(price)

    return Price(
        input=base(prices.input_mtok),
        output=base(prices.output_mtok),
        cache_read=base(prices.cache_read_mtok),
        cache_write=base(prices.cache_write_mtok),
    )


if __name__ == "__main__":
    replace(Path(sys.argv[1]), seal(compiled()))
