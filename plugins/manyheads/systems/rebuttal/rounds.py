"""Algorithm 1: proposer, reviewer and area chair at work on one idea, its ablations (§4.5) and baselines (§4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Literal, TypeVar

from manyheads.asking import replies as shared
from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError
from manyheads.config import PERSON
from manyheads.core import Speaker, together
from manyheads.core.events import Judged
from manyheads.core.results import Person, Retrieval
from manyheads.core.texts import Subject
from manyheads.systems.ideas import Background, condensing_fault, read_background
from manyheads.systems.rebuttal import replies, result
from manyheads.systems.rebuttal.replies import Condensed, FirstIdea, Proposal, Rethought, review_on
from manyheads.systems.rebuttal.result import (
    AREA_CHAIR,
    JUDGE,
    PROPOSER,
    REVIEWER,
    RebuttalRun,
    RevisionRound,
    Version,
)
from manyheads.systems.traits import Quality, traits_of
from manyheads.team.run import Question
from manyheads.team.steering import steer, steer_abstract
from manyheads.team.system import Number, Revisions, System

R = TypeVar("R", bound=ReplyModel)

INITIAL, REVISION, WRITING = "initial", "rebuttal", "writing"
NAMES = {PROPOSER: "Proposer", REVIEWER: "Reviewer", AREA_CHAIR: "AreaChair"}


async def rebuttal(run: RebuttalRun) -> None:
    """Propose an idea, or take the given one, and revise it until it no longer improves; then write its abstract.

    Each revision is reviewed and compared with the version before. The run ends with the `rebuttal.patience`th
    revision in a row that is not judged significantly better, or after `rebuttal.max_iters` of them; the last version
    is the final idea, as in the paper (Algorithm 1, line 17; §3.1.3), unless `rebuttal.final` says otherwise.

    Raises:
        ConfigError: no background, or an indicator without traits.
    """
    panel = RebuttalPanel.of(run)
    background, source = panel.background, panel.background.source
    if left := background.without:
        such = "; ".join([*background.such, *["…"] * (left > len(background.such))])
        line = f"{left} entries are not papers with an abstract and are left out: {such}"
        run.warn(INITIAL, f"{source}: {line}")
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


async def _refine(panel: "RebuttalPanel") -> None:
    """Algorithm 1, except that review and comparison of a version are requested at the same time (lines
    9 and 10): neither sees the other. A proposer alone (§4.2) judges its own idea.
    """
    run, config, rounds = panel.run, panel.run.settings, panel.rounds
    alone = config.method == "self-reflection"
    judge, cap = "the proposer" if alone else "the area chair", config.max_iters
    if not (judged := alone or config.area_chair):
        cap = config.fixed_iters
    await panel.review(rounds[0])
    run.begin(REVISION, panel.stages, turns=cap)
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
            REVISION,
            f"not converged: stopped after revision {cap}, the maximum (rebuttal.max_iters); "
            f"{judge} judged {better} of {cap} significantly better",
        )


@dataclass
class RebuttalPanel:
    """The participants and the course of a run; `works` is the background as evidence, `asked` the inference cost."""

    run: RebuttalRun
    background: Background
    people: Mapping[str, Speaker]
    course: result.RebuttalCourse
    works: list[str]
    asked: int = 0

    @classmethod
    def of(cls, run: RebuttalRun) -> "RebuttalPanel":
        """The panel of a run. All three get the traits; the paper's area chair gets only the indicator (Fig. 7).

        Raises:
            ConfigError: the indicator has no traits.
        """
        config, background, found = run.settings, run.material, run.result
        traits = traits_of(config.indicator, config.traits, run.roles)
        if not traits:
            problem = f"{run.config.system}: needs traits of its quality indicator"
            raise ConfigError(problem, hint="manyheads check CONFIG")
        together = config.method == "rebuttal"
        roles = [PROPOSER, *[REVIEWER] * (together and config.reviewer)]
        roles += [AREA_CHAIR] * (together and config.area_chair)
        profile = {"area": config.area, "indicator": config.indicator, "traits": traits}
        people = {role: run.speaker(role, NAMES[role], **profile) for role in roles}
        way = Retrieval(source=background.source or None, stage=INITIAL)
        works = [
            run.evidence.cite(one.source, one.title, way, passage=one.sha256) for one in background.works
        ]
        found.team = [Person(name=each.name, role=role) for role, each in people.items()]
        found.background = result.BackgroundRecord(
            source=background.source, sha256=background.sha256, works=works, left_out=background.without
        )
        found.rebuttal = result.RebuttalCourse(
            area=config.area, indicator=config.indicator, traits=traits, method=config.method
        )
        return cls(run, background, people, found.rebuttal, works)

    @property
    def rounds(self) -> list[RevisionRound]:
        return self.run.result.rounds

    @property
    def stages(self) -> dict[str, str]:
        """The stages of the run, in order, with their titles."""
        config, stages = self.run.settings, {INITIAL: "Initial idea"}
        if config.method != "initial":
            stages[REVISION] = "Review and rebuttal"
        return stages | ({WRITING: "Abstract"} if config.abstract else {})

    async def propose(self) -> None:
        """The initial idea: the user's, or one from the abstracts of the background (Fig. 8)."""
        if self.background.idea:
            self._add(self.background.idea)
            return
        while True:
            works = self.background.works
            idea = await self._ask(INITIAL, 1, PROPOSER, "propose", FirstIdea, abstracts=works)
            self._add(idea)
            person = await steer(self.run, INITIAL, 1, self.run.wording(idea), edit=idea)
            if not person.back:
                break
            self.rounds.pop()
        if person.reply:
            self._edit(person.reply)

    async def revise(self, turn: int, alone: bool) -> RevisionRound:
        """The next version, as a person has it."""
        while True:
            one = await self._revise(turn, alone)
            proposal = Proposal(**one.idea.model_dump(include=set(Proposal.model_fields)))
            person = await steer(self.run, REVISION, turn, self.run.wording(one.idea), edit=proposal)
            if not person.back:
                return self._edit(person.reply) if person.reply else one
            self.rounds.pop()

    def _edit(self, idea: FirstIdea | Proposal) -> RevisionRound:
        last = self.rounds[-1]
        last.idea = Version.of(idea, last.round, PERSON, self.works)
        return last

    async def _revise(self, turn: int, alone: bool) -> RevisionRound:
        """The next version, after the review of the last one or without a review (also for a proposer alone, §4.2).

        The paper's template contains only the review (Fig. 9). Here no thread is kept, so the background and the idea
        are shown again.
        """
        last = self.rounds[-1]
        shown: dict[str, Any] = {"abstracts": self.background.works, "idea": self.run.wording(last.idea)}
        if not alone:
            shown["review"] = self.run.wording(last.review) if last.review else None
            return self._add(await self._ask(REVISION, turn, PROPOSER, "revise", Proposal, **shown))
        thoughts = [(one.round, one.idea.reflection) for one in self.rounds if one.idea.reflection]
        shown["earlier"] = [{"round": number, "text": text} for number, text in thoughts]
        idea = await self._ask(REVISION, turn, PROPOSER, "reflect", Rethought, **shown)
        return self._add(idea, idea.improved)

    def _add(self, idea: FirstIdea | Proposal | Subject, improved: bool | None = None) -> RevisionRound:
        number = len(self.rounds)
        version = Version.of(idea, number, self.people[PROPOSER].name, self.works)
        self.rounds.append(RevisionRound(round=number, idea=version, improved=improved))
        self.course.iterations = number
        self._count()
        return self.rounds[-1]

    def _count(self) -> None:
        judged = [one.improved for one in self.rounds if one.improved is not None]
        self.course.improvements = sum(judged) if judged else None

    async def review(self, one: RevisionRound) -> None:
        """The review of a version, if there is a reviewer, who sees the earlier requests (Fig. 10).

        Without a valid one the next revision is made without a review.
        """
        if REVIEWER not in self.people:
            return
        run, (stage, turn) = self.run, (REVISION, one.round) if one.round else (INITIAL, 1)
        reviews = [each.review for each in self.rounds[: one.round] if each.review]
        asked = [run.roles.prompts.render("reviewer/asked.md.j2", each.model_dump()) for each in reviews]
        kind = review_on(run.reply_type(REVIEWER, "review", replies.Review), len(self.course.points))
        shown = {"idea": run.wording(one.idea), "asked": asked}
        question = Question(stage, turn, self.people[REVIEWER], REVIEWER, "review", shown)
        if (reply := await run.hear(question, kind)) is None:
            return
        self.asked += 1
        person = await steer(run, stage, turn, run.wording(reply), edit=reply, back=False, name="review")
        one.review = result.IdeaReview(**(person.reply or reply).model_dump())

    async def compare(self, before: RevisionRound, one: RevisionRound, shown: Literal["A", "B"]) -> None:
        """The area chair's comparison of a version with the one before, if there is an area chair.

        The paper names the later one and asks for Yes or No (Fig. 11). Here the two are A and B, the later one as it is
        `shown`, and the reasoning comes first: models that are told which one was revised seldom say that it is no better.
        For the same reason a first idea, which is a paragraph, is shown in the six fields of the later ones.
        """
        if AREA_CHAIR in self.people:
            later, earlier = self.run.wording(one.idea), await self._in_form(before.idea)
            texts = (later, earlier) if shown == "A" else (earlier, later)
            versions = dict(zip(("version_a", "version_b"), texts, strict=True))
            reply = await self._ask(REVISION, one.round, AREA_CHAIR, "compare", replies.Verdict, **versions)
            one.verdict = result.ChairVerdict.of(reply, shown)
            one.improved = one.verdict.improved
            self._count()

    async def _in_form(self, idea: Version) -> str:
        """An idea in six fields, brought there by a judge as in rankings (Fig. 13); as it is if no form of it is valid."""
        if idea.formed:
            return self.run.wording(idea)
        run, shown = self.run, {"title": idea.title, "text": idea.idea}
        judge = run.speaker(JUDGE, "Condenser", area=self.course.area)
        check = partial(condensing_fault, prompts=run.roles.prompts)
        question = Question(REVISION, 1, judge, JUDGE, "condense", shown, check=check)
        if (reply := await run.hear(question, Condensed)) is None:
            return run.wording(idea)
        self.asked += 1
        return run.roles.prompts.render("spoken/Proposal.md.j2", {"one": reply.contents()}).strip()

    def judge(self, turn: int, subject: str, outcome: str, reasoning: str = "") -> None:
        decision = Judged(stage=REVISION, turn=turn, subject=subject, outcome=outcome, reasoning=reasoning)
        self.run.emit(decision)

    def final(self) -> Version:
        """The last version, or the last one judged better (the initial one if none was); also recorded in the result."""
        course, final = self.course, self.rounds[-1]
        if self.run.settings.final == "improved" and final.improved is not None:
            final = next((one for one in reversed(self.rounds) if one.improved), self.rounds[0])
        if course.improvements is not None:
            course.converged = course.stopped_by == "converged"
        course.final, self.run.result.idea = final.round, final.idea
        self.run.result.turns = {REVISION: course.iterations}
        return final.idea

    async def write(self, final: Version) -> None:
        self.run.begin(WRITING, self.stages)
        self.run.result.turns[WRITING] = 1

        async def ask() -> shared.Abstract:
            idea = self.run.wording(final)
            return await self._ask(WRITING, 1, PROPOSER, "abstract", shared.Abstract, idea=idea)

        await steer_abstract(self.run, WRITING, self.people[PROPOSER].name, ask)

    async def _ask(self, stage: str, turn: int, role: str, task: str, like: type[R], **variables: Any) -> R:
        reply = await self.run.ask(Question(stage, turn, self.people[role], role, task, variables), like)
        self.asked += 1
        return reply.value


def _revisions(found: result.RebuttalResult) -> Revisions:
    course = found.rebuttal or Quality()
    return Revisions([each.idea for each in found.rounds], course.indicator or "", course.area or "")


REBUTTAL = System(
    name="rebuttal",
    title="Review and rebuttal",
    about="A proposer, a reviewer and an area chair who improve a research idea from background abstracts.",
    config=result.RebuttalConfig,
    inputs=result.RebuttalInputs,
    result=result.RebuttalResult,
    run=rebuttal,
    essence=result.essence,
    report=result.report,
    work=result.work,
    needs=result.needs,
    prepare=result.need_beginning,
    check=result.check,
    read=lambda run: read_background(run.inputs.background, run.settings.most, run.inputs.idea),
    revisions=_revisions,
    steers=result.STEERS,
    numbers={
        "rebuttal.iterations": Number("revisions made", (0, inf)),
        "rebuttal.iterations < 10": Number("share with fewer than ten"),
        "rebuttal.converged": Number("share that converged"),
        "rebuttal.indicator": Number("quality"),
    },
)
