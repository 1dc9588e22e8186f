"""A reader of documents: the minutes of a debate, a line of `speaker: words` each."""

from pathlib import Path

from manyheads.ext import Division, Document, Draft, Limits


class Minutes:
    """Reads files that end in `.minutes`: each speaker's words are a section."""

    def reads(self, path: Path, head: bytes) -> bool:
        return path.suffix == ".minutes"

    def read(self, path: Path, limits: Limits) -> Document:
        title, *lines = path.read_text(encoding="utf-8").splitlines()
        spoken = (line.partition(": ") for line in lines)
        divisions = [Division(speaker, text=words) for speaker, _, words in spoken]
        return Draft(title=title, divisions=divisions).document()


MINUTES = Minutes()
