"""What people asked for is still there, word for word, after any number of compactions.

Sixty rules without labels, thirty in English and thirty in Chinese, of five kinds
(tests/data/constraints.json), put into user-heavy dialogues and into recorded agent sessions, at the
first user turn or in the middle. Five compactions to 20,000 tokens, 30,000 new tokens between them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.compaction import dialogues
from tests.compaction.dialogues import BETWEEN, ROUNDS, TARGET
from tests.support.behaviour import behaviour
from tests.support.session import Session

ALL = (*dialogues.rules("english"), *dialogues.rules("chinese"))
WINDOW = 200_000

RECORDED = (
    "claude-code/long-three-compactions.jsonl",
    "claude-code/chinese.jsonl",
    "openai-chat/tau-airline-40.json",
)

recorded = pytest.mark.skipif(not dialogues.AIRLINE.exists(), reason="the recorded transcripts are not here")


def compact_rounds(session: Session, go_on: Callable[[int], object]) -> None:
    """Five compactions, each checked; `go_on` says something new after each."""
    for number in range(ROUNDS):
        plan = session.plan(requested=TARGET)
        session.commit(plan)
        assert plan.after <= TARGET
        assert session.state.view_tokens <= TARGET
        assert dialogues.missing(session, ALL) == [], f"after compaction {number + 1}"
        assert not [q for q in session.state.summary.constraints if q.superseded_by and q.text in ALL]
        go_on(number)


def test_there_are_sixty_rules_of_five_kinds_in_two_languages() -> None:
    assert len(set(ALL)) == 60
    assert not [rule for rule in ALL if rule.split(":")[0].isupper() and ":" in rule[:20]]


@behaviour("words.survive")
@pytest.mark.parametrize("place", ["first", "middle"])
@pytest.mark.parametrize("source", ["own", pytest.param("airline", marks=recorded)])
def test_rules_survive_a_dialogue_whose_words_alone_are_three_times_the_target(
    source: str, place: str
) -> None:
    talk = dialogues.own if source == "own" else dialogues.airline
    session = Session(dialect="openai-chat", window=WINDOW)
    if place == "first":
        session.append([{"role": "user", "content": "Hello! Some things first. " + "\n".join(ALL)}])
        session.say("assistant: Noted.")
    said, turns = talk(tools=False), 0
    while dialogues.user_tokens(session) < 3 * TARGET or turns < 150:
        middle = place == "middle" and turns > 0 and bool(dialogues.missing(session, ALL))
        turns += dialogues.play(session, said, 20_000, ALL if middle else ())
    assert dialogues.missing(session, ALL) == []
    later = talk(tools=True, start=500)
    compact_rounds(session, lambda _: dialogues.play(session, later, BETWEEN))


@behaviour("words.survive")
@pytest.mark.parametrize("middle", [False, True])
@pytest.mark.parametrize("name", ["", *RECORDED])
def test_rules_survive_in_recorded_agent_sessions(name: str, middle: bool) -> None:
    path = dialogues.SHARED / name if name else dialogues.SAMPLE
    if not path.exists():
        pytest.skip("the recorded transcripts are not here")
    session = dialogues.recorded(path, ALL, middle=middle)
    compact_rounds(session, lambda number: session.say(dialogues.work(number)))
