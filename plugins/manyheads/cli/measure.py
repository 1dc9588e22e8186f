"""`manyheads measure`: the novelty of texts, from their nearest papers."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from manyheads.cli import completion
from manyheads.cli.engine import Placement, stoppable
from manyheads.cli.options import Options, runs_found
from manyheads.cli.printing import safe_console, say, write_or_print

if TYPE_CHECKING:
    from manyheads.core.texts import Subject
    from manyheads.corpus.vectors import Embedder
    from manyheads.measures.axioms import AxiomShare
    from manyheads.measures.scores import Score


class Measuring(Options):
    texts: Annotated[
        tuple[Path, ...],
        typer.Argument(metavar="TEXT|RUN…", autocompletion=completion.runs, callback=runs_found),
    ] = ()
    """Text files, .jsonl files of abstracts, or run folders."""
    against: Literal["corpus", "services"] = "corpus"
    """Compare with the papers of a corpus, or with those that literature services find."""
    corpus: Annotated[str | None, typer.Option(metavar="CORPUS", autocompletion=completion.corpora)] = None
    """A corpus by name, or a corpus folder. [default: the one of the runs]"""
    normalise: Literal["year", "database", "none"] | None = None
    """Normalise distances by the mean of the neighbour's year, by the mean of all papers, or not at all. [default: as in the
    runs, else year; with services: database]"""
    neighbours: Annotated[int, Field(ge=1)] = 5
    """Number of nearest papers per period."""
    retrieve: Annotated[int | None, Field(ge=1)] = None
    """With services: number of papers to find for each text. [default: 50]"""
    exclude: Annotated[tuple[str, ...], typer.Option(metavar="ID")] = ()
    """Ignore this paper of the corpus."""
    exclude_same_title: bool = False
    """Ignore papers with the same title as a text."""
    rnd: bool = False
    """Measure RND (relative neighbour density), too. Needs hundreds of papers."""
    rnd_papers: Annotated[int, Field(ge=1)] = 100
    """P of RND: papers around the text."""
    rnd_neighbours: Annotated[int, Field(ge=1)] = 50
    """Q of RND: papers around each of these."""
    rnd_density: Literal["paper", "abstract"] = "paper"
    """How RND is measured: as in its paper, by cosine distances of title and abstract, or by Euclidean distances of abstracts."""
    measure: Annotated[tuple[str, ...], typer.Option(metavar="NAME", autocompletion=completion.measures)] = ()
    """Measure this, too: a measure of another package, by name."""
    embedding: Annotated[str | None, typer.Option(metavar="MODEL")] = None
    """Embedding model: the folder of the corpus's model, if it is not found by name; with services, any model."""
    sets: Annotated[tuple[str, ...], typer.Option("--set", "-s", metavar="KEY=VALUE")] = ()
    """With services: set a key of the config, such as literature.before=2015."""
    show_neighbours: bool = False
    """List the nearest papers."""
    replies: bool = False
    """Instead, count by role and task how many replies of the runs were valid at the first attempt."""
    axioms: bool = False
    """Instead, test on papers of the corpus which axioms of novelty HD, CD, ON, RND and --measure keep."""
    cases: Annotated[int, Field(ge=1)] = 100
    """With --axioms: number of papers."""
    seed: int = 0
    """With --axioms: seed of their choice."""
    lines: Annotated[bool, typer.Option("--json")] = False
    """Print JSON, one text per line."""
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE")] = None
    """Write JSON Lines to a file."""

    def refuse_unused(self) -> None:
        if bool(self.texts) == self.axioms:
            raise typer.BadParameter("--axioms takes no texts" if self.axioms else "name a text or a run")
        if self.axioms and (self.against, self.replies, self.exclude) != ("corpus", False, ()):
            raise typer.BadParameter(
                "--axioms works with neither --against services, --replies nor --exclude"
            )
        options = {
            "--rnd-density": self.rnd_density != "paper", "--exclude-same-title": self.exclude_same_title,
            "--show-neighbours": self.show_neighbours,
        } if self.axioms else {"--cases": self.cases != 100, "--seed": self.seed != 0}  # fmt: skip
        if names := ", ".join(name for name, given in options.items() if given):
            raise typer.BadParameter(f"{names} works only {'without' if self.axioms else 'with'} --axioms")
        if self.against == "services":
            unused = {"--corpus": self.corpus is not None, "--rnd": self.rnd}
        else:
            unused = {"--retrieve": self.retrieve is not None, "--set": bool(self.sets)}
        if names := ", ".join(name for name, given in unused.items() if given):
            other = "corpus" if self.against == "services" else "services"
            raise typer.BadParameter(f"{names} works only with --against {other}")


@stoppable()
def measure(how: Measuring, placement: Placement) -> None:
    """Measure the novelty of texts: HD, CD, CI and ON.

    HD and CD are the distances to past and contemporary papers, CI is the citations of the nearest contemporary papers, ON
    combines all three (VirSci). Several texts get means with confidence intervals. With --against services, only CD and CI
    are computed, using papers from any year unless literature.before is set.
    """
    how.refuse_unused()
    if how.replies:
        return _replies(how.texts, how.lines, how.out)
    if how.axioms:
        return _axioms(how, placement)
    from manyheads.core.texts import read_subjects
    from manyheads.measures.packages import values_of

    subjects = [subject for path in how.texts for subject in read_subjects(path)]
    extra = values_of(how.measure, subjects)
    by = _by_services if how.against == "services" else _by_corpus
    results = [
        score.with_extra(values) for score, values in zip(by(subjects, how, placement), extra, strict=True)
    ]
    _report(results, how)
    _keep(results, how.lines)


def _keep(results: "Sequence[Score]", json: bool) -> None:
    """Save the novelty of runs in their folders, for their reports."""
    from manyheads.base.errors import UserError
    from manyheads.core.results import RESULT
    from manyheads.systems.results import keep_measure

    for score in results:
        folder = Path(score.source)
        if not (folder / RESULT).is_file():
            continue
        try:
            keep_measure(folder, score)
        except UserError as error:
            say(f"warning: {folder}: the report does not show this measure: {error.message}", err=True)
        else:
            if not json:
                say(f"Report    {folder / 'report.html'}")


def _by_corpus(subjects: "Sequence[Subject]", how: Measuring, placement: Placement) -> "list[Score]":
    from manyheads.cli.progress import building
    from manyheads.config import RunConfig
    from manyheads.measures.corpus import measuring_corpus, normalisation
    from manyheads.measures.scores import scores

    with building() as progress:
        bank = measuring_corpus(how.texts, how.corpus, how.embedding, progress)
    with placement.spread(RunConfig(), bank.model, how.embedding or bank.model.name) as model:
        return scores(
            replace(bank, model=model), subjects, normalise=how.normalise or normalisation(how.texts), neighbours=how.neighbours,
            rnd=(how.rnd_papers, how.rnd_neighbours) if how.rnd else None, density=how.rnd_density,
            exclude=how.exclude, exclude_same_title=how.exclude_same_title,
        )  # fmt: skip


def _axioms(how: Measuring, placement: Placement) -> None:
    from manyheads.cli.progress import building
    from manyheads.config import RunConfig
    from manyheads.measures.axioms import Measures, axiom_shares
    from manyheads.measures.corpus import measuring_corpus
    from manyheads.measures.packages import measure_named
    from manyheads.measures.scores import as_lines

    extra = {name: measure_named(name, compares=True) for name in how.measure}
    with building() as progress:
        bank = measuring_corpus((), how.corpus, how.embedding, progress)
    with placement.spread(RunConfig(), bank.model, how.embedding or bank.model.name) as model:
        rnd = (how.rnd_papers, how.rnd_neighbours) if how.rnd else None
        measures = Measures(how.neighbours, how.normalise or "year", rnd, extra)
        found = axiom_shares(replace(bank, model=model), measures, cases=how.cases, seed=how.seed)
    if how.out is not None:
        write_or_print(as_lines(found), how.out)
    if how.lines:
        return write_or_print(as_lines(found), None, as_json=True)
    _show_axioms(found, bank.meta.name)


def _show_axioms(found: "Sequence[AxiomShare]", corpus: str) -> None:
    from rich.table import Table

    from manyheads.measures.axioms import AXIOMS, KEPT

    table = Table(box=None, padding=(0, 1, 1, 0))
    table.add_column("the value", min_width=18)
    shares = {(one.measure, one.axiom): one for one in found}
    for name in (names := list(dict.fromkeys(one.measure for one in found))):
        table.add_column(name.upper())
    for axiom in AXIOMS:
        row = [shares[name, axiom.name] for name in names]
        said = ("can't be told" if one.verdict == "unknown" else one.verdict for one in row)
        ends = (
            "" if one.share is None else f"\n{one.share:.2f}\n{one.low:.2f}–{one.high:.2f}" for one in row
        )
        table.add_row(f"{axiom.number} {axiom.change} {axiom.papers}", *map(str.__add__, said, ends))
    say(f"{corpus}: the share of {found[0].drawn} papers for which each axiom is kept, and its 95% interval")
    safe_console().print(table, markup=False)
    say(
        f"kept, broken: the whole interval is above, below {KEPT:g}. Axioms: arXiv 2604.15145 (without its 5 and 6)"
    )


def _by_services(subjects: "Sequence[Subject]", how: Measuring, placement: Placement) -> "list[Score]":
    from manyheads.cli.progress import building, library
    from manyheads.config import RunConfig
    from manyheads.measures.corpus import measuring_services
    from manyheads.measures.scores import RETRIEVED, service_scores

    wanted = how.retrieve or max(RETRIEVED, how.neighbours)
    if wanted < how.neighbours:
        raise typer.BadParameter(f"--retrieve {wanted} is fewer than --neighbours {how.neighbours}")
    with building():
        config, model = measuring_services(how.texts, how.embedding, how.sets)

    async def ask(model: "Embedder") -> "list[Score]":
        async with library(config).open() as sources:
            return await service_scores(
                sources, config, model, subjects, neighbours=how.neighbours, normalise=how.normalise or "database",
                wanted=wanted, exclude=how.exclude, exclude_same_title=how.exclude_same_title,
            )  # fmt: skip

    with placement.spread(RunConfig(), model, how.embedding or model.name) as spread:
        return asyncio.run(ask(spread))


def _report(results: "Sequence[Score]", how: Measuring) -> None:
    from manyheads.measures.scores import as_lines, remarks, write_scores

    if how.out is not None:
        write_scores(how.out, results)
    if how.lines:
        write_or_print(as_lines(results), None, as_json=True)
    else:
        _show(results, how.show_neighbours)
    for line in remarks(results):
        say(f"warning: {line}", err=True)


def _replies(runs: Sequence[Path], json: bool, out: Path | None) -> None:
    from rich.table import Table

    from manyheads.base.errors import JournalError
    from manyheads.base.folders import JOURNAL
    from manyheads.suites.replies import reply_counts, table_row

    if missing := [run for run in runs if not (run / JOURNAL).is_file()]:
        hint = "name a run folder, such as runs/TIME-NAME"
        raise JournalError(f"{missing[0]}: not a run folder (it has no {JOURNAL})", hint=hint)
    rows = [{"task": task, **table_row(count)} for task, count in reply_counts(runs).items()]
    lines = "".join(f"{dumps(row, ensure_ascii=False)}\n" for row in rows)
    if out is not None:
        write_or_print(lines, out)
    if json:
        write_or_print(lines, None, as_json=True)
        return
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("task", overflow="fold")
    for name in ("asked", "first", "again", "given up", "copied", "guests", "length", "chars", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("faults", overflow="fold", min_width=6)
    counts = ("task", "asked", "first", "repaired", "given_up", "copied", "invited")
    for row in rows:
        means = (row[name] for name in ("characters", "tokens"))
        length = f"{row['length_met']}/{row['lengths']}" if row["lengths"] else "–"
        numbers = ("–" if mean is None else f"{mean:.0f}" for mean in means)
        table.add_row(*(str(row[name]) for name in counts), length, *numbers, str(row["unusable"]))
    safe_console().print(table, markup=False)


def _show(found: "Sequence[Score]", neighbours: bool) -> None:
    """Print a table of scores with their means, and the nearest papers if `neighbours`."""
    from rich.table import Table
    from rich.text import Text

    from manyheads.measures import BY_FIELD
    from manyheads.measures.scores import mean_score, measures_of, title

    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    console, table, measures = safe_console(), Table(), measures_of(found)
    table.add_column("text", max_width=48, min_width=12)
    for name in measures:
        table.add_column(name.upper(), justify="right", no_wrap=True)
    if partial := any(score.gap for score in found):
        table.add_column("citations known", justify="right", no_wrap=True)
    for score in found:
        known = [f"{some} of {n}" for some, n in [*score.known.values()][:1]] if partial else []
        table.add_row(Text(score.name), *(number(score.value(name)) for name in measures), *known)
    table.add_section()
    means = [mean_score(found, name) for name in measures] if found[1:] else []
    having = [sum(score.value(name) is not None for score in found) for name in measures]
    if means and min(having) < len(found):
        table.add_row("texts with it", *(f"{some} of {len(found)}" for some in having))
    ends = {f"mean of {len(found)}": "mean", "95% interval: from": "low", "95% interval: to": "high"}
    for label, end in ends.items() if means else ():
        table.add_row(
            label, *(number(None if isinstance(mean, str) else getattr(mean, end)) for mean in means)
        )
    console.print(title(found), markup=False, highlight=False, style="italic", soft_wrap=True)
    console.print(table, markup=False)
    if any(score.on is not None for score in found):
        console.print(f"{BY_FIELD}.", markup=False, highlight=False, soft_wrap=True)
    for score in found if neighbours else ():
        near = Table("period", "distance", "year", "cited", "title", box=None, padding=(0, 2, 0, 0))
        latter = "retrieved" if score.against == "services" else "contemporary"
        for period, papers in (("past", score.past), (latter, score.contemporary)):
            for paper in papers:
                cited = "–" if paper.citations is None else f"{paper.citations:,}"
                row = (period, number(paper.distance), str(paper.year), cited, paper.title)
                near.add_row(*map(Text, row))
        console.print(score.name, markup=False, highlight=False)
        console.print(near, markup=False)
