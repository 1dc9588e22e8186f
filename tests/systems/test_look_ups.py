"""A team whose card lists a literature tool: the look-up happens in the turn, and the ledger keeps it."""

import json
from pathlib import Path

from manyheads.base.resources import shipped
from manyheads.core.events import Searched
from support.direct import config_for, play
from support.llm import LLM

QUERY = {"query": "graph neural networks molecules", "limit": 2}


def own_scientist(folder: Path) -> Path:
    """A user's folder in which scientists may search for papers and do nothing else."""
    card = (shipped() / "roles" / "scientist.yaml").read_text(encoding="utf-8")
    (folder / "roles").mkdir(parents=True)
    listed = "tools: [find_scientists, invite_scientist]"
    assert listed in card
    (folder / "roles" / "scientist.yaml").write_text(card.replace(listed, "tools: [search_papers]"), "utf-8")
    return folder


async def test_a_listed_tool_searches_the_corpus_and_is_noted(tmp_path: Path) -> None:
    paths = f"paths=[{own_scientist(tmp_path / 'mine')}]"
    with LLM(tool_calls=[("search_papers", QUERY)]) as llm:
        sets = ("turns=1", "models.default.tools=true", "literature.cascade=[local]", paths)
        played = await play(config_for(llm, *sets), tmp_path / "run", llm)
    looked = played.of(Searched)
    assert {(one.source, one.query, one.outcome) for one in looked} == {("local", QUERY["query"], "found")}
    assert all(tools in ([], ["search_papers"]) for tools in (request.tools for request in llm.requests))
    assert any("Id: local:" in request.text for request in llm.requests)
    assert played.result["searches"]
    assert played.result["degraded"] == []
    lines = (tmp_path / "run" / "searches.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["query"] for line in lines} == {QUERY["query"]}
