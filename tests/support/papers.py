"""Papers for corpora of the tests' own: small, invented, and alike on every run."""

import gzip
import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAMES = (
    "Ansel Okafor", "Berit Lindqvist", "Chiara Montefiore", "Dmitri Valkov", "Esra Yildirim",
    "Farida Qasimi", "Goran Petrovski", "Hina Tanabe",
)  # fmt: skip
SUBJECTS = (
    "tactile grasping of fragile objects", "dense retrieval for rare languages",
    "federated learning in hospitals", "voice interfaces for older people",
)  # fmt: skip


def paper(number: int = 1, **changes: Any) -> dict[str, Any]:
    """One whole record; `changes` override its fields, and a change to `...` leaves a field out."""
    record: dict[str, Any] = {
        "id": f"p{number}",
        "title": f"Study {number}",
        "abstract": f"We study {SUBJECTS[number % len(SUBJECTS)]}, part {number}.",
        "authors": ["Ansel Okafor", "Berit Lindqvist"],
        "year": 2010,
        "citations": 10,
    }
    return {key: value for key, value in (record | changes).items() if value is not ...}


def papers(count: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """`count` papers of 2010–2017 by one to four of NAMES, each name having a favourite subject."""
    rng = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(count):
        team = rng.sample(NAMES, rng.randint(1, 4))
        subject = SUBJECTS[NAMES.index(team[0]) % len(SUBJECTS)]
        text = f"We look into {subject}; variant {number} of {rng.choice(SUBJECTS)} is compared."
        year, citations = 2010 + number % 8, rng.randint(0, 40)
        title = f"On {subject}, {number}"
        made.append(paper(number, title=title, abstract=text, authors=team, year=year, citations=citations))
    return made


def write_corpus(path: Path, records: Iterable[dict[str, Any] | str | bytes]) -> Path:
    """A corpus file, gzip where it is named so; strings and bytes are written as lines of their own."""
    lines = [
        one
        if isinstance(one, bytes)
        else (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)).encode()
        for one in records
    ]
    content = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


REAL_DATA = Path(os.environ.get("MANYHEADS_DATA", "none"))
"""A folder of real papers and graphs, where somebody has one: nothing of it is in the repository, and tests that read it are skipped without."""
