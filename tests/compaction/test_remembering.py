from __future__ import annotations

import pytest

from ctxd.compaction.constraints import GAP
from ctxd.compaction.remembering import ENTRIES, ENTRY_CHARS, TOTAL_CHARS, Memory, choose
from ctxd.model.summary import Quote
from tests.support.behaviour import behaviour


def chosen(*texts: str) -> list[tuple[str, str]]:
    quotes = [Quote(text, f"m{n}") for n, text in enumerate(texts)]
    return [(memory.topic, memory.words) for memory in choose(quotes, lambda _: False)]


@behaviour("memory.consolidation-rules")
@pytest.mark.parametrize(
    ("said", "topic", "words"),
    [
        ("Remember: use pnpm. Never npm.", "preferences", "use pnpm. Never npm."),
        ("Please remember that staging is stage-3.", "preferences", "staging is stage-3."),
        ("note to self: rotate the key ids in May", "preferences", "rotate the key ids in May"),
        ("- Note: the linter is strict", "preferences", "the linter is strict"),
        ("记住：部署前必须先跑迁移脚本", "preferences", "部署前必须先跑迁移脚本"),
        ("请记住一下，周五不发布", "preferences", "周五不发布"),
        ("备注: 端口是 8443", "preferences", "端口是 8443"),
        ("Our convention: snake_case for columns", "conventions", "snake_case for columns"),
        ("约定：接口字段一律用驼峰命名", "conventions", "接口字段一律用驼峰命名"),
        ("代码规范：每行不超过 110 字符", "conventions", "每行不超过 110 字符"),
        (
            "From now on always use uv instead of pip.",
            "conventions",
            "From now on always use uv instead of pip.",
        ),
        ("Never push to main without asking me.", "conventions", "Never push to main without asking me."),
        ("以后提交信息都用英文写", "conventions", "以后提交信息都用英文写"),
        ("本项目禁止使用 lodash", "conventions", "本项目禁止使用 lodash"),
        ("Lesson learned: retries need jitter", "lessons", "retries need jitter"),
        ("教训：不要在高峰期重建索引", "lessons", "不要在高峰期重建索引"),
        (
            "Fixed: the redirect loop came from a stale cookie domain",
            "debugging",
            "the redirect loop came from a stale cookie domain",
        ),
        (
            "修复：登录页的重定向循环由缓存过期时间设置错误导致，已调整",
            "debugging",
            "登录页的重定向循环由缓存过期时间设置错误导致，已调整",
        ),
    ],
)
def test_what_the_user_marked_or_made_a_rule_is_chosen(said: str, topic: str, words: str) -> None:
    assert chosen(said) == [(topic, words)]
    assert chosen(f"Hello.\n{said}\nPlease go on.") == [(topic, words)]


@behaviour("memory.consolidation-rules")
@pytest.mark.parametrize(
    "said",
    [
        "prefix: the thing in front",
        "suffix: the thing behind",
        "Footnote: see the appendix",
        "notebook: cells are numbered",
        "Not fixed: the login page still redirects to nowhere",
        "Unresolved: the login page still redirects to nowhere",
        "未解决：登录页面一直重定向到不存在的地址上去",
        "没修复：登录页面一直重定向到不存在的地址上去",
        "I don't remember: was it five or six?",
        "Do you remember that bug?",
        "Could you always use tabs here?",
        "It always has been slow.",
        "Never mind.",
        "fix: typo",
        "fixed",
        "Remember:",
        "记住：",
        "> remember: somebody else's words",
        "```\nremember: printed by a program\n```",
        "Look at line 12 and tell me why it fails.",
    ],
)
def test_words_that_only_look_like_a_mark_are_not(said: str) -> None:
    assert chosen(said) == []


def test_each_is_chosen_once_in_the_order_it_was_said() -> None:
    assert chosen("Note: b", "Note: a\nNOTE: B", "note:  a") == [("preferences", "b"), ("preferences", "a")]


def test_what_was_replaced_or_cut_is_not_chosen() -> None:
    quotes = [Quote("Note: old", "m1", superseded_by="m2"), Quote(f"Note: cut {GAP} here", "m2")]
    assert choose(quotes, lambda _: False) == []


@behaviour("memory.consolidation-rules")
def test_one_compaction_adds_a_bounded_amount_and_the_next_one_the_rest() -> None:
    quotes = [Quote(f"Note: entry number {n}", f"m{n}") for n in range(50)]
    known: list[Memory] = []
    sizes = []
    while found := choose(quotes, known.__contains__):
        sizes.append(len(found))
        known += found
    assert sizes == [ENTRIES, ENTRIES, 10]
    assert [memory.message_id for memory in known] == [f"m{n}" for n in range(50)]


def test_entries_and_their_sum_are_cut_at_characters_not_inside_one() -> None:
    long = "记" * 2 * ENTRY_CHARS
    found = choose([Quote(f"Note: {n} {long}", "m") for n in range(30)], lambda _: False)
    assert {len(memory.words) for memory in found} == {ENTRY_CHARS}
    assert sum(len(memory.words) for memory in found) <= TOTAL_CHARS


@behaviour("memory.consolidation-rules")
@pytest.mark.parametrize(
    "said",
    [
        "Always answer in German.",
        "Never commit generated files.",
        "In this project, use tabs.",
        "In this repo never touch vendor/.",
        "By default use the staging database.",
        "以后都用 pnpm",
        "今后不要自动提交",
        "始终使用 UTC 时间",
        "本项目统一使用 4 空格缩进",
        "我们项目一律用 pnpm",
        "Going forward, keep answers short.",
        "In future please write tests first.",
        "We always squash before merging.",
        "Our policy is to review every PR twice.",
        "所有会话都要用中文回答",
        "每次会话都先跑测试",
    ],
)
def test_a_standing_rule_says_when_it_holds_and_what_to_do(said: str) -> None:
    assert chosen(said) == [("conventions", said)]


@behaviour("memory.consolidation-rules")
@pytest.mark.parametrize(
    "said",
    [
        "以后再说",
        "以后再说吧。",
        "统一回复一下大家",
        "始终没有解决这个问题",
        "Never seen that error before.",
        "In this project there is a bug in the parser.",
        "In this repo, where is the config?",
        "Always fails on my machine.",
        "Never worked for me.",
        "By default it crashes.",
        "以后会不会出问题？",
        "我们项目里有个 bug",
        "永远都在加载",
        "As a rule of thumb, what is the best size?",
        "From now on?",
        "Never thought about that.",
        "Always happens at 5pm",
        "本项目的测试在哪里？",
        "这个项目跑不起来",
        "In this project the tests fail with error 500",
        "We never got that to work",
        "we always see this failure on CI",
        "Notes: see docs/NOTES.md",
        "注意：这里报错了",
        "默认情况下会报错",
    ],
)
def test_a_report_or_a_question_that_begins_like_a_rule_is_none(said: str) -> None:
    assert chosen(said) == []


def test_what_a_compiler_noted_is_not_the_users_note() -> None:
    printed = "It says:\nerror[E0308]: mismatched types\nnote: expected struct `Foo`\nRemember: we pin rustc."
    assert chosen(printed) == [("preferences", "we pin rustc.")]
