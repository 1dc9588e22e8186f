"""The figure critic of MAMORX alone, on a paper that a test has made."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from manyheads.config import RunConfig
from manyheads.documents import Document
from manyheads.systems.mamorx.figures import critique
from manyheads.systems.mamorx.paper import Manuscript
from manyheads.systems.mamorx.system import MAMORX
from support.direct import NAME
from support.llm import LLM

PIXELS = 40_000


def _given(paper: Manuscript, config: RunConfig) -> Manuscript:
    return paper


def alone(llm: LLM, paper: Manuscript, host: str = NAME, **more: Any) -> RunConfig:
    """A run of the figure critic alone, or of `run`; settings are of the model, but for those of the critic."""
    system = replace(MAMORX, run=more.pop("run", critique), read=partial(_given, paper))
    url = llm.url if more.get("provider") in ("ollama", "anthropic") else llm.base_url
    model = {"provider": "openai", "name": "test", "base_url": url, "retries": 0}
    own = {name: more.pop(name) for name in ("budget", "paths") if name in more}
    settings = {"figures": {"pixels": PIXELS, **more.pop("figures", {})}}
    settings |= {name: {"enabled": False} for name in ("novelty", "references")}
    inputs = {"paper": "/paper.pdf"}  # what is read of it, the system says
    models = {"default": {**model, **more}}
    return system.model.model_validate(
        {"inputs": inputs, "host": host, "models": models, "mamorx": settings, **own}
    )


def manuscript(document: Document, path: Path) -> Manuscript:
    told = {"title": "Pictures of Readers", "abstract": "Agreement rises with readers."}
    return Manuscript(document.model_copy(update=told), path, "paper.pdf", "0")
