"""Records of papers a second without a model, against a plain split of the abstracts into sentences."""

import json
import re
from collections.abc import AsyncIterator

from bench.figures import Figure, Size, fastest
from manyheads.base.papers import Paper
from manyheads.base.resources import data_file
from manyheads.corpus.database import SAMPLE
from manyheads.corpus.digest import PaperTexts, extract
from manyheads.corpus.phrases import KeyPhrases


async def bench(size: Size) -> AsyncIterator[Figure]:
    lines = data_file("configs/corpora/sample.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    sample = [Paper(id=one["id"], title=one["title"], abstract=one["abstract"]) for one in told]
    papers = [sample[number % len(sample)] for number in range(size.papers)]

    def records() -> None:
        phrases = KeyPhrases.of(f"{paper.title}. {paper.abstract}" for paper in papers[:SAMPLE])
        for _ in extract(map(PaperTexts, papers), phrases):
            pass

    def sentences() -> None:
        for paper in papers:
            re.split(r"(?<=[.!?])\s+", paper.abstract)

    rate, baseline = (len(papers) / fastest(work, size.rounds) for work in (records, sentences))
    yield Figure(
        "extraction: lexical records", rate, "paper/s", baseline, "a plain sentence split", "≥ 2,000 a second"
    )
