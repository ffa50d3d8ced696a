"""Context windows and prices of models, as the catalog knows them.

Owns the lookup and nothing else: no default window, no guess. A model the catalog does not name has no
window (report D.52). The first lookup of a machine takes half a second, the first of a process some
milliseconds: call it in a thread. Nothing here touches the network.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from pathlib import Path

from ctxd.tokenizer import catalog
from ctxd.tokenizer.cache_file import cache_folder
from ctxd.tokenizer.catalog import Catalog, Model, Price, Seller


def window_of(model_id: str, provider: str | None = None, *, cache: Path | None = None) -> int | None:
    """The model's context window in tokens; None when the catalog does not know it.

    The provider's own entry decides. A provider the catalog has never heard of (a gateway, a private
    name) is left aside and the model's maker is asked. `provider/model` ids work without a provider.
    Where a maker's entry has a price but no window, the entry of the same model at OpenRouter is read.
    `cache`: the cache folder, by default the user's.
    """
    models = _catalog(cache or cache_folder())
    found = _find(models, model_id, provider)
    if found is None:
        return None
    seller, model = found
    if model.window:
        return model.window
    resold = _find(models, f"{seller.id}/{model.id}", "openrouter")
    return resold[1].window or None if resold else None


def price_of(
    model_id: str, provider: str | None = None, at: datetime | None = None, *, cache: Path | None = None
) -> Price | None:
    """The model's price on the UTC day of `at`, now by default; None when the catalog does not know it."""
    found = _find(_catalog(cache or cache_folder()), model_id, provider)
    if found is None:
        return None
    day = (at or datetime.now(UTC)).astimezone(UTC).date().isoformat()
    prices = found[1].prices
    price = next((dated.price for dated in reversed(prices) if dated.since <= day), None)
    return price if price and (price.input is not None or price.output is not None) else None


@functools.cache
def _catalog(folder: Path | None) -> Catalog:
    return catalog.load(folder)


def _find(models: Catalog, model_id: str, provider: str | None) -> tuple[Seller, Model] | None:
    """The entry, and the seller whose list was read (fallbacks of a reseller count as its own)."""
    model_id = model_id.strip()
    known = models.seller(provider) if provider else None
    asked = [(model_id, known or models.maker(model_id))]
    head, slash, tail = model_id.partition("/")
    if known is None and slash:
        asked.append((tail, models.seller(head)))
    for name, seller in asked:
        model = models.model(seller, name) if seller and name else None
        if seller and model:
            return seller, model
    return None
