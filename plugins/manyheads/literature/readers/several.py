"""Several datasets read as one, whatever their formats."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from manyheads.bank.corpus import RawAuthor, RawPaper, Reader, Rejects


class Several:
    """A `Reader` of readers, one after the other; rejects name the dataset that they are of."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.name, self._readers = " + ".join(one.name for one in readers), readers

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`."""
        for reader in self._readers:
            # Each is judged by its own records: a broken dataset is not carried by a sound one.
            own = Rejects(rejects.log, file=reader.name)
            try:
                for number, paper in reader.papers(own):
                    rejects.unit, rejects.file = own.unit, own.file
                    yield number, paper
            finally:
                _add(own, rejects)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; of an author that several know, what the first of them says."""
        found: dict[str, RawAuthor] = {}
        for reader in reversed(self._readers):
            found.update(reader.authors(wanted))
        return found


def _add(own: Rejects, rejects: Rejects) -> None:
    log, rejects.log = rejects.log, None  # written to it already
    for one in own.first:
        rejects.add(one)
    rejects.by_field.update(own.by_field)
    rejects.by_field.subtract(one.field for one in own.first)
    rejects.log = log
