"""What is asked and what is indexed meet in the same terms."""

from __future__ import annotations

import pytest

from ctxd.core.terms import STOP, also, positions, query_terms


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("parseHTTPResponse", ["parse", "HTTP", "Response"]),
        ("getUserId(x)", ["get", "User", "Id"]),
        ("XMLHttp", ["XML", "Http"]),
        ("python3 v2", ["python"]),
        (r"{\"out\":\"one\napps/web\tdist\"}", ["apps", "dist"]),
        ("配置文件", ["配置", "置文", "文件"]),
        ("值", ["值"]),
        ("安装orjson失败", ["安装", "失败", "orjson"]),
        ("plain words, 42 of them", []),
        ("d3b1fef1fc6a", []),
    ],
)
def test_words_written_together_are_found_by_their_parts(text: str, parts: list[str]) -> None:
    assert also(text) == parts


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Where is the failing Test", ["failing", "test"]),
        ("what is it", ["what", "is", "it"]),
        ("test test TEST", ["test"]),
        ("getUserId", ["getuserid", "get", "user", "id"]),
        ("flight_number", ["flight", "number"]),
        ("端口号", ["端口", "口号"]),
        ("", []),
        ("… — !", []),
    ],
)
def test_a_query_asks_for_each_telling_term_once(query: str, terms: list[str]) -> None:
    assert query_terms(query) == terms


def test_a_query_of_nothing_but_stop_words_still_asks_for_them() -> None:
    assert query_terms(" ".join(sorted(STOP)))


def test_positions_are_where_terms_begin() -> None:
    text = "Ab 端口号x cd_ef"
    found = positions(text)
    assert found == [("ab", 0), ("端口", 3), ("口号", 4), ("x", 6), ("cd", 8), ("ef", 11)]
    assert all(text[at : at + len(term)].lower() == term for term, at in found)
