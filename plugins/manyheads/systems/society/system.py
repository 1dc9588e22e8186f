"""A society, end to end: years of many teams over one ecosystem that grows with what they write (VirSci 2025, §6)."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.config import HUMAN, RunConfig
from manyheads.core import NOTHING, Tally
from manyheads.core.events import Stage
from manyheads.core.results import Retrieval
from manyheads.corpus.corpora import open_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.systems.society import report
from manyheads.systems.society.config import SocietyConfig, SocietyInputs
from manyheads.systems.society.epochs import (
    TEAMS,
    Epoch,
    config_of,
    read_past,
    share_past,
    stage_of,
    team_config,
    thin,
    world_of,
)
from manyheads.systems.society.growth import citations_of, ranked
from manyheads.systems.society.membership import Founding, found_teams, join
from manyheads.systems.society.result import (
    EpochRecord,
    EpochSummary,
    SocietyPaper,
    SocietyResult,
    SocietyRun,
    TeamRecord,
    read_epochs,
    write_abstracts,
)
from manyheads.systems.virsci.system import VIRSCI
from manyheads.team.run import Run
from manyheads.team.system import Needs, System

ALIKE = 3
"""Epochs in a row with all abstracts accepted, or none, that are warned about."""


async def society(run: SocietyRun) -> None:
    """Live the epochs that have no record yet, each on the ecosystem that the one before left.

    Raises:
        ConfigError: abstracts are to be accepted by a measure that the corpus does not allow.
    """
    from manyheads.systems.society.measuring import SocietyMeasures

    settings, config = run.settings, run.config
    async with open_corpus(config.corpus, config.embedding) as base:
        by = settings.acceptance.by
        if by != "mark" and not base.meta.counts.contemporary:
            hint = "--set society.acceptance.by=mark, or a corpus with papers from its bound on"
            raise ConfigError(
                f"society.acceptance.by: {by} needs contemporary papers, {config.corpus} has none", hint=hint
            )
        if run.below is None or run.folder is None:
            await rehearse(run)
            return
        if (source := run.config.inputs.branch) is not None:
            share_past(run.folder, Path(source), run.config.inputs.after)
        run.writers |= {
            f"{model.provider}/{model.name}" for model in config.models.values() if model.on_server
        }
        known = {record.number: record for record in read_epochs(run.folder)}
        measuring = await asyncio.to_thread(SocietyMeasures.open, base, config.normalise)
        records = list[EpochRecord]()
        for number in range(1, settings.epochs + 1):
            title = f"Epoch {number} ({base.last_year + number})"
            run.emit(Stage(stage=stage_of(number), title=title, number=number, total=settings.epochs))
            if record := known.get(number):
                recall(run, record)
            else:
                corpus = await world_of(run, number)
                async with open_corpus(corpus, config.embedding) as world:
                    await world.unread(["warm"])  # a damaged model is found before a team asks
                    record = await Epoch(run, number, records, world, corpus, base, measuring).live()
            records.append(record)
            note(run, records, len(base.scientists))
        if left := len(records[-1].under_way):
            told = f"{left} teams are under way: they go on if there are more epochs"
            run.warn(stage_of(len(records)), told)
        cite_corpus(run, records, base)
        await asyncio.to_thread(write_abstracts, run.folder, records)


def cite_corpus(run: SocietyRun, records: Sequence[EpochRecord], base: Ecosystem) -> None:
    """Store the corpus's papers that the best papers stand on as evidence: reports name them."""
    cites_of = {team.paper: team.cites for each in records for team in each.teams if team.paper}
    cited = [each for paper in run.result.best for each in report.ancestry(paper.stands_on, cites_of)[1]]
    papers = base.papers.get([*dict.fromkeys(cited)])
    for paper in (papers[each] for each in dict.fromkeys(cited) if each in papers):
        run.evidence.cite(paper.id, paper.title, Retrieval(source="local", stage=TEAMS), year=paper.year)


def recall(run: SocietyRun, record: EpochRecord) -> None:
    """Take over a finished epoch without living it again."""
    assert run.folder
    stage = stage_of(record.number)
    for message in record.warnings:
        run.warn(stage, message)
    run.spent.pay(stage, record.usage.get(stage, NOTHING))
    run.below_spent.pay(TEAMS, record.usage.get(TEAMS, NOTHING))
    thin(run.folder, record)


def note(run: SocietyRun, records: Sequence[EpochRecord], scientists: int) -> None:
    """Add an epoch to the result."""
    from manyheads.systems.society.measuring import society_figures

    settings, result, last = run.settings, run.result, records[-1]
    counts = [sum(team.accepted for team in each.teams) for each in records]
    failed = sum(team.failure is not None for team in last.teams)
    result.epochs.append(
        EpochSummary(
            number=last.number, year=last.year, teams=len(last.teams), accepted=counts[-1], failed=failed,
            under_way=len(last.under_way), figures=last.figures,
        )
    )  # fmt: skip
    result.papers, result.figures = sum(counts), society_figures(records)
    result.scientists = scientists + (
        0 if settings.independent else settings.changes.newcomers * len(records)
    )
    result.best = best_papers(records, settings)
    for outcome in ("none", "all"):
        same = [
            written > 0 and count == (0 if outcome == "none" else written)
            for count, each in zip(counts, records, strict=True)
            for written in [sum(team.abstract is not None for team in each.teams)]
        ]
        runs = [all(same[at : at + ALIKE]) for at in range(len(same) - ALIKE + 1)]
        if runs and runs[-1] and sum(runs) == 1:
            what = f"{outcome} of the abstracts were accepted in {ALIKE} epochs: see society.acceptance"
            run.warn(stage_of(last.number), what)


def best_papers(records: Sequence[EpochRecord], settings: SocietyConfig) -> list[SocietyPaper]:
    """The best papers of all epochs, by what they were accepted by; equal ones in order."""
    cited = citations_of((team for each in records for team in each.teams), settings.citations)
    years = {paper: each.year for each in records for team in each.teams if (paper := team.paper)}
    written = (team for each in records for team in each.teams if team.paper)
    return [
        SocietyPaper(
            id=team.paper or "", year=years[team.paper or ""], title=team.title or "", abstract=team.abstract or "",
            authors=team.members, citations=cited[team.paper or ""], measures=team.measures, stands_on=team.cites,
            folder=team.folder,
        )
        for team in ranked(written, settings.acceptance.by)[: settings.best]
    ]  # fmt: skip


async def rehearse(run: SocietyRun) -> None:
    """The questions of a society in memory, for estimates: those of the first epoch's teams, and in proportion to their members those
    of the others."""
    settings, shared, epochs = run.settings, team_config(run.config), run.settings.epochs

    def founded(epoch: int) -> list[Founding]:
        return found_teams(run.config.seed, epoch, run.literature.scientists, settings, {})

    teams, work = founded(1), Tally()
    await join(run, stage_of(1), teams, settings.team_limit, {})
    for team in teams:
        record = TeamRecord(number=team.number, seed=team.seed, members=[one.name for one in team.members])
        quiet = Run(
            config_of(shared, record, run.config.corpus), run.host, run.roles, run.literature, lambda event: None,
            VIRSCI.result(), run.insiders, library=run.library,
        )  # fmt: skip
        run.insiders.clear()
        try:
            await VIRSCI.run(quiet)
        finally:
            for stage, spent in quiet.spent.items():
                work.pay(stage, spent)
    invitations, members = run.spent[stage_of(1)], sum(team.size for team in teams)
    for number in range(1, epochs + 1):
        share = sum(team.size for team in founded(number)) / members
        if number > 1:
            run.spent.pay(stage_of(number), invitations.times(share))
        # of a team founded in this epoch: all its stages, or one in each that follows
        for stage in [*work][: epochs - number if settings.pace == "stage" else None]:
            run.spent.pay(TEAMS, work[stage].times(share))


def essence(result: SocietyResult) -> Iterator[tuple[str, str]]:
    """The best paper, and what each epoch came to."""
    for paper in result.best[:1]:
        yield "Best paper", f"{paper.title}\n\n{paper.abstract}"
    if lines := [f"{each.year}: {each.teams} teams, {each.accepted} papers" for each in result.epochs]:
        yield "Epochs", "\n".join(lines)


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """What a society, or its teams, cannot be told."""
    if config.inputs.after and config.inputs.branch is None:
        yield "--after: of which society? name it, too: --branch RUN"
    team = config.settings.virsci.team
    for key in ("leader", "members", "freshness", "diversity"):
        if getattr(team, key) not in (None, ()):
            yield f"society.virsci.team.{key}: a society draws its teams by itself; leave it out"
    for alias, model in config.models.items():
        if model.provider == HUMAN:
            yield f"models.{alias}: a person cannot be in all teams of a society; name a model"


def needs(config: RunConfig) -> Needs:
    """Those of the teams."""
    return VIRSCI.needs(team_config(config))


SOCIETY = System(
    name="society",
    title="Society",
    about="Scientists of a corpus who, year after year, form teams, write abstracts, and build on those that were accepted.",
    config=SocietyConfig,
    inputs=SocietyInputs,
    result=SocietyResult,
    run=society,
    essence=essence,
    report=report.report,
    work=report.work,
    numbers=report.NUMBERS,
    needs=needs,
    corpus=lambda config: True,
    nests=True,
    team=lambda config: team_config(config).settings,
    searches=lambda config, roles: VIRSCI.searches(team_config(config), roles),
    check=check,
    read=read_past,
    component=("epochs=1", "teams=2", "virsci.turns=1"),
)
