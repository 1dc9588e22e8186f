"""What was measured, as it is kept, a text a line: `manyheads measure … --out measures.jsonl`."""

import math
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from manyheads.bank.vectors import Embedder
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.results import Idea, Part, read_result
from manyheads.disk import replace_text
from manyheads.errors import LiteratureError, MeasureError
from manyheads.literature.library import PARTS, Library, comparable, ignore, window
from manyheads.literature.lookup import Note
from manyheads.literature.queries import first_sentence, widen
from manyheads.measures.corpus import Measured, MeasuringCorpus, Search, unread
from manyheads.measures.novelty import NEIGHBOURS, Neighbour, Normalise, Surroundings
from manyheads.measures.papers import Papers
from manyheads.measures.statistics import Mean, mean_of
from manyheads.papers import Paper, fold
from manyheads.texts import Subject


def as_lines(records: Iterable[BaseModel]) -> str:
    """A record a line."""
    return "".join(f"{record.model_dump_json()}\n" for record in records)


Measure = Literal["hd", "cd", "ci", "on", "rnd"]
MEASURES: tuple[Measure, ...] = ("hd", "cd", "ci", "on", "rnd")
SAME = 1e-3
"""Nearer than this a paper is the text itself: models round, and embed a text alike but for its place in a batch."""


class Retrieval(BaseModel):
    """How the papers were found that a text was held against, where services gave them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    """The text's idea, title or first sentence."""
    queries: tuple[str, ...]
    """The forms of it that were asked, wider and wider."""
    wanted: int
    found: int
    incomplete: int
    """Of those found, papers without abstract or year."""
    compared: int
    """Papers that the text was held against, or would have been, had there been enough."""
    sources: tuple[SourceName, ...]
    """In the order in which they are asked."""
    dates: str
    """Between which all papers lie, in words, or `any`."""
    degraded: tuple[str, ...]
    """Sources that could not be asked: there may be nearer papers."""


class Score(BaseModel):
    """One text's measures, with all that is needed to measure it again. See `Novelty` for what they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The text's title, or its file's name."""
    source: str
    """Where it was read from: a file, a run's folder, or a file and line."""
    sha256: str
    hd: float | None = None
    cd: float | None
    ci: float | None
    on: float | None = None
    rnd: float | None = None
    missing: dict[str, str]
    """Measure to why it is not there."""
    unread: int | None
    """Tokens at the text's end that the embedding model did not read; null where that is not known."""
    normalise: Normalise
    neighbours: int = Field(ge=1)
    around: int | None = None
    """P and Q of RND, where it was asked for."""
    own: int | None = None
    search: Search = "exact"
    against: Literal["corpus", "services"] = "corpus"
    corpus: str | None = None
    fingerprint: str | None = None
    retrieval: Retrieval | None = None
    embedding: str
    past: tuple[Neighbour, ...] = ()
    contemporary: tuple[Neighbour, ...] = ()
    """Of the papers retrieved, where services gave them."""
    excluded: tuple[str, ...] = ()
    """Ids of papers that were left out on demand."""
    itself: tuple[str, ...] = ()
    """Ids of neighbours that have the text's title or its very vector: it was held against itself."""

    def value(self, measure: Measure) -> float | None:
        """One of the measures by name."""
        return {"hd": self.hd, "cd": self.cd, "ci": self.ci, "on": self.on, "rnd": self.rnd}[measure]


def scores(
    corpus: MeasuringCorpus,
    subjects: Sequence[Subject],
    *,
    neighbours: int,
    normalise: Normalise,
    search: Search,
    rnd: tuple[int, int] | None = None,
    exclude: Collection[str] = (),
    exclude_same_title: bool = False,
) -> list[Score]:
    """Measure texts, all at once.

    Args:
        rnd: P and Q of the relative neighbour density, if it is wanted.
        exclude: ids of papers that do not count.
        exclude_same_title: whether papers do not count that bear the title of one of the texts.

    Raises:
        MeasureError: the corpus has too few papers, or lacks one of `exclude`.
        EmbeddingError: the corpus's model cannot be loaded.
    """
    around, own = rnd or (None, None)
    excluded = sorted(
        {*exclude, *(corpus.ids_by_title([one.title for one in subjects]) if exclude_same_title else ())}
    )
    sizes = {} if rnd is None else {"around": rnd[0], "own": rnd[1]}
    found = corpus.measure(
        [subject.text for subject in subjects],
        neighbours=neighbours,
        normalise=normalise,
        search=search,
        rnd=rnd is not None,
        exclude=excluded,
        **sizes,
    )
    meta = corpus.meta
    made = {
        "neighbours": neighbours, "normalise": normalise, "search": search, "around": around, "own": own,
        "corpus": meta.name, "fingerprint": meta.fingerprint, "embedding": meta.embedding.name,
        "excluded": excluded,
    }  # fmt: skip
    return [
        Score.model_validate({**origin(subject), **_measured(subject, one), **made})
        for subject, one in zip(subjects, found, strict=True)
    ]


def origin(subject: Subject) -> dict[str, object]:
    """What a score says of its text."""
    return {"name": subject.name, "source": subject.source, "sha256": subject.sha256}


def copies(subject: Subject, neighbours: Iterable[Neighbour]) -> tuple[str, ...]:
    """Ids of papers that are the text itself, by title or vector."""
    title = fold(subject.title)
    return tuple(one.id for one in neighbours if one.distance < SAME or (title and fold(one.title) == title))


def _measured(subject: Subject, one: Measured) -> dict[str, object]:
    novelty = one.novelty
    values = {"hd": novelty.hd, "cd": novelty.cd, "ci": novelty.ci, "on": novelty.on, "rnd": one.rnd}
    near = {"past": novelty.past, "contemporary": novelty.contemporary}
    itself = copies(subject, (*novelty.past, *novelty.contemporary))
    return {**values, **near, "itself": itself, "missing": dict(novelty.missing), "unread": one.unread}


def mean_score(found: Sequence[Score], measure: Measure) -> Mean | str:
    """The mean of a measure over several texts with its interval; or why there is none.

    There is none over the texts that happen to have the measure: those that lack it may be the unusual ones.
    """
    values = [value for one in found if (value := one.value(measure)) is not None]
    mean = mean_of(values, within=(0, 1 if measure == "rnd" else math.inf))
    if mean is None or len(values) < len(found):
        return f"{len(found) - len(values)} of {len(found)} texts have none"
    return mean


def write_scores(path: Path, found: Sequence[Score]) -> None:
    """A score a line; the file is replaced as a whole, or not at all.

    Raises:
        MeasureError: it cannot be written.
    """
    try:
        replace_text(path, as_lines(found))
    except OSError as error:
        raise MeasureError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error


# Papers that the literature services know of a text's idea, in place of B_con (VirSci 2025, App. C.3; 2024, §4.2).


RETRIEVED = 50
"""Papers that a text is held against. The papers give no number."""
LOOKED_AT = 2
"""So many times the papers wanted are asked for: publishers withhold many abstracts from the services."""

LeftOut = Callable[[str, str], bool]
"""Whether a paper does not count, by its id and title."""


@dataclass(frozen=True)
class Retrieved:
    """What was found for a query, and how.

    Attributes:
        papers: those that a text can be held against, found by narrower queries first; their authors left out.
        queries: what was asked, wider and wider; never nothing.
        found: papers found.
        incomplete: how many of these have no abstract or no year, so that nothing can be held against them.
        excluded: ids of those that were left out on demand.
        degraded: sources that could not be asked, so that they may have known nearer papers.
    """

    papers: tuple[Paper, ...]
    queries: tuple[str, ...]
    found: int
    incomplete: int
    excluded: tuple[str, ...]
    degraded: tuple[str, ...]


class _Wrote(Part):
    idea: Idea | None = None


def query_of(subject: Subject) -> str:
    """What papers are looked for by: the idea of a run, its title first; of any other text its title or first sentence."""
    folder = Path(subject.source)
    idea = read_result(folder, _Wrote).result.idea if folder.is_dir() else None
    if idea:
        return f"{idea.title}\n{idea.idea}"
    return subject.title or first_sentence(subject.text)


def leaving_out(exclude: Collection[str], titles: Iterable[str] = ()) -> LeftOut:
    """Leaves out papers with one of these ids or, whatever their case and signs, one of these titles."""
    keys = {key for title in titles if (key := fold(title))}
    return lambda paper_id, title: paper_id in exclude or fold(title) in keys


async def retrieve(library: Library, query: str, wanted: int, left_out: LeftOut) -> Retrieved:
    """Up to `wanted` papers with abstract and year.

    A library is content with a query that finds a few papers, as agents are. Here the papers found are also what
    a text's distances are divided by; so wider forms of the query are asked until there are enough, or all are.

    Raises:
        LiteratureError: no source could be asked.
    """
    found, degraded, queries = dict[str, Paper](), dict[str, None](), dict[str, None]()
    for form in widen(query):
        if form in queries:
            continue
        try:
            findings = await library.search(form, LOOKED_AT * wanted, parts=PARTS)
        except LiteratureError as error:
            if not queries:
                raise
            degraded |= dict.fromkeys(error.source.split(", "))
            break
        queries |= dict.fromkeys(entry.asked for entry in findings.searches)
        degraded |= dict.fromkeys(findings.degraded)
        for paper in findings.papers:
            found.setdefault(paper.key or paper.id, paper)
        if len(_papers(found.values(), left_out)) >= wanted:
            break
    papers = _papers(found.values(), left_out)
    excluded = tuple(one.id for one in found.values() if left_out(one.id, one.title))
    incomplete = len(found) - len(excluded) - len(papers)
    return Retrieved(
        tuple(papers[:wanted]), tuple(queries), len(found), incomplete, excluded, tuple(degraded)
    )


def _papers(found: Iterable[Paper], left_out: LeftOut) -> list[Paper]:
    """Those that count, and that a text can be held against."""
    return [paper for one in found if not left_out(one.id, one.title) and (paper := comparable(one))]


# CD and CI of texts against what the literature services know of their ideas (VirSci 2025, App. C.3; 2024, §4.2).

Values = dict[str, Any]
"""Fields of a `Score`."""
TIMELESS = "what services find is not parted into past and contemporary papers, as a corpus is"


@dataclass(frozen=True)
class _Method:
    neighbours: int
    normalise: Normalise
    wanted: int
    left_out: LeftOut


class MeasuringServices:
    """Literature services to measure texts against.

    Args:
        library: its own sources, dates and patience kept.
        config: what the library was opened by.
        model: embeds texts and abstracts.
    """

    def __init__(self, library: Library, config: LiteratureConfig, model: Embedder) -> None:
        self._library, self._config, self._model = library, config, model

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: LiteratureConfig, model: Embedder, *, note: Note = ignore, cache: Path | None = None
    ) -> "AsyncGenerator[MeasuringServices]":
        """Open the services of a config. None is contacted before a text is measured."""
        async with Library(config, note=note, cache=cache).open() as library:
            yield cls(library, config, model)

    async def scores(
        self,
        subjects: Sequence[Subject],
        *,
        neighbours: int = NEIGHBOURS,
        normalise: Normalise = "database",
        wanted: int = RETRIEVED,
        exclude: Collection[str] = (),
        exclude_same_title: bool = False,
    ) -> list[Score]:
        """CD and CI of each text against the papers that its own idea, as a query, retrieves.

        CD is the mean Euclidean distance to the `neighbours` nearest of the papers retrieved, CI the mean citation
        count of these. HD and ON are not there: they need a past. Each neighbour's value is divided as in `novelty`
        by a mean of the same text's: over all papers retrieved for it (`database`), over those of the neighbour's
        year (`year`, which says little: of fifty papers few are of one year, and one alone in its year is divided by
        itself), or by nothing (`none`). The papers retrieved all lie near the text, so that its normalised CD is
        nearer to 1 than against a corpus: the two are not to be compared.

        A text for which too few papers were found, or no source could be asked, has no CD and CI, and says why.

        Args:
            wanted: how many papers with abstract and year to retrieve for each text.
            exclude: ids of papers that do not count.
            exclude_same_title: whether papers do not count that bear the title of one of the texts.

        Raises:
            LiteratureError: no source could be asked for any of the texts.
            EmbeddingError: the model cannot be loaded.
        """
        titles = [one.title for one in subjects] if exclude_same_title else []
        how = _Method(neighbours, normalise, wanted, leaving_out(exclude, titles))
        found, failures = list[Score](), list[LiteratureError]()
        for subject in subjects:
            query = query_of(subject)
            try:
                retrieved = await retrieve(self._library, query, wanted, how.left_out)
                values = self._held_against(retrieved, subject, how)
            except LiteratureError as error:
                failures.append(error)
                retrieved, values = self._unanswered(error)
            found.append(self._score(subject, query, how, retrieved, values))
        if failures and len(failures) == len(subjects):
            raise failures[0]
        return found

    def _held_against(self, retrieved: Retrieved, subject: Subject, how: _Method) -> Values:
        if (known := len(retrieved.papers)) < how.neighbours:
            return _nothing(
                f"{known} papers with abstract and year were found, {how.neighbours} neighbours are asked for"
            )
        vectors = self._model.embed([subject.text, *(paper.abstract for paper in retrieved.papers)])
        rows = [(one.id, one.title, one.year, one.citations) for one in retrieved.papers]
        ids, titles, years, citations = zip(*rows, strict=True)
        papers = Papers.of(ids, titles, years, citations, vectors[1:])
        around = Surroundings.of(vectors[:1], papers, how.neighbours, how.normalise, "retrieved")
        found, near = {"cd": around.dissimilarity(0), "ci": around.impact(0)}, around.neighbours(0)
        return {
            **{name: None if isinstance(value, str) else value for name, value in found.items()},
            "missing": {name: why for name, why in found.items() if isinstance(why, str)},
            "contemporary": near,
            "itself": copies(subject, near),
        }

    def _unanswered(self, error: LiteratureError) -> tuple[Retrieved, Values]:
        silent = tuple(name for name in self._config.cascade if name in error.source.split(", "))
        return Retrieved((), (), 0, 0, (), silent), _nothing(error.message)

    def _score(
        self, subject: Subject, query: str, how: _Method, retrieved: Retrieved, values: Values
    ) -> Score:
        retrieval = Retrieval(
            query=query,
            queries=retrieved.queries,
            wanted=how.wanted,
            found=retrieved.found,
            incomplete=retrieved.incomplete,
            compared=len(retrieved.papers),
            sources=self._config.cascade,
            dates=str(window(self._config)) or "any",
            degraded=retrieved.degraded,
        )
        made: Values = {
            "missing": {"hd": TIMELESS, **values["missing"], "on": "no HD"},
            "unread": unread(self._model, [subject.text])[0],
            "neighbours": how.neighbours,
            "normalise": how.normalise,
            "against": "services",
            "retrieval": retrieval,
            "embedding": self._model.name,
            "excluded": retrieved.excluded,
        }
        return Score.model_validate({**origin(subject), **values, **made})


def _nothing(why: str) -> Values:
    return {"cd": None, "ci": None, "missing": {"cd": why, "ci": why}}


ABSENT = "–"


def title(scores: Sequence[Score]) -> str:
    """Against what the texts were measured, and how."""
    first = scores[0]
    against = first.corpus or ""
    if how := first.retrieval:
        dates = "" if how.dates == "any" else f" {how.dates}"
        against = f"up to {how.wanted} papers{dates} from {', '.join(how.sources)}"
    search = "" if first.search == "exact" else ", approximate search"
    normalised = "not normalised" if first.normalise == "none" else f"normalised by {first.normalise}"
    return f"{against}, {first.neighbours} neighbours, {normalised}{search}"


def measures_of(scores: Sequence[Score]) -> list[Measure]:
    """The measures that were asked for."""
    if scores[0].against == "services":
        return ["cd", "ci"]
    return [name for name in MEASURES if name != "rnd" or scores[0].around is not None]


def text_rows(scores: Sequence[Score]) -> Iterator[list[str]]:
    """Name and measures of each text."""
    for score in scores:
        yield [score.name, *(_number(score.value(name)) for name in measures_of(scores))]


def mean_rows(scores: Sequence[Score]) -> Iterator[list[str]]:
    """The measures' means over several texts, with the ends of their intervals."""
    if len(scores) < 2:
        return
    means = [mean_score(scores, name) for name in measures_of(scores)]
    rows = {f"mean of {len(scores)}": "mean", "95% interval: from": "low", "95% interval: to": "high"}
    for label, end in rows.items():
        yield [label, *(ABSENT if isinstance(mean, str) else _number(getattr(mean, end)) for mean in means)]


def neighbour_rows(score: Score) -> Iterator[list[str]]:
    """Period, distance, year, citations and title of the papers nearest to a text."""
    latter = "retrieved" if score.against == "services" else "contemporary"
    for period, papers in (("past", score.past), (latter, score.contemporary)):
        for paper in papers:
            citations = ABSENT if paper.citations is None else f"{paper.citations:,}"
            yield [period, _number(paper.distance), str(paper.year), citations, paper.title]


def remarks(scores: Sequence[Score]) -> Iterator[str]:
    """What a reader must know of the numbers."""
    measures = measures_of(scores)
    for score in scores:
        if score.unread:
            yield f"{score.source}: the embedding model did not read its last {score.unread} tokens"
        for name, why in score.missing.items():
            if name in measures:
                yield f"{score.source}: no {name.upper()}: {why}"
        if score.itself:
            itself = ", ".join(score.itself)
            yield f"{score.source}: held against itself, by title or vector: {itself} (--exclude)"
        how = score.retrieval
        if how and how.compared < how.wanted and score.cd is not None:
            less = f" ({how.incomplete} more lack abstract or year)" if how.incomplete else ""
            yield f"{score.source}: held against {how.compared} papers, not {how.wanted}: no more were found{less}"
    if silent := [how.degraded for score in scores if (how := score.retrieval) and how.degraded]:
        names = ", ".join(dict.fromkeys(name for sources in silent for name in sources))
        yield f"{len(silent)} of {len(scores)} texts: not everything was asked: {names}; there may be nearer papers"
    if scores[0].search == "approximate":
        yield "approximate search: nearer papers may have been missed"
    if scores[0].against == "services":
        yield f"no HD and ON: {scores[0].missing['hd']}"


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"
