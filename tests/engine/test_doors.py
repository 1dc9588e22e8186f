"""A bug in a part that others can go on without: a run of many, a report. It ends nothing else, and its traceback stays."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from manyheads.base.errors import BugError, CorpusError
from manyheads.base.folders import TRACEBACK
from manyheads.config import Inputs, Section, Slot
from manyheads.core.events import Result, Stage, Warned
from manyheads.core.results import Part, is_finished
from manyheads.engine.budget import Budget
from manyheads.engine.local import Process
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.suites.reviews import ReviewText, review_all
from manyheads.team.system import Reviews, System

FRAME = '{% extends "frame.html.j2" %}\n'
TEMPLATES = {
    f"{FRAME}{{% block content %}}{{{{ result.nothing }}}}{{% endblock %}}\n": "html.j2:2: ",
    f"{FRAME}\n{{% block content %}}{{{{ 1 // 0 }}}}{{% endblock %}}\n": "html.j2:3: ",
    f"{FRAME}{{% block content %}}{{{{ {{% endblock %}}\n": "html.j2:2: ",
    f'{FRAME}{{% import "parts.html.j2" as parts %}}\n{{% block content %}}{{{{ parts.prose(7) }}}}{{% endblock %}}\n': "html.j2:3: ",
    '{% extends "nowhere.html.j2" %}': "nowhere.html.j2",
}
"""Broken templates, and what the message names."""


class In(Inputs):
    paper: Annotated[str | None, Slot("last", file=True)] = None


class Out(Part):
    points: int = 0
    share: float | None = None


async def work(run: Any) -> None:
    """A bug for a paper of that name, a corpus that cannot be read for another."""
    run.emit(Stage(stage="reading", title="Reading", number=1, total=1))
    run.result.points = 7
    if "bug" in str(run.config.inputs.paper):
        raise KeyError("no such key")
    if "silent" in str(run.config.inputs.paper):
        raise CorpusError("the corpus is silent")


def system(report: Any = None) -> System:
    return System(
        name="small", title="Small", about="A test.", config=Section, inputs=In, result=Out, run=work,
        needs=lambda config: {}, essence=lambda result: [("Points", f"{result.points} <points>")], report=report,
        reviews=Reviews("paper", "papers", lambda resources: {}, lambda result: {}),
    )  # fmt: skip


def config_of(small: System, paper: str = "paper.md") -> Any:
    return small.model.model_validate(
        {"models": {"default": {"provider": "offline"}}, "inputs": {"paper": paper}}
    )


async def play(small: System, folder: Path, paper: str = "paper.md") -> list[Any]:
    config = config_of(small, paper)
    return [event async for event in Session(config, folder).events(host_factory(config.host))]


@pytest.fixture
def pack(tmp_path: Path) -> Iterator[Path]:
    """The folder of a package with a template."""
    folder = tmp_path / f"pack{os.getpid()}_{abs(hash(tmp_path))}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    yield folder
    sys.path.remove(str(tmp_path))


# A run of many.


def test_a_bug_in_one_run_leaves_the_others_alone_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["bug-1", "bug-2", "bug-3", "bug-4", "sound-1", "silent-1", "sound-2"]
    texts = [ReviewText(name, name, "papers") for name in names]

    def review() -> dict[str, tuple[bool, str]]:
        budget = Budget.parse((), whose="a test's")
        reviews = review_all(
            config_of(system()), texts, tmp_path, engine=Process(1), budget=budget, listener=lambda news: None
        )
        done = asyncio.run(reviews)
        assert [job.label for job, _ in done] == names
        return {
            job.label: (not failure and is_finished(job.folder), failure.reason if failure else "")
            for job, failure in done
        }

    ends = review()
    for name, (finished, reason) in ends.items():
        assert finished == name.startswith("sound")
        assert ("KeyError" in reason and TRACEBACK in reason) == name.startswith("bug"), reason
        assert finished or f"resume {tmp_path}" in reason
    tracebacks = [path.read_text() for path in tmp_path.glob(f"*/{TRACEBACK}")]
    assert len(tracebacks) == 4
    assert all("Traceback" in text and "in work" in text for text in tracebacks)
    for each in tmp_path.glob("*-bug-*"):
        assert (each / "report.html").is_file()

    async def mended(run: Any) -> None:
        run.result.points = 8

    monkeypatch.setitem(globals(), "work", mended)
    assert {finished for finished, _ in (review()).values()} == {True}
    assert not [*tmp_path.glob(f"*/{TRACEBACK}")], "it is of an earlier start"


# A report.


async def test_without_a_template_the_page_shows_what_every_run_has(tmp_path: Path) -> None:
    events = await play(system(), tmp_path / "run")
    assert isinstance(events[-1], Result)
    assert not [event for event in events if isinstance(event, Warned)]
    page = (tmp_path / "run/report.html").read_text()
    assert "7 &lt;points&gt;" in page
    assert re.findall(r'<th scope="row">([\w.]+)</th>', page) == ["points"]
    assert [
        name for name in ("talk", "warnings", "usage", "configuration") if f'<section id="{name}"' not in page
    ] == []


async def test_a_template_needs_nothing_but_the_frame(pack: Path, tmp_path: Path) -> None:
    (pack / "report.html.j2").write_text(
        f"{FRAME}{{% block content %}}<p>Mine: {{{{ essence[0][1] }}}}</p>{{% endblock %}}"
    )
    events = await play(system(pack.name), tmp_path / "run")
    page = (tmp_path / "run/report.html").read_text()
    assert not [event for event in events if isinstance(event, Warned)]
    assert "Mine: 7" in page
    assert '<h1 dir="auto">Small</h1>' in page


@pytest.mark.parametrize(
    "template",
    [pytest.param(each, marks=[pytest.mark.slow] * (0 < at < 4)) for at, each in enumerate(TEMPLATES)],
)
async def test_a_broken_template_is_one_warning(pack: Path, tmp_path: Path, template: str) -> None:
    (pack / "report.html.j2").write_text(template)
    small = system(pack.name)
    *events, last = await play(small, tmp_path / "run")
    assert isinstance(last, Result)
    [warned] = [event.message for event in events if isinstance(event, Warned)]
    assert TEMPLATES[template] in warned.splitlines()[0]
    assert pack.name in warned.splitlines()[0] or "nowhere" in template
    assert is_finished(tmp_path / "run")
    assert "Traceback" in (tmp_path / "run" / TRACEBACK).read_text()
    assert "7 &lt;points&gt;" not in (page := (tmp_path / "run/report.html").read_text())
    assert "What was said" in page, "the plain page instead"
    with pytest.raises(BugError):
        small.write_report(tmp_path / "run")


@pytest.mark.parametrize("paper", ["silent", "bug"])
@pytest.mark.parametrize("broken", [True, False])
async def test_a_report_never_hides_why_its_run_ended(tmp_path: Path, paper: str, broken: bool) -> None:
    def view(record: Any) -> Any:
        raise IndexError("the view's own")

    with pytest.raises((CorpusError, KeyError)) as ended:
        await play(system(view if broken else None), tmp_path / "run", paper)
    notes = " ".join(getattr(ended.value, "__notes__", ()))
    assert ("IndexError" in notes) == broken
    assert ("IndexError" in str(ended.value)) == (broken and paper == "silent")
    assert (tmp_path / "run/report.html").is_file()
    assert not is_finished(tmp_path / "run")
