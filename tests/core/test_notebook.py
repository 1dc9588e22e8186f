"""Runs in a notebook: a result shows itself, and a run shows how far it is."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import manyheads
from manyheads.core.results import RunResult

SMALL = (
    "team.size=2",
    "turns=1",
    "invitation.enabled=false",
    "embedding=lexical",
    "topic=Owls <b>that</b> plan",
)


class Notebook:
    """Stands in for IPython in a notebook: keeps what is shown below a cell."""

    def __init__(self) -> None:
        self.shown = list[str]()
        self.display = SimpleNamespace(display=self._display)

    def get_ipython(self) -> Any:
        return SimpleNamespace(kernel="here")

    def _display(self, data: dict[str, str], **options: object) -> "Notebook":
        self.update(data)
        return self

    def update(self, data: dict[str, str], **options: object) -> None:
        self.shown.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "IPython.display", notebook.display)  # pyright: ignore[reportArgumentType]
    return notebook


def run_in_a_cell(folder: Path) -> RunResult[Any]:
    """A run where a loop is already running, as in a notebook."""

    async def cell() -> RunResult[Any]:
        return manyheads.run_sync("virsci", *SMALL, out=folder)

    return asyncio.run(cell())


def test_a_run_shows_its_progress_and_its_result(tmp_path: Path, notebook: Notebook) -> None:
    run = run_in_a_cell(tmp_path)
    assert run.finished
    assert len(set(notebook.shown)) > 5
    assert max(map(len, notebook.shown)) <= 200
    page = run._repr_html_()
    assert run.result.abstract.title in page
    assert "Owls &lt;b&gt;that" in page
    assert f"{run.usage.calls} calls" in page
    assert "no language model" in page


def test_nothing_is_shown_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_in_a_cell(tmp_path)
    assert capsys.readouterr() == ("", "")
