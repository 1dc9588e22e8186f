"""What a reader sees of scores: cells of a table, the nearest papers, and what must be known of the numbers."""

from collections.abc import Iterator, Sequence

from manyheads.measures.scores import MEASURES, Measure, Score, mean_score

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
