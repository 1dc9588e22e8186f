"""Novelty: three phrases, at most thirty related papers, a decision on each, a verdict by rule (MAMORX, §3.1, App. A.4)."""

import asyncio
import datetime as dt
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Literal, TypeVar

from manyheads.asking.forms import word_count
from manyheads.asking.replies import ReplyModel
from manyheads.base import errors
from manyheads.base.errors import BudgetError, BugError, LiteratureError, UserError
from manyheads.base.folders import door
from manyheads.base.papers import ANY_TIME, Paper, Window, fold, identify
from manyheads.core import together
from manyheads.core.events import Judged, Retrieved, Searched
from manyheads.core.results import Retrieval
from manyheads.corpus.phrases import STOP_WORDS
from manyheads.documents import Document, Reference, speech
from manyheads.literature.matching import CitedWorks, Merged, names_of, same_title, words_of
from manyheads.literature.references import inspirer
from manyheads.literature.source import Part
from manyheads.systems.mamorx import references
from manyheads.systems.mamorx.desk import NOVELTY
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.replies import NoveltyDecision, NoveltySummary, Relevance, SearchPhrase
from manyheads.systems.mamorx.result import Bound, NoveltyAssessment, RelatedWork
from manyheads.team.run import Question

R = TypeVar("R", bound=ReplyModel)
ROLE, NAME = "novelty", "Novelty"
PARTS: frozenset[Part] = frozenset(("abstract", "authors", "date", "doi", "open_text"))
MOST_WORDS = 9  # of a phrase: it has "less than 10" (App. A.4)
LEAST_DATED = 5  # references with a year, for the latest of them to date a paper
PURSUED = 10  # papers of a phrase that an expert names


@dataclass(frozen=True)
class AssessedText:
    """What is compared: `names` are its DOI and arXiv number as `names_of` writes them, `bound` says where its date is from."""

    title: str
    abstract: str
    references: Sequence[Reference] = ()
    names: frozenset[str] = frozenset()
    before: dt.date | None = None
    bound: Bound = ""


async def assess(run: MamorxRun, *, searched: asyncio.Event | None = None) -> None:
    """Assess the paper of a run, and fill `run.result.novelty` step by step.

    Silent sources and failed answers are recorded there; the paper is then not called novel.

    Args:
        searched: set when all look-ups are done.

    Raises:
        BudgetError: the budget is spent.
    """
    run.result.novelty = NoveltyAssessment()
    assessment = _Assessment(run, _assessed(run), run.result.novelty, searched or asyncio.Event())
    try:
        await assessment.run_through()
    finally:
        assessment.searched.set()


def _assessed(run: MamorxRun) -> AssessedText:
    document = run.material.document
    numbers = [identify(text) for text in (*document.numbers, Path(run.material.source).stem)]
    names = frozenset(f"{one.kind}:{one.value.casefold()}" for one in numbers if one.kind in ("doi", "arxiv"))
    days = [day for one in numbers if one.kind == "arxiv" and (day := first_day(one.value))]
    before, bound = (min(days), "arxiv") if days else dated(document, dt.datetime.now(dt.UTC).date())
    return AssessedText(document.title, document.abstract, document.references, names, before, bound)


def dated(document: Document, today: dt.date) -> tuple[dt.date | None, Bound]:
    """A limit for work before a paper without an arXiv number, and where it is from.

    A paper is older than its file, so that this limit may let in later work. It is not older than the works that it cites: a
    file's date before them is wrong, and the end of their latest year may leave out earlier work.
    """
    if document.year:
        return dt.date(document.year, 1, 1), "printed"
    years = [one.year for one in document.references if one.year and one.year <= today.year]
    latest, made = max(years, default=0), document.made
    if made and made <= today and made.year >= latest:
        return made, "file"
    return (dt.date(latest + 1, 1, 1), "references") if len(years) >= LEAST_DATED else (None, "")


async def pursue(run: MamorxRun, novelty: NoveltyAssessment, phrase: str) -> list[RelatedWork]:
    """The papers that one more phrase finds, each compared: an expert adds it to the assessment (§3.1).

    Raises:
        BudgetError: the budget is spent.
    """
    phrase = " ".join(phrase.split())
    if phrase not in novelty.phrases:
        await _Assessment(run, _assessed(run), novelty, nested=True).go_on(phrase)
    number = novelty.phrases.index(phrase) + 1
    return [one for one in novelty.related if number in one.phrases]


async def assess_text(run: MamorxRun, title: str, abstract: str) -> NoveltyAssessment:
    """Assess a title and an abstract alone, with unknown references and date; raises `BudgetError` if it is spent."""
    novelty = NoveltyAssessment()
    await _Assessment(run, AssessedText(title, abstract), novelty).run_through()
    return novelty


def cite(run: MamorxRun) -> None:
    """Keep the related papers as evidence, each with the phrases that found it.

    Must not run concurrently with other steps: the order determines the ids of the evidence.
    """
    phrases = run.result.novelty.phrases if run.result.novelty else []
    for one in (each for each in run.result.related if not each.evidence):
        for number in one.phrases:
            query = phrases[number - 1] if number else run.result.title
            way = Retrieval(source=one.paper.partition(":")[0], query=query, stage=NOVELTY, turn=number)
            one.evidence = run.evidence.cite(one.paper, one.title, way, year=one.year, of=one.published)


def first_day(number: str) -> dt.date | None:
    """The month of an arXiv number; None for numbers before April 2007."""
    found = re.match(r"(\d\d)(0[1-9]|1[0-2])\.", number)
    return dt.date(2000 + int(found[1]), int(found[2]), 1) if found else None


@dataclass
class _Assessment:
    """One assessment in progress; results go into `novelty` at once."""

    run: MamorxRun
    subject: AssessedText
    novelty: NoveltyAssessment
    searched: asyncio.Event = field(default_factory=asyncio.Event)
    nested: bool = False  # an expert has asked for it, by a tool call

    async def run_through(self) -> None:
        novelty, run = self.novelty, self.run
        novelty.reason = self._reason("silent")
        if not words_of(self.subject.title) or not words_of(self.subject.abstract):
            self._miss("the paper has no title or no abstract, which search and comparison need")
        elif run.library is None:
            self._miss("there is no literature source")
        else:
            try:
                with door(run.folder):
                    papers = await self._search()
                    self.searched.set()
                    await together(*(self._decide(*each) for each in enumerate(papers, 1)))
                    self._settle()
                    await self._sum_up()
            except (BudgetError, BugError) as error:
                self._miss(error.message)
                self._settle()
                if isinstance(error, BudgetError):
                    raise
        run.emit(Judged(stage=NOVELTY, subject=NAME, outcome=novelty.verdict, reasoning=novelty.reason))
        for line in novelty.missing:
            run.warn(NOVELTY, f"novelty: {line}")

    async def go_on(self, phrase: str) -> None:
        """Compare what one more phrase finds; the verdict changes where a conflict or a gap comes up."""
        novelty, before = self.novelty, self.novelty.model_copy(deep=True)
        novelty.phrases.append(phrase)
        place, known = len(novelty.phrases), len(novelty.related)
        papers = await self._related([await self._look_up(phrase, place, self._window())], place, PURSUED)
        await together(*(self._decide(*each) for each in enumerate(papers, known + 1)))
        self._settle()
        if (novelty.verdict, novelty.conflicts) == (before.verdict, before.conflicts):
            novelty.reason = before.reason
        for line in novelty.missing:
            if line not in before.missing:
                self.run.warn(NOVELTY, f"novelty: {line}")

    async def _search(self) -> list[RelatedWork]:
        """The papers to compare with; each phrase is looked up while the model names the next one."""
        window = self._window()
        if not self.novelty.bound:
            line = "nothing dates the paper, so later ones may count as prior work; set literature.before"
            self.run.warn(NOVELTY, f"novelty: {line}")
        searches = [asyncio.ensure_future(self._in_corpus(window))]
        try:
            for number in range(1, self.run.settings.novelty.phrases + 1):
                if phrase := await self._phrase(number):
                    self.novelty.phrases.append(phrase)
                    place = len(self.novelty.phrases)
                    searches.append(asyncio.ensure_future(self._look_up(phrase, place, window)))
        except BaseException:
            for search in searches:
                search.cancel()
            await asyncio.gather(*searches, return_exceptions=True)
            raise
        return await self._related(await together(*searches), 0, self.run.settings.novelty.papers)

    def _window(self) -> Window:
        """Only papers before the paper's date, unless the config names a date or `any`; noted in the result."""
        assert self.run.library is not None
        window, subject, novelty = self.run.library.window, self.subject, self.novelty
        novelty.bound = "corpus" if window.before else ""
        if self.run.config.literature.before.strip() != "bound":
            novelty.bound = "config"
        elif subject.before and subject.before <= (window.before or subject.before):
            window, novelty.bound = replace(window, before=subject.before), subject.bound
        novelty.before = str(window.before or "")
        return window

    async def _phrase(self, number: int) -> str | None:
        """The next phrase; it must differ from those before in what it finds."""
        former = [*self.novelty.phrases]

        def check(reply: SearchPhrase) -> str | None:
            words = _telling(reply.phrase)
            narrower = "narrower" if any(words >= _telling(phrase) for phrase in former) else ""
            if not (fault := fault_of(reply.phrase) or narrower):
                return None
            return self._words("invalid", fault=fault, words=word_count(reply.phrase), most=MOST_WORDS)

        phrases, abstract = self.run.settings.novelty.phrases, self.subject.abstract
        shown = {"number": number, "phrases": phrases, "former": former, "abstract": abstract}
        reply = await self._ask("phrase", number, SearchPhrase, check, **shown)
        if isinstance(reply, UserError):
            self._miss(f"search phrase {number} has no valid answer: {reply.message}")
            return None
        return " ".join(reply.phrase.split())

    async def _look_up(self, phrase: str, number: int, window: Window) -> Sequence[Paper]:
        assert self.run.library is not None
        try:
            with door(self.run.folder):
                found = await self.run.library.search(
                    phrase, self.run.settings.novelty.papers, parts=PARTS, window=window
                )
        except (LiteratureError, BugError) as error:
            self._miss(f"“{phrase}” could not be looked up: {error.message}")
            return ()
        if found.degraded:
            self._miss(
                f"“{phrase}” was not answered by {', '.join(found.degraded)}, which may know the same work"
            )
        rows = ({"id": each.id, "title": each.title, "year": each.year} for each in found.papers)
        self.run.emit(Retrieved(stage=NOVELTY, turn=number, query=phrase, hits=tuple(rows)))
        return found.papers

    async def _in_corpus(self, window: Window) -> Sequence[Paper]:
        """Papers of a local corpus, found by its literature database from title and abstract (SciPIP, §3.2)."""
        run, library, began = self.run, self.run.library, time.monotonic()
        asker = inspirer(run.literature, run.config.literature.retrieval)
        if asker is None or library is None or "local" not in run.config.literature.cascade:
            return ()
        subject, outcome, reason, papers = self.subject, "failed", "", list[Paper]()
        try:
            found = await asker.retrieve(
                f"{subject.title}\n\n{subject.abstract}", self.run.settings.novelty.papers
            )
            papers = [one.paper for one in found.papers if window.holds(one.paper)]
            outcome = "found" if papers else "empty"
        except (errors.CorpusError, errors.EmbeddingError) as error:
            reason = error.message
            self._miss(f"the corpus could not be searched: {reason}")
        library.note(
            Searched.model_validate({
                "source": "local", "operation": "search", "query": subject.title, "asked": subject.title,
                "hits": len(papers), "window": str(window), "outcome": outcome, "reason": reason,
                "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "seconds": round(time.monotonic() - began, 3),
            })
        )  # fmt: skip
        return [one.model_copy(update={"id": f"local:{one.id}"}) for one in papers]

    async def _related(self, found: Sequence[Sequence[Paper]], first: int, most: int) -> list[RelatedWork]:
        """The best of each phrase in turn, up to the maximum; dropped papers do not count.

        Args:
            first: the number of the first phrase; 0 for title and abstract.
        """
        merged, chosen = Merged(), list[RelatedWork]()
        known_by_id = {one.paper: one for one in self.novelty.related}
        for each in chain.from_iterable(zip_longest(*found)):
            merged.add([each] if each else [])
        papers = merged.best(len(merged))
        cited, known = CitedWorks(self.subject.references), await self._known_as_cited(papers)
        owners = [{name for one in own for name in _names(one)} for own in found]
        for paper in papers:
            if len(chosen) == most:
                break
            phrases = [at for at, own in enumerate(owners, first) if own & _names(paper)]
            if old := known_by_id.get(paper.id):
                old.phrases += phrases
                continue
            dropped = (
                "the paper itself" if self._is_itself(paper)
                else "cited" if known & {paper.id, *names_of(paper)} or cited.means(paper)
                else "" if paper.abstract.strip() else "no abstract"
            )  # fmt: skip
            name = f"N{len(self.novelty.related) + 1}"
            one = RelatedWork(
                name=name, paper=paper.id, phrases=phrases,
                title=paper.title, year=paper.date.year if paper.date else paper.year,
                abstract=paper.abstract, published=paper, open_text=paper.open_text or "", dropped=dropped, speaks=bool(speech(f"{paper.title}\n{paper.abstract}")),
            )  # fmt: skip
            self.novelty.related.append(one)
            if one.speaks:
                line = f"the abstract of {name}, “{one.title}”, addresses a reviewer or a model"
                self.run.warn(NOVELTY, line)
            if not dropped:
                chosen.append(one)
        return chosen

    def _is_itself(self, paper: Paper) -> bool:
        return not self.subject.names.isdisjoint(names_of(paper)) or same_title(
            self.subject.title, paper.title
        )

    async def _known_as_cited(self, papers: Sequence[Paper]) -> set[str]:
        """The ids, DOIs and arXiv numbers of the cited works, from a source that has the paper itself, since a
        bibliography may be misread."""
        itself = next((paper.id for paper in papers if self._is_itself(paper)), None)
        if itself is None or self.run.library is None:
            return set()
        try:
            # Same request as the check of the references, so that it is sent once.
            cited = await self.run.library.references(
                itself, references.MOST_LISTED, parts=references.PARTS, window=ANY_TIME
            )
        except LiteratureError:  # the ledger records it; the bibliography remains
            return set()
        return {name for paper in cited.papers for name in (paper.id, *names_of(paper))}

    async def _decide(self, number: int, one: RelatedWork) -> None:
        """Whether a paper is relevant, and if so, whether the subject is novel compared with it."""
        shown = {"abstract": self.subject.abstract, "related": one}
        relevance = await self._ask("relevance", number, Relevance, None, **shown)
        if isinstance(relevance, UserError):
            return self._miss(f"whether “{one.title}” is relevant has no valid answer: {relevance.message}")
        one.relevant, one.why = relevance.verdict == "RELEVANT", relevance.reason
        if one.relevant:
            decision = await self._ask("compare", number, NoveltyDecision, None, **shown)
            if isinstance(decision, UserError):
                line = f"the comparison with “{one.title}” has no valid answer"
                return self._miss(f"{line}: {decision.message}")
            one.novel, one.why = decision.decision == "NOVEL", decision.justification
        return None

    def _settle(self) -> None:
        """The verdict, by rule: one paper that makes it not novel decides; a gap is no proof of novelty."""
        novelty = self.novelty
        conflicts = [one for one in novelty.related if one.novel is False]
        novelty.conflicts = [one.title for one in conflicts]
        read = sum(one.relevant is not None for one in novelty.related)
        if not conflicts and (novelty.missing or not read):
            novelty.verdict = "not assessed"
            novelty.reason = self._reason("silent" if novelty.missing else "nothing")
            return
        novelty.verdict = "NOT NOVEL" if conflicts else "NOVEL"
        decisions = conflicts or [one for one in novelty.related if one.novel]
        fault = "" if decisions else "distant"
        novelty.reason = self._reason(fault, decisions=decisions, count=read, verdict=novelty.verdict)

    async def _sum_up(self) -> None:
        """The summary of the decisions in the model's words, instead of the rule's."""
        novelty = self.novelty
        decisions = [one for one in novelty.related if one.novel is not None]
        if novelty.verdict == "not assessed" or not decisions:
            return

        def check(reply: NoveltySummary) -> str | None:
            if not reply.summary.lstrip("*_“\"' ").upper().startswith(novelty.verdict):
                return self._words("invalid", fault="verdict", verdict=novelty.verdict)
            left_out = [title for title in novelty.conflicts if fold(title) not in fold(reply.summary)]
            return self._words("invalid", fault="titles", titles=left_out) if left_out else None

        shown = {"verdict": novelty.verdict, "decisions": decisions}
        reply = await self._ask("summary", 1, NoveltySummary, check, **shown)
        if isinstance(reply, UserError):
            line = "the model gave no summary; the rule's summary of the decisions is used"
            self.run.warn(NOVELTY, f"novelty: {line}: {reply.message}")
        else:
            novelty.reason = reply.summary

    async def _ask(
        self,
        task: str,
        turn: int,
        like: type[R],
        check: Callable[[R], str | None] | None,
        **variables: object,
    ) -> R | UserError:
        """One answer, or its failure, which must not stop the others."""
        run = self.run
        speaker = run.speaker(ROLE, NAME, area=run.settings.area)
        given = {"title": self.subject.title, **variables}
        question = Question(
            NOVELTY, turn, speaker, ROLE, task, given, nested=self.nested, check=check, spare=True
        )
        try:
            with door(run.folder):
                reply = await run.ask(question, like)
        except (errors.ModelError, BugError) as error:
            return error
        run.result.count(NOVELTY)
        return reply.value

    def _miss(self, line: str) -> None:
        """Record a failure; sorted, since questions run concurrently, so that equal runs give equal results."""
        self.novelty.missing = sorted({*self.novelty.missing, line})

    def _reason(self, fault: str, **details: object) -> str:
        return self._words(
            "reason", **{"fault": fault, "verdict": "", "decisions": (), "count": 0, **details}
        )

    def _words(self, file: str, **variables: object) -> str:
        return self.run.roles.prompts.render(f"novelty/{file}.md.j2", variables).strip()


def fault_of(phrase: str) -> Literal["", "wordless", "long"]:
    """What is wrong with a search phrase by itself."""
    return "wordless" if not _telling(phrase) else "long" if word_count(phrase) > MOST_WORDS else ""


def _telling(phrase: str) -> set[str]:
    """The words of a phrase that a search uses."""
    words = {word.casefold() for word in words_of(phrase)}
    return words - STOP_WORDS or words


def _names(paper: Paper) -> set[str]:
    """Keys of a work; a shared key means the same work, also across sources."""
    return {paper.id, f"key:{paper.key}", *names_of(paper)}
