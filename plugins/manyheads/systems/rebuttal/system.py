"""The loop of Algorithm 1, its ablations (§4.5), and the baselines that it is compared with (§4.2)."""

from manyheads.core import together
from manyheads.discussion import Run
from manyheads.systems.rebuttal.panel import INITIAL, REBUTTAL, Panel
from manyheads.systems.rebuttal.result import RebuttalResult, Round

CONVERGED, CAP, FIXED, ALONE = "converged", "max_iters", "fixed_iters", "initial"
"""What has ended a run."""


async def rebuttal(run: Run[RebuttalResult]) -> None:
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
