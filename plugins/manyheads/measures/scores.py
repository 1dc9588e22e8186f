"""What was measured, as it is kept, a text a line: `manyheads measure … --out measures.jsonl`."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from manyheads.bank.vectors import Embedder, unread
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.results import Idea, Part, read_result
from manyheads.disk import replace_text
from manyheads.errors import LiteratureError, MeasureError
from manyheads.literature.library import PARTS, Library, comparable, window
from manyheads.literature.queries import first_sentence, widen
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.novelty import (
    NEIGHBOURS,
    Density,
    Neighbour,
    Normalise,
    Novelty,
    Surroundings,
    need_field,
    novelty,
    novelty_of,
    relative_neighbour_density,
    surroundings,
)
from manyheads.measures.papers import Papers, titled
from manyheads.measures.statistics import Mean, mean_of
from manyheads.papers import Paper, fold
from manyheads.texts import Subject


def as_lines(records: Iterable[BaseModel]) -> str:
    """A record a line."""
    return "".join(f"{record.model_dump_json()}\n" for record in records)


Search = Literal["exact", "approximate"]
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
    density: Density | None = None
    """How RND was measured."""
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
        return getattr(self, measure)


def scores(
    corpus: MeasuringCorpus,
    subjects: Sequence[Subject],
    *,
    neighbours: int = NEIGHBOURS,
    normalise: Normalise = "year",
    search: Search = "exact",
    rnd: tuple[int, int] | None = None,
    density: Density = "paper",
    exclude: Collection[str] = (),
    exclude_same_title: bool = False,
) -> list[Score]:
    """HD, CD, CI and ON of texts, all at once, and RND if asked for; see `novelty`, `relative_neighbour_density`.

    Args:
        search: `approximate` asks the index of the corpus's bank, where it has one, for the nearest papers; not for RND.
        rnd: P and Q of the relative neighbour density, if it is wanted.
        density: how it is measured; as in its `paper`, all past papers are embedded with their titles the first time.
        exclude: ids of papers that do not count, neither as neighbours nor in any mean.
        exclude_same_title: whether papers do not count that bear the title of one of the texts.

    Raises:
        MeasureError: a text is empty, the corpus has too few papers, or lacks one of `exclude`.
        EmbeddingError: the corpus's model cannot be loaded.
    """
    texts = [subject.text.strip() for subject in subjects]
    if not all(texts):
        raise MeasureError(f"text {texts.index('') + 1} is empty")
    if not texts:
        return []
    if strange := sorted({*exclude}.difference(corpus.past.ids, corpus.contemporary.ids)):
        raise MeasureError(
            f"{corpus.meta.name}: no paper {', '.join(strange)} to leave out",
            hint="--json names the ids of the papers near a text",
        )
    titles = corpus.ids_by_title([one.title for one in subjects]) if exclude_same_title else ()
    excluded = sorted({*exclude, *titles})
    past, vectors = corpus.past.without(excluded), corpus.model.embed(texts)
    found = novelty(
        vectors,
        past,
        corpus.contemporary.without(excluded),
        neighbours=neighbours,
        normalise=normalise,
        search=partial(corpus.approximately, excluded) if search == "approximate" else None,
    )
    around, own = rnd or (None, None)
    densities: list[Any] = [None] * len(texts)
    if rnd:
        need_field(past, *rnd)
        field = past if density == "abstract" else corpus.titled_past().without(excluded)
        points = vectors
        if density == "paper":
            whole = [titled(one.title, text) for one, text in zip(subjects, texts, strict=True)]
            points = corpus.model.embed(whole)
        densities = relative_neighbour_density(points, field, around=rnd[0], own=rnd[1], density=density)
    meta = corpus.meta
    return [
        _score(
            subject, one, rest, rnd=thin, neighbours=neighbours, normalise=normalise, search=search,
            around=around, own=own, density=density if rnd else None, corpus=meta.name, fingerprint=meta.fingerprint,
            embedding=meta.embedding.name, excluded=excluded,
        )
        for subject, one, thin, rest in zip(subjects, found, densities, unread(corpus.model, texts), strict=True)
    ]  # fmt: skip


def _score(subject: Subject, found: Novelty, rest: int | None, **how: Any) -> Score:
    """With the neighbours told that are the text itself, by title or vector."""
    title = fold(subject.title)
    near = (*found.past, *found.contemporary)
    itself = (one.id for one in near if one.distance < SAME or (title and fold(one.title) == title))
    return Score(
        name=subject.name,
        source=subject.source,
        sha256=subject.sha256,
        itself=tuple(itself),
        unread=rest,
        **vars(found),
        **how,
    )


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
    """A score a line; raises `MeasureError` where the file cannot be written, and leaves it as it was."""
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


class _Wrote(Part):
    idea: Idea | None = None


def query_of(subject: Subject) -> str:
    """What papers are looked for by: the idea of a run, its title first; of any other text its title or first sentence."""
    folder = Path(subject.source)
    idea = read_result(folder, _Wrote).result.idea if folder.is_dir() else None
    if idea:
        return f"{idea.title}\n{idea.idea}"
    return subject.title or first_sentence(subject.text)


async def service_scores(
    library: Library,
    config: LiteratureConfig,
    model: Embedder,
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
    count of these. HD and ON need a past. Each neighbour's value is divided as in `novelty`: by the mean over all
    papers retrieved (`database`), over those of its year (`year`, of which there are few), or by nothing (`none`).
    The papers retrieved all lie near the text: its normalised CD is nearer to 1 than against a corpus, and not to be
    compared with that.

    A text for which too few papers were found, or no source could be asked, has no CD and CI, and says why.

    Args:
        library: its own sources, dates and patience kept; `config` is what it was opened by.
        model: embeds texts and abstracts.
        wanted: how many papers with abstract and year to retrieve for each text.
        exclude: ids of papers that do not count.
        exclude_same_title: whether papers do not count that bear the title of one of the texts.

    Raises:
        LiteratureError: no source could be asked for any of the texts.
        EmbeddingError: the model cannot be loaded.
    """
    titles = {fold(one.title) for one in subjects if exclude_same_title} - {""}
    scores, failures = list[Score](), list[LiteratureError]()

    def counts(paper: Paper) -> bool:
        return paper.id not in exclude and fold(paper.title) not in titles

    for subject in subjects:
        query, why = query_of(subject), ""
        try:
            found, queries, degraded = await _retrieve(library, query, wanted, counts)
        except LiteratureError as error:
            failures.append(error)
            found, queries, why = [], (), error.message
            degraded = tuple(name for name in config.cascade if name in error.source.split(", "))
        excluded = [one.id for one in found if not counts(one)]
        usable = [paper for one in found if counts(one) and (paper := comparable(one))]
        papers = usable[:wanted]
        if not why and len(papers) < neighbours:
            why = f"{len(papers)} papers with abstract and year were found, {neighbours} neighbours are asked for"
        around = Surroundings((), why, why)
        if not why:
            vectors = model.embed([subject.text, *(paper.abstract for paper in papers)])
            columns = zip(*((one.id, one.title, one.year, one.citations) for one in papers), strict=True)
            held = Papers.of(*columns, vectors=vectors[1:])
            [around] = surroundings(vectors[:1], held, neighbours, normalise, "retrieved")
        retrieval = Retrieval(
            query=query,
            queries=queries,
            wanted=wanted,
            found=len(found),
            incomplete=len(found) - len(excluded) - len(usable),
            compared=len(papers),
            sources=config.cascade,
            dates=str(window(config)) or "any",
            degraded=degraded,
        )
        scores.append(
            _score(
                subject,
                novelty_of(Surroundings(), around),
                unread(model, [subject.text])[0],
                neighbours=neighbours,
                normalise=normalise,
                against="services",
                retrieval=retrieval,
                embedding=model.name,
                excluded=excluded,
            )
        )
    if failures and len(failures) == len(subjects):
        raise failures[0]
    return scores


async def _retrieve(
    library: Library, query: str, wanted: int, counts: Callable[[Paper], bool]
) -> tuple[list[Paper], tuple[str, ...], tuple[str, ...]]:
    """Papers, by narrower queries first, of which `wanted` count and have abstract and year if there are so many; the
    queries, never none; and the sources that could not be asked.

    A library is content with a query that finds a few papers. Here they are also what a text's distances are divided
    by; so wider forms are asked until there are enough. Raises `LiteratureError` where no source could be asked.
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
        if sum(counts(one) and comparable(one) is not None for one in found.values()) >= wanted:
            break
    return list(found.values()), tuple(queries), tuple(degraded)


def title(scores: Sequence[Score]) -> str:
    """Against what the texts were measured, and how."""
    first = scores[0]
    against = first.corpus or ""
    if how := first.retrieval:
        dates = "" if how.dates == "any" else f" {how.dates}"
        against = f"up to {how.wanted} papers{dates} from {', '.join(how.sources)}"
    search = "" if first.search == "exact" else ", approximate search"
    normalised = "not normalised" if first.normalise == "none" else f"normalised by {first.normalise}"
    density = {
        None: "",
        "paper": f", RND of title and abstract by cosine (P {first.around}, Q {first.own})",
        "abstract": f", RND of abstracts by Euclidean distance (P {first.around}, Q {first.own})",
    }[first.density]
    return f"{against}, {first.neighbours} neighbours, {normalised}{density}{search}"


def measures_of(scores: Sequence[Score]) -> list[Measure]:
    """The measures that were asked for."""
    if scores[0].against == "services":
        return ["cd", "ci"]
    return [name for name in MEASURES if name != "rnd" or scores[0].around is not None]


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
            yield f"{score.source}: compared with itself, by title or vector: {itself}; leave it out: --exclude"
        how = score.retrieval
        if how and how.compared < how.wanted and score.cd is not None:
            less = f" ({how.incomplete} more lack abstract or year)" if how.incomplete else ""
            yield f"{score.source}: compared with {how.compared} papers instead of {how.wanted}: no more were found{less}"
    if silent := [how.degraded for score in scores if (how := score.retrieval) and how.degraded]:
        names = ", ".join(dict.fromkeys(name for sources in silent for name in sources))
        yield f"{len(silent)} of {len(scores)} texts: not everything was asked: {names}; there may be nearer papers"
    if scores[0].search == "approximate":
        yield "approximate search: nearer papers may have been missed"
    if scores[0].against == "services":
        yield f"no HD and ON: {scores[0].missing['hd']}"
