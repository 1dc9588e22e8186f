"""`manyheads measure`: how new texts are, by the papers nearest to them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from manyheads.measures.scores import MEASURES, Measure, Score, mean_score

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.bank.vectors import Embedder
    from manyheads.config import LiteratureConfig
    from manyheads.measures.novelty import Neighbour
    from manyheads.measures.scores import Score
    from manyheads.texts import Subject


def measure(
    texts: Annotated[
        list[Path],
        typer.Argument(metavar="TEXT|RUN…", help="Text files, .jsonl files of abstracts, folders of runs."),
    ],
    against: Annotated[
        Literal["corpus", "services"],
        typer.Option(help="services: CD and CI by what Semantic Scholar or others know of each idea."),
    ] = "corpus",
    corpus: Annotated[
        str | None,
        typer.Option(help="A built corpus's folder, or a shipped one's name. [default: the runs' own]"),
    ] = None,
    normalise: Annotated[
        Literal["year", "database", "none"] | None,
        typer.Option(
            help="Divide by the mean of the neighbour's year, of all papers, or not at all. "
            "[default: year, of services database]"
        ),
    ] = None,
    neighbours: Annotated[int, typer.Option(min=1, help="Nearest papers of each period.")] = 5,
    retrieve: Annotated[
        int | None, typer.Option(min=1, help="Papers to find for each text in services. [default: 50]")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="How services are asked, such as literature.before=2015. Repeatable.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Leave a paper out. Repeatable.")
    ] = None,
    exclude_same_title: Annotated[
        bool, typer.Option("--exclude-same-title", help="Leave papers out that bear a text's own title.")
    ] = False,
    rnd: Annotated[bool, typer.Option("--rnd", help="Relative neighbour density too.")] = False,
    rnd_papers: Annotated[int, typer.Option(min=1, help="P of RND: papers around the text.")] = 100,
    rnd_neighbours: Annotated[int, typer.Option(min=1, help="Q of RND: papers around each of these.")] = 50,
    show_neighbours: Annotated[
        bool, typer.Option("--show-neighbours", help="Name the nearest papers.")
    ] = False,
    search: Annotated[
        Literal["exact", "approximate"], typer.Option(help="approximate asks the bank's index.")
    ] = "exact",
    embedding: Annotated[
        str | None,
        typer.Option(help="Where the corpus's model is, if not found by its name; of services, the model."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one text a line as JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the same JSON Lines to a file.")] = None,
) -> None:
    """Measure texts: HD, CD, CI, ON (VirSci), and on request RND; for several texts their means too.

    Against services, CD and CI alone, by papers of any time unless literature.before is set.
    """
    from manyheads.texts import read_subjects

    _refuse_unused(against, corpus, rnd, search, retrieve, sets)
    subjects = [subject for path in texts for subject in read_subjects(path)]
    how: dict[str, Any] = {
        "neighbours": neighbours, "exclude": exclude or (), "exclude_same_title": exclude_same_title,
    }  # fmt: skip
    if against == "services":
        how |= {"normalise": normalise or "database", "wanted": _enough(retrieve, neighbours)}
        found = _by_services(texts, subjects, embedding, sets or (), how)
    else:
        sizes = (rnd_papers, rnd_neighbours) if rnd else None
        how |= {"normalise": normalise or "year", "search": search, "rnd": sizes}
        found = _by_corpus(texts, subjects, corpus, embedding, how)
    _tell(found, out, json, show_neighbours)


def _refuse_unused(
    against: str, corpus: str | None, rnd: bool, search: str, retrieve: int | None, sets: list[str] | None
) -> None:
    """No flag is passed over in silence."""
    of_corpora = {"--corpus": corpus is not None, "--rnd": rnd, "--search approximate": search != "exact"}
    of_services = {"--retrieve": retrieve is not None, "--set": bool(sets)}
    given = of_corpora if against == "services" else of_services
    if unused := [name for name, is_given in given.items() if is_given]:
        other = "corpus" if against == "services" else "services"
        raise typer.BadParameter(f"{', '.join(unused)} goes with --against {other}")


def _enough(retrieve: int | None, neighbours: int) -> int:
    from manyheads.measures.scores import RETRIEVED

    wanted = max(RETRIEVED, neighbours) if retrieve is None else retrieve
    if wanted < neighbours:
        raise typer.BadParameter(f"--retrieve {wanted} is fewer than --neighbours {neighbours}")
    return wanted


def _by_corpus(
    texts: Sequence[Path],
    subjects: "Sequence[Subject]",
    corpus: str | None,
    embedding: str | None,
    how: dict[str, Any],
) -> "list[Score]":
    from manyheads.cli.options import naming_the_option, showing_progress
    from manyheads.measures.corpus import chosen_corpus
    from manyheads.measures.scores import scores

    with naming_the_option(), showing_progress() as tell:
        chosen = chosen_corpus(texts, corpus, embedding, tell)
    return scores(chosen, subjects, **how)


def _by_services(
    texts: Sequence[Path],
    subjects: "Sequence[Subject]",
    embedding: str | None,
    sets: Sequence[str],
    how: dict[str, Any],
) -> "list[Score]":
    from manyheads.cli.options import naming_the_option
    from manyheads.measures.corpus import chosen_services

    with naming_the_option():
        config, model = chosen_services(texts, embedding, sets)
    return asyncio.run(_ask(config, model, subjects, how))


async def _ask(
    config: "LiteratureConfig", model: "Embedder", subjects: "Sequence[Subject]", how: dict[str, Any]
) -> "list[Score]":
    from manyheads.bank.vectors import cache_folder
    from manyheads.cli.options import show_look_up
    from manyheads.literature.opening import CACHE
    from manyheads.measures.scores import MeasuringServices

    kept = cache_folder() / CACHE
    async with MeasuringServices.open(config, model, note=show_look_up, cache=kept) as services:
        return await services.scores(subjects, **how)


def _tell(found: "Sequence[Score]", out: Path | None, json: bool, show_neighbours: bool) -> None:
    from manyheads.measures.scores import write_scores

    if out is not None:
        write_scores(out, found)
    if json:
        for one in found:
            typer.echo(one.model_dump_json())
    else:
        show(found, show_neighbours)
    for line in remarks(found):
        typer.echo(f"warning: {line}", err=True)


# What `manyheads measure` shows of its scores: a table, the nearest papers, and what a reader must know of them.


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
    means = [mean_score(found, name) for name in measures]
    rows = {f"mean of {len(found)}": "mean", "95% interval: from": "low", "95% interval: to": "high"}
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
