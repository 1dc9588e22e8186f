"""What a run has come to, as a user loads it: finished, stopped half-way, of another version."""

import json
from pathlib import Path

import pytest

import manyheads
from manyheads.base.errors import ModelError, SubjectError
from manyheads.core.events import Stage
from manyheads.systems.virsci.result import VirSciResult
from support.faults import Fault
from support.llm import LLM
from support.play import config_for, play
from support.results import today

SETS = ("turns=1", "ideas.references=2", "novelty.references=1")


async def test_a_finished_run_cites_its_evidence(llm: LLM, tmp_path: Path) -> None:
    await play(config_for(llm, *SETS), tmp_path, llm)
    run = manyheads.load(tmp_path)
    assert run.finished
    assert isinstance(run.result, VirSciResult)
    assert run.result.idea
    assert [each.id for each in run.evidence] == [f"e{number}" for number in range(1, len(run.evidence) + 1)]
    assert len({each.paper for each in run.evidence}) == len(run.evidence)
    assert all(each.retrievals for each in run.evidence)
    for idea in run.result.ideas:
        assert [each.retrievals[0].stage for each in run.cited(idea.references)] == ["idea"] * 2


async def test_a_stopped_run_tells_how_far_it_came(llm: LLM, tmp_path: Path) -> None:
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    with pytest.raises(ModelError):
        await play(config_for(llm, *SETS), tmp_path, llm)
    run = manyheads.load(tmp_path)
    assert not run.finished
    assert len(run.result.ideas) == 3
    assert (run.result.idea, run.result.abstract, run.result.inference_cost) == (None, None, None)
    assert run.usage.calls > 3


async def test_a_result_is_there_from_the_first_stage_on(llm: LLM, tmp_path: Path) -> None:
    from manyheads.engine.session import Session
    from manyheads.hosts import host_factory

    ideas: list[int] = []
    config = config_for(llm, *SETS, "topic=T")
    async for event in Session(config, tmp_path).events(host_factory(config.host)):
        if isinstance(event, Stage):
            run = manyheads.load(tmp_path)
            assert not run.finished
            ideas.append(len(run.result.ideas))
    assert ideas == sorted(ideas)
    assert (ideas[0], ideas[-1]) == (0, 3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"system": "theirs"}, "no such system 'theirs'"),
        ({"format": 2}, "format 2"),
        ({"format": 4}, "format 4"),
        ({"seed": None}, "seed"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    result = {**today({"system": "virsci"}), **changes}
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(SubjectError, match=said) as stopped:
        manyheads.load(tmp_path)
    assert stopped.value.hint
