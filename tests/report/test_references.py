"""References in the formats of other programs: read back by others' readers, with names and signs of any kind."""

import json
import subprocess
from itertools import accumulate
from typing import Any

import jsonschema
import pypandoc
import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares import LatexDecodingMiddleware, SeparateCoAuthors

from manyheads.core.results import Evidence
from manyheads.report.references import REFERENCES, AuthorName, bibtex, csl, ris

PAPERS = [
    Evidence(
        id="e1", paper="p1", title="Robust {retrieval} & 100 % of $x_1$ #1 ~ a\\b", year=2014, venue="Birds & Bees",
        doi="10.1000/ab_c%d", authors=("Jane van der Berg", "The ATLAS Collaboration", "Núñez, José", "王小明", "OpenAI"),
    ),
    Evidence(id="e2", paper="p2", title="Robust }}} braces {", year=2014, authors=("Jane van der Berg", "J. Smith Jr.")),
    Evidence(id="e3", paper="p3", title="検索の歴史"),
    Evidence(id="e4", paper="arxiv:2101.00001", title="“So” — a talk", year=2021, venue="Proceedings of Talks"),
    Evidence(id="e5", paper="p5", title="Many", year=2020, authors=tuple(f"Ann Abc{'x' * (n % 50)}, No {n}" for n in range(300))),
]  # fmt: skip
NAME = {
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["family"]}, {"required": ["literal"]}],
    "properties": {
        key: {"type": "string"} for key in ("family", "given", "literal", "suffix", "non-dropping-particle")
    },
}
CSL = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["id", "type"],
        "additionalProperties": False,
        "properties": {
            **{key: {"type": "string"} for key in ("id", "title", "container-title", "DOI", "URL", "note")},
            "type": {"enum": ["article", "article-journal", "paper-conference"]},
            "author": {"type": "array", "items": NAME},
            "issued": {
                "type": "object", "additionalProperties": False,
                "properties": {"date-parts": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
            },
        },
    },
}  # fmt: skip
"""The part of the schema of CSL-JSON 1.0 that exports use."""


def test_bibtex_is_read_back_as_it_was() -> None:
    library = parse_string(bibtex(PAPERS), append_middleware=[LatexDecodingMiddleware()])
    assert not library.failed_blocks
    titles = [entry["title"].replace("ˆ", "^") for entry in library.entries]
    assert titles == [paper.title for paper in PAPERS]
    authors = parse_string(bibtex(PAPERS), append_middleware=[SeparateCoAuthors()]).entries
    counts = [len(entry["author"]) if "author" in entry.fields_dict else 0 for entry in authors]
    assert counts == [5, 2, 0, 0, 300]
    assert authors[0]["author"][:2] == ["van der Berg, Jane", "{The ATLAS Collaboration}"]
    assert (authors[0]["doi"], authors[3]["eprint"]) == ("10.1000/ab_c%d", "2101.00001")
    kinds = [entry.entry_type for entry in library.entries]
    assert kinds == ["article", "misc", "misc", "inproceedings", "misc"]


def test_braces_are_balanced_even_where_they_are_escaped() -> None:
    for line in bibtex(PAPERS[:4]).splitlines():
        if line.startswith("\t"):
            depths = [*accumulate({"{": 1, "}": -1}.get(letter, 0) for letter in line)]
            assert (min(depths), depths[-1]) == (0, 0), line


def test_ris_is_read_back_as_it_was() -> None:
    records: list[dict[str, Any]] = rispy.loads(ris(PAPERS))
    assert [one["title"] for one in records] == [paper.title for paper in PAPERS]
    assert [len(one.get("authors", ())) for one in records] == [5, 2, 0, 0, 300]
    assert [one.get("year") for one in records] == ["2014", "2014", None, "2021", "2020"]
    assert (records[0]["doi"], records[0]["secondary_title"]) == ("10.1000/ab_c%d", "Birds & Bees")


def test_csl_has_only_fields_of_its_schema() -> None:
    items = json.loads(csl(PAPERS))
    jsonschema.validate(items, CSL)
    assert items[0]["author"][:2] == [
        {"family": "Berg", "given": "Jane", "non-dropping-particle": "van der"}, {"literal": "The ATLAS Collaboration"},
    ]  # fmt: skip
    assert [each.get("issued", {}).get("date-parts") for each in items[1:3]] == [[[2014]], None]


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("bib", "bibtex"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("ris", "ris"), ("csl", "csljson"))),
    ],
)
def test_pandoc_reads_every_format(form: str, name: str) -> None:
    command = [pypandoc.get_pandoc_path(), "-f", name, "-t", "csljson"]
    done = subprocess.run(command, input=REFERENCES[form](PAPERS).encode(), capture_output=True, check=True)
    items = json.loads(done.stdout)
    assert [each["title"] for each in items][2:] == [paper.title for paper in PAPERS][2:]
    assert len(items[-1]["author"]) == 300


def test_papers_that_share_a_key_get_letters_from_their_ids() -> None:
    keys = {
        form: [line["id"] for line in json.loads(csl(papers))]
        for form, papers in (("on", PAPERS), ("back", PAPERS[::-1]))
    }
    assert keys["on"] == keys["back"][::-1]
    assert len({*keys["on"]}) == len(PAPERS)
    assert [key[:14] for key in keys["on"][:2]] == ["berg2014robust"] * 2
    assert all(key.isascii() and key.isalnum() for key in keys["on"])
    assert [line["id"] for line in json.loads(csl(PAPERS[:1]))] == ["berg2014robust"]


def test_a_paper_that_was_found_twice_stands_once_and_none_gives_nothing() -> None:
    assert len(json.loads(csl([*PAPERS, PAPERS[0].model_copy(update={"id": "e9"})]))) == len(PAPERS)
    assert [write([]) for write in REFERENCES.values()] == ["", "", ""]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Ludwig van Beethoven", ("Beethoven", "Ludwig", "van", "")),
        ("de la Cruz, Ana", ("Cruz", "Ana", "de la", "")),
        ("John Smith, III", ("Smith", "John", "", "III")),
        ("Berg, Jr., Jane", ("Berg", "Jane", "", "Jr.")),
        ("王 小明", ("", "", "", "")),
        ("Institute of {Owls}", ("", "", "", "")),
        ("Smith and Jones, Inc", ("", "", "", "")),
        ("A, b, c, d", ("", "", "", "")),
        ("", ("", "", "", "")),
    ],
)
def test_names_have_parts_and_collectives_have_none(name: str, parts: tuple[str, ...]) -> None:
    assert AuthorName.of(name)[1:] == parts
