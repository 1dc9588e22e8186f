"""A PDF's objects, read from its bytes before PDFium opens it: whether it can bear them, and the pages of a file cut off.

Cross references are not followed, so a file can hide objects from this reader; `apart` limits what these take.
"""

import base64
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from manyheads.base.errors import DocumentError

STREAM = 40_000_000
"""Maximum bytes of a stream without its compression, and of what a page draws: PDFium needs twenty times as many."""
ALL = 250_000_000
"""Maximum bytes of all streams without their compression, and of what all pages draw."""
OBJECTS = 500_000
"""Maximum objects."""
DEEP = 40
"""Maximum compressions of a stream, and forms within one another."""
START = re.compile(rb"(?<!\d)(\d{1,9}+)\s{1,9}+\d{1,5}+\s{1,9}+obj\b")
BODY = re.compile(rb"endobj|\bstream\r?\n?")
REFERENCE = rb"(\d{1,9})\s{1,9}\d{1,5}\s{1,9}R\b"
NAME = rb"/([^\s/<>\[\]()]{1,127})\s{0,9}"


class _Object(NamedTuple):
    words: bytes
    """Without its stream."""
    size: int
    """Bytes of its stream, without compression."""
    draws: Counter[bytes]
    """How often its stream draws each form or picture, by name."""


class Objects:
    """The objects of a PDF; of a file that is cut off, those that are whole.

    Raises:
        DocumentError: PDFium would need too much memory or time for them.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data, self._end, self._all, self._added = path, data, 0, 0, 0
        self._objects: dict[int, _Object] = {}
        self._drawn: dict[int, int] = {}
        while (start := START.search(data, self._end)) and (body := BODY.search(data, start.end())):
            words, stream, end = data[start.end() : body.start()], b"", body.end()
            if body[0] != b"endobj":
                end = data.find(b"endstream", end)
                stream = self._stream(words, data[body.end() : end if end >= 0 else None])
                if end < 0:
                    break
                end += len(b"endstream")
            self._add(int(start[1]), words, stream)
            self._end = end
        pages = {
            number: self._contents(one.words)
            for number, one in self._objects.items()
            if re.search(rb"/Type\s*/Page\b", one.words)
        }
        drawn = [self._draws(page, contents) for page, contents in pages.items()]
        self._check(max(drawn, default=0), STREAM, "bytes on a page")
        self._check(sum(drawn), ALL, "bytes on its pages")
        self.pages = [page for page, contents in pages.items() if self._objects.keys() >= {*contents}]
        """The numbers of those whose content is whole, in the order of the file."""
        self.cut = b"%%EOF" not in data[self._end :]

    def mended(self) -> bytes:
        """The file with a new end, by which its whole pages are all its pages."""
        root = max(self._objects) + 1
        kids = b" ".join(b"%d 0 R" % page for page in self.pages)
        return self._data[: self._end] + (
            b"\nendobj\n%d 0 obj\n<</Type/Catalog/Pages %d 0 R>>\nendobj\n" % (root, root + 1)
            + b"%d 0 obj\n<</Type/Pages/Kids[%s]/Count %d>>\nendobj\n" % (root + 1, kids, len(self.pages))
            + b"trailer\n<</Root %d 0 R/Size %d>>\nstartxref\n0\n%%%%EOF\n" % (root, root + 2)
        )

    def _add(self, number: int, words: bytes, stream: bytes = b"") -> None:
        """Add an object, and those in its stream."""
        draws = Counter(one[1] for one in re.finditer(NAME + rb"Do\b", stream))
        self._objects[number] = _Object(words, len(stream), draws)
        self._added += 1
        self._check(self._added, OBJECTS, "objects")
        if stream and b"/ObjStm" in words and (first := re.search(rb"/First\s+(\d{1,9})\b", words)):
            head = [int(one) for one in re.findall(rb"\d{1,9}", stream[: min(int(first[1]), 10 * OBJECTS)])]
            places = [int(first[1]) + place for place in head[1::2]]
            for inner, start, end in zip(head[::2], places, [*places[1:], len(stream)], strict=False):
                self._add(inner, stream[start:end])

    def _stream(self, words: bytes, raw: bytes) -> bytes:
        """A stream without its compressions, or the beginning of one that is written in letters."""
        # A picture's pixels are counted before a page is drawn, and attached files are not read.
        if b"/EmbeddedFile" in words or (
            re.search(rb"/Subtype\s*/Image\b", words) and words.count(b"/Fl") < 2
        ):
            return b""
        with suppress(zlib.error, ValueError):
            if b"/ASCII85Decode" in words or b"/A85" in words:
                raw = base64.a85decode(raw[:1_000_000].strip().removeprefix(b"<~").partition(b"~>")[0])
            for _ in range(DEEP):
                if not raw:
                    break
                raw = zlib.decompressobj().decompress(raw, STREAM + 1)
                self._check(len(raw), STREAM, "bytes in a stream")
        self._all += len(raw)
        self._check(self._all, ALL, "bytes in its streams")
        return raw

    def _contents(self, words: bytes) -> list[int]:
        """The streams of a page."""
        found = re.search(rb"/Contents\s*(?:\[[^\]]*|%s)" % REFERENCE, words)
        numbers = [int(one) for one in re.findall(REFERENCE, found[0])] if found else []
        array = self._words(numbers[0]) if len(numbers) == 1 else b""
        return [int(one) for one in re.findall(REFERENCE, array)] if array[:1] == b"[" else numbers

    def _draws(self, owner: int, contents: Sequence[int], depth: int = 0) -> int:
        """Bytes that a page or a form draws by its streams, each form as often as it is drawn."""
        if owner in self._drawn or owner not in self._objects or depth > DEEP:
            return self._drawn.get(owner, 0)
        self._drawn[owner] = 0
        words = self._objects[owner].words
        for key in (b"/Resources", b"/Parent", b"/Resources", b"/XObject"):
            if apart := re.search(rb"%s\s*%s" % (key, REFERENCE), words):
                words += key + self._words(int(apart[1]))
        inside = re.search(rb"/XObject\s*<<", words)
        forms = re.findall(NAME + REFERENCE, words[inside.end() :].partition(b">>")[0]) if inside else []
        for number, times in Counter(contents).items():
            if one := self._objects.get(number):
                inner = (
                    one.draws[name] * self._draws(int(form), [int(form)], depth + 1)
                    for name, form in forms
                    if name in one.draws
                )
                self._drawn[owner] += times * (one.size + sum(inner))
        return self._drawn[owner]

    def _words(self, number: int) -> bytes:
        """The beginning of an object."""
        return self._objects[number].words[:4_000].lstrip() if number in self._objects else b""

    def _check(self, number: int, most: int, what: str) -> None:
        if number > most:
            raise DocumentError(
                f"{self._path} is too large to be read: it has more than {most:,} {what}",
                tried="counting what it holds without its compression, before opening it",
                hint="open it in a viewer, print it to a new PDF, and use that",
            )
