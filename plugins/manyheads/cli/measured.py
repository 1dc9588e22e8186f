"""What `manyheads measure` shows of its scores: a table, the nearest papers, and what a reader must know of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from manyheads.measures.results import MEASURES, Measure, Score, mean_of

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.measures.side import Neighbour

ABSENT = "–"


def show(found: Sequence[Score], show_neighbours: bool) -> None:
    """Print a table, and the papers nearest to each text if wanted."""
    from rich.console import Console

    console = Console()
    console.print(_title(found[0]), markup=False, highlight=False, style="italic", soft_wrap=True)
    console.print(_table(found), markup=False)
    if show_neighbours:
        for one in found:
            console.print(one.name, markup=False, highlight=False)
            console.print(_near(one), markup=False)


def remarks(found: Sequence[Score]) -> Iterator[str]:
    """What a reader must know of the numbers."""
    for one in found:
        if one.unread:
            yield f"{one.source}: the embedding model did not read its last {one.unread} tokens"
        for name, why in one.missing.items():
            if name in _shown(found):
                yield f"{one.source}: no {name.upper()}: {why}"
        if one.itself:
            yield f"{one.source}: held against itself, by title or vector: {', '.join(one.itself)} (--exclude)"
        yield from _of_retrieval(one)
    yield from _of_silence(found)
    if found[0].search == "approximate":
        yield "approximate search: nearer papers may have been missed"
    if found[0].against == "services":
        yield f"no HD and ON: {found[0].missing['hd']}"


def _of_retrieval(one: Score) -> Iterator[str]:
    how = one.retrieval
    if how is None:
        return
    if how.compared < how.wanted and one.cd is not None:
        lacking = f" ({how.incomplete} more lack abstract or year)" if how.incomplete else ""
        yield f"{one.source}: held against {how.compared} papers, not {how.wanted}: no more were found{lacking}"


def _of_silence(found: Sequence[Score]) -> Iterator[str]:
    silent = [how.degraded for one in found if (how := one.retrieval) and how.degraded]
    if silent:
        names = ", ".join(dict.fromkeys(name for some in silent for name in some))
        yield f"{len(silent)} of {len(found)} texts: not everything was asked: {names}; there may be nearer papers"


def _table(found: Sequence[Score]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    measures = _shown(found)
    table = Table()
    table.add_column("text", max_width=48, min_width=12)
    for name in measures:
        table.add_column(name.upper(), justify="right", no_wrap=True)
    for one in found:
        table.add_row(Text(one.name), *(_number(one.value(name)) for name in measures))
    if len(found) > 1:
        table.add_section()
        for label, cells in _means(found, measures):
            table.add_row(label, *cells)
    return table


def _title(first: Score) -> str:
    against = first.corpus or ""
    if how := first.retrieval:
        dates = "" if how.dates == "any" else f" {how.dates}"
        against = f"up to {how.wanted} papers{dates} from {', '.join(how.sources)}"
    search = "" if first.search == "exact" else ", approximate search"
    normalised = "not normalised" if first.normalise == "none" else f"normalised by {first.normalise}"
    return f"{against}, {first.neighbours} neighbours, {normalised}{search}"


def _shown(found: Sequence[Score]) -> list[Measure]:
    if found[0].against == "services":
        return ["cd", "ci"]
    return [name for name in MEASURES if name != "rnd" or found[0].around is not None]


def _means(found: Sequence[Score], measures: Sequence[Measure]) -> Iterable[tuple[str, list[str]]]:
    means = [mean_of(found, name) for name in measures]
    rows = {f"mean of {len(found)}": "estimate", "95% interval: from": "low", "95% interval: to": "high"}
    for label, end in rows.items():
        yield label, [ABSENT if isinstance(one, str) else _number(getattr(one, end)) for one in means]


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"


def _near(one: Score) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("period", "distance", "year", "cited", "title", box=None, padding=(0, 2, 0, 0))
    latter = "retrieved" if one.against == "services" else "contemporary"
    groups: dict[str, Sequence[Neighbour]] = {"past": one.past, latter: one.contemporary}
    for period, papers in groups.items():
        for paper in papers:
            cited = ABSENT if paper.citations is None else f"{paper.citations:,}"
            table.add_row(period, _number(paper.distance), str(paper.year), cited, Text(paper.title))
    return table
