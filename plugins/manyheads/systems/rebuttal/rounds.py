"""Algorithm 1: proposer, reviewer and area chair at work on one idea, its ablations (§4.5) and baselines (§4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from manyheads import replies
from manyheads.core import Speaker, together
from manyheads.core.events import Judged, Stage
from manyheads.core.results import Abstract, Draft, Person, Retrieval
from manyheads.discussion.run import Question
from manyheads.errors import ConfigError
from manyheads.literature.ideas import Background
from manyheads.replies import FirstIdea, Proposal, ReplyModel, Rethought, Review, Verdict
from manyheads.systems.rebuttal.config import AREA_CHAIR, PROPOSER, REVIEWER, traits_of
from manyheads.systems.rebuttal.result import Background as Kept
from manyheads.systems.rebuttal.result import Course, RebuttalRun, Round, Version
from manyheads.texts import Subject

R = TypeVar("R", bound=ReplyModel)

INITIAL, REBUTTAL, WRITING = "initial", "rebuttal", "writing"
TITLES = {INITIAL: "Initial idea", REBUTTAL: "Review and rebuttal", WRITING: "Abstract"}
NAMES = {PROPOSER: "Proposer", REVIEWER: "Reviewer", AREA_CHAIR: "AreaChair"}


@dataclass
class Panel:
    """Who takes part in a run, and how it goes.

    Attributes:
        people: who takes part, by role.
        works: the background as evidence.
        asked: replies that were asked for: the inference cost.
    """

    run: RebuttalRun
    background: Background
    people: Mapping[str, Speaker]
    course: Course
    works: list[str]
    asked: int = 0

    @classmethod
    def of(cls, run: RebuttalRun) -> "Panel":
        """The panel of a run; all three are told the traits, the paper's area chair the indicator alone (Fig. 7).

        Raises:
            ConfigError: nothing says what the traits are.
        """
        traits = traits_of(run.config, run.roles)
        if not traits:
            raise ConfigError(
                f"{run.config.system}: needs traits of its quality indicator",
                hint="manyheads check CONFIG",
            )
        chosen = run.settings
        wanted = {
            PROPOSER: True,
            REVIEWER: chosen.method == "rebuttal" and chosen.reviewer,
            AREA_CHAIR: chosen.method == "rebuttal" and chosen.area_chair,
        }
        profile = {"area": chosen.area, "indicator": chosen.indicator, "traits": traits}
        people = {
            role: run.speaker(role, NAMES[role], **profile) for role, needed in wanted.items() if needed
        }
        background, result = run.material, run.result
        found = Retrieval(source=background.source or None, stage=INITIAL)
        works = [
            run.evidence.cite(work.source, work.title, found, passage=work.sha256)
            for work in background.works
        ]
        result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        result.background = Kept(
            source=background.source, sha256=background.sha256, works=works, left_out=background.without
        )
        result.rebuttal = Course(
            area=chosen.area, indicator=chosen.indicator, traits=traits, method=chosen.method
        )
        return cls(run, background, people, result.rebuttal, works)

    @property
    def rounds(self) -> list[Round]:
        return self.run.result.rounds

    @property
    def stages(self) -> list[str]:
        chosen = self.run.settings
        return [INITIAL, *[REBUTTAL] * (chosen.method != "initial"), *[WRITING] * chosen.abstract]

    def begin(self, stage: str) -> None:
        """Tell the listeners that a stage begins, and of how many revisions at most."""
        number, total = self.stages.index(stage) + 1, len(self.stages)
        chosen = self.run.settings
        judged = chosen.area_chair or chosen.method == "self-reflection"
        turns = (chosen.max_iters if judged else chosen.fixed_iters) if stage == REBUTTAL else None
        self.run.emit(Stage(stage=stage, title=TITLES[stage], number=number, total=total, turns=turns))

    async def propose(self) -> None:
        """The initial idea: the user's, or one from the abstracts of the background (Fig. 8)."""
        works, given = self.background.works, self.background.idea
        idea = given or await self._ask(INITIAL, 1, PROPOSER, "propose", FirstIdea, abstracts=works)
        self._add(idea)

    async def revise(self, turn: int) -> Round:
        """The next version, after the review of the last one, or without any.

        The paper's template holds the review alone (Fig. 9). Here no thread is kept, so the background and the idea
        are shown again.
        """
        last = self.rounds[-1]
        shown = {"abstracts": self.background.works, "idea": last.idea.text}
        review = last.review.spoken() if last.review else None
        idea = await self._ask(REBUTTAL, turn, PROPOSER, "revise", Proposal, **shown, review=review)
        return self._add(idea)

    async def reflect(self, turn: int) -> Round:
        """The next version of a proposer who is left alone (§4.2), shown the background again as in `revise`."""
        last = self.rounds[-1]
        shown = {"abstracts": self.background.works, "idea": last.idea.text}
        idea = await self._ask(REBUTTAL, turn, PROPOSER, "reflect", Rethought, **shown)
        return self._add(idea, idea.improved)

    def _add(self, idea: FirstIdea | Proposal | Subject, improved: bool | None = None) -> Round:
        """Take a version down."""
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
        """The review of a version, where there is a reviewer (Fig. 10)."""
        if REVIEWER in self.people:
            stage, turn = (REBUTTAL, one.round) if one.round else (INITIAL, 1)
            one.review = await self._ask(stage, turn, REVIEWER, "review", Review, idea=one.idea.text)

    async def compare(self, before: Round, one: Round) -> None:
        """The area chair's comparison of a version with the one before, where there is an area chair.

        It gives its reasoning before its verdict, where the paper asks for Yes or No and nothing else (Fig. 11).
        """
        if AREA_CHAIR in self.people:
            shown = {"previous": before.idea.text, "revised": one.idea.text}
            one.verdict = await self._ask(REBUTTAL, one.round, AREA_CHAIR, "compare", Verdict, **shown)
            one.improved = one.verdict.improved
            self._count()

    def settle(self, final: Round) -> None:
        """Take down how the rounds have ended, and with which idea."""
        course, result = self.course, self.run.result
        if course.improvements is not None:
            course.converged = course.stopped_by == "converged"
        course.final, result.idea = final.round, final.idea
        result.turns = {REBUTTAL: course.iterations}

    async def write(self, final: Version) -> None:
        """The abstract of the final idea."""
        self.begin(WRITING)
        abstract = await self._ask(WRITING, 1, PROPOSER, "abstract", replies.Abstract, idea=final.text)
        result = self.run.result
        result.abstract = Abstract.of(abstract)
        result.drafts = [Draft.of(abstract, self.people[PROPOSER].name, 1)]
        result.turns[WRITING] = 1

    def judge(self, turn: int, subject: str, outcome: str, reasoning: str = "") -> None:
        """Tell the listeners of a decision."""
        self.run.emit(
            Judged(stage=REBUTTAL, turn=turn, subject=subject, outcome=outcome, reasoning=reasoning)
        )

    async def _ask(self, stage: str, turn: int, role: str, task: str, like: type[R], **variables: Any) -> R:
        question = Question(stage, turn, self.people[role], role, task, variables)
        reply = await self.run.ask(question, self.run.reply_type(role, task, like))
        self.asked += 1
        return reply.value


CONVERGED, CAP, FIXED, ALONE = "converged", "max_iters", "fixed_iters", "initial"
"""What has ended a run."""


async def rebuttal(run: RebuttalRun) -> None:
    """Propose an idea, or take up the one given, and revise it until it gets no better; then write its abstract.

    Each revision is reviewed and compared with the version before. The run ends with the `rebuttal.patience`th
    revision in a row that is not found significantly better, or after `rebuttal.max_iters` of them; the last version
    is the final idea, as in the paper (Algorithm 1, line 17; §3.1.3), unless `rebuttal.final` says otherwise.

    Raises:
        ConfigError: no background, or an indicator without traits.
    """
    panel = Panel.of(run)
    _tell_of_gaps(panel)
    panel.begin(INITIAL)
    await panel.propose()
    await COURSES[run.settings.method](panel)
    final = _final(panel)
    panel.settle(final)
    if run.settings.abstract:
        await panel.write(final.idea)
    run.result.inference_cost = panel.asked


async def _refine(panel: Panel) -> None:
    """Algorithm 1, but that review and comparison of a version are asked for at once, not one after the other (lines
    9 and 10): neither sees the other.
    """
    chosen = panel.run.settings
    await panel.review(panel.rounds[0])
    panel.begin(REBUTTAL)
    for turn in range(1, (chosen.max_iters if chosen.area_chair else chosen.fixed_iters) + 1):
        before, one = panel.rounds[-1], await panel.revise(turn)
        await together(panel.review(one), panel.compare(before, one))
        if one.verdict:
            panel.judge(turn, "the area chair", _outcome(one), one.verdict.reasoning)
        if _settled(panel, chosen.patience):
            return
    panel.course.stopped_by = CAP if chosen.area_chair else FIXED
    _tell_of_the_cap(panel, "the area chair")


async def _reflect(panel: Panel) -> None:
    """The proposer alone, until it finds its idea no better or `max_iters` is reached."""
    chosen = panel.run.settings
    panel.begin(REBUTTAL)
    for turn in range(1, chosen.max_iters + 1):
        one = await panel.reflect(turn)
        panel.judge(turn, "the proposer", _outcome(one))
        if _settled(panel, chosen.patience):
            return
    panel.course.stopped_by = CAP
    _tell_of_the_cap(panel, "the proposer")


async def _leave(panel: Panel) -> None:
    """The first idea as it is."""
    panel.course.stopped_by = ALONE


COURSES = {"rebuttal": _refine, "self-reflection": _reflect, "initial": _leave}


def _settled(panel: Panel, patience: int) -> bool:
    """Whether the latest revisions, as many as it takes, were found no better."""
    latest = [one.improved for one in panel.rounds[1:]][-patience:]
    if latest != [False] * patience:
        return False
    panel.course.stopped_by = CONVERGED
    row = "" if patience == 1 else f" {patience} times in a row"
    panel.judge(len(panel.rounds) - 1, "the idea", f"has converged: no significant improvement{row}")
    return True


def _outcome(one: Round) -> str:
    return "finds a significant improvement" if one.improved else "finds no significant improvement"


def _final(panel: Panel) -> Round:
    """The last version; or the last that was found better, the initial one where none was."""
    last = panel.rounds[-1]
    if panel.run.settings.final == "last" or last.improved is None:
        return last
    return next((one for one in reversed(panel.rounds) if one.improved), panel.rounds[0])


def _tell_of_the_cap(panel: Panel, judge: str) -> None:
    if panel.course.stopped_by == CAP:
        made, better = len(panel.rounds) - 1, sum(bool(one.improved) for one in panel.rounds)
        panel.run.warn(
            REBUTTAL,
            f"not converged: stopped after revision {made}, the last that rebuttal.max_iters allows; "
            f"{judge} found {better} of {made} significantly better",
        )


def _tell_of_gaps(panel: Panel) -> None:
    """What a reader of the result would not see: papers without an abstract."""
    background, source = panel.background, panel.background.source
    if background.without:
        panel.run.warn(
            INITIAL,
            f"{source}: {background.without} of its entries cannot be read as a paper with an abstract and are left out",
        )
    if background.untold:
        panel.run.warn(
            INITIAL,
            f"{source}: {background.untold} of {len(background.works)} papers are known by title alone",
        )
