"""What a run has come to, as a user loads it: finished, stopped half-way, of another version."""

import json
from pathlib import Path

import pytest

import manyheads
from manyheads.base.errors import SubjectError
from manyheads.core.events import Stage
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.virsci.result import VirSciResult
from support.llm import LLM
from support.play import config_for
from support.results import today


async def test_a_result_is_there_from_the_first_stage_on_and_cites_its_evidence(
    llm: LLM, tmp_path: Path
) -> None:
    ideas: list[int] = []
    config = config_for(llm, "turns=1", "ideas.references=2", "novelty.references=1", "topic=T")
    async for event in Session(config, tmp_path).events(host_factory(config.host)):
        if isinstance(event, Stage):
            run = manyheads.load(tmp_path)
            assert not run.finished
            ideas.append(len(run.result.ideas))
    assert ideas == sorted(ideas)
    assert (ideas[0], ideas[-1]) == (0, 3)
    run = manyheads.load(tmp_path)
    assert run.finished
    assert isinstance(run.result, VirSciResult)
    assert run.result.idea
    assert [each.id for each in run.evidence] == [f"e{number}" for number in range(1, len(run.evidence) + 1)]
    assert len({each.paper for each in run.evidence}) == len(run.evidence)
    assert all(each.retrievals for each in run.evidence)
    for idea in run.result.ideas:
        assert [each.retrievals[0].stage for each in run.cited(idea.references)] == ["idea"] * 2


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
