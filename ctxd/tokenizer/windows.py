"""Context windows and prices of models, from the data that ships with genai-prices.

Owns the lookup and nothing else: no default window, no guess. A model the catalog does not name has no
window (report D.52). The catalog is imported at the first lookup (0.2 s of CPU, 15 MB), so call it in a
thread; its updater is never started and nothing here touches the network.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic, ModelInfo, Provider

_SHORT_NUMBER = re.compile(r"(?<!\d)\d{1,3}$")


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens, at the lowest tier. None: the catalog names no such price."""

    input: float | None
    output: float | None
    cache_read: float | None
    cache_write: float | None


def window_of(model_id: str, provider: str | None = None) -> int | None:
    """The model's context window in tokens; None when the catalog does not know it.

    The provider's own entry decides. A provider the catalog has never heard of (a gateway, a private
    name) is left aside and the model's maker is asked. `provider/model` ids work without a provider.
    Where a maker's entry has a price but no window, the entry of the same model at OpenRouter is read.
    """
    found = _find(model_id, provider)
    if found is None:
        return None
    maker, model = found
    if model.context_window:
        return model.context_window
    resold = _find(f"{maker.id}/{model.id}", "openrouter")
    return resold[1].context_window or None if resold else None


def price_of(model_id: str, provider: str | None = None, at: datetime | None = None) -> Price | None:
    """The model's price at a time, now by default; None when the catalog does not know it."""
    found = _find(model_id, provider)
    if found is None:
        return None
    prices = found[1].get_prices(at or datetime.now(UTC))
    price = Price(
        input=_base(prices.input_mtok),
        output=_base(prices.output_mtok),
        cache_read=_base(prices.cache_read_mtok),
        cache_write=_base(prices.cache_write_mtok),
    )
    return price if price.input is not None or price.output is not None else None


def _find(model_id: str, provider: str | None) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

    snapshot = get_snapshot()
    model_id = model_id.strip()
    if not model_id:
        return None
    known = find_provider_by_id(snapshot.providers, provider) if provider else None
    asked = [(model_id, known.id if known else None)]
    head, slash, tail = model_id.partition("/")
    if known is None and slash and tail and find_provider_by_id(snapshot.providers, head):
        asked.append((tail, head))
    for name, seller in asked:
        try:
            found = snapshot.find_provider_model(name, None, seller, None)
        except LookupError:
            continue
        if not _stops_inside_a_number(found[1].match, name.lower()):
            return found
    return None


def _stops_inside_a_number(match: MatchLogic, name: str) -> bool:
    """True when nothing but a prefix ending within a version names the model: 4-1 does not name 4-10.

    A prefix that ends in a year (`-2025`) is the start of a date and may go on.
    """
    from genai_prices.types import ClauseOr, ClauseStartsWith

    clauses = match.or_ if isinstance(match, ClauseOr) else [match]
    naming = [clause for clause in clauses if clause.is_match(name)]
    return bool(naming) and all(
        isinstance(clause, ClauseStartsWith)
        and name[len(clause.starts_with) :][:1].isdigit()
        and _SHORT_NUMBER.search(clause.starts_with) is not None
        for clause in naming
    )


def _base(price: Any) -> float | None:
    """A price is a Decimal, or tiers with a `base`."""
    price = getattr(price, "base", price)
    return None if price is None else float(price)
