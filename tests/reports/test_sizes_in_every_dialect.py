"""Public reports of section D about sizes, in every dialect; the number is the report's."""

from __future__ import annotations

import pytest

from tests.reports.test_every_dialect import ALL, Talk
from tests.reports.test_section_d import SCRIPTS
from tests.service.host import LocalHost
from tests.support import natives


@ALL
def test_d44_what_a_prompt_holds_beside_the_messages_is_shown(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.user("go")
    usage = natives.usage(dialect, 20_012, 0)
    talk.session.report(talk.session.prepare()["requestId"], usage=usage)
    found = talk.session.project(detail="categories")["categories"]
    categories = {category["name"]: category["tokens"] for category in found}
    assert sum(categories.values()) == pytest.approx(20_012, abs=3)
    assert categories["unseen"] > 19_900


@ALL
def test_d46_before_and_after_are_on_one_scale_and_a_noop_is_no_success(
    host: LocalHost, dialect: str
) -> None:
    talk = Talk(host, dialect)
    talk.user("short")
    talk.said("shorter")
    report = talk.compact()
    assert (report["outcome"], report["after"]) == ("noop", report["before"])
    assert "checkpointId" not in report
    assert talk.session.project()["generation"] == 0
    talk.turns(15)
    before = talk.session.project(detail="items")["items"]
    report = talk.compact()
    after = talk.session.project(detail="items")["items"]
    assert report["outcome"] == "applied"
    for told, items in ((report["before"], before), (report["after"], after)):
        assert told["tokens"] == pytest.approx(sum(item["tokens"] for item in items), rel=0.01)


@ALL
def test_d47_fixed_overhead_is_carried_over_a_compaction(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect, model={"id": "m", "contextWindow": 200_000})
    talk.turns(15)
    talk.user("go")
    local = talk.session.prepare()
    assert local["projection"]["source"] == "local_estimate"
    usage = natives.usage(dialect, local["projection"]["tokens"] + 20_000, 5)
    done = natives.said(dialect, "done")
    measured = talk.session.report(local["requestId"], done, usage=usage)["projection"]
    assert measured["source"] == "provider"
    report = talk.compact()
    after = talk.session.project()
    assert after["source"] == "local_estimate"
    assert after["tokens"] == pytest.approx(report["after"]["tokens"] + 20_000, rel=0.05)


@pytest.mark.parametrize(("text", "least"), [s[1:] for s in SCRIPTS], ids=[s[0] for s in SCRIPTS])
@ALL
def test_d48_other_scripts_are_not_a_quarter_token_a_character(
    host: LocalHost, dialect: str, text: str, least: int
) -> None:
    talk = Talk(host, dialect)
    before = talk.session.project()["tokens"]
    talk.user(text)
    talk.call("c1")
    between = talk.session.project()["tokens"]
    talk.answer("c1", text=text)
    assert between - before >= least
    assert talk.session.project()["tokens"] - between >= least
