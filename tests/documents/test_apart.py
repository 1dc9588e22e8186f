"""A process of its own reads as this one does, and its end is one file's end."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reportlab.platypus import Paragraph

from manyheads.base.errors import DocumentError
from manyheads.documents import Limits, read_apart, read_document, reading
from support.pdfs import TITLE, body, heading, typeset


def paper(path: Path) -> Path:
    return typeset(
        path, [Paragraph("Read Elsewhere", TITLE)], [heading("1 Introduction"), body("Words.", 20)]
    )


def test_reads_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = paper(tmp_path / "paper.pdf")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("open('imported', 'w')")
    assert read_apart(path) == read_document(path)
    assert not (tmp_path / "imported").exists(), "a module of the working folder"


@pytest.mark.slow
def test_an_error_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing")
    for name, word in (("broken.pdf", "broken"), ("none.pdf", "No such file")):
        with pytest.raises(DocumentError, match=word) as caught:
            read_apart(tmp_path / name)
        assert caught.value.hint


@pytest.mark.slow
def test_as_many_processes_as_processors_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = paper(tmp_path / "paper.pdf")
    run, running, at_once = reading.run_program, list[int](), list[int]()

    def counted(*arguments: Any, **more: Any) -> Any:
        running.append(0)
        at_once.append(len(running))
        done = run(*arguments, **more)
        running.pop()
        return done

    monkeypatch.setattr(reading, "run_program", counted)
    with ThreadPoolExecutor(4) as threads:
        assert [one.title for one in threads.map(read_apart, [path] * 4)] == ["Read Elsewhere"] * 4
    assert max(at_once) <= (os.cpu_count() or 1)


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process by a signal")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "words"), [(signal.SIGSTOP, "took more than 1 s"), (signal.SIGKILL, "crashed")]
)
def test_crash_and_hang_cost_one_file(
    sign: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = paper(tmp_path / "paper.pdf")
    (tmp_path / "sitecustomize.py").write_text(f"import os; os.kill(os.getpid(), {int(sign)})")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        with pytest.raises(DocumentError, match=words):
            read_apart(path, Limits(seconds=-9))
    assert read_apart(path).title == "Read Elsewhere"
