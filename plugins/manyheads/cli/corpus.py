"""`manyheads corpus`: build an ecosystem from papers, and say what is in one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.building import naming_the_option, showing_progress

if TYPE_CHECKING:
    from manyheads.bank.meta import Meta

app = typer.Typer(
    help="Research ecosystems: build one from papers, say what is in one.", no_args_is_help=True
)

Count = Annotated[int | None, typer.Option(min=0, show_default=False)]
Embedding = Annotated[str, typer.Option(help="auto, lexical, a fastembed model, or a model's folder.")]


@app.command()
def build(
    source: Annotated[Path, typer.Argument(help="Papers as JSON Lines, plain or .gz.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder to make. [default: corpora/NAME]", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option(help="[default: the source's name]", show_default=False)] = None,
    bound: Annotated[
        int | None, typer.Option(help="Papers before this year are past, the others contemporary.")
    ] = None,
    start: Annotated[int | None, typer.Option(help="First year.")] = None,
    end: Annotated[int | None, typer.Option(help="Last year.")] = None,
    min_past_citations: Count = None,
    min_contemporary_citations: Count = None,
    min_papers: Count = None,
    min_coauthors: Count = None,
    max_scientists: Count = None,
    preset: Annotated[str | None, typer.Option(help="Filters of the paper: aminer-cs or oag-3.1.")] = None,
    embedding: Embedding = "auto",
    vectors: Annotated[Path | None, typer.Option(help="Ready-made vectors, .npy; with --ids.")] = None,
    ids: Annotated[Path | None, typer.Option(help="The papers of the vectors' rows, an id a line.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides who is Scientist0, Scientist1, …")] = None,
) -> None:
    """Build a corpus. Run again after a kill, it goes on where it was."""
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.bank.embedding import load_embedder
    from manyheads.bank.options import BuildOptions

    if (vectors is None) != (ids is None):
        raise typer.BadParameter("--vectors and --ids go together")
    options = BuildOptions.of(
        preset,
        bound=bound,
        start=start,
        end=end,
        min_past_citations=min_past_citations,
        min_contemporary_citations=min_contemporary_citations,
        min_papers=min_papers,
        min_coauthors=min_coauthors,
        max_scientists=max_scientists,
        seed=seed,
    )
    name = name or source.name.removesuffix(".gz").removesuffix(".jsonl")
    target = out or Path("corpora") / name
    pair = None if vectors is None or ids is None else (vectors, ids)
    with naming_the_option(), showing_progress() as tell:
        made = Ecosystem.build(
            source, target, options, load_embedder(embedding), name=name, vectors=pair, progress=tell
        )
    with made:
        _show(made.meta, target)


@app.command()
def info(
    corpus: Annotated[
        str, typer.Argument(help="A built corpus's folder, or a shipped corpus's name.")
    ] = "sample",
    embedding: Embedding = "auto",
) -> None:
    """Say what is in a corpus. A shipped one is built on first use, with an embedding model of your choice."""
    from manyheads.bank.meta import read_meta
    from manyheads.bank.named import resolve_corpus

    with naming_the_option(), showing_progress() as tell:
        folder = resolve_corpus(corpus, embedding=embedding, progress=tell)
    _show(read_meta(folder), folder)


def _show(meta: "Meta", folder: Path) -> None:
    """The summary table on standard output, and on standard error the lines that were rejected."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"corpus {meta.name}", title_justify="left", show_header=False)
    for label, value in meta.rows():
        table.add_row(label, value)
    table.add_row("folder", str(folder))
    Console().print(table, markup=False)
    if meta.rejects:
        Console(stderr=True).print(_rejected(meta, folder), markup=False, highlight=False)


def _rejected(meta: "Meta", folder: Path) -> str:
    from manyheads.bank.meta import REJECTS

    listed = "\n  ".join(meta.rejects)
    return f"{meta.counts.rejected:,} lines rejected, all in {folder / REJECTS}; the first:\n  {listed}"
