"""Retrieval of papers for a background: entities, look-ups, clusters (SciPIP, §3.2)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from manyheads.asking.forms import word_count
from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError
from manyheads.core import Speaker, together
from manyheads.core.events import Retrieved
from manyheads.core.results import Person, Retrieval
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.graph import Extraction
from manyheads.corpus.retrieval import Inspiration, LiteratureDatabase
from manyheads.systems.scipip import result as results
from manyheads.systems.scipip.replies import Entities, Synonyms
from manyheads.systems.scipip.result import (
    IDEATOR,
    INDEXER,
    JUDGE,
    RESEARCHER,
    Candidate,
    EntitySet,
    ScipipRun,
    needs,
)
from manyheads.team.run import Question

R = TypeVar("R", bound=ReplyModel)

BRAINSTORM, RETRIEVAL, PROBLEM, IDEAS = "brainstorm", "retrieval", "problem", "ideas"
FILTER, REFINEMENT, WRITING = "filter", "refinement", "writing"
TITLES = {
    BRAINSTORM: "Brainstorming",
    RETRIEVAL: "Literature retrieval",
    PROBLEM: "Problem and rationale",
    IDEAS: "Ideas from the literature",
    FILTER: "Filter",
    REFINEMENT: "Refinement",
    WRITING: "Abstract",
}
NAMES = {IDEATOR: "Ideator", INDEXER: "Indexer", JUDGE: "Judge", RESEARCHER: "Researcher"}


@dataclass
class IdeationDesk:
    """The people of a run."""

    run: ScipipRun
    people: Mapping[str, Speaker]

    @classmethod
    def of(cls, run: ScipipRun) -> "IdeationDesk":
        """The people the run's config needs; the result names them."""
        area = {"area": run.settings.area}
        roles = list(dict.fromkeys(role for role, _ in needs(run.config)))
        known = {IDEATOR: area, JUDGE: area}
        people = {role: run.speaker(role, NAMES[role], **known.get(role, {})) for role in roles}
        run.result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        return cls(run, people)

    def begin(self, stage: str) -> None:
        settings = self.run.settings
        optional = {BRAINSTORM: settings.brainstorms, WRITING: settings.abstract}
        self.run.begin(stage, {name: title for name, title in TITLES.items() if optional.get(name, True)})

    async def ask(
        self, stage: str, role: str, task: str, like: type[R], *, turn: int = 1, **variables: Any
    ) -> R:
        """A reply to a role's task, counted in the result."""
        result = self.run.result
        reply = await self.run.ask(Question(stage, turn, self.people[role], role, task, variables), like)
        result.turns[stage] = result.turns.get(stage, 0) + 1
        result.inference_cost = sum(result.turns.values())
        return reply.value


MOST, MOST_BRAINSTORMED = 5, 10
"""Maximum entities of a background (Table 7), and of all brainstormed ideas together."""
LONGEST = 8  # words of an entity; anything longer is a sentence, which is no key term of a paper


@dataclass(frozen=True)
class Excerpt:
    """A paper as shown to the model (Tables 10 and 11), with the id of its evidence."""

    evidence: str
    title: str
    background: str
    summary: str
    main_ideas: tuple[str, ...]
    """With their details where its full text was read."""


def ecosystem_of(run: ScipipRun) -> Ecosystem:
    """The open corpus of a run; raises `ConfigError` if there is none."""
    if not isinstance(run.literature, Ecosystem):
        raise ConfigError(f"{run.config.system}: its papers come from a corpus", hint="--set corpus=…")
    return run.literature


async def retrieve(desk: IdeationDesk, brainstormed: Sequence[Candidate]) -> list[Excerpt]:
    """The papers for the ideas: one from each of the first `scipip.papers` clusters.

    Args:
        brainstormed: ideas whose entities are added to those of the background (path C).
    """
    desk.begin(RETRIEVAL)
    run, result, background = desk.run, desk.run.result, desk.run.material.text
    options = run.config.literature.retrieval
    if "entity" in options.how:
        result.entities = await _entities(desk, brainstormed)
        if not result.entities.terms:
            line = "the model named no entity: the database's entities in the background are used"
            run.warn(RETRIEVAL, line)
    database = await asyncio.to_thread(LiteratureDatabase.ready, ecosystem_of(run))
    own, synonyms = result.entities.terms, result.entities.others
    inspirations = await database.retrieve(background, options, own or None, synonyms=synonyms)
    for note in inspirations.notes:
        run.warn(RETRIEVAL, note)
    if not inspirations.papers:
        run.warn(RETRIEVAL, "no paper was found: problem and ideas come from the background alone")
    papers = {each.paper.id: each.paper for each in inspirations.papers}
    rows = ({"id": each.id, "title": each.title, "year": each.year} for each in papers.values())
    run.emit(Retrieved(stage=RETRIEVAL, query=background, hits=tuple(rows)))
    ids = {each.paper.id: _cite(run, each) for each in inspirations.papers}
    clusters = await asyncio.to_thread(database.clusters, [*ids], options.weights, options.threshold)
    result.clusters = [
        results.PaperCluster(number=n, members=[ids[paper] for paper in each], shown=n <= run.settings.papers)
        for n, each in enumerate(clusters, 1)
    ]
    first = [each[0] for each in clusters[: run.settings.papers]]
    records, excerpts = database.records(first), list[Excerpt]()
    for paper in (papers[each] for each in first):
        record = records.get(paper.id) or Extraction(paper=paper.id, summary=paper.abstract, made_by="")
        result.records[record.made_by] = result.records.get(record.made_by, 0) + 1
        ideas = record.detailed_ideas or record.main_ideas
        excerpts.append(Excerpt(ids[paper.id], paper.title, record.background, record.summary, ideas))
    return excerpts


async def _entities(desk: IdeationDesk, brainstormed: Sequence[Candidate]) -> EntitySet:
    """Entities of the background and of brainstormed ideas, and their synonyms.

    The paper also has a model read the abstracts of the semantic hits again, and name synonyms of their entities (§3.2.1).
    Here the database supplies them, in the papers' own words.
    """
    run = desk.run
    texts = [(run.material.text, MOST)]
    if brainstormed:
        texts.append(("\n\n".join(run.wording(idea) for idea in brainstormed), MOST_BRAINSTORMED))
    asked = (
        desk.ask(RETRIEVAL, INDEXER, "entities", Entities, turn=turn, text=text, most=most)
        for turn, (text, most) in enumerate(texts, 1)
    )
    replies = await together(*asked)
    entities = [_terms(run, reply.entities)[:most] for reply, (_, most) in zip(replies, texts, strict=True)]
    result = EntitySet(background=entities[0], brainstorm=[name for names in entities[1:] for name in names])
    if run.settings.synonyms and result.terms:
        reply = await desk.ask(RETRIEVAL, INDEXER, "synonyms", Synonyms, turn=3, terms=result.terms)
        by_name = {name.casefold(): name for name in result.terms}
        for each in reply.terms:
            term = by_name.get(each.term.casefold())
            names = [name for name in _terms(run, each.names) if name.casefold() not in by_name]
            if term and names:
                result.synonyms[term] = names
    return result


def _terms(run: ScipipRun, names: Sequence[str]) -> list[str]:
    """Terms, each once; sentences are left out, with a warning."""
    terms = list(dict.fromkeys(" ".join(name.split()) for name in names if name.strip()))
    short = [term for term in terms if word_count(term) <= LONGEST]
    if over := len(terms) - len(short):
        entities = f"{over} of {len(terms)} entities"
        run.warn(RETRIEVAL, f"{entities} have more than {LONGEST} words and are left out")
    return short


def _cite(run: ScipipRun, inspiration: Inspiration) -> str:
    """Add a paper to the evidence, with each channel that found it; returns its id."""
    paper, corpus, ids = inspiration.paper, run.config.corpus, list[str]()
    for each in inspiration.channels:
        score = None if each.similarity is None else round(each.similarity, 4)
        way = Retrieval(source=corpus, score=score, stage=RETRIEVAL, channel=each.how, reason=each.reason)
        ids.append(run.evidence.cite(paper.id, paper.title, way, year=paper.year, of=paper))
    return ids[0]
