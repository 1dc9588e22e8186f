"""Algorithm 1: proposer, reviewer and area chair at work on one idea, its ablations (§4.5) and baselines (§4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from manyheads.asking import replies as shared
from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError
from manyheads.config import PERSON
from manyheads.core import Speaker, together
from manyheads.core.events import Judged
from manyheads.core.results import Abstract, Draft, Person, Retrieval
from manyheads.core.texts import Subject
from manyheads.systems.ideas import Background, condensing_fault
from manyheads.systems.rebuttal import replies
from manyheads.systems.rebuttal.config import AREA_CHAIR, JUDGE, PROPOSER, REVIEWER, traits_of
from manyheads.systems.rebuttal.replies import Condensed, FirstIdea, Proposal, Rethought, review_on
from manyheads.systems.rebuttal.result import Background as Kept
from manyheads.systems.rebuttal.result import Course, RebuttalRun, Review, Round, Verdict, Version
from manyheads.team.run import Question
from manyheads.team.steering import steer

R = TypeVar("R", bound=ReplyModel)

INITIAL, REBUTTAL, WRITING = "initial", "rebuttal", "writing"
NAMES = {PROPOSER: "Proposer", REVIEWER: "Reviewer", AREA_CHAIR: "AreaChair"}


async def rebuttal(run: RebuttalRun) -> None:
    """Propose an idea, or take the given one, and revise it until it no longer improves; then write its abstract.

    Each revision is reviewed and compared with the version before. The run ends with the `rebuttal.patience`th
    revision in a row that is not judged significantly better, or after `rebuttal.max_iters` of them; the last version
    is the final idea, as in the paper (Algorithm 1, line 17; §3.1.3), unless `rebuttal.final` says otherwise.

    Raises:
        ConfigError: no background, or an indicator without traits.
    """
    panel = Panel.of(run)
    background, source = panel.background, panel.background.source
    if left := background.without:
        run.warn(
            INITIAL,
            f"{source}: {left} entries are not papers with an abstract and are left out: "
            + "; ".join([*background.such, *["…"] * (left > len(background.such))]),
        )
    if background.untold:
        works = f"{background.untold} of {len(background.works)} papers"
        run.warn(INITIAL, f"{source}: {works} have a title but no abstract")
    run.begin(INITIAL, panel.stages)
    await panel.propose()
    if run.settings.method == "initial":
        panel.course.stopped_by = "initial"
    else:
        await _refine(panel)
    final = panel.final()
    if run.settings.abstract:
        await panel.write(final)
    run.result.inference_cost = panel.asked


async def _refine(panel: "Panel") -> None:
    """Algorithm 1, except that review and comparison of a version are requested at the same time (lines
    9 and 10): neither sees the other. A proposer alone (§4.2) judges its own idea.
    """
    run, config, rounds = panel.run, panel.run.settings, panel.rounds
    alone = config.method == "self-reflection"
    judge, cap = "the proposer" if alone else "the area chair", config.max_iters
    if not (judged := alone or config.area_chair):
        cap = config.fixed_iters
    await panel.review(rounds[0])
    run.begin(REBUTTAL, panel.stages, turns=cap)
    for turn in range(1, cap + 1):
        before, one = rounds[-1], await panel.revise(turn, alone)
        shown: Literal["A", "B"] = run.rng.choice(("A", "B"))
        await together(panel.review(one), panel.compare(before, one, shown))
        if one.improved is not None:
            outcome = f"finds {'a' if one.improved else 'no'} significant improvement"
            if one.verdict:
                outcome += " from B to A" if shown == "A" else " from A to B"
            panel.judge(turn, judge, outcome, one.verdict.reasoning if one.verdict else "")
        # Whether the last `patience` revisions were judged no better.
        if [each.improved for each in rounds[1:]][-config.patience :] == [False] * config.patience:
            panel.course.stopped_by = "converged"
            row = "" if config.patience == 1 else f" {config.patience} times in a row"
            panel.judge(turn, "the idea", f"converged: no significant improvement{row}")
            return
    panel.course.stopped_by = "max_iters" if judged else "fixed_iters"
    if judged:
        better = sum(bool(each.improved) for each in rounds)
        run.warn(
            REBUTTAL,
            f"not converged: stopped after revision {cap}, the maximum (rebuttal.max_iters); "
            f"{judge} judged {better} of {cap} significantly better",
        )


@dataclass
class Panel:
    """The participants and the course of a run.

    Attributes:
        people: the participants by role.
        works: the background as evidence.
        asked: replies requested: the inference cost.
    """

    run: RebuttalRun
    background: Background
    people: Mapping[str, Speaker]
    course: Course
    works: list[str]
    asked: int = 0

    @classmethod
    def of(cls, run: RebuttalRun) -> "Panel":
        """The panel of a run. All three get the traits; the paper's area chair gets only the indicator (Fig. 7).

        Raises:
            ConfigError: the indicator has no traits.
        """
        config, background, result = run.settings, run.material, run.result
        traits = traits_of(config.indicator, config.traits, run.roles)
        if not traits:
            raise ConfigError(
                f"{run.config.system}: needs traits of its quality indicator", hint="manyheads check CONFIG"
            )
        together = config.method == "rebuttal"
        roles = [PROPOSER, *[REVIEWER] * (together and config.reviewer)]
        roles += [AREA_CHAIR] * (together and config.area_chair)
        profile = {"area": config.area, "indicator": config.indicator, "traits": traits}
        people = {role: run.speaker(role, NAMES[role], **profile) for role in roles}
        retrieval = Retrieval(source=background.source or None, stage=INITIAL)
        works = [
            run.evidence.cite(work.source, work.title, retrieval, passage=work.sha256)
            for work in background.works
        ]
        result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        result.background = Kept(
            source=background.source, sha256=background.sha256, works=works, left_out=background.without
        )
        result.rebuttal = Course(
            area=config.area, indicator=config.indicator, traits=traits, method=config.method
        )
        return cls(run, background, people, result.rebuttal, works)

    @property
    def rounds(self) -> list[Round]:
        return self.run.result.rounds

    @property
    def stages(self) -> dict[str, str]:
        """The stages of the run, in order, with their titles."""
        config, stages = self.run.settings, {INITIAL: "Initial idea"}
        if config.method != "initial":
            stages[REBUTTAL] = "Review and rebuttal"
        return stages | ({WRITING: "Abstract"} if config.abstract else {})

    async def propose(self) -> None:
        """The initial idea: the user's, or one from the abstracts of the background (Fig. 8)."""
        if self.background.idea:
            self._add(self.background.idea)
            return
        while True:
            idea = await self._ask(
                INITIAL, 1, PROPOSER, "propose", FirstIdea, abstracts=self.background.works
            )
            self._add(idea)
            person = await steer(self.run, INITIAL, 1, self.run.wording(idea), edit=idea)
            if person.back:
                self.rounds.pop()
                continue
            if person.reply:
                self._edit(person.reply)
            return

    async def revise(self, turn: int, alone: bool) -> Round:
        """The next version, as a person has it."""
        while True:
            one = await self._revise(turn, alone)
            proposal = Proposal(**one.idea.model_dump(include=set(Proposal.model_fields)))
            person = await steer(self.run, REBUTTAL, turn, self.run.wording(one.idea), edit=proposal)
            if person.back:
                self.rounds.pop()
                continue
            return self._edit(person.reply) if person.reply else one

    def _edit(self, idea: FirstIdea | Proposal) -> Round:
        """Replace the last version by a person's."""
        last = self.rounds[-1]
        last.idea = Version.of(idea, last.round, PERSON, self.works)
        return last

    async def _revise(self, turn: int, alone: bool) -> Round:
        """The next version, after the review of the last one or without a review (also for a proposer alone, §4.2).

        The paper's template contains only the review (Fig. 9). Here no thread is kept, so the background and the idea
        are shown again.
        """
        last = self.rounds[-1]
        shown = {"abstracts": self.background.works, "idea": self.run.wording(last.idea)}
        if alone:
            earlier = [
                {"round": one.round, "text": one.idea.reflection}
                for one in self.rounds
                if one.idea.reflection
            ]
            idea = await self._ask(REBUTTAL, turn, PROPOSER, "reflect", Rethought, **shown, earlier=earlier)
            return self._add(idea, idea.improved)
        review = self.run.wording(last.review) if last.review else None
        return self._add(
            await self._ask(REBUTTAL, turn, PROPOSER, "revise", Proposal, **shown, review=review)
        )

    def _add(self, idea: FirstIdea | Proposal | Subject, improved: bool | None = None) -> Round:
        """Record a version."""
        number = len(self.rounds)
        version = Version.of(idea, number, self.people[PROPOSER].name, self.works)
        self.rounds.append(Round(round=number, idea=version, improved=improved))
        self.course.iterations = number
        self._count()
        return self.rounds[-1]

    def _count(self) -> None:
        judged = [one.improved for one in self.rounds if one.improved is not None]
        self.course.improvements = sum(judged) if judged else None

    async def review(self, one: Round) -> None:
        """The review of a version, if there is a reviewer, who sees the earlier requests (Fig. 10).

        Without a valid one the next revision is made without a review.
        """
        if REVIEWER in self.people:
            stage, turn = (REBUTTAL, one.round) if one.round else (INITIAL, 1)
            reviews = [each.review for each in self.rounds[: one.round] if each.review]
            prompts = self.run.roles.prompts
            asked = [prompts.render("reviewer/asked.md.j2", each.model_dump()) for each in reviews]
            kind = review_on(self.run.reply_type(REVIEWER, "review", replies.Review), len(self.course.points))
            shown = {"idea": self.run.wording(one.idea), "asked": asked}
            question = Question(stage, turn, self.people[REVIEWER], REVIEWER, "review", shown)
            if (reply := await self.run.hear(question, kind)) is None:
                return
            self.asked += 1
            person = await steer(
                self.run, stage, turn, self.run.wording(reply), edit=reply, back=False, name="review"
            )
            one.review = Review(**(person.reply or reply).model_dump())

    async def compare(self, before: Round, one: Round, shown: Literal["A", "B"]) -> None:
        """The area chair's comparison of a version with the one before, if there is an area chair.

        The paper names the later one and asks for Yes or No (Fig. 11). Here the two are A and B, the later one as it is
        `shown`, and the reasoning comes first: models that are told which one was revised seldom say that it is no better.
        For the same reason a first idea, which is a paragraph, is shown in the six fields of the later ones.
        """
        if AREA_CHAIR in self.people:
            later, earlier = self.run.wording(one.idea), await self._in_form(before.idea)
            texts = (later, earlier) if shown == "A" else (earlier, later)
            versions = dict(zip(("version_a", "version_b"), texts, strict=True))
            reply = await self._ask(REBUTTAL, one.round, AREA_CHAIR, "compare", replies.Verdict, **versions)
            one.verdict = Verdict.of(reply, shown)
            one.improved = one.verdict.improved
            self._count()

    async def _in_form(self, idea: Version) -> str:
        """An idea in six fields, brought there by a judge as in rankings (Fig. 13); as it is if no form of it is valid."""
        if idea.formed:
            return self.run.wording(idea)
        run, shown = self.run, {"title": idea.title, "text": idea.idea}
        judge = run.speaker(JUDGE, "Condenser", area=self.course.area)
        check = partial(condensing_fault, prompts=run.roles.prompts)
        question = Question(REBUTTAL, 1, judge, JUDGE, "condense", shown, check=check)
        if (reply := await run.hear(question, Condensed)) is None:
            return run.wording(idea)
        self.asked += 1
        return run.roles.prompts.render("spoken/Proposal.md.j2", {"one": reply.contents()}).strip()

    def judge(self, turn: int, subject: str, outcome: str, reasoning: str = "") -> None:
        """Emit a decision."""
        self.run.emit(
            Judged(stage=REBUTTAL, turn=turn, subject=subject, outcome=outcome, reasoning=reasoning)
        )

    def final(self) -> Version:
        """The last version, or the last one judged better (the initial one if none was); also recorded in the result."""
        course, result, final = self.course, self.run.result, self.rounds[-1]
        if self.run.settings.final == "improved" and final.improved is not None:
            final = next((one for one in reversed(self.rounds) if one.improved), self.rounds[0])
        if course.improvements is not None:
            course.converged = course.stopped_by == "converged"
        course.final, result.idea = final.round, final.idea
        result.turns = {REBUTTAL: course.iterations}
        return final.idea

    async def write(self, final: Version) -> None:
        """The abstract of the final idea."""
        self.run.begin(WRITING, self.stages)
        result = self.run.result
        result.turns[WRITING] = 1
        while True:
            abstract = await self._ask(
                WRITING, 1, PROPOSER, "abstract", shared.Abstract, idea=self.run.wording(final)
            )
            result.drafts.append(Draft.of(abstract, self.people[PROPOSER].name, 1))
            person = await steer(self.run, WRITING, 1, self.run.wording(abstract), edit=abstract)
            if person.reply:
                result.drafts.append(Draft.of(person.reply, PERSON, 1))
            result.abstract = Abstract.of(result.drafts[-1])
            if not person.back:
                return

    async def _ask(self, stage: str, turn: int, role: str, task: str, like: type[R], **variables: Any) -> R:
        reply = await self.run.ask(Question(stage, turn, self.people[role], role, task, variables), like)
        self.asked += 1
        return reply.value
