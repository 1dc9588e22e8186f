"""Measures of texts as they are stored, one text per line: `manyheads measure … --out measures.jsonl`."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from manyheads.base.errors import LiteratureError, MeasureError
from manyheads.base.files import replace_text, writable
from manyheads.base.papers import Paper, fold
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.results import Idea, Part, read_result
from manyheads.core.texts import Subject
from manyheads.corpus.vectors import Embedder, unread
from manyheads.literature.library import Library, window
from manyheads.literature.matching import first_sentence, widen
from manyheads.literature.references import PARTS, comparable
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
from manyheads.measures.packages import MEASURES
from manyheads.measures.papers import Papers, titled, vectors_of
from manyheads.measures.statistics import Mean, enough, mean_of


def as_lines(records: Iterable[BaseModel]) -> str:
    """One record per line."""
    return "".join(f"{record.model_dump_json()}\n" for record in records)


SAME = 1e-3
"""A paper nearer than this is the text itself: embeddings vary slightly with the batch."""


class PaperRetrieval(BaseModel):
    """How the services found the papers that a text was compared with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    """The text's idea, title or first sentence."""
    queries: tuple[str, ...]
    """The queries, from narrow to wide."""
    wanted: int
    found: int
    incomplete: int
    """Papers without abstract or year."""
    compared: int
    """Papers that the text was compared with; also counted if they were too few."""
    sources: tuple[SourceName, ...]
    """In the order of the search."""
    dates: str
    """The period of the papers, in words, or `any`."""
    degraded: tuple[str, ...]
    """Sources that could not be searched; there may be nearer papers."""


class Score(BaseModel):
    """A text's measures, with all that is needed to repeat them. See `Novelty` for their meaning."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The text's title, or its file's name."""
    source: str
    """A file, a run folder, or a file and line."""
    sha256: str
    hd: float | None = None
    cd: float | None
    ci: float | None
    on: float | None = None
    rnd: float | None = None
    extra: dict[str, float] = Field(default={}, exclude_if=lambda value: not value)
    """Measures of other packages, by name."""
    missing: dict[str, str]
    """Missing measures with the reason."""
    known: dict[str, tuple[int, int]] = {}
    """Known citation counts behind CI and ON, and of how many: of `neighbours`, and of `papers` of the reference means."""
    unread: int | None
    """Tokens at the end of the text that the embedding model did not read; null if unknown."""
    normalise: Normalise
    neighbours: int = Field(ge=1)
    around: int | None = None
    """P and Q of RND, if measured."""
    own: int | None = None
    density: Density | None = None
    """How RND was measured."""
    against: Literal["corpus", "services"] = "corpus"
    corpus: str | None = None
    fingerprint: str | None = None
    retrieval: PaperRetrieval | None = None
    embedding: str
    past: tuple[Neighbour, ...] = ()
    contemporary: tuple[Neighbour, ...] = ()
    """With services: nearest of the papers found."""
    excluded: tuple[str, ...] = ()
    """Ids of papers left out."""
    itself: tuple[str, ...] = ()
    """Ids of neighbours with the same title or vector: the text was compared with itself."""

    def value(self, measure: str) -> float | None:
        """A measure by name."""
        return getattr(self, measure) if measure in MEASURES else self.extra.get(measure)

    def with_extra(self, values: Mapping[str, float | None]) -> "Score":
        """With measures of other packages; None where a text has none."""
        known = {name: value for name, value in values.items() if value is not None}
        unknown = {name: "the measure has no value" for name in values if name not in known}
        return self.model_copy(update={"extra": known, "missing": {**self.missing, **unknown}})

    @property
    def gap(self) -> str:
        """Of how many citation counts CI and ON rest on known ones, in words; empty if all are known."""
        gaps = [f"{some:,} of {n:,} {name}" for name, (some, n) in self.known.items() if some < n]
        return "" if self.ci is None else " and ".join(gaps)


def scores(
    corpus: MeasuringCorpus,
    subjects: Sequence[Subject],
    *,
    neighbours: int = NEIGHBOURS,
    normalise: Normalise = "year",
    rnd: tuple[int, int] | None = None,
    density: Density = "paper",
    exclude: Collection[str] = (),
    exclude_same_title: bool = False,
) -> list[Score]:
    """HD, CD, CI and ON of texts, and RND on request; see `novelty`, `relative_neighbour_density`.

    Args:
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
        hint = "--json shows the ids of the nearest papers"
        raise MeasureError(f"{corpus.meta.name}: no paper {', '.join(strange)} to leave out", hint=hint)
    titles = corpus.ids_by_title([one.title for one in subjects]) if exclude_same_title else ()
    excluded = sorted({*exclude, *titles})
    past, contemporary = corpus.past.without(excluded), corpus.contemporary.without(excluded)
    vectors = vectors_of(corpus.model, texts)
    found = novelty(vectors, past, contemporary, neighbours=neighbours, normalise=normalise)
    around, own = rnd or (None, None)
    densities: list[Any] = [None] * len(texts)
    if rnd:
        need_field(past, *rnd)
        field = past if density == "abstract" else corpus.titled_past().without(excluded)
        points = vectors
        if density == "paper":
            whole = [titled(one.title, text) for one, text in zip(subjects, texts, strict=True)]
            points = vectors_of(corpus.model, whole)
        densities = relative_neighbour_density(points, field, around=rnd[0], own=rnd[1], density=density)
    meta = corpus.meta
    return [
        _score(
            subject, one, rest, rnd=thin, neighbours=neighbours, normalise=normalise,
            around=around, own=own, density=density if rnd else None, corpus=meta.name, fingerprint=meta.fingerprint,
            embedding=meta.embedding.name, excluded=excluded,
        )
        for subject, one, thin, rest in zip(subjects, found, densities, unread(corpus.model, texts), strict=True)
    ]  # fmt: skip


def _score(subject: Subject, found: Novelty, rest: int | None, **how: Any) -> Score:
    """With neighbours marked that are the text itself, by title or vector."""
    title, near = fold(subject.title), (*found.past, *found.contemporary)
    itself = [one.id for one in near if one.distance < SAME or (title and fold(one.title) == title)]
    about = {"name": subject.name, "source": subject.source, "sha256": subject.sha256}
    return Score(**about, itself=tuple(itself), unread=rest, **vars(found), **how)


def mean_score(found: Sequence[Score], measure: str) -> Mean | str:
    """The mean of a measure over the n texts that have it, with its interval; or why there is none.

    The texts without it may be the unusual ones: if they are more than `UNKNOWN` of all, there is no mean.
    """
    values = [value for one in found if (value := one.value(measure)) is not None]
    within = (0, 1 if measure == "rnd" else math.inf) if measure in MEASURES else None
    mean = mean_of(values, within=within)
    if mean is None or not enough(len(values), len(found)):
        return f"{len(found) - len(values)} of {len(found)} texts have none"
    return mean


def write_scores(path: Path, found: Sequence[Score]) -> None:
    """Write one score per line; raises `MeasureError` if the file cannot be written, and leaves it unchanged."""
    with writable(path, MeasureError):
        replace_text(path, as_lines(found))


# Papers of the literature services in place of B_con (VirSci 2025, App. C.3; 2024, §4.2).


RETRIEVED = 50
"""Papers that a text is compared with. Not stated in the papers."""
LOOKED_AT = 2
"""Factor of papers to request: services lack many abstracts."""


class _RunIdea(Part):
    idea: Idea | None = None


def query_of(subject: Subject) -> str:
    """The query of a text: the idea of a run with its title, else the text's title or first sentence."""
    folder = Path(subject.source)
    idea = read_result(folder, _RunIdea).result.idea if folder.is_dir() else None
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
    """CD and CI of each text from the papers that its idea, as a query, finds.

    CD is the mean Euclidean distance to the `neighbours` nearest of the papers found, CI their mean citation count. HD and
    ON need past papers. Each neighbour's value is divided as in `novelty`: by the mean over all papers found
    (`database`), over those of its year (`year`, often few), or not at all (`none`). All papers found are near the
    text: its normalised CD is closer to 1 than with a corpus, and not comparable with it.

    A text with too few papers, or without a source that answered, has no CD and CI, and gives the reason.

    Args:
        library: with its own sources, dates and retries; `config` is the one that it was opened with.
        model: embeds texts and abstracts.
        wanted: number of papers with abstract and year to find for each text.
        exclude: ids of papers to ignore.
        exclude_same_title: ignore papers with the title of one of the texts.

    Raises:
        LiteratureError: no source answered for any of the texts.
        EmbeddingError: the model cannot be loaded.
    """
    titles = {fold(one.title) for one in subjects if exclude_same_title} - {""}

    def counts(paper: Paper) -> bool:
        return paper.id not in exclude and fold(paper.title) not in titles

    found, failures = list[Score](), list[LiteratureError]()
    for subject in subjects:
        query = query_of(subject)
        try:
            papers, queries, degraded, why = *await _retrieve(library, query, wanted, counts), ""
        except LiteratureError as error:
            failures.append(error)
            degraded = tuple(name for name in config.cascade if name in error.source.split(", "))
            papers, queries, why = [], (), error.message
        excluded = [one.id for one in papers if not counts(one)]
        usable = [paper for one in papers if counts(one) and (paper := comparable(one))]
        retrieval = PaperRetrieval(
            query=query, queries=queries, wanted=wanted, found=len(papers), incomplete=len(papers) - len(excluded) - len(usable),
            compared=len(usable[:wanted]), sources=config.cascade, dates=str(window(config)) or "any", degraded=degraded,
        )  # fmt: skip
        measured = _by_retrieved(model, subject, usable[:wanted], neighbours, normalise, why)
        found.append(_score(
            subject, measured, unread(model, [subject.text])[0], neighbours=neighbours, normalise=normalise,
            against="services", retrieval=retrieval, embedding=model.name, excluded=excluded,
        ))  # fmt: skip
    if failures and len(failures) == len(subjects):
        raise failures[0]
    return found


def _by_retrieved(
    model: Embedder, subject: Subject, papers: Sequence[Paper], k: int, normalise: Normalise, why: str
) -> Novelty:
    """CD and CI of a text by the papers found for it; neither for the reason `why`, or if they are too few."""
    if not why and len(papers) < k:
        why = f"{len(papers)} papers with abstract and year were found, fewer than {k} neighbours"
    if why:
        return novelty_of(Surroundings(), Surroundings((), why, why))
    vectors = model.embed([subject.text, *(paper.abstract for paper in papers)])
    columns = zip(*((one.id, one.title, one.year, one.citations) for one in papers), strict=True)
    retrieved = Papers.of(*columns, vectors=vectors[1:])
    [around] = surroundings(vectors[:1], retrieved, k, normalise, "retrieved")
    return novelty_of(Surroundings(), around)


async def _retrieve(
    library: Library, query: str, wanted: int, counts: Callable[[Paper], bool]
) -> tuple[list[Paper], tuple[str, ...], tuple[str, ...]]:
    """Papers, narrow queries first, until `wanted` have abstract and year; the queries; and the sources that could not be
    searched.

    A library stops at a query with a few papers. Here, distances are also divided by a mean over them, so wider queries
    follow until there are enough. Raises `LiteratureError` if no source could be searched.
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
    """What the texts were compared with, and how."""
    first = scores[0]
    against = first.corpus or ""
    if how := first.retrieval:
        dates = "" if how.dates == "any" else f" {how.dates}"
        against = f"up to {how.wanted} papers{dates} from {', '.join(how.sources)}"
    normalised = "not normalised" if first.normalise == "none" else f"normalised by {first.normalise}"
    density = {
        None: "",
        "paper": f", RND (relative neighbour density) of title and abstract by cosine (P {first.around}, Q {first.own})",
        "abstract": f", RND (relative neighbour density) of abstracts by Euclidean distance (P {first.around}, Q {first.own})",
    }[first.density]
    return f"{against}, {first.neighbours} neighbours, {normalised}{density}"


def measures_of(scores: Sequence[Score]) -> list[str]:
    """The measures in these scores."""
    own = [name for name in MEASURES if name != "rnd" or scores[0].around is not None]
    names = (name for score in scores for name in (*score.extra, *score.missing))
    extra = dict.fromkeys(name for name in names if name not in MEASURES)
    return [*(["cd", "ci"] if scores[0].against == "services" else own), *extra]


LISTED = 3
"""Maximum number of texts, and of reasons, in a warning."""


def remarks(scores: Sequence[Score]) -> Iterator[str]:
    """Warnings about the numbers: one of each kind, however many texts it concerns."""
    kinds = defaultdict[str, list[tuple[str, str]]](list)
    for score in scores:
        for kind, why in _faults(score):
            kinds[kind].append((score.source, why))
    for kind, faults in kinds.items():
        reasons = list(dict.fromkeys(why for _, why in faults))
        why = "; ".join([*reasons[:LISTED], *["…"] * (len(reasons) > LISTED)])
        places = ", ".join(place for place, _ in faults[:LISTED])
        more = f" and {len(faults) - LISTED} more" if len(faults) > LISTED else ""
        several = f"{len(faults)} of {len(scores)} texts"
        yield f"{several}: {kind}: {why} ({places}{more})" if faults[1:] else f"{places}: {kind}: {why}"
    if scores[0].against == "services":
        yield f"no HD and ON: {scores[0].missing['hd']}"


def _faults(score: Score) -> Iterator[tuple[str, str]]:
    """What is to be said of a text's numbers: of what kind, and how it is with this one."""
    if score.unread:
        yield "the embedding model did not read its end", f"{score.unread} tokens"
    why = {name: score.missing[name] for name in measures_of([score]) if name in score.missing}
    for reason in dict.fromkeys(why.values()):
        names = [name.upper() for name, each in why.items() if each == reason]
        if names != ["ON"] or not reason.startswith("no "):  # it follows from another
            yield f"no {', '.join([*names, *['ON'] * ('on' in why and 'ON' not in names)])}", reason
    if score.gap:
        yield f"{'CI' if score.on is None else 'CI and ON'} are over known citation counts", score.gap
    if score.itself:
        yield "compared with itself, by title or vector (--exclude ID leaves it out)", ", ".join(score.itself)
    if (how := score.retrieval) and how.compared < how.wanted and score.cd is not None:
        less = f" ({how.incomplete} more lack abstract or year)" if how.incomplete else ""
        kind = f"compared with fewer papers than the {how.wanted} asked for"
        yield kind, f"{how.compared} were found{less}"
    if how and how.degraded:
        yield "some sources could not be searched; there may be nearer papers", ", ".join(how.degraded)
