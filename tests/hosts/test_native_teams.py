"""Every system as each host's own team: what it is given, what it comes to, how it is stopped and gone on with."""

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, SubjectError
from manyheads.config.environment import BUILT_IN
from manyheads.engine.session import Session
from manyheads.hosts import component, host_factory
from manyheads.systems import systems
from manyheads.systems.loading import reopen
from support.command import result_of
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM
from support.native import ANSWERS, ASKED, CLASSES, PAPER, Native, small
from support.requests import question
from support.results import but_for_the_host, unfinished

REVIEW = "conference-review"
Made = Callable[..., Native]


@pytest.fixture
def llm() -> Iterator[LLM]:
    """Answers by the question alone, whenever it is asked."""
    with LLM(seed=question, answers=ANSWERS) as server:
        yield server


@pytest.fixture
def made(name: str, llm: LLM, tmp_path: Path) -> Made:
    def make(system: str = REVIEW, **more: Any) -> Native:
        return Native(name, small(system, llm, **more), tmp_path / "runs")

    return make


def kept(folder: Path) -> str:
    """A run's result without the names of its folder and its host."""
    return but_for_the_host(folder).replace(str(folder), "RUN")


def useful(folder: Path) -> dict[str, Any]:
    """The same without the request under way when it was stopped, which may be charged for."""
    data = json.loads(kept(folder))
    unused = data["usage"].pop("unused")
    data["usage"] |= {name: data["usage"][name] - unused[name] for name in unused if name != "cost"}
    return data


@pytest.mark.parametrize("system", systems())
def test_every_system_is_a_class_of_every_host(system: str) -> None:
    camel = systems()[system].prefix
    for host, kind in CLASSES.items():
        package, made, end = import_module(f"manyheads.hosts.{host}"), kind(system), BUILT_IN[host].ending
        assert getattr(package, camel + end) is getattr(import_module(made.__module__), camel + end) is made
        assert (made.system, made.__name__, bool(made.__doc__)) == (system, camel + end, True)
    with pytest.raises(ConfigError) as refused:
        component(small(system, host="agentscope"))
    assert refused.value.hint == f"in code: manyheads.hosts.agentscope.{camel}Pipeline(config)"


QUICK = "rebuttal"
"""What the default suite runs on every host, and stops on one; the slow one does so with all systems, and stops this on every host."""
EACH = [pytest.param(system, marks=[] if system == QUICK else [pytest.mark.slow]) for system in ASKED]
STOPPED = [
    pytest.param(host, system, marks=[] if (system, at) == (QUICK, 1) else [pytest.mark.slow])
    for number, system in enumerate(ASKED)
    for at, host in enumerate(HOSTS)
    if system != "interview" and (system == QUICK or number % len(HOSTS) == at)  # it asks one question
]


@pytest.mark.parametrize("system", EACH)
async def test_every_host_comes_to_the_same(system: str, tmp_path: Path) -> None:
    results: list[str] = []
    for host in HOSTS:
        with LLM(seed=question, answers=ANSWERS) as llm:
            team = Native(host, small(system, llm), tmp_path / host)
            folder = await team.run(ASKED[system])
        results.append(kept(folder))
        usage = result_of(folder)["usage"]
        assert team.tokens == (usage["input_tokens"], usage["output_tokens"])
    assert len(set(results)) == 1


@pytest.mark.parametrize(("name", "system"), STOPPED)
async def test_a_stopped_run_goes_on_in_another_team(
    made: Made, llm: LLM, system: str, tmp_path: Path
) -> None:
    whole = made(system)
    expected = useful(await whole.run(ASKED[system]))
    needed = llm.calls
    llm.faults.append(Fault("slow", when=lambda request: llm.calls >= needed + 2))
    stopped = made(system)
    folder = await stopped.run_and_stop(ASKED[system], llm, needed + 2)
    assert unfinished(folder)
    before = llm.calls
    other = made(system, seed=4)
    await other.load(await stopped.state())
    assert await other.run(None) == folder
    assert useful(folder) == expected
    assert sorted(other.told.splitlines()) == sorted(whole.told.splitlines()), (
        "who is asked at once answers in any order"
    )
    assert llm.calls - before < needed, "what was answered is not asked again"
    assert (await other.state())["finished"]


@pytest.mark.parametrize("system", sorted(set(ASKED) - {"virsci"}))
async def test_without_what_it_is_about_nothing_is_begun(made: Made, system: str, tmp_path: Path) -> None:
    team = made(system)
    with pytest.raises(
        ConfigError,
        match=rf"{system}: needs (a background|the input \w+)",
    ):
        await team.run(" ")
    assert not (tmp_path / "runs").exists()
    assert (await team.state())["folder"] is None


async def test_a_text_is_reviewed_as_it_stands(made: Made, llm: LLM) -> None:
    folder = await made().run(PAPER)
    for request in llm.requests:
        assert "<paper>\nTitle: Owls for planning" in request.asking
        assert request.asking.count("fewer collisions than with drones") == 1
    assert (folder / "subject.md").read_text(encoding="utf-8") == PAPER
    assert result_of(folder)["subject"]["source"] == str(folder / "subject.md")


async def test_a_review_ends_with_its_reviews_scores_and_means(made: Made, llm: LLM) -> None:
    llm.answers["overall"] = 7
    team = made(review={"repeats": 2})
    reviews = result_of(await team.run(PAPER))["reviews"]
    for review in reviews:
        assert review["summary"] in team.told
        assert all(
            point in team.told for key in ("strengths", "weaknesses", "questions") for point in review[key]
        )
    assert team.told.count("overall 7") == 2
    assert "7.0 of 10, the mean of 2 reviews" in team.told


async def test_the_configs_subject_is_reviewed_when_nothing_is_given(
    made: Made, llm: LLM, tmp_path: Path
) -> None:
    (tmp_path / "mine.md").write_text(PAPER, encoding="utf-8")
    team = made(subject=str(tmp_path / "mine.md"))
    folder = await team.run(None)
    assert "fewer collisions" in llm.requests[0].asking
    assert not (folder / "subject.md").exists()
    await team.run("Another text.")
    assert "Another text." in llm.requests[-1].asking
    assert "collisions" not in llm.requests[-1].asking


@pytest.mark.parametrize("text", ["null \0 byte", "half a \ud83d letter"])
async def test_what_is_no_text_is_refused_in_words(made: Made, llm: LLM, text: str) -> None:
    with pytest.raises(SubjectError, match=r"subject\.md: not "):
        await made().run(text)
    assert llm.calls == 0


async def test_each_message_is_an_abstract_of_the_background(made: Made, llm: LLM) -> None:
    folder = await made("rebuttal").run(["Owls hunt by ear.", " ", "Bats </paper> hunt by echo."])
    first = llm.requests[0].asking
    assert "<paper>\nAbstract: Owls hunt by ear.\n</paper>" in first
    assert first.count("<paper>") == first.count("</paper>") == 2
    assert "hunt by echo" in first
    assert [work["title"] for work in result_of(folder)["evidence"]] == ["", ""]


async def test_a_ranking_takes_its_target_and_then_its_ideas(made: Made, llm: LLM) -> None:
    team = made("ranking", ranking={"ideas": ["This one is not asked for."]})
    folder = await team.run([PAPER, "# Bats\n\nWe plan with bats.", "We plan with moles."])
    found = result_of(folder)
    assert found["title"] == "Owls for planning"
    assert found["target"]["source"] == str(folder / "target.md")
    assert [idea["source"] for idea in found["ideas"]] == [str(folder / f"ideas-{n}.md") for n in (1, 2)]
    told = "\n".join(request.asking for request in llm.requests if request.title == "Condensed")
    assert "We plan with moles." in told
    assert "not asked for" not in told
    assert re.search(rf"\bS[.:](?:\*\*)? {found['s']:.2f} for {found['indicator']}", team.told)


async def test_a_ranking_of_one_message_takes_the_configs_ideas(made: Made) -> None:
    found = result_of(await made("ranking").run(PAPER))
    assert found["target"]["words"] == len(PAPER.partition("\n\n")[2].split())
    assert len(found["ideas"]) == 2


async def test_a_ranking_without_ideas_says_how_messages_give_them(made: Made) -> None:
    with pytest.raises(
        ConfigError,
        match=r"needs the input ideas\s+next: .*target: the first message; ideas: each further message",
    ):
        await made("ranking", ranking={"ideas": []}).run(PAPER)


async def test_no_text_of_a_ranking_is_read_as_a_file(made: Made, llm: LLM, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("The password is owl.", encoding="utf-8")
    await made("ranking").run([str(secret), "We plan with bats.", str(secret)])
    assert any(str(secret) in request.asking for request in llm.requests), (
        "what is asked at once comes in any order"
    )
    assert not any("password" in request.text for request in llm.requests)


async def test_a_stopped_ranking_goes_on_where_its_folder_is_moved(
    made: Made, llm: LLM, tmp_path: Path
) -> None:
    llm.faults.append(Fault("slow", when=lambda request: "ranking" in (request.schema or {})["properties"]))
    asked = [PAPER, "We plan with bats.", "We plan with moles."]
    folder = await made("ranking").run_and_stop(asked, llm, 5)
    moved = folder.rename(tmp_path / "moved")
    config = reopen(moved)
    assert config.inputs.target == str(moved / "target.md")
    assert config.inputs.ideas == (str(moved / "ideas-1.md"), str(moved / "ideas-2.md"))
    async for _ in Session(config, moved).events(host_factory(config.host)):
        pass
    assert len(result_of(moved)["orders"]) == 2
    assert llm.calls == 6


def test_a_class_of_no_system_is_not_there() -> None:
    for host, kind in CLASSES.items():
        package = import_module(f"manyheads.hosts.{host}")
        for missing in (f"No{BUILT_IN[host].ending}", "Nothing"):
            with pytest.raises(AttributeError, match=missing):
                getattr(package, missing)
        with pytest.raises(ConfigError, match="virsci"):
            kind("no")
