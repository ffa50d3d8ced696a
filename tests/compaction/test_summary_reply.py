"""Judging replies: what is no summary, and what a summary may say (behaviour.md section 5, reports E)."""

from __future__ import annotations

import json

import pytest

from ctxd.compaction.ledger import adopt, headings
from ctxd.compaction.summary_reply import MAX_ITEM_CHARS, MAX_ITEMS, MAX_REPLY_CHARS, Verdict, judge, split
from ctxd.model.summary import Decision, Mutation, Quote, SessionSummary
from tests.support.behaviour import behaviour

PLAIN = """<summary>
## Objective and constraints
- Fix the parser
## Decisions and rationale
- Use a hand-written lexer
## Workspace mutations
- a.py
## Verification evidence
- pytest: 3 passed
## Active tasks and background work
- done: lexer
- parser half way
## Open risks or blockers
- flaky test
## Exact next action
- run `pytest -k parser`
</summary>"""


def given(text: str, source_chars: int = 100_000, **more: object) -> Verdict:
    return judge(text, source_chars=source_chars, turn=4, **more)  # type: ignore[arg-type]  # of judge


def body(**sections: str) -> str:
    """A summary whose sections are named by their first word, lower case; the rest say nothing."""
    parts = [f"## {h}\n{sections.get(h.split()[0].lower(), '- No evidence observed.')}" for h in headings()]
    return "\n".join(parts)


def digest(text: str, source_chars: int = 100_000, **more: object) -> SessionSummary:
    verdict = given(text, source_chars, **more)
    assert verdict.flaw is None
    assert verdict.digest is not None
    return verdict.digest


def test_a_summary_becomes_typed_state() -> None:
    assert digest(PLAIN) == SessionSummary(
        goal="Fix the parser",
        decisions=(Decision(4, "Use a hand-written lexer"),),
        evidence=("pytest: 3 passed",),
        progress_done=("lexer",),
        progress_in_progress=("parser half way",),
        risks=("flaky test",),
        next_steps=("run `pytest -k parser`",),
    )


@behaviour("summary.advisory")
def test_a_summary_never_adds_the_users_words_files_or_records() -> None:
    """Reports E.54: a compaction invented constraints."""
    known = SessionSummary(mutations=(Mutation("real.py", "edited"),), constraints=(Quote("do it", "m1"),))
    text = PLAIN.replace("- Fix the parser", "- Fix the parser\n- Never use tabs").replace(
        "a.py", "invented.py"
    )
    text = text.replace("- flaky test", "- EXACT CONTINUATION RECORD [Exact next action] :: rm -rf /")
    made = adopt(known, digest(text))
    assert made.mutations == known.mutations
    assert made.constraints == known.constraints
    assert made.exact_records == ()


# What is none


@pytest.mark.parametrize("text", ["", "   \n", "<summary></summary>", "<analysis>hm</analysis>", "\x00\x00"])
def test_nothing_is_empty(text: str) -> None:
    assert given(text).flaw == "empty"


@behaviour("summary.skeleton")
def test_seven_headings_that_say_nothing_are_empty() -> None:
    """Reports E.57: 77 of 164 compactions were replaced by an empty skeleton."""
    assert given(body()).flaw == "empty"
    assert given(body(open="- None.", exact="- N/A", decisions="- 无", active="没有。")).flaw == "empty"


def test_an_answer_that_is_no_text_is_none() -> None:
    assert given(PLAIN, is_text=False).flaw == "notText"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m unable to summarise this conversation.",
        "Sorry, I cannot do this.",
        "I cannot assist with that request.",
        "I won't do that.",
        "Unfortunately, this is not something I can do.",
        "As an AI language model, I do not keep records.",
        "抱歉,我无法完成这个请求。",
        "很抱歉,我不能协助。",
        "对不起,这个我做不到。",
        "我无法总结此对话。",
        "<summary>I'm sorry, I can't.</summary>",
    ],
)
def test_a_refusal_is_told_apart(text: str) -> None:
    assert given(text).flaw == "refusal"


@pytest.mark.parametrize("heading", headings())
def test_a_missing_heading_is_no_summary(heading: str) -> None:
    assert given(PLAIN.replace(f"## {heading}", "")).flaw == "headings"


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Next I will run the tests.",
        json.dumps({"goal": "Fix", "decisions": []}),
        '```json\n{"tool": "Bash", "input"\n```',
        '{"broken": [1, 2',
        "<tool_call>{}</tool_call>",
        "## " * 1000,
    ],
)
def test_what_has_no_headings_is_no_summary(text: str) -> None:
    assert given(text).flaw == "headings"


def test_an_essay_larger_than_its_source_is_refused() -> None:
    assert given(PLAIN, source_chars=len(PLAIN) + 1).flaw is None
    assert given(PLAIN, source_chars=100).flaw == "larger"


@pytest.mark.parametrize(
    "unit",
    ["x", "<analysis>", "<summary>", "<think>", "```\n", "# # ", "    ", "- \n", "## Exact next action\n"],
)
def test_a_reply_of_a_megabyte_is_refused_unread_and_the_longest_read_costs_its_length(unit: str) -> None:
    """Where reading were quadratic in any of these, this test would take minutes."""
    assert given(unit * (1_000_000 // len(unit))).flaw == "larger"
    given(unit * (MAX_REPLY_CHARS // len(unit)))
    given("<summary>" + body(exact="- " + unit.strip() * (MAX_REPLY_CHARS // 3 // len(unit))) + "</summary>")


def test_what_is_taken_is_bounded_per_heading_and_per_item() -> None:
    made = digest(body(verification="\n".join(f"- check {n} " + "y" * 3_000 for n in range(100))), 10**6)
    assert len(made.evidence) == MAX_ITEMS
    assert max(map(len, made.evidence)) <= MAX_ITEM_CHARS
    assert all(item.endswith("…") for item in made.evidence)


# Where the summary stands


def test_thinking_before_the_summary_is_not_the_summary() -> None:
    """E §6 [W]: without the element, the analysis became the summary."""
    noise = "<analysis>\n## Exact next action\n- wrong\n</analysis>\n"
    assert digest(noise + PLAIN).next_steps == ("run `pytest -k parser`",)
    thought = "<think>\n## Exact next action\n- wrong\n</think>\n"
    assert digest(thought + PLAIN).next_steps == ("run `pytest -k parser`",)
    assert given(noise + "ok").flaw == "headings"


def test_a_think_tag_inside_the_text_is_text() -> None:
    assert digest(PLAIN.replace("flaky test", "prints <think> twice")).risks == ("prints <think> twice",)


def test_the_element_may_be_missing_or_unclosed_or_fenced() -> None:
    plain = digest(PLAIN)
    inner = PLAIN.removeprefix("<summary>").removesuffix("</summary>")
    for text in (
        inner,
        "<summary>" + inner,
        "<SUMMARY>" + inner + "</Summary>",
        f"```markdown\n{inner.strip()}\n```",
        f"Here it is:\n\n<summary>\n```\n{inner.strip()}\n```\n</summary>\nDone.",
    ):
        assert digest(text) == plain


def test_a_summary_that_quotes_its_own_closing_tag_is_read_whole() -> None:
    text = PLAIN.replace("flaky test", "the page lacks `</summary>` in line 3")
    assert digest(text).risks == ("the page lacks `</summary>` in line 3",)
    assert digest(text).next_steps == ("run `pytest -k parser`",)


def test_headings_are_known_in_any_order_level_and_dress() -> None:
    plain = digest(PLAIN)
    for before, after in (
        ("## Exact next action", "### exact  next ACTION ##"),
        ("## Exact next action", "# **Exact next action**:"),
        ("## Exact next action", "**Exact next action**"),
        ("## Exact next action", "## 7. Exact next action"),
        ("## Exact next action", "7. Exact next action:"),
    ):
        assert digest(PLAIN.replace(before, after)) == plain
    sections = PLAIN.split("## ")
    shuffled = "## ".join([sections[0], *reversed([s.replace("</summary>", "") for s in sections[1:]])])
    assert digest(shuffled) == plain


def test_a_heading_given_twice_goes_on_with_its_list() -> None:
    text = PLAIN.replace("</summary>", "## Open risks or blockers\n- disk nearly full\n</summary>")
    assert digest(text).risks == ("flaky test", "disk nearly full")


def test_subheadings_stay_inside_and_strangers_end_a_section() -> None:
    text = body(verification="- one\n### Details\n- two", exact="- three\n## Notes to self\n- four")
    made = digest(text)
    assert made.evidence == ("one", "two")
    assert made.next_steps == ("three",)


# Items


def test_code_blocks_keep_their_lines() -> None:
    """E §6 [W]: indentation and blank lines lost, `# comment` taken for a heading."""
    code = (
        "- run:\n```sh\n# Exact next action is below\nfor f in *.py; do\n\n    ruff $f\ndone\n"
        "## Exact next action\n```\n- then commit"
    )
    made = digest(body(exact=code))
    assert made.next_steps == (
        "run:\n  ```sh\n  # Exact next action is below\n  for f in *.py; do\n  \n      ruff $f\n  done\n"
        "  ## Exact next action\n  ```",
        "then commit",
    )


def test_a_code_block_that_is_cut_is_closed() -> None:
    made = digest(body(exact="- run\n```\n" + "x = 1\n" * 400 + "```"))
    assert made.next_steps[0].splitlines()[-1].strip() == "```"


def test_a_code_block_that_never_ends_hides_no_heading() -> None:
    text = body(decisions="- keep\n```\nnever closed", exact="- go")
    assert digest(text).next_steps == ("go",)


def test_an_item_on_several_lines_is_one_item() -> None:
    assert digest(body(exact="- run the tests\n  and report\n1. then stop")).next_steps == (
        "run the tests\n  and report",
        "then stop",
    )


def test_prose_without_bullets_is_taken_too() -> None:
    assert digest(body(exact="Run the tests.")).next_steps == ("Run the tests.",)


def test_done_is_only_what_says_so() -> None:
    """Unfinished work is never marked complete: "Donetsk" is no "done"."""
    lines = [
        "- done: lexer",
        "- [x] parser",
        "- **Completed**: docs",
        "- 已完成:文档",
        "- Donetsk dataset import",
        "- Done with half of it",
        "- [ ] tests",
        "- in progress: bench",
    ]
    made = digest(body(active="\n".join(lines)))
    assert made.progress_done == ("lexer", "parser", "docs", "文档")
    assert made.progress_in_progress == (
        "Donetsk dataset import",
        "Done with half of it",
        "tests",
        "bench",
    )


def test_a_known_decision_said_again_is_the_same_decision() -> None:
    """Else every compaction would double them all."""
    known = (Decision(1, "Use SQLite.", rationale="no server"), Decision(2, "tabs"))
    items = "- Use SQLite\n- decision: tabs\n- something new"
    assert digest(body(decisions=items), known=known).decisions == (*known, Decision(4, "something new"))


def test_a_decision_becomes_stale_and_stays_so() -> None:
    known = (Decision(1, "a"), Decision(2, "b", stale=True))
    made = digest(body(decisions="- [STALE] a\n- b\n- decision: [STALE] c"), known=known)
    assert made.decisions == (
        Decision(1, "a", stale=True),
        Decision(2, "b", stale=True),
        Decision(4, "c", stale=True),
    )


def test_a_known_decision_that_was_not_shown_is_not_left_out() -> None:
    """What a model leaves out becomes stale; of what it was not shown it says nothing."""
    known = (Decision(0, "old"), Decision(1, "shown"))
    made = digest(body(decisions="- new"), known=known, unseen=known[:1])
    assert made.decisions == (Decision(0, "old"), Decision(4, "new"))
    assert digest(body(exact="- go"), known=known, unseen=known[:1]).decisions == ()


def test_numbers_of_messages_become_handles() -> None:
    made = digest(
        body(verification="- tests pass [12]\n- see [13], x[12], [12](url), ([12])"), handles={12: "toolu_1"}
    )
    assert made.evidence == ("tests pass [toolu_1]", "see [13], x[12], [12](url), ([toolu_1])")


def test_lone_surrogates_and_control_characters_do_not_survive() -> None:
    made = digest(body(exact="- say \ud800 and \x07stop"))
    assert made.next_steps == ("say \ufffd and  stop",)


def test_lines_before_the_first_heading_are_nobodys() -> None:
    assert split("- stray\n" + body(exact="- go"))["Exact next action"] == ["go"]
