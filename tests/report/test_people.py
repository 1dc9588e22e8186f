"""What people contributed stands in the report: their decisions, and the roles that they played."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import manyheads
from manyheads.systems.results import write_report
from support.native import small
from support.person import Scripted

EVIL = "<script>alert(1)</script> \u202eowls"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("steered")
    steps = [{"action": "back", "remark": EVIL}, {"action": "edit"}, {"action": "accept"}]
    person = Scripted(steer=steps, edit=[{"topic": EVIL}])
    config = small(
        "virsci",
        steer=["topic", "abstract"],
        models={"me": {"provider": "human"}},
        roles={"leader": {"model": "me"}},
    )
    asyncio.run(manyheads.run(config, out=folder, person=person))
    [run] = folder.iterdir()
    return (run / "report.html").read_text(encoding="utf-8")


def test_decisions_and_roles_are_named(page: str) -> None:
    [section] = re.findall(r'<section id="people".*?</section>', page, re.DOTALL)
    assert list(re.findall(r"turn \d+: ([a-z ]+)<", section)) == [
        "sent back",
        "edited",
        "accepted",
    ]
    assert re.search(r"answered as .*</span>, \d+ times", section)
    assert '<a href="#people">' in page
    assert page.count('class="chip">a person') > 5


def test_a_persons_words_are_escaped(page: str) -> None:
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_run_without_people_has_no_such_section(run: Callable[..., Path]) -> None:
    assert 'id="people"' not in write_report(run()).read_text(encoding="utf-8")
