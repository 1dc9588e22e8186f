"""Tests for readers of documents of other packages: `reader_conformance(reader, file)` names each broken clause."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from manyheads.base.errors import DocumentError
from manyheads.documents import Document, DocumentReader, Limits
from manyheads.documents.reading import READERS
from manyheads.testing.contract import clause_name, need_none, what_broke

HEAD = 4096
"""First bytes of a file that a reader is shown, as when it is chosen."""


@dataclass
class ReaderBench:
    """The environment of a clause: a reader, a file of its format, and a folder."""

    reader: DocumentReader
    file: Path
    folder: Path

    def head(self, path: Path) -> bytes:
        return path.read_bytes()[:HEAD].lstrip()

    def damaged(self) -> Iterator[tuple[str, Path]]:
        """The file cut short, with a hole, and of other bytes."""
        data = self.file.read_bytes()
        middle = len(data) // 2
        for what, left in {
            "empty": b"",
            "cut": data[:middle],
            "with a hole": data[: middle // 2] + data[middle:],
            "of zeros": bytes(len(data)),
            "of other bytes": bytes(each ^ 0xA5 for each in data),
        }.items():
            path = self.folder / f"{what.replace(' ', '-')}{self.file.suffix}"
            path.write_bytes(left)
            yield what, path


def _protocol(bench: ReaderBench) -> None:
    assert isinstance(bench.reader, DocumentReader), "it has no methods `reads` and `read`"


def _own_files(bench: ReaderBench) -> None:
    assert bench.reader.reads(bench.file, bench.head(bench.file)) is True, (
        f"it does not read {bench.file.name}"
    )


def _files_of_others(bench: ReaderBench) -> None:
    """It comes after ours: a file that it claims beside them would never reach it, or be taken from another package."""
    for name, head in {
        "paper.pdf": b"%PDF-1.7\n",
        "notes.txt": b"Owls plan.",
        "paper.zip": b"PK\x03\x04",
    }.items():
        assert not bench.reader.reads(Path(name), head), f"it says that it reads {name}"
    ours = [name for name, each in READERS.items() if each.reads(bench.file, bench.head(bench.file))]
    assert not ours, f"{bench.file.name} is read by a reader of manyheads, {ours[0]}: choose another ending"


def _document(bench: ReaderBench) -> None:
    read = bench.reader.read(bench.file, Limits())
    assert isinstance(read, Document), f"it gives a {type(read).__name__}, not a Document"
    assert read.words > 0, "the document has no text"
    assert Document.model_validate_json(read.model_dump_json()) == read, (
        "the document is another once it was stored"
    )
    assert bench.reader.read(bench.file, Limits()) == read, "the same file gives another document"


def _damaged_files(bench: ReaderBench) -> None:
    """They give what is left of them, or a `DocumentError`, never another error."""
    for what, path in bench.damaged():
        try:
            bench.reader.read(path, Limits())
        except DocumentError:
            continue
        except Exception as error:
            raise AssertionError(f"a file {what} gives {type(error).__name__}: {error}") from error


def _file_untouched(bench: ReaderBench) -> None:
    before = sorted(each.name for each in bench.file.parent.iterdir()), bench.file.read_bytes()
    bench.reader.read(bench.file, Limits())
    after = sorted(each.name for each in bench.file.parent.iterdir()), bench.file.read_bytes()
    assert before == after, "it changes the file, or writes beside it"


_ALL: Sequence[Callable[[ReaderBench], None]] = (
    _protocol, _own_files, _files_of_others, _file_untouched, _document, _damaged_files,
)  # fmt: skip


def reader_conformance(reader: DocumentReader, *files: Path) -> None:
    """Assert that a reader of documents keeps its contract, on files of its format.

    It knows its files and leaves others alone, gives the same document each time, refuses damaged files with `DocumentError`,
    and writes nothing.

    Raises:
        AssertionError: it breaks clauses; the message names each.

    Example:
        def test_conformance():
            reader_conformance(MINUTES, Path(__file__).parent / "owls.minutes")
    """
    assert files, "name at least one file of its format"
    with TemporaryDirectory() as folder:
        problems = dict[str, str]()
        for clause, file in itertools.product(_ALL, files):
            try:
                clause(ReaderBench(reader, file, Path(folder)))
            except Exception as error:  # noqa: BLE001 - any error is a result of the test
                problems.setdefault(clause_name(clause), what_broke(error))
    need_none("the reader", problems)
