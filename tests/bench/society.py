"""A society of many teams: what a team costs in an epoch of ten times as many, and the memory that they take."""

import json
import random
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Spent, Watch
from bench.memory import peak
from manyheads.config import RunConfig
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.loading import validate

MEMBERS, PER = 4, 10
"""Members of a team, and scientists of the corpus for one team."""
GROWTH = 10
"""How many times as many teams are held against the few."""
BOUND = 2020
WORDS = [f"{stem}{end}" for stem in ("prob", "lens", "tid", "grasp", "ledg", "swarm", "prism", "graph") for end in ("es", "ing", "ers", "ed")]  # fmt: skip


async def bench(size: Size) -> AsyncIterator[Figure]:
    many = max(GROWTH, size.teams)
    few = many // GROWTH
    with tempfile.TemporaryDirectory() as base:
        corpus = corpus_of(Path(base), PER * many)
        await _spent(_config(corpus, 1), Path(base) / "warm")
        one, other = [await _spent(_config(corpus, n), Path(base) / f"run-{n}") for n in (many, few)]
        name, against = f"society: {many} teams of {MEMBERS}", f"{few} teams"
        for kind, value, baseline in (("", one.wall, other.wall), (" CPU,", one.cpu, other.cpu)):
            a_team, against_one = value / many * 1000, baseline / few * 1000
            yield Figure(f"{name},{kind} a team", a_team, "ms", against_one, against, "ratio ~1")
        most, least = (peak(_command(corpus, n, Path(base) / f"peak-{n}")) for n in (many, few))
        yield Figure(f"{name}, memory", most, "MB", least, against)


def corpus_of(base: Path, scientists: int) -> Path:
    """A corpus with lexical vectors, and two papers for each scientist, who writes with neighbours."""
    rng, source = random.Random(0), base / "papers.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number in range(2 * scientists):
            team = dict.fromkeys(
                [number % scientists, *(rng.randrange(scientists) for _ in range(rng.randint(0, 3)))]
            )
            paper = {
                "id": f"p{number}", "title": _text(rng, 8), "abstract": _text(rng, 60), "citations": rng.randint(0, 40),
                "authors": [f"Berit {chr(65 + each % 26)}. Lindqvist{each}" for each in team], "year": 2010 + number % 12,
            }  # fmt: skip
            file.write(json.dumps(paper) + "\n")
    build_corpus(
        source, base / "corpus", BuildOptions(bound=BOUND), load_embedder("lexical"), name="many"
    ).close()
    return base / "corpus"


def _text(rng: random.Random, words: int) -> str:
    return f"{' '.join(rng.choices(WORDS, k=words)).capitalize()}."


def _config(corpus: Path, teams: int) -> RunConfig:
    society = {
        "epochs": 1,
        "teams": teams,
        "size": {"draw": "fixed", "most": MEMBERS},
        "virsci": {"turns": 1},
    }
    model = {"provider": "offline", "name": "offline"}
    settings = {
        "corpus": str(corpus),
        "embedding": "lexical",
        "models": {"default": model},
        "society": society,
    }
    return validate({"system": "society", **settings}, "bench")


def _command(corpus: Path, teams: int, folder: Path) -> list[str]:
    sets = (
        f"corpus={corpus}", "embedding=lexical", "society.epochs=1", f"society.teams={teams}", "society.size.draw=fixed",
        f"society.size.most={MEMBERS}",
    )  # fmt: skip
    given = [word for each in sets for word in ("--set", each)]
    return [sys.executable, "-m", "manyheads", "run", "society", "-o", str(folder), "-q", *given]


async def _spent(config: RunConfig, folder: Path) -> Spent:
    watch = Watch()
    async for _ in Session(config, folder).events(host_factory(config.host)):
        pass
    return watch.read()
