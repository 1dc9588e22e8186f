"""AMiner's network of computer science: papers, counted citations, authors kept apart."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.building import build_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.records import Reader
from manyheads.datasets.opening import SourceOptions, open_corpus
from support.datasets import read_papers

AUTHORS = """\
#index 7
#n Wei Lang
#a Harbour Institute;-
#pc 61
#cn 900
#hi 12
#pi 3.5
#upi 2.5
#t tactile sensing;soft grippers;

#index 8
#n Wei Lang;W. Lang
#a -
#pc 2
#cn 4
#t

#index 9
#n Odile Brandt
#a Northern College
#pc 55
#cn 300
#t speech
"""
COAUTHORS = "#7\t9\t3\n#8\t9\t1\n#9\t11\t40\n"
AUTHORSHIPS = "1\t7\t101\t1\n2\t9\t101\t2\n3\t8\t102\t1\n4\t9\t103\t2\n"


def record(index: int, names: str, *, cites: Sequence[int] = (), **fields: str) -> str:
    """A paper's block as the dataset writes it."""
    given = {"o": "-", "t": "2008", "c": "Journal of Grips", "!": f"What study {index} found."} | fields
    lines = [f"#index {index}", f"#* Study {index}", f"#@ {names}"]
    lines += [f"#{tag} {given[tag]}" for tag in "otc"] + [f"#% {cited}" for cited in cites]
    return "\n".join([*lines, f"#! {given['!']}"] if given["!"] else lines) + "\n\n"


PAPERS = (
    record(101, "Wei Lang;Odile  Brandt", o="Harbour Institute;Northern College")
    + record(102, "Wei Lang", cites=[101, 101], t="2009")
    + record(103, "Ines Faro;Odile Brandt", cites=[101, 102], o="-;Northern College", t="2011")
)
FILES: Mapping[str, str] = {
    "AMiner-Paper.txt": PAPERS, "AMiner-Author.txt": AUTHORS,
    "AMiner-Coauthor.txt": COAUTHORS, "AMiner-Author2Paper.txt": AUTHORSHIPS,
}  # fmt: skip


def aminer(path: Path) -> Reader:
    return open_corpus(path, SourceOptions("aminer"))


def dataset(folder: Path, *without: str, **changed: str) -> Reader:
    for name, text in FILES.items():
        if (part := name.removeprefix("AMiner-").removesuffix(".txt")) not in without:
            (folder / name).write_text(changed.get(part, text), encoding="utf-8")
    return aminer(folder)


def test_papers_are_read_with_all_their_fields(tmp_path: Path) -> None:
    found, rejects = read_papers(dataset(tmp_path))
    assert [one.id for one in found] == ["101", "102", "103"]
    assert [one.citations for one in found] == [2, 1, 0], "once a citing paper"
    assert [one.keys for one in found] == [("7", "9"), ("8",), ("Ines Faro", "9")], "two are called Wei Lang"
    first = found[0]
    assert (first.title, first.year, first.venue) == ("Study 101", 2008, "Journal of Grips")
    assert first.abstract == "What study 101 found."
    assert first.byline == ("Wei Lang", "Odile Brandt")
    assert first.affiliations_of("9") == ("Northern College",)
    assert found[2].affiliations_of("Ines Faro") == ()
    assert rejects.total == 0


def test_without_authorships_a_name_is_the_key(tmp_path: Path) -> None:
    reader = dataset(tmp_path, "Author2Paper")
    assert read_papers(reader)[0][0].keys == ("Wei Lang", "Odile Brandt")
    known = reader.authors({"Wei Lang", "Odile Brandt", "W. Lang"})
    assert list(known) == ["W. Lang", "Odile Brandt"], "two people are called Wei Lang"
    assert known["W. Lang"].coauthors == {"Odile Brandt": 1}


def test_places_in_the_byline_may_be_counted_from_any_number(tmp_path: Path) -> None:
    from_zero = "".join(f"{row[:-1]}{int(row[-1]) - 1}\n" for row in AUTHORSHIPS.splitlines())
    found, _ = read_papers(dataset(tmp_path, Author2Paper=from_zero))
    assert [one.keys for one in found[:2]] == [("7", "9"), ("8",)]


def test_the_dataset_knows_its_authors(tmp_path: Path) -> None:
    known = dataset(tmp_path).authors({"7", "8"})
    assert set(known) == {"7", "8"}
    assert (known["7"].name, known["7"].papers, known["7"].citations) == ("Wei Lang", 61, 900)
    assert known["7"].affiliations == ("Harbour Institute",)
    assert known["7"].interests == ("tactile sensing", "soft grippers")
    assert known["7"].coauthors == {"9": 3}
    assert (known["8"].affiliations, known["8"].interests) == (None, None)


def test_what_the_dataset_lacks_is_not_known(tmp_path: Path) -> None:
    assert dataset(tmp_path, "Coauthor").authors({"7"})["7"].coauthors is None
    assert dataset(tmp_path).authors({"Ines Faro"}) == {}
    (tmp_path / "AMiner-Author.txt").unlink()
    assert aminer(tmp_path).authors({"7"}) == {}


def test_packed_files_read_alike(tmp_path: Path) -> None:
    plain, _ = read_papers(dataset(tmp_path))
    for name in FILES:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        (tmp_path / name).unlink()
    assert read_papers(aminer(tmp_path))[0] == plain
    assert set(aminer(tmp_path).authors({"7"})) == {"7"}


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (record(104, "A B", t=""), "year"),
        (record(104, "A B", t="98"), "year"),
        (record(104, "A B").replace("#* Study 104", "#*"), "title"),
    ],
)
def test_a_broken_record_is_named_by_number_and_field(tmp_path: Path, bad: str, field: str) -> None:
    found, rejects = read_papers(dataset(tmp_path, Paper=PAPERS + bad))
    assert len(found) == 3
    assert str(rejects.first[0]).startswith(f"AMiner-Paper.txt, record 4, {field}: ")


def test_a_text_of_an_older_program_is_told_and_another_encoding_a_reject(tmp_path: Path) -> None:
    reader = dataset(tmp_path)
    many = "".join(record(number, "A B") for number in range(200, 320))
    (tmp_path / "AMiner-Paper.txt").write_bytes(
        many.encode() + record(9, "José").encode("latin1") + record(8, "水果梨").encode("gbk")
    )
    found, rejects = read_papers(reader)
    assert (len(found), found[-1].byline) == (121, ("José",))
    assert (rejects.by_field, rejects.faulty) == ({"encoding": 1}, 1)


def test_a_broken_authorship_is_counted_and_the_others_hold(tmp_path: Path) -> None:
    found, rejects = read_papers(dataset(tmp_path, Author2Paper=AUTHORSHIPS + "5\tx\t101\t1\n"))
    assert str(rejects.first[0]) == "AMiner-Author2Paper.txt, line 5, authorship: not four numbers"
    assert found[0].keys == ("7", "9")


def test_wrong_folders_get_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no AMiner-Paper\.txt"):
        read_papers(aminer(tmp_path))
    (tmp_path / "AMiner-Paper.rar").write_bytes(b"Rar!")
    with pytest.raises(CorpusError) as told:
        read_papers(aminer(tmp_path))
    assert "unrar" in str(told.value.hint)
    (tmp_path / "AMiner-Paper.txt").write_text("#* Of the citation network\n" * 3)
    with pytest.raises(CorpusError, match="line 1 is not #index: not AMiner's format") as told:
        read_papers(aminer(tmp_path))
    assert "JSON" in str(told.value.hint)
    (tmp_path / "AMiner-Paper.txt").write_text("#index 1\n" + "no,such\n" * 200_000)
    with pytest.raises(CorpusError, match="not AMiner's format"):
        read_papers(aminer(tmp_path))


def test_a_file_that_is_named_is_the_one_that_is_read(tmp_path: Path) -> None:
    dataset(tmp_path)
    (tmp_path / "AMiner-Paper-small.txt").write_text(record(103, "Ines Faro;Odile Brandt"))
    found, _ = read_papers(aminer(tmp_path / "AMiner-Paper-small.txt"))
    assert [one.id for one in found] == ["103"]
    assert found[0].keys == ("Ines Faro", "9")


def build(reader: Reader, target: Path, **options: int | str) -> Ecosystem:
    chosen = BuildOptions.of("aminer-cs", min_past_citations=0, min_contemporary_citations=0, **options)
    return build_corpus(reader, target, chosen, load_embedder("lexical"))


def test_an_ecosystem_of_it_keeps_what_the_dataset_knows(tmp_path: Path) -> None:
    reader = dataset(tmp_path)
    with build(reader, tmp_path / "corpus", min_papers=1, min_coauthors=0, author_counts="dataset") as made:
        real = {name: mask for mask, name in made.names().items()}
        assert set(real) == {"Wei Lang (7)", "Wei Lang (8)", "Odile Brandt (9)"}
        one = made.scientist(real["Wei Lang (7)"])
        assert (one.papers, one.citations) == (61, 900)
        assert one.interests == ("tactile sensing", "soft grippers")
        assert one.collaborators == {real["Odile Brandt (9)"]: 3}
        assert made.scientist(real["Odile Brandt (9)"]).collaborators[one.name] == 3
        assert made.meta.counts.interests_by == {"dataset": 2, "texts": 1}
        assert made.meta.source == tmp_path.name
