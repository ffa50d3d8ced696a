from __future__ import annotations

import pytest

from ctxd.core.relevance import FLOOR, ask, coverage, index_terms, root, telling, weigh
from tests.support.behaviour import behaviour

ENTRIES = [
    "We deploy with blue/green releases, never on Fridays",
    "The staging database listens on port 5433",
    "Invoices are stored in PostgreSQL and archived to S3",
    "Run make check before every commit",
    "数据库部署采用蓝绿发布，回滚脚本在 scripts 目录",
    "接口字段一律用驼峰命名",
    "测试环境的端口是 8443",
    "前端缓存过期时间是十分钟",
]


def scores(query: str) -> dict[str, float]:
    terms = ask(query)
    held = [set(index_terms(text)) for text in ENTRIES]
    known = {term: sum(term in terms for terms in held) for term in terms}
    weights = weigh(terms, {term: n for term, n in known.items() if n}, len(ENTRIES))
    return {text: coverage(terms, weights) for text, terms in zip(ENTRIES, held, strict=True)}


@behaviour("memory.search-floor")
@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("how do we deploy", 0),
        ("when are releases forbidden on friday", 0),
        ("staging database port", 1),
        ("what port does the staging db use", 1),
        ("where do invoices go", 2),
        ("committing: what to run", 3),
        ("数据库怎么部署", 4),
        ("部署方案", 4),
        ("回滚脚本在哪里", 4),
        ("我们的接口命名用什么风格", 5),
        ("测试端口", 6),
        ("缓存多久过期", 7),
    ],
)
def test_a_question_finds_its_entry_first(query: str, entry: int) -> None:
    found = scores(query)
    assert max(found, key=lambda text: found[text]) == ENTRIES[entry]
    assert found[ENTRIES[entry]] >= FLOOR


@behaviour("memory.search-floor")
@pytest.mark.parametrize(
    "query",
    [
        "quantum flux capacitor",
        "banana bread recipe with walnuts",
        "who won the football world championship",
        "kubernetes ingress annotations for websocket timeouts",
        "the a of what how",
        "量子纠缠实验",
        "今天天气怎么样",
        "红烧肉怎么做好吃",
        "我们的什么",
        "?!",
    ],
)
def test_a_question_about_nothing_known_reaches_no_entry(query: str) -> None:
    assert [text for text, score in scores(query).items() if score >= FLOOR] == []


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("deploy deploys deployed deploying", "deploy"),
        ("database databases", "databas"),
        ("release releases released releasing", "releas"),
        ("policy policies", "policy"),
        ("setting settings set", "set"),
        ("class classes", "class"),
        ("pass", "pass"),
        ("数据", "数据"),
        ("v2", "v2"),
    ],
)
def test_forms_of_a_word_have_one_root(words: str, same: str) -> None:
    assert {root(word) for word in words.split()} == {same}


def test_terms_that_cannot_carry_an_answer_alone_are_not_asked_for() -> None:
    weights = weigh(["common", "rare"], {"common": 900, "rare": 2}, 1_000)
    assert telling(weights, {"common": 900, "rare": 2}) == ["rare"]
    assert telling(weigh(["common"], {"common": 900}, 1_000), {"common": 900}) == ["common"]
    assert telling(weigh(["unknown"], {}, 10), {}) == []
