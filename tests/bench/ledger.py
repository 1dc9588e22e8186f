"""What a search ledger and a run's own record add to a look-up, against the same look-up without them."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median

from bench.figures import Figure, Size, Watch, fastest
from manyheads.base.papers import Paper
from manyheads.config import LiteratureConfig
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.literature.library import Library
from manyheads.literature.lookup import Note, SearchLedger

PAPERS = 200
WARM_UP = "fruit picked"


async def bench(size: Size) -> AsyncIterator[Figure]:
    queries = [f"fruit number {number} picked" for number in range(size.queries)]
    with (
        KnowledgeBank.create(":memory:", load_embedder("lexical")) as bank,
        tempfile.TemporaryDirectory() as base,
    ):
        text = "Fruit is picked by its number."
        bank.add(
            (Paper(id=str(one), title=f"{one}", abstract=text, year=2011) for one in range(PAPERS)),
            period="past",
        )
        path, kept = Path(base) / "searches.jsonl", Path(base) / "kept.sqlite"
        notes: list[tuple[Note, Path | None]] = [
            (lambda entry: None, None),
            (SearchLedger(path).note, None),
            (SearchLedger(Path(base) / "other.jsonl").note, kept),
        ]
        plain, ledger, both = await _typical(bank, queries, notes)
        [again] = await _typical(bank, queries, [(SearchLedger(path).note, kept)])
        yield _figure("one search with a ledger on disk", ledger, plain)
        yield _figure("with the run's record too", both, plain)
        yield _figure("again, from the run's record", again, plain)
        lines, number = path.read_bytes(), size.queries
        plainly = fastest(lambda: path.read_bytes().splitlines(), size.rounds)
        reading = fastest(lambda: SearchLedger(path), size.rounds)
        note = f"{number} look-ups, {len(lines) / 1000:.0f} kB"
        yield Figure(
            "ledger: reading it back", reading * 1000, "ms", plainly * 1000, "reading lines", note=note
        )


def _figure(name: str, value: float, baseline: float) -> Figure:
    note = f"on top: {value - baseline:+.2f} ms"
    return Figure(f"ledger: {name}", value, "ms", baseline, "the same search of the bank without", note=note)


async def _typical(
    bank: KnowledgeBank, queries: Sequence[str], notes: Sequence[tuple[Note, Path | None]]
) -> list[float]:
    """Milliseconds of the median query, for each way to note it; query by query, so that all share the machine's moods."""
    config = LiteratureConfig(cascade=("local",), before="any")
    libraries = [Library(config, bank=bank, note=note, record=kept) for note, kept in notes]
    taken: list[list[float]] = [[] for _ in notes]
    for library in libraries:
        await library.search(WARM_UP)
    for query in queries:
        for library, times in zip(libraries, taken, strict=True):
            watch = Watch()
            await library.search(query)
            times.append(watch.read().wall)
    for library in libraries:
        await library.close()
    return [median(times) * 1000 for times in taken]
