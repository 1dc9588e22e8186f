"""Records of a corpus that has none, until the corpus itself sees to them."""

from manyheads.bank.database import LiteratureDatabase
from manyheads.bank.digest import Reading, extract
from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.phrases import Phrases
from manyheads.disk import FileLock


def database_of(ecosystem: Ecosystem) -> LiteratureDatabase:
    """The literature database of a corpus, its papers extracted lexically where they have no records."""
    database = LiteratureDatabase.of(ecosystem)
    with FileLock(ecosystem.folder / "records.lock", wait=True):
        if not database.graph.counts().extractions:
            papers = [*ecosystem.papers.papers()]
            phrases = Phrases.of(f"{paper.title}. {paper.abstract}" for paper in papers)
            database.put(extract(map(Reading, papers), phrases))
    return database
