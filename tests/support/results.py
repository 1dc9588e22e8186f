"""Results as a test tells them: in one object, with references in full where they are cited."""

import json
import re
from pathlib import Path
from typing import Any

from manyheads.core.results import FORMAT, EvidenceList, Retrieval, RunResult, is_finished
from manyheads.systems.results import typed

PLAIN: dict[str, Any] = {
    "seed": 0,
    "corpus": "sample",
    "models": {},
    "usage": {"calls": 2, "input_tokens": 30, "output_tokens": 12, "cost": None},
    "warnings": [],
    "written_by_language_model": True,
}


def today(told: dict[str, Any]) -> dict[str, Any]:
    """The same as it is kept, with what every run has."""
    data, evidence = {**PLAIN, **told}, EvidenceList()
    common = {name: data[name] for name in RunResult.model_fields if name in data and name != "result"}
    own = {name: _cited(each, name, evidence) for name, each in data.items() if name not in common}
    entries = [each.model_dump(mode="json") for each in evidence.entries]
    return {"format": FORMAT, "finished": True, **common, "evidence": entries, "result": own}


def _cited(value: Any, name: str, evidence: EvidenceList) -> Any:
    """A part of a result with its papers kept as evidence."""
    if isinstance(value, dict):
        return {key: _cited(each, key, evidence) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if name in ("references", "works"):
        return [_paper(each, evidence) for each in value]
    if name == "overlaps":
        own = ("similarity", "reason")
        return [{"evidence": _paper(each, evidence), **{key: each[key] for key in own}} for each in value]
    if name == "rounds":
        value = [{**each, "idea": {"number": each["round"], **each["idea"]}} for each in value]
    return [_cited(each, "", evidence) for each in value]


def _paper(told: dict[str, Any], evidence: EvidenceList) -> str:
    found = Retrieval(score=told.get("score"))
    return evidence.cite(told["id"], told["title"], found, year=told.get("year"), passage=told["title"])


def run_of(told: dict[str, Any]) -> RunResult[Any]:
    return typed(today(told))


def write(folder: Path, told: dict[str, Any]) -> Path:
    """A folder with this result."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(today(told)), encoding="utf-8")
    return folder


def abstract(title: str, text: str) -> dict[str, str]:
    names = ("introduction", "objective", "methods", "expected_results", "conclusion")
    return {"title": title, **dict.fromkeys(names, text), "text": text}


def idea(title: str, **more: Any) -> dict[str, Any]:
    scores = dict.fromkeys(("clarity", "feasibility", "novelty"), 5)
    told = {"number": 1, "title": title, "idea": "An idea.", "experiment": "A test.", "thought": "A thought."}
    return {**told, **scores, "confidence": 15.0, "by": "Scientist1", "turn": 1, "references": [], **more}


def but_for_the_host(folder: Path) -> str:
    """The result as it is written, without the host, versions and date: all else is the same on every host."""
    text = (folder / "result.json").read_text(encoding="utf-8")
    return re.sub(r'"host": "\w+",\n  "made_by": \{[^}]*\}', '"host": ""', text)


def ended(folder: Path) -> dict[Path, bytes]:
    """The results of the runs in a folder that have come to their end."""
    paths = folder.glob("**/result.json")
    return {path: path.read_bytes() for path in paths if is_finished(path.parent)}


def unfinished(folder: Path) -> bool:
    """Whether a result tells how far a run came, and no more."""
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))["finished"] is False


def useful_result(folder: Path) -> str:
    """The result without the usage of what a kill made useless, such as a tool call whose turn never ended."""
    result = json.loads(but_for_the_host(folder))
    usage = result["usage"]
    for name, unused in usage.pop("unused").items():
        usage[name] = usage[name] - unused if unused else usage[name]
    return json.dumps(result)
