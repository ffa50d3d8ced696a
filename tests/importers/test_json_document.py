"""Documents read an element at a time say the same as documents read whole, and survive being cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.importers import json_document
from ctxd.importers.json_document import Document
from ctxd.importers.steps import NoteTaker

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
DOCUMENTS = st.lists(VALUES, max_size=5) | st.dictionaries(st.text(max_size=4), VALUES, max_size=5)


@pytest.fixture
def piecewise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read whole, and chunks end anywhere."""
    monkeypatch.setattr(json_document, "WHOLE_BYTES", -1)
    monkeypatch.setattr(json_document, "_CHUNK", 7)


def elements(document: Document, name: str | None) -> tuple[list[Any], dict[str, tuple[int, ...]]]:
    notes = NoteTaker()
    found = [value for _, value in document.elements(name, notes)]
    return found, {note.kind: note.lines for note in notes.notes()}


@given(value=DOCUMENTS, indent=st.sampled_from([None, 2]), ascii=st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_outline_finds_every_member_and_element(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: int | None, ascii: bool
) -> None:
    path = tmp_path_factory.mktemp("document") / "x"
    path.write_bytes(json.dumps(value, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_document, "WHOLE_BYTES", -1)
        patch.setattr(json_document, "_CHUNK", 7)
        document = Document.open(path)
    read = json.loads(path.read_bytes().decode("utf-8", "replace"))
    assert not document.torn
    if isinstance(read, list):
        assert document.kind == "list"
        assert elements(document, None) == (read, {})
        return
    assert document.kind == "object"
    assert set(document.names) == set(read)
    for name, member in read.items():
        assert document.value(name) == member
        if isinstance(member, list):
            assert elements(document, name) == (member, {})


@pytest.mark.parametrize("content", [b"", b"  ", b"7", b'"x"', b"x", b"{} {}", b"[1]\n[2]"])
def test_what_is_no_list_and_no_object_is_refused(tmp_path: Path, piecewise: None, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        Document.open(path)


def test_a_document_that_was_cut_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"system": "s", "messages": [{"a": 1}, {"b": "x}"}, {"c": "to')
    document = Document.open(path)
    assert document.torn
    assert document.value("system") == "s"
    assert elements(document, "messages") == ([{"a": 1}, {"b": "x}"}], {"tornDocument": (3,)})


def test_an_element_that_is_no_json_or_too_large_costs_itself(
    tmp_path: Path, piecewise: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_document, "MAX_VALUE_BYTES", 40)
    path = tmp_path / "x"
    path.write_text(json.dumps([1, {"x": "y" * 50}])[:-1] + ", {nonsense}, 2]")
    assert elements(Document.open(path), None) == ([1, 2], {"tooLong": (2,), "tornRecord": (3,)})


def test_a_meter_is_told_of_every_byte(tmp_path: Path, piecewise: None) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps({"a": ["x" * 100] * 10}))
    told: list[Any] = []

    class Meter:
        def begin(self, title: str, size: int) -> None:
            told.append((title, size))

        def advance(self, count: int) -> None:
            told.append(count)

    Document.open(path, Meter())
    (begun, *counts) = told
    assert begun == ("index", path.stat().st_size)
    assert sum(counts) == path.stat().st_size
