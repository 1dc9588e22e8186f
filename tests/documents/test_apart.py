"""A process of its own reads as this one does, and its end is one file's end."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest
from reportlab.platypus import Paragraph

from manyheads.base.errors import DocumentError
from manyheads.documents import Limits, ReaderProcess, read_apart, read_document
from manyheads.documents.reading import PROCESSES
from support.pdfs import TITLE, body, heading, typeset


def paper(path: Path) -> Path:
    return typeset(
        path, [Paragraph("Read Elsewhere", TITLE)], [heading("1 Introduction"), body("Words.", 20)]
    )


def test_reads_alike_and_goes_on_after_errors(tmp_path: Path) -> None:
    path = paper(tmp_path / "paper.pdf")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing")
    with ReaderProcess() as reader:
        assert reader.read(path) == read_document(path)
        for name, word in (("broken.pdf", "broken"), ("none.pdf", "No such file")):
            with pytest.raises(DocumentError, match=word) as caught:
                reader.read(tmp_path / name)
            assert caught.value.hint
        assert reader.read(path).title == "Read Elsewhere"


def test_no_module_of_the_working_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("open('imported', 'w')")
    with ReaderProcess() as reader:
        assert reader.read(paper(tmp_path / "paper.pdf")).title == "Read Elsewhere"
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_many_who_read_at_once_share_as_many_processes_as_there_are_processors(tmp_path: Path) -> None:
    paths = [paper(tmp_path / f"{number}.pdf") for number in range(6)]
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and nothing")
    at_once = list[int]()

    def read(path: Path) -> str:
        at_once.append(len(PROCESSES._entries))
        title = read_apart(path).title
        at_once.append(len(PROCESSES._entries))
        return title

    with ThreadPoolExecutor(6) as threads:
        lost = threads.submit(read, broken)
        assert [*threads.map(read, paths)] == ["Read Elsewhere"] * 6
        with pytest.raises(DocumentError, match="broken"):
            lost.result()
    assert max(at_once) <= (os.cpu_count() or 1)
    assert not PROCESSES._entries, "the last one stops them"


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process by a signal")
@pytest.mark.slow
def test_crash_and_hang_cost_one_file(tmp_path: Path) -> None:
    path = paper(tmp_path / "paper.pdf")
    with ReaderProcess(Limits(seconds=-8)) as reader:
        with pytest.raises(DocumentError, match="no page"):
            reader.read(path)
        process = reader._process
        assert process
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(DocumentError, match="took more than 2 s"):
            reader.read(path)
    with ReaderProcess() as reader:
        reader.read(path)
        process = reader._process
        assert process
        os.kill(process.pid, signal.SIGSTOP)
        Timer(0.5, os.kill, (process.pid, signal.SIGKILL)).start()
        with pytest.raises(DocumentError, match="crashed"):
            reader.read(path)
        assert reader.read(path).title == "Read Elsewhere"
