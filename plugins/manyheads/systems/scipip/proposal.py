"""From papers to ideas: problem and rationale, ideas, filter, refinement, with the rules for merging and keeping ideas (SciPIP, §3.3)."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manyheads.asking import replies as shared
from manyheads.config import PERSON
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.results import Abstract, Draft
from manyheads.systems.scipip import replies
from manyheads.systems.scipip.config import IDEATOR, JUDGE, RESEARCHER
from manyheads.systems.scipip.replies import (
    Brainstorm,
    InspiredIdea,
    InspiredIdeas,
    Problem,
    RefinedIdea,
    Refinement,
    ideas_of,
)
from manyheads.systems.scipip.result import (
    Candidate,
    FinalIdea,
    Origin,
    ResearchBackground,
    ScipipRun,
    Screening,
    Twin,
)
from manyheads.systems.scipip.retrieval import (
    BRAINSTORM,
    FILTER,
    IDEAS,
    PROBLEM,
    REFINEMENT,
    RETRIEVAL,
    WRITING,
    Desk,
    Excerpt,
    ecosystem_of,
    retrieve,
)
from manyheads.team.steering import steer

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


def merge(ideas: Sequence[Candidate], vectors: "Vectors", same: float) -> list[Candidate]:
    """Merge ideas that say nearly the same.

    Ideas from the literature come first, because they are worked out and name their papers; then numbers decide. Each
    idea is merged into the most similar earlier idea that is not merged itself, if their cosine similarity is at least
    `same`. That idea keeps its text and takes over the papers.

    Args:
        vectors: (n, dim) float32 of length one, one row per idea.

    Returns:
        The ideas that were not merged, in the order of their numbers.
    """
    similarities = vectors @ vectors.T
    order = sorted(range(len(ideas)), key=lambda at: (ideas[at].origin == "brainstorm", ideas[at].number))
    standing = list[int]()
    for at in order:
        idea = ideas[at]
        nearest = max(standing, key=lambda other: (similarities[at, other], -other), default=at)
        similarity = round(float(similarities[at, nearest]), 4)
        if nearest == at or similarity < same:
            standing.append(at)
            continue
        first = ideas[nearest]
        first.merged.append(Twin(**idea.model_dump(exclude={"merged", "screening"}), similarity=similarity))
        first.references = list(dict.fromkeys([*first.references, *idea.references]))
        if idea.origin != first.origin:
            first.origin = "person" if "person" in (idea.origin, first.origin) else "both"
    return [ideas[at] for at in sorted(standing, key=lambda at: ideas[at].number)]


def keep_best(ideas: Sequence[Candidate], share: float, least: int) -> list[Candidate]:
    """Keep about a share of the screened ideas, and record the reason for each.

    Ideas are sorted by fit to the problem (§3.3.1, Table 12), then by novelty plus feasibility, then by number. The
    first ones are kept: the share rounded to the nearest whole number, halves up, but at least `least`.

    Returns:
        The ideas kept, the best first.
    """

    def rank(idea: Candidate, screening: Screening) -> tuple[int, int, int]:
        return -screening.fit, -(screening.novelty + screening.feasibility), idea.number

    screened = [(idea, idea.screening) for idea in ideas if idea.screening]
    screened.sort(key=lambda each: rank(*each))
    count = min(len(screened), max(int(share * len(screened) + 0.5), least))
    for place, (_, screening) in enumerate(screened, 1):
        screening.place, screening.kept = place, place <= count
        screening.why = (
            f"place {place} of {len(screened)}, and the first {count} are kept: fit {screening.fit}, then novelty "
            f"{screening.novelty} and feasibility {screening.feasibility}"
        )
    return [idea for idea, _ in screened[:count]]


async def scipip(run: ScipipRun) -> None:
    """Run the stages: A from the literature alone, B also with brainstorming, C with brainstorming before the retrieval.

    Raises:
        ConfigError: there is no corpus.
    """
    result, background = run.result, run.material
    result.path, desk = run.settings.path, Desk.of(run)
    result.background = ResearchBackground(source=background.source, text=background.text)
    for warning in background.warnings():
        run.warn("", warning)
    if run.settings.brainstorms:
        result.ideas = await brainstorm(desk)
    papers = await choose_papers(desk, await retrieve(desk, result.ideas if run.settings.path == "C" else ()))
    await find_problem(desk, papers)
    await find_ideas(desk, papers)
    best = await filter_ideas(desk)
    await refine(desk, best)
    if run.settings.abstract:
        await write(desk)


async def brainstorm(desk: Desk) -> list[Candidate]:
    """Ideas from the background alone (Table 14)."""
    desk.begin(BRAINSTORM)
    least, most = desk.run.settings.brainstorm
    reply = await desk.ask(
        BRAINSTORM,
        IDEATOR,
        "brainstorm",
        ideas_of(desk.run.reply_type(IDEATOR, "brainstorm", Brainstorm), replies.RoughIdea, least, most),
        background=desk.run.material.text,
        least=least,
        most=most,
    )
    by = desk.people[IDEATOR].name
    return [
        Candidate(number=n, title=one.title, idea=one.idea, thought=one.aim, by=by, origin="brainstorm")
        for n, one in enumerate(reply.ideas, 1)
    ]


async def choose_papers(desk: Desk, papers: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """The papers, or those that a person picks."""
    items = [f"{paper.title}\n\n{paper.summary}" for paper in papers]
    person = await steer(desk.run, RETRIEVAL, 1, "", items=items, most=len(items), back=False)
    if not person.picks:
        return papers
    for number, cluster in enumerate(desk.run.result.clusters[: len(papers)], 1):
        cluster.shown = number in person.picks
    return [papers[number - 1] for number in sorted(person.picks)]


async def find_problem(desk: Desk, papers: Sequence[Excerpt]) -> None:
    """The research problem of the background, and why it is worth solving (Table 10)."""
    desk.begin(PROBLEM)
    run, result = desk.run, desk.run.result
    while True:
        reply = await desk.ask(
            PROBLEM, IDEATOR, "problem", Problem, background=run.material.text, papers=papers
        )
        shown = f"{reply.rationale}\n\n{reply.problem}"
        person = await steer(run, PROBLEM, 1, shown, edit=reply)
        reply = person.reply or reply
        result.rationale, result.problem = reply.rationale, reply.problem
        if not person.back:
            return


async def find_ideas(desk: Desk, papers: Sequence[Excerpt]) -> None:
    """Brainstormed ideas, ideas from the literature, and a person's; only those that a person picks, if any."""
    run, result, own = desk.run, desk.run.result, list[Candidate]()
    while True:
        ideas = [*result.ideas, *own, *await propose(desk, papers, len(result.ideas) + len(own))]
        while True:
            items = [run.wording(idea) for idea in ideas]
            person = await steer(
                run, IDEAS, 1, result.problem or "", items=items, most=len(items), add=replies.RoughIdea
            )
            if person.action != "add" or not person.reply:
                break
            new, number = person.reply, len(ideas) + 1
            idea = Candidate(
                number=number, title=new.title, idea=new.idea, thought=new.aim, by=PERSON, origin="person"
            )
            own.append(idea)
            ideas.append(idea)
        if not person.back:
            kept = person.picks or range(1, len(ideas) + 1)
            result.ideas = [ideas[number - 1] for number in sorted(kept)]
            return
        own = [
            idea.model_copy(update={"number": number})
            for number, idea in enumerate(own, len(result.ideas) + 1)
        ]


async def propose(desk: Desk, papers: Sequence[Excerpt], numbered: int) -> list[Candidate]:
    """Ideas for the problem from the papers (Table 11); numbers continue from earlier ideas."""
    desk.begin(IDEAS)
    run, result = desk.run, desk.run.result
    count, spare = run.settings.ideas, run.settings.ideas // 5
    kind = run.reply_type(IDEATOR, "propose", InspiredIdeas)
    reply = await desk.ask(
        IDEAS,
        IDEATOR,
        "propose",
        ideas_of(kind, InspiredIdea, count - spare, count + spare),
        problem=result.problem,
        rationale=result.rationale,
        papers=papers,
        count=count,
    )
    ids = {number: paper.evidence for number, paper in enumerate(papers, 1)}
    return [
        Candidate(
            number=number,
            title=one.title,
            idea=one.idea,
            thought=one.inspiration,
            by=desk.people[IDEATOR].name,
            references=[ids[each] for each in _known(run, IDEAS, one, number, one.papers, [*ids])],
            origin="literature",
        )
        for number, one in enumerate(reply.ideas, numbered + 1)
    ]


def _known(
    run: ScipipRun,
    stage: str,
    one: InspiredIdea | RefinedIdea,
    number: int,
    named: Sequence[int],
    shown: Sequence[int],
) -> list[int]:
    """The valid numbers, each once; others are left out, with a warning."""
    if unknown := [str(each) for each in dict.fromkeys(named) if each not in shown]:
        what = "papers" if isinstance(one, InspiredIdea) else "ideas"
        run.warn(
            stage,
            f"idea {number}, “{one.title}”, names {what} that were not shown: {', '.join(unknown)}; they are left out",
        )
    return [each for each in dict.fromkeys(named) if each in shown]


async def filter_ideas(desk: Desk) -> list[Candidate]:
    """Merge equal ideas, judge each by itself, all in parallel, and keep the best; `selection` has the rules.

    Returns:
        The ideas kept, the best first.
    """
    desk.begin(FILTER)
    run, result, settings = desk.run, desk.run.result, desk.run.settings
    embedder = ecosystem_of(run).embedder
    texts = [f"{idea.title}\n\n{idea.idea}" for idea in result.ideas]
    result.ideas = merge(result.ideas, await asyncio.to_thread(embedder.embed, texts), settings.same)
    for idea in result.ideas:
        for twin in idea.merged:
            outcome, reason = f"is merged into idea {idea.number}", f"similarity {twin.similarity:.2f}"
            run.emit(Judged(stage=FILTER, subject=f"idea {twin.number}", outcome=outcome, reasoning=reason))
    screenings = await together(*(_screen(desk, idea) for idea in result.ideas))
    for idea, screening in zip(result.ideas, screenings, strict=True):
        idea.screening = screening
    best = keep_best(result.ideas, settings.keep, settings.final[0])
    for idea, screening in zip(result.ideas, screenings, strict=True):
        outcome = "is kept" if screening.kept else "is left out"
        run.emit(
            Judged(stage=FILTER, subject=f"idea {idea.number}", outcome=outcome, reasoning=screening.why)
        )
    return best


async def _screen(desk: Desk, idea: Candidate) -> Screening:
    """The judgement of one idea by a judge who sees neither the others nor its origin (Table 12)."""
    reply = await desk.ask(
        FILTER,
        JUDGE,
        "screen",
        replies.Screening,
        turn=idea.number,
        background=desk.run.material.text,
        problem=desk.run.result.problem,
        title=idea.title,
        idea=idea.idea,
    )
    return Screening(**reply.model_dump())


async def refine(desk: Desk, selection: Sequence[Candidate]) -> None:
    """Refine the kept ideas to a few final ones, in one question so that they fit together (Table 13)."""
    desk.begin(REFINEMENT)
    run, result = desk.run, desk.run.result
    while True:
        await _refine(desk, selection)
        items = [run.wording(idea) for idea in result.final]
        person = await steer(run, REFINEMENT, 1, result.coherence or "", items=items, most=1)
        if not person.back:
            break
    result.idea = result.final[person.picks[0] - 1 if person.picks else 0]


async def _refine(desk: Desk, selection: Sequence[Candidate]) -> None:
    run, result = desk.run, desk.run.result
    least, most = (min(each, len(selection)) for each in run.settings.final)
    kind = run.reply_type(IDEATOR, "refine", Refinement)
    reply = await desk.ask(
        REFINEMENT,
        IDEATOR,
        "refine",
        ideas_of(kind, RefinedIdea, least, most),
        background=run.material.text,
        problem=result.problem,
        ideas=selection,
        least=least,
        most=most,
    )
    result.coherence, result.final = reply.coherence, []
    for number, one in enumerate(reply.ideas, 1):
        places = range(1, len(selection) + 1)
        sources = [selection[at - 1] for at in _known(run, REFINEMENT, one, number, one.sources, places)]
        result.final.append(
            FinalIdea(
                number=number,
                title=one.title,
                idea=one.idea,
                details=one.details,
                by=desk.people[IDEATOR].name,
                references=list(dict.fromkeys(each for source in sources for each in source.references)),
                sources=[source.number for source in sources],
                origin=_origin(sources),
            )
        )


def _origin(sources: Sequence[Candidate]) -> Origin | None:
    origins: set[Origin] = {source.origin for source in sources}
    if len(origins) < 2:
        return origins.pop() if origins else None
    return "person" if "person" in origins else "both"


async def write(desk: Desk) -> None:
    """The abstract of the first final idea, or of the one that a person picked."""
    desk.begin(WRITING)
    run, result = desk.run, desk.run.result
    while True:
        abstract = await desk.ask(
            WRITING, RESEARCHER, "abstract", shared.Abstract, idea=run.wording(result.idea)
        )
        result.drafts.append(Draft.of(abstract, desk.people[RESEARCHER].name, 1))
        person = await steer(run, WRITING, 1, run.wording(abstract), edit=abstract)
        if person.reply:
            result.drafts.append(Draft.of(person.reply, PERSON, 1))
        result.abstract = Abstract.of(result.drafts[-1])
        if not person.back:
            return
