"""ACL Anthology XML: the files under `data/xml` of the Anthology's repository, one or a folder of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import Reader, Record, open_file
from manyheads.datasets.common import paper

OLD_STYLE = re.compile(r"[A-Z]\d\d")
TWO_DIGIT_VOLUMES = re.compile(r"W\d\d|C69|D19")
"""Collections whose old-style numbers have two digits for the volume (D19 only from volume 50 on)."""
MOST_BYTES = 2**22
"""Maximum bytes between the ends of two papers."""
BROKEN = (ParseError, LookupError, ValueError)
"""A parser's errors on invalid XML, an unknown encoding, or custom entities."""


class Anthology(Reader):
    """A `Reader` of ACL Anthology XML.

    It has no citation counts and no keywords. An author's `id`, present for shared names, distinguishes people.
    """

    kind = "Anthology XML"
    endings = (".xml", ".xml.gz")
    unit = "paper"
    example = '<collection id="2023.acl"><volume id="long"><meta><year>2023</year></meta><paper id="1">…'

    def records_of(self, file: Path) -> Iterator[Record]:
        """Raises `CorpusError` for a file that is not Anthology XML, is cut off, or declares entities."""
        number = 0
        with open_file(file, where=lambda: f" after paper {number}" if number else "") as stream:
            try:
                for number, fields in enumerate(_papers(file, stream), 1):
                    yield number, paper(fields)
            except BROKEN as wrong:
                raise CorpusError(
                    f"{file}: not well-formed XML without entities{f', after paper {number}' if number else ''}: {wrong}",
                    hint="download the file again, or set another --format",
                ) from wrong


class _Bounded:
    """A stream for a parser that buffers until an element ends: `size` bytes since the last paper."""

    def __init__(self, file: Path, stream: IO[bytes]) -> None:
        self._file, self._stream, self.size = file, stream, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self.size += len(piece)
        if self.size > MOST_BYTES:
            raise CorpusError(
                f"{self._file}: no paper ends within {MOST_BYTES >> 20} MB",
                hint="check that it is the Anthology's XML",
            )
        return piece


def _papers(file: Path, stream: IO[bytes]) -> Iterator[dict[str, object]]:
    from defusedxml.ElementTree import iterparse

    collection, volume, bounded = Element("none"), Element("none"), _Bounded(file, stream)
    for event, element in iterparse(bounded, events=("start", "end")):
        if event == "start":
            if collection.tag == "none" and element.tag != "collection":
                raise CorpusError(
                    f"{file}: begins with <{element.tag[:40]}>, not with <collection> as the Anthology's files do",
                    hint="use an XML file of the ACL Anthology (data/xml), or set another --format",
                )
            collection = element if element.tag == "collection" else collection
            volume = element if element.tag == "volume" else volume
        elif element.tag == "paper":
            yield _fields(collection, volume, element)
            bounded.size = 0
            element.clear()
            volume[:] = volume.findall("meta")[:1]
            collection[:] = [one for one in collection if one is volume]
        elif element.tag == "volume":
            element.clear()


def _fields(collection: Element, volume: Element, paper: Element) -> dict[str, object]:
    authors = paper.findall("author")
    places = [_text(author.find("affiliation")) for author in authors]
    return {
        "id": anthology_id(collection.get("id", ""), volume.get("id", ""), paper.get("id", "")),
        "title": _text(paper.find("title")),
        "abstract": _text(paper.find("abstract")),
        "authors": [
            " ".join(filter(None, (_text(one.find("first")), _text(one.find("last"))))) for one in authors
        ],
        "author_ids": [author.get("id") for author in authors],
        "affiliations": places if any(places) else [],
        "year": _text(paper.find("year")) or _text(volume.find("meta/year")),
        "venue": _text(volume.find("meta/venue")) or _text(volume.find("meta/booktitle")) or None,
    }


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """A paper's Anthology number: 2023.acl-long.1, or P18-1001 and W18-2504 before 2020."""
    if not OLD_STYLE.fullmatch(collection):
        return f"{collection}-{volume}.{paper}"
    wide = TWO_DIGIT_VOLUMES.fullmatch(collection) and (collection != "D19" or len(volume) > 1)
    return f"{collection}-{volume:0>2}{paper:0>2}" if wide else f"{collection}-{volume}{paper:0>3}"


def _text(element: Element | None) -> str:
    """An element's text without markup."""
    return "" if element is None else " ".join("".join(element.itertext()).split())
