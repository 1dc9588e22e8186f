"""JSON Lines of papers, plain or gzip: the format of corpora that are not a dataset's own."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, at_fault, sifted
from manyheads.bank.files import lines

EXAMPLE = (
    'JSON Lines, one paper a line: {"id": "…", "title": "…", "abstract": "…", "authors": ["…"], '
    '"year": 2015, "citations": 3}'
)


class JsonLines:
    """A file whose lines are objects with `id, title, abstract, authors, year`.

    Where known, they have `citations, venue, keywords, affiliations, author_ids, references` too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """The papers with their line numbers; broken lines go to `rejects`.

        Raises:
            CorpusError: the file is missing, no gzip although named so, cut off, not JSON Lines, not UTF-8, or
                more than half of its lines are broken.
        """
        with closing(lines(self.path)) as found:
            records = ((number, _parsed(line)) for number, line in found)
            yield from sifted(self.path, records, rejects, example=EXAMPLE)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """Nothing but what the papers say."""
        return {}


def _parsed(line: bytes) -> RawPaper | tuple[str, str]:
    try:
        return RawPaper.model_validate_json(line.decode("utf-8"))
    except UnicodeDecodeError as wrong:
        return "encoding", f"byte {wrong.start} is not UTF-8"
    except ValidationError as wrong:
        return at_fault(wrong)
