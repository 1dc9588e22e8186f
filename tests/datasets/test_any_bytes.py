"""Whatever bytes a file holds: papers, rejects, or a user's mistake; never a crash."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manyheads.base.errors import CorpusError
from manyheads.base.text import NotTeXError, from_latex
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.formats import FieldReader, format_of, formats
from manyheads.datasets.opening import SourceOptions, detect, open_corpus
from manyheads.datasets.values import FieldName, bibtex_names

FILES = [name for name in formats() if name not in ("semantic-scholar", "semantic-scholar-api")]
PIECES = (
    "@article{a, title={Pears}, author={Jo Berg and}, year=2015}\n", "@string{x = ", "{", "}", "\\'", '"', "\\begin{array}",
    "title,abstract,authors,year\n", "Pears,About,\"Jo, Al\",2015\n", ";", "\t", "[", "\x00", "\x1b[31m", "é",
    "#index 1\n#* Pears\n#@ Jo Berg\n#t 2015\n", "#%", '{"id": 1, "n_citation": 2, "authors": [{}]}\n', '{"paper_id": 3, "metadata": {',
    "<collection id='P18'>", "<volume id='1'>", "<paper id='1'>", "</paper>", "<title>Pears</title>", "</volume>", "&amp;",
    "<meta><year>2015</year></meta>", "<author><last>Berg</last></author>", "</collection>", "PAR1", "%PDF-1.7\n", "<TEI xmlns='http://www.tei-c.org/ns/1.0'>",
    "<text><body><div><head>1 Method</head><p>", "<ref type='bibr' target='#b0'/>", "</p></div></body></text></TEI>", "\r\n", "\r", "@", "#",
    "TY  - JOUR\nTI  - Pears\nPY  - 2015\n", "ER  -\n", "PMID- 1\n", "TI  - Figs\nDP  - 2016\n", "PT J\nTI Pears\nPY 2015\n", "ER\n", "#*Pears\n#t2015\n",
    "<dblp><article key='a'><title>Pears &uuml;</title><year>2015</year></article>", "<xml><records><record><titles><title>Pears</title></titles></record>",
    '{"results": [', '{"data":[{"paperId": "1", "title": "Pears", "year": 2015}', "]}", ", ", '[{"id": 1, "title": {"a": 1}, "year": NumberInt(2015)}',
)  # fmt: skip
LIKELY = st.lists(st.sampled_from(PIECES), max_size=14).map(lambda parts: "".join(parts).encode())
CONTENT = st.one_of(st.binary(max_size=200), LIKELY, st.tuples(LIKELY, st.binary(max_size=8)).map(b"".join))
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(("2015", "Jo Berg")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("id", "name", "x")), inner),
    max_leaves=6,
)
MANY = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def outcome(read: Callable[[], list[RawPaper]], rejects: Rejects) -> None:
    """What reading may come to."""
    found, refused = list[RawPaper](), None
    try:
        found = read()
    except CorpusError as error:
        refused = error
    assert found if refused is None else refused.hint
    assert all(one.title and 1500 <= one.year <= 2100 for one in found)
    assert all(reject.field and reject.reason.isprintable() for reject in rejects.first)


@MANY
@given(content=CONTENT)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ("json", "ris") else [pytest.mark.slow]) for name in FILES],
)
def test_files(tmp_path: Path, name: str, content: bytes) -> None:
    path, rejects = tmp_path / "some.file", Rejects()
    path.write_bytes(content)
    outcome(lambda: [one for _, one in open_corpus(path, SourceOptions(name)).papers(rejects)], rejects)


@pytest.mark.slow
@MANY
@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from(("corpusid", "title", "authors", "year", "citationcount", "venue", "abstract")),
            VALUE,
        ),
        min_size=1,
    )
)
def test_rows_of_dumps(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    for part in ("papers", "abstracts"):
        (tmp_path / part).write_text("".join(json.dumps(row) + "\n" for row in rows))
    rejects, reader = Rejects(), open_corpus(tmp_path, SourceOptions("semantic-scholar", scratch=tmp_path))
    outcome(lambda: [one for _, one in reader.papers(rejects)], rejects)


@MANY
@given(content=CONTENT)
@example(content=b"\x00\r\x00")
def test_detection(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.file"
    path.write_bytes(content)
    with suppress(CorpusError):
        assert detect(path) in formats()


@MANY
@given(cells=st.lists(VALUE, min_size=8, max_size=8))
def test_cells(cells: list[object]) -> None:
    known: tuple[FieldName, ...] = (
        "title", "abstract", "authors", "year", "citations", "venue", "keywords", "author_ids",
    )  # fmt: skip
    made = FieldReader(format_of("csv"), dict(zip(known, known, strict=True))).fields(
        dict(zip(known, cells, strict=True))
    )
    assert isinstance(made, tuple) or isinstance(made["title"], str)


@MANY
@given(text=st.one_of(st.text(max_size=40), LIKELY.map(lambda raw: raw.decode())))
def test_latex(text: str) -> None:
    for read in (from_latex, bibtex_names):
        with suppress(NotTeXError):
            assert read(text) is not None
