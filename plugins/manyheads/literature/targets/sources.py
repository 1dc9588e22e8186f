"""Targets among the papers of datasets, with those of their references that stand in the same datasets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.bank.corpus import RawPaper, Reader, Rejects
from manyheads.bank.filling import Progress, counted
from manyheads.errors import CorpusError
from manyheads.literature.readers.opening import Opening, is_search, open_corpus
from manyheads.literature.targets.before import before
from manyheads.literature.targets.case import Case, Draw, Targets, Wish, case_of, reasons
from manyheads.literature.targets.index import Index

STEPS = ("titles", "references", "abstracts")


@dataclass(frozen=True)
class Candidate:
    """A paper that can be a target, the papers of its background, and how many references it lists."""

    number: int
    background: tuple[int, ...]
    listed: int


def open_datasets(sources: Sequence[str], format: str, columns: Mapping[str, str]) -> list[Reader]:  # noqa: A002
    """The readers of datasets, one each.

    Raises:
        CorpusError: nothing is there, its format is not known, or it is a search, which tells no references.
    """
    if search := next((one for one in sources if is_search(one, format)), None):
        raise CorpusError(f"{search}: a search tells no references", hint="name papers instead: --paper DOI")
    opening = Opening(columns=columns, references=True)
    return [open_corpus(Path(source), format, opening) for source in sources]


def targets_of(readers: Sequence[Reader], wish: Wish, tell: Progress) -> Targets:
    """Draw targets among papers that have an abstract and enough references with abstracts in these datasets.

    A dataset's ids mean papers of its own; DOIs, arXiv numbers and titles mean papers of all. Everything is read three
    times, and no text is kept but those of the targets that were drawn and of their backgrounds.

    Raises:
        CorpusError: a dataset cannot be read, or none of its papers can be a target.
    """
    told, index = Rejects(), Index()
    for source, paper in _papers(readers, told, STEPS[0], tell):
        if paper.abstract.strip():
            index.add(source, paper)
    passed = Counter({"that are no papers": told.total})
    draw = Draw[Candidate](wish.count)
    for source, paper in _papers(readers, Rejects(), STEPS[1], tell):
        found = _candidate(source, paper, index, wish)
        if isinstance(found, str):
            passed[found] += 1
        else:
            draw.offer(wish.draw(str(source), paper.id), found)
    texts = _texts(readers, {n for one in draw.drawn for n in (one.number, *one.background)}, index, tell)
    cases = list[Case]()
    for one in draw.drawn:
        if len(cases) == wish.count:
            break
        if case := _case(one, texts, wish):
            cases.append(case)
        else:
            passed[wish.too_few] += 1
    if not cases:
        raise CorpusError(
            f"{', '.join(reader.name for reader in readers)}: no paper in it can be a target",
            tried=reasons(passed),
            hint="name datasets that tell references together with those that hold the papers referred to, or ask for "
            "fewer: --least",
        )
    return Targets(tuple(cases), draw.offered, passed)


def _candidate(source: int, paper: RawPaper, index: Index, wish: Wish) -> Candidate | str:
    """What a paper can be the target of, or why of nothing."""
    if why := wish.unfit(paper.abstract, paper.year, paper.citations):
        return why
    if not paper.references:
        return "without references"
    number = index.number(source, paper.id)
    if number is None or index.again(number):
        return "that were read before"
    cited = index.cited(source, paper)
    if len(cited) < wish.least:
        return wish.too_few
    return Candidate(number, wish.some(paper.id, cited), len(paper.references))


def _papers(
    readers: Sequence[Reader], rejects: Rejects, step: str, tell: Progress
) -> Iterator[tuple[int, RawPaper]]:
    """All papers, each with the number of its dataset."""
    every = ((source, paper) for source, reader in enumerate(readers) for _, paper in reader.papers(rejects))
    return counted(every, step, tell)


def _texts(
    readers: Sequence[Reader], wanted: set[int], index: Index, tell: Progress
) -> Mapping[int, RawPaper]:
    """The papers of these numbers; reading ends with the last of them."""
    found: dict[int, RawPaper] = {}
    if not wanted:
        return found
    for source, paper in _papers(readers, Rejects(), STEPS[2], tell):
        number = index.number(source, paper.id)
        if number in wanted and paper.abstract.strip():
            found.setdefault(number, paper)
            if len(found) == len(wanted):
                return found
    names = ", ".join(reader.name for reader in readers)
    raise CorpusError(f"{names}: changed while it was read", hint="run the same command again")


def _case(one: Candidate, papers: Mapping[int, RawPaper], wish: Wish) -> Case | None:
    """None where what is left of a background, once its texts are known, is too little."""
    paper = papers[one.number]
    background = before(paper, (papers[number] for number in one.background))
    return (
        case_of(paper, background, f"its {one.listed} references") if len(background) >= wish.least else None
    )
