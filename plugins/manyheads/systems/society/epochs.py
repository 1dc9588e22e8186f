"""An epoch of a society, from the state at its beginning to its record.

What a team sees and who is in it are settled before the first team begins, and what comes of the teams is put together in the
order of their numbers: the order in which they end decides nothing. `EPOCHS/003.json` is written last.
"""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.base.errors import CorpusError, JournalError, ModelError, SubjectError
from manyheads.base.folders import JOURNAL
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import NOTHING, Usage
from manyheads.core.events import Judged
from manyheads.core.results import RESULT
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.layers import write_layer
from manyheads.corpus.meta import read_meta
from manyheads.engine.children import run_below
from manyheads.engine.jobs import Failure
from manyheads.engine.journal import spent_in
from manyheads.systems.loading import reopen
from manyheads.systems.results import load
from manyheads.systems.society.config import SocietyConfig
from manyheads.systems.society.growth import (
    accept,
    awake,
    changed_scientists,
    citations_of,
    papers_of,
    ranked,
)
from manyheads.systems.society.membership import SMALLEST, found_teams, join
from manyheads.systems.society.result import (
    EPOCHS,
    EpochRecord,
    SocietyRun,
    TeamRecord,
    read_epochs,
    write_epoch,
)
from manyheads.systems.virsci.system import VIRSCI
from manyheads.team.system import COMMON

if TYPE_CHECKING:
    from manyheads.systems.society.measuring import SocietyMeasures

TEAMS = "teams"
"""The stage of the teams' own runs."""


def stage_of(number: int) -> str:
    """The stage of an epoch."""
    return f"epoch-{number}"


def layer_of(folder: Path, number: int) -> Path:
    """The ecosystem at the end of an epoch: its layer in a society's folder, or in that of the society that it branched from.

    Raises:
        JournalError: there is none.
    """
    layer = folder / EPOCHS / f"{number:03d}"
    if not layer.is_dir():
        source = reopen(folder).inputs.branch
        if source is None:
            hint = "restore it from a copy, or start again: manyheads run society"
            raise JournalError(f"{layer}: the layer of epoch {number} is gone", hint=hint)
        return layer_of(Path(source), number)
    return layer.resolve()


def need_people(scientists: int, settings: SocietyConfig, corpus: str) -> None:
    """Raises `CorpusError` if a corpus has too few scientists."""
    most = settings.size.most if settings.size.draw == "fixed" else SMALLEST
    teams = 1 if settings.teams == "all" else settings.teams
    if not scientists:
        hint = "build a corpus of papers with authors: manyheads corpus build PAPERS --bound YEAR"
        raise CorpusError(f"{corpus}: has no scientists for a society: its papers have no authors", hint=hint)
    for key, wanted, what in (
        ("size.most", most, "members of a team"),
        ("teams", teams, "founders of teams"),
    ):
        if wanted > scientists:
            raise CorpusError(
                f"society.{key}: {wanted} {what}, but {corpus} has {scientists} scientists",
                hint=f"--set society.{key}={scientists}, or a larger corpus",
            )


def team_config(config: RunConfig) -> RunConfig:
    """What all teams' runs share."""
    settings, how = config.settings.virsci, config.settings.acceptance
    if how.by == "mark":
        threshold = settings.peer_review.threshold if how.share else how.least
        reviewed = settings.peer_review.model_copy(update={"enabled": True, "threshold": threshold})
        settings = settings.model_copy(update={"peer_review": reviewed})
    alone = settings.team.model_copy(update={"size": 1})  # see `config_of`
    settings = settings.model_copy(update={"team": alone})
    common = {key: getattr(config, key) for key in COMMON - {"system", "inputs"}}
    return VIRSCI.model.model_validate({**common, "budget": BudgetConfig(), "steer": (), "virsci": settings})


def config_of(shared: RunConfig, team: TeamRecord, corpus: str, worlds: tuple[str, ...] = ()) -> RunConfig:
    """The config of a team's own run; `worlds` are what its stages see, if it takes several epochs."""
    leader, *members = team.members
    people = {"leader": leader, "members": tuple(members), "size": len(team.members)}
    own = shared.settings.team.model_copy(update=people)
    settings = shared.settings.model_copy(update={"team": own, "worlds": worlds})
    return shared.model_copy(update={"seed": team.seed, "corpus": corpus, "settings": settings})


@dataclass
class Epoch:
    """A year of a society, as it goes.

    Attributes:
        earlier: the records of the epochs before.
        world: the ecosystem at its beginning.
        corpus: its name.
        base: the corpus as it was published.
    """

    run: SocietyRun
    number: int
    earlier: Sequence[EpochRecord]
    world: Ecosystem
    corpus: str
    base: Ecosystem
    measuring: "SocietyMeasures"

    async def live(self) -> EpochRecord:
        """Found the teams, run them, and record what came of them.

        Raises:
            BudgetError: the budget is spent; its finished teams are kept.
            ModelError: all teams failed, or nobody could be asked.
        """
        run, settings, stage = self.run, self.run.settings, stage_of(self.number)
        going_on = self.earlier[-1].under_way if self.earlier else []
        formed = await self._form(going_on)
        active = going_on if settings.pace == "stage" else formed
        configs = {place_of(team, self.number): await self._config_of(team) for team in active}
        failures = await self._run_teams(configs, sum((team.usage for team in active), NOTHING))
        record = EpochRecord(number=self.number, year=self.base.last_year + self.number)
        spent = NOTHING
        for place, team in zip(configs, active, strict=True):
            ended = await asyncio.to_thread(_record, _folder(run), place, team, failures.get(place))
            spent += ended.usage - team.usage
            over = ended.abstract is not None or ended.failure is not None
            (record.teams if over else record.under_way).append(ended)
        record.under_way += formed if settings.pace == "stage" else []
        for team in record.teams:
            team.usage, team.seed = NOTHING, 0
        run.below_spent.pay(TEAMS, spent)
        record.usage = {stage: run.spent.get(stage, NOTHING), TEAMS: spent}
        record.warnings = run.warned.get(stage, [])
        await self._settle(record)
        return record

    async def _form(self, going_on: Sequence[TeamRecord]) -> list[TeamRecord]:
        """The epoch's new teams, from the scientists who are not in too many."""
        run, settings, stage = self.run, self.run.settings, stage_of(self.number)
        taken = Counter(name for team in going_on for name in team.members)
        pool = awake(self.world.scientists, self.earlier, len(self.base.scientists), settings.changes)
        if settings.teams != "all" and len(pool) < settings.teams:
            run.warn(stage, f"{len(pool)} scientists are not resting: as many teams, not {settings.teams}")
        run.literature = self.world
        teams = found_teams(run.config.seed, self.number, pool, settings, taken)
        if not (teams or going_on):
            hint = "raise society.changes.rest_after"
            raise CorpusError("all scientists rest: no team was founded", hint=hint)
        await join(run, stage, teams, settings.team_limit, taken)
        founded = self.number if settings.pace == "stage" else 0
        return [
            TeamRecord(
                number=team.number, founded=founded, seed=team.seed, declined=team.declined,
                members=[one.name for one in team.members],
            )
            for team in teams
        ]  # fmt: skip

    async def _config_of(self, team: TeamRecord) -> RunConfig:
        """Of a team's run; one that has waited for this epoch is not over any more."""
        run, founded = self.run, team.founded or self.number
        corpora = [await world_of(run, number) for number in range(founded, self.number + 1)]
        if (folder := _folder(run) / place_of(team, self.number)).is_dir() and len(corpora) > 1:
            with suppress(SubjectError):
                known = load(folder).result
                if known.waits_for and len(known.stages) < len(corpora) - 1:
                    (folder / RESULT).unlink()
        return config_of(team_config(run.config), team, corpora[0], tuple(corpora[1:]))

    async def _run_teams(self, configs: Mapping[str, RunConfig], paid: Usage) -> Mapping[str, Failure]:
        """Run the teams; returns the failures by place. `paid` is what they have used in earlier epochs."""
        run, stage = self.run, stage_of(self.number)
        finished = set[str]()

        def ended(place: str, failure: Failure | None) -> None:
            finished.update([] if failure else [place])
            outcome, why = ("failed", _reason(failure)) if failure else ("has finished", "")
            run.emit(
                Judged(stage=stage, subject=f"team {int(Path(place).name)}", outcome=outcome, reasoning=why)
            )

        try:
            failures = await run_below(run, configs, ended)
        except BaseException:
            reached = f"{len(finished)} of its {len(configs)} teams had finished"
            run.warn(stage, f"epoch {self.number} ended early: {reached}, which are kept")
            self._pay(configs, paid)
            raise
        if failures:
            number = "all" if len(failures) == len(configs) else len(failures)
            first = _reason(next(failures[place] for place in configs if place in failures))
            what = f"epoch {self.number}: {number} of {len(configs)} teams failed, the first one: {first}"
            if number == "all":
                self._pay(configs, paid)
                raise ModelError(what, hint="manyheads resume RUN")
            run.warn(stage, what)
        return failures

    def _pay(self, places: Iterable[str], paid: Usage) -> None:
        """Count what the teams of an epoch that ends early have spent, beyond what was paid before."""
        journals = [_folder(self.run) / place / JOURNAL for place in places]
        spent = sum(map(spent_in, filter(Path.is_file, journals)), NOTHING)
        self.run.below_spent.pay(TEAMS, spent - paid)

    async def _settle(self, record: EpochRecord) -> None:
        """Measure, accept, add the layer, write the record, and remove the folders that are not kept."""
        run, settings, folder = self.run, self.run.settings, _folder(self.run)
        vectors = await asyncio.to_thread(self.measuring.measure, record.teams, self.earlier)
        accept(record.teams, self.number, settings)
        for team in ranked(record.teams, settings.acceptance.by)[: settings.keep]:
            team.folder = place_of(team, self.number)
        epochs, scientists = [*self.earlier, record], len(self.world.scientists)
        record.figures = await asyncio.to_thread(self.measuring.figures, epochs, scientists)
        if not settings.independent:
            cited = citations_of(record.teams, settings.citations)
            people = changed_scientists(self.world, record, cited, run.config.seed, settings)
            written = [
                place
                for place, team in enumerate(team for team in record.teams if team.abstract)
                if team.paper
            ]
            layer = folder / EPOCHS / f"{self.number:03d}"
            await asyncio.to_thread(
                write_layer, layer, below=self.world, year=record.year, papers=papers_of(record),
                vectors=vectors[written], scientists=people, citations=cited,
            )  # fmt: skip
        write_epoch(folder, record)
        await asyncio.to_thread(thin, folder, record)


def place_of(team: TeamRecord, epoch: int) -> str:
    """A team's folder in its society's, if it was founded in this epoch or says in which."""
    return f"{EPOCHS}/{team.founded or epoch:03d}-{TEAMS}/{team.number:04d}"


def thin(folder: Path, record: EpochRecord) -> None:
    """Remove the run folders of an epoch's teams that are not kept."""
    for team in record.teams:
        if team.folder != (place := place_of(team, record.number)):
            shutil.rmtree(folder / place, ignore_errors=True)
            with suppress(OSError):
                (folder / place).parent.rmdir()  # nothing is kept


def share_past(folder: Path, source: Path, after: int | None) -> None:
    """Take over another society's records, the last one first; its layers are used where they are.

    What it has lived since a branch began is not shared: a branch that is resumed goes its own way.
    """
    have = {record.number for record in read_epochs(folder)}
    for record in reversed(read_epochs(source)[: max(have, default=after)]):
        if record.number not in have:
            for team in record.teams:
                team.folder = team.folder and Path(os.path.relpath(source / team.folder, folder)).as_posix()
            record.usage = {}  # the other society paid for it
            if not have and record.under_way:
                record.warnings.append(
                    f"{len(record.under_way)} teams of {source} were under way: they are not taken over"
                )
                record.under_way = []
            have.add(record.number)
            write_epoch(folder, record)


def read_past(config: RunConfig) -> str | None:
    """Check the corpus, and the society to go on from; returns what that is, None if there is none.

    Raises:
        CorpusError: the corpus has too few scientists.
        SubjectError: it is no society, of another corpus, or has not come so far.
    """
    meta = read_meta(resolve_corpus(config.corpus, embedding=config.embedding))
    need_people(meta.counts.scientists, config.settings, config.corpus)
    inputs = config.inputs
    if inputs.branch is None:
        return None
    source = Path(inputs.branch)
    result, epochs = load(source), len(read_epochs(source))
    if result.system != config.system or not epochs or epochs < (inputs.after or 0):
        raise SubjectError(
            f"{source}: not a society with {inputs.after or 1} finished epochs: a run of {result.system} with {epochs}",
            hint="name the folder of one, and no more epochs than it has",
        )
    if (shared := inputs.after or epochs) >= config.settings.epochs:
        raise SubjectError(
            f"{source}: {shared} epochs are shared, and society.epochs is {config.settings.epochs}: none is left",
            hint=f"--set society.epochs={shared + 1}, or share fewer epochs",
        )
    if result.corpus != config.corpus:
        raise SubjectError(
            f"{source}: a society on the corpus {result.corpus}, not {config.corpus}",
            hint=f"--set corpus={result.corpus}",
        )
    return f"branch: {source}, its first {shared} epochs"


def _folder(run: SocietyRun) -> Path:
    assert run.folder
    return run.folder


def _reason(failure: Failure) -> str:
    return (failure.cause or failure.reason).splitlines()[0]


def _record(folder: Path, place: str, team: TeamRecord, failure: Failure | None) -> TeamRecord:
    """What has come of a team, with the usage of its run."""
    record = team.model_copy()
    try:
        run = load(folder / place, unfinished=failure is not None)
    except SubjectError as error:
        record.failure = _reason(failure) if failure else error.message
        return record
    record.calls, record.tokens = run.usage.calls, run.usage.tokens
    record.usage = Usage(**run.usage.model_dump(include={*Usage.model_fields}))
    result, papers = run.result, {each.id: each.paper for each in run.evidence}
    record.stage = next(reversed(result.stages), None)
    if failure:
        record.failure = _reason(failure)
    if failure or result.waits_for:
        return record
    record.guests = [guest.name for guest in result.guests]
    record.freshness, record.diversity = result.freshness, result.diversity
    record.topic = result.topic and result.topic.topic
    record.title, record.abstract = result.abstract.title, result.abstract.as_text()
    record.cites = [papers[each] for each in result.idea.references if each in papers]
    if (reviews := result.peer_review) and reviews.rounds:
        record.revised = len(reviews.rounds) > 1
        record.marks = [each.mark for each in reviews.rounds[-1].reviews]
    return record


async def world_of(run: SocietyRun, number: int) -> str:
    """The corpus that an epoch begins with."""
    if number == 1 or run.settings.independent:
        return run.config.corpus
    return str(await asyncio.to_thread(layer_of, _folder(run), number - 1))
