"""The compiled catalog answers like genai-prices itself, costs one child process, and survives damage."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from genai_prices.data_snapshot import find_provider_by_id, get_snapshot
from genai_prices.types import ModelInfo, Provider

from ctxd.tokenizer.catalog import Catalog, Model, Seller, compiled, load, seal

QUESTIONS = [
    "claude-opus-4-5-20251101",
    "gpt-5.2-20251211",
    "gpt-5.2-20251399",
    "CLAUDE-3.5-SONNET",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "anthropic/claude-sonnet-4",
    "meta-llama/Llama-3.3-70B-Instruct",
    "gemini-2.5-pro-preview-tts",
    "@cf/meta/llama",
    "nobody-knows-this",
    "",
]


@pytest.fixture(scope="module")
def models() -> Catalog:
    return load(None)


def theirs(provider: Provider, ref: str) -> ModelInfo | None:
    return provider.find_model(ref, all_providers=get_snapshot().providers)


def questions(provider: Provider) -> Iterator[str]:
    """The ids of a provider's models, and ids of others."""
    for model in provider.models:
        yield model.id
    yield from QUESTIONS


def test_every_id_of_the_catalog_finds_the_model_it_finds_there(models: Catalog) -> None:
    asked = 0
    for provider in get_snapshot().providers[:16]:
        seller = models.seller(provider.id)
        assert seller is not None
        for ref in questions(provider):
            want, got = theirs(provider, ref), models.model(seller, ref)
            assert (got and (got.id, got.window)) == (want and (want.id, want.context_window)), (
                provider.id,
                ref,
            )
            asked += 1
    assert asked > 500


def test_makers_are_recognised_by_their_ids_as_there(models: Catalog) -> None:
    for ref in [*QUESTIONS, "grok-4", "o3", "kimi-k2", "glm-4.6", "command-r", "mistral-large", "Gemini-2.5"]:
        want = next(
            (p.id for p in get_snapshot().providers if p.model_match and p.model_match.is_match(ref)), None
        )
        got = models.maker(ref)
        assert (got.id if got else None) == want


@pytest.mark.parametrize("name", ["Anthropic", " openai ", "bedrock", "vertex", "gcp-vertex", "nobody"])
def test_names_of_providers_are_those_of_the_catalog(models: Catalog, name: str) -> None:
    want, got = find_provider_by_id(get_snapshot().providers, name), models.seller(name)
    assert (got.id if got else None) == (want.id if want else None)


@pytest.mark.parametrize(
    ("clause", "text", "named"),
    [
        ({"starts_with": "claude-opus-4-1"}, "claude-opus-4-1", True),
        ({"starts_with": "claude-opus-4-1"}, "claude-opus-4-1-20250805", True),
        ({"starts_with": "claude-opus-4-1"}, "claude-opus-4-10", False),
        ({"starts_with": "claude-sonnet-4-2025"}, "claude-sonnet-4-20250514", True),
        ({"starts_with": "gpt-4o"}, "gpt-4o2", True),
        ({"ends_with": "-X"}, "a-x", True),
        ({"contains": "B"}, "abc", True),
        ({"equals": "ABC"}, "abc", True),
        ({"equals": "ab"}, "abc", False),
        ({"regex": "^a.c$"}, "abc", True),
        ({"or_": [{"equals": "x"}, {"equals": "abc"}]}, "abc", True),
        ({"and_": [{"contains": "a"}, {"contains": "z"}]}, "abc", False),
        ({"a clause of a later version": "abc"}, "abc", False),
    ],
)
def test_a_clause_names_an_id(clause: object, text: str, named: bool) -> None:
    model = Model("it", msgspec.Raw(msgspec.json.encode(clause)), 1, ())
    seller = Seller("s", None, None, (), (model,))
    assert (Catalog((seller,)).model(seller, text) is model) == named


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def test_a_child_compiles_it_once_and_this_process_never_imports_the_package(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ctxd.tokenizer.windows import window_of;"
        "print(window_of('gpt-4o', cache=Path(sys.argv[1])), 'genai_prices' in sys.modules)"
    )
    stamps = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["128000", "False"]
        (file,) = files(tmp_path)
        stamps.append(file.stat().st_mtime_ns)
    assert stamps[0] == stamps[1]


def test_the_child_does_not_search_the_folder_the_daemon_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ctxd").mkdir()
    for name in ("ctxd/__init__.py", "msgspec.py", "hashlib.py", "genai_prices.py"):
        (tmp_path / name).write_text("from pathlib import Path\nPath('ran').write_text('')\n")
    monkeypatch.chdir(tmp_path)
    load(tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("damage", [b"", b"x", b"\x00" * 5000, None])
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: bytes | None) -> None:
    whole = load(tmp_path)
    (file,) = files(tmp_path)
    good = file.read_bytes()
    file.write_bytes(good[:-40] + b"0" + good[-39:] if damage is None else damage)
    assert len(load(tmp_path).sellers) == len(whole.sellers)
    assert file.read_bytes() == good == seal(compiled())


def test_where_no_child_can_run_it_is_compiled_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("", str(tmp_path / "missing"), os.devnull):
        monkeypatch.setattr(sys, "executable", executable)
        folder = tmp_path / f"cache{len(executable)}"
        assert len(load(folder).sellers) > 30
        assert len(files(folder)) == 1


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert len(load(blocked / "cache").sellers) > 30
