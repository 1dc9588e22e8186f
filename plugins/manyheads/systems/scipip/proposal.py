"""From papers to ideas: problem and rationale, ideas, filter, refinement, with the rules for merging and keeping ideas (SciPIP, §3.3)."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from manyheads.asking import replies as shared
from manyheads.config import PERSON
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.systems.scipip import replies, report, result, retrieval
from manyheads.systems.scipip.replies import InspiredIdea, RefinedIdea, ideas_of
from manyheads.systems.scipip.result import (
    IDEATOR,
    JUDGE,
    RESEARCHER,
    Candidate,
    ScipipRun,
    ScreeningRecord,
    Twin,
)
from manyheads.systems.scipip.retrieval import (
    BRAINSTORM,
    FILTER,
    IDEAS,
    PROBLEM,
    REFINEMENT,
    WRITING,
    Excerpt,
    IdeationDesk,
)
from manyheads.team.steering import steer, steer_abstract
from manyheads.team.system import System

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

    def rank(idea: Candidate, screening: ScreeningRecord) -> tuple[int, int, int]:
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
    found, background, settings = run.result, run.material, run.settings
    found.path, desk = settings.path, IdeationDesk.of(run)
    found.background = background
    for warning in background.warnings():
        run.warn("", warning)
    if settings.brainstorms:
        found.ideas = await brainstorm(desk)
    papers = await retrieval.retrieve(desk, found.ideas if settings.path == "C" else ())
    papers = await choose_papers(desk, papers)
    await find_problem(desk, papers)
    await find_ideas(desk, papers)
    best = await filter_ideas(desk)
    await refine(desk, best)
    if settings.abstract:
        await write(desk)


async def brainstorm(desk: IdeationDesk) -> list[Candidate]:
    """Ideas from the background alone (Table 14)."""
    desk.begin(BRAINSTORM)
    run, (least, most) = desk.run, desk.run.settings.brainstorm
    kind = run.reply_type(IDEATOR, "brainstorm", replies.Brainstorm)
    kind = ideas_of(kind, replies.RoughIdea, least, most)
    shown: dict[str, Any] = {"background": run.material.text, "least": least, "most": most}
    reply = await desk.ask(BRAINSTORM, IDEATOR, "brainstorm", kind, **shown)
    by = desk.people[IDEATOR].name
    return [
        Candidate(number=n, title=one.title, idea=one.idea, thought=one.aim, by=by, origin="brainstorm")
        for n, one in enumerate(reply.ideas, 1)
    ]


async def choose_papers(desk: IdeationDesk, papers: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """The papers, or those that a person picks."""
    items = [f"{paper.title}\n\n{paper.summary}" for paper in papers]
    person = await steer(desk.run, retrieval.RETRIEVAL, 1, "", items=items, most=len(items), back=False)
    if not person.picks:
        return papers
    for number, cluster in enumerate(desk.run.result.clusters[: len(papers)], 1):
        cluster.shown = number in person.picks
    return [papers[number - 1] for number in sorted(person.picks)]


async def find_problem(desk: IdeationDesk, papers: Sequence[Excerpt]) -> None:
    """The research problem of the background, and why it is worth solving (Table 10)."""
    desk.begin(PROBLEM)
    run, result = desk.run, desk.run.result
    while True:
        shown: dict[str, Any] = {"background": run.material.text, "papers": papers}
        reply = await desk.ask(PROBLEM, IDEATOR, "problem", replies.Problem, **shown)
        person = await steer(run, PROBLEM, 1, f"{reply.rationale}\n\n{reply.problem}", edit=reply)
        reply = person.reply or reply
        result.rationale, result.problem = reply.rationale, reply.problem
        if not person.back:
            return


async def find_ideas(desk: IdeationDesk, papers: Sequence[Excerpt]) -> None:
    """Brainstormed ideas, ideas from the literature, and a person's; only those that a person picks, if any."""
    run, found, own = desk.run, desk.run.result, list[Candidate]()
    while True:
        ideas = [*found.ideas, *own, *await propose(desk, papers, len(found.ideas) + len(own))]
        while True:
            items, problem = [run.wording(idea) for idea in ideas], found.problem or ""
            person = await steer(run, IDEAS, 1, problem, items=items, most=len(items), add=replies.RoughIdea)
            if not (new := person.reply if person.action == "add" else None):
                break
            given: dict[str, Any] = {"title": new.title, "idea": new.idea, "thought": new.aim}
            own.append(Candidate(number=len(ideas) + 1, by=PERSON, origin="person", **given))
            ideas.append(own[-1])
        if not person.back:
            kept = person.picks or range(1, len(ideas) + 1)
            found.ideas = [ideas[number - 1] for number in sorted(kept)]
            return
        numbered = enumerate(own, len(found.ideas) + 1)
        own = [idea.model_copy(update={"number": number}) for number, idea in numbered]


async def propose(desk: IdeationDesk, papers: Sequence[Excerpt], numbered: int) -> list[Candidate]:
    """Ideas for the problem from the papers (Table 11); numbers continue from earlier ideas."""
    desk.begin(IDEAS)
    run, found = desk.run, desk.run.result
    count, spare = run.settings.ideas, run.settings.ideas // 5
    kind = run.reply_type(IDEATOR, "propose", replies.InspiredIdeas)
    kind = ideas_of(kind, InspiredIdea, count - spare, count + spare)
    shown: dict[str, Any] = {
        "problem": found.problem, "rationale": found.rationale, "papers": papers, "count": count,
    }  # fmt: skip
    reply = await desk.ask(IDEAS, IDEATOR, "propose", kind, **shown)
    ids = {number: paper.evidence for number, paper in enumerate(papers, 1)}
    by, ideas = desk.people[IDEATOR].name, list[Candidate]()
    for number, one in enumerate(reply.ideas, numbered + 1):
        references = [ids[each] for each in _known(run, IDEAS, one, number, one.papers, [*ids])]
        told: dict[str, Any] = {"title": one.title, "idea": one.idea, "thought": one.inspiration}
        ideas.append(Candidate(number=number, by=by, references=references, origin="literature", **told))
    return ideas


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
        wrong = f"names {what} that were not shown: {', '.join(unknown)}; they are left out"
        run.warn(stage, f"idea {number}, “{one.title}”, {wrong}")
    return [each for each in dict.fromkeys(named) if each in shown]


async def filter_ideas(desk: IdeationDesk) -> list[Candidate]:
    """Merge equal ideas, judge each by itself, all in parallel, and keep the best; `selection` has the rules.

    Returns:
        The ideas kept, the best first.
    """
    desk.begin(FILTER)
    run, found, settings = desk.run, desk.run.result, desk.run.settings
    embedder = retrieval.ecosystem_of(run).embedder
    texts = [f"{idea.title}\n\n{idea.idea}" for idea in found.ideas]
    found.ideas = merge(found.ideas, await asyncio.to_thread(embedder.embed, texts), settings.same)

    def judge(number: int, outcome: str, reason: str) -> None:
        run.emit(Judged(stage=FILTER, subject=f"idea {number}", outcome=outcome, reasoning=reason))

    for idea in found.ideas:
        for twin in idea.merged:
            judge(twin.number, f"is merged into idea {idea.number}", f"similarity {twin.similarity:.2f}")
    screenings = await together(*(_screen(desk, idea) for idea in found.ideas))
    for idea, screening in zip(found.ideas, screenings, strict=True):
        idea.screening = screening
    best = keep_best(found.ideas, settings.keep, settings.final[0])
    for idea, screening in zip(found.ideas, screenings, strict=True):
        judge(idea.number, "is kept" if screening.kept else "is left out", screening.why)
    return best


async def _screen(desk: IdeationDesk, idea: Candidate) -> ScreeningRecord:
    """The judgement of one idea by a judge who sees neither the others nor its origin (Table 12)."""
    shown: dict[str, Any] = {"background": desk.run.material.text, "problem": desk.run.result.problem}
    shown |= {"title": idea.title, "idea": idea.idea}
    reply = await desk.ask(FILTER, JUDGE, "screen", replies.Screening, turn=idea.number, **shown)
    return ScreeningRecord(**reply.model_dump())


async def refine(desk: IdeationDesk, selection: Sequence[Candidate]) -> None:
    """Refine the kept ideas to a few final ones, in one question so that they fit together (Table 13)."""
    desk.begin(REFINEMENT)
    run, found = desk.run, desk.run.result
    while True:
        await _refine(desk, selection)
        items = [run.wording(idea) for idea in found.final]
        person = await steer(run, REFINEMENT, 1, found.coherence or "", items=items, most=1)
        if not person.back:
            break
    found.idea = found.final[person.picks[0] - 1 if person.picks else 0]


async def _refine(desk: IdeationDesk, selection: Sequence[Candidate]) -> None:
    run, found, by = desk.run, desk.run.result, desk.people[IDEATOR].name
    least, most = (min(each, len(selection)) for each in run.settings.final)
    kind = ideas_of(run.reply_type(IDEATOR, "refine", replies.Refinement), RefinedIdea, least, most)
    shown: dict[str, Any] = {"background": run.material.text, "problem": found.problem, "ideas": selection}
    reply = await desk.ask(REFINEMENT, IDEATOR, "refine", kind, least=least, most=most, **shown)
    found.coherence, found.final = reply.coherence, []
    for number, one in enumerate(reply.ideas, 1):
        places = range(1, len(selection) + 1)
        sources = [selection[at - 1] for at in _known(run, REFINEMENT, one, number, one.sources, places)]
        references = dict.fromkeys(each for source in sources for each in source.references)
        given: dict[str, Any] = one.model_dump(include={"title", "idea", "details"})
        given |= {"sources": [source.number for source in sources], "origin": _origin(sources)}
        found.final.append(result.FinalIdea(number=number, by=by, references=[*references], **given))


def _origin(sources: Sequence[Candidate]) -> result.Origin | None:
    origins: set[result.Origin] = {source.origin for source in sources}
    if len(origins) < 2:
        return origins.pop() if origins else None
    return "person" if "person" in origins else "both"


async def write(desk: IdeationDesk) -> None:
    """The abstract of the first final idea, or of the one that a person picked."""
    desk.begin(WRITING)

    async def ask() -> shared.Abstract:
        idea = desk.run.wording(desk.run.result.idea)
        return await desk.ask(WRITING, RESEARCHER, "abstract", shared.Abstract, idea=idea)

    await steer_abstract(desk.run, WRITING, desk.people[RESEARCHER].name, ask)


SCIPIP = System(
    name="scipip",
    title="SciPIP",
    class_name="SciPIP",
    about="A proposer of research ideas for a background: it retrieves papers, brainstorms, filters and refines.",
    config=result.ScipipConfig,
    inputs=result.ScipipInputs,
    result=result.ScipipResult,
    run=scipip,
    essence=report.essence,
    details=report.details,
    work=report.work,
    report=report.report,
    needs=result.needs,
    corpus=lambda config: True,
    prepare=result.need_corpus,
    read=result.read_background,
    steers=result.STEERS,
    aliases={"scipip.retrieval": "literature.retrieval"},
)
