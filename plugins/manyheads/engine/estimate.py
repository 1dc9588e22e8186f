"""Estimated calls and tokens of a run, by a dry run in memory.

The offline model answers every question, and every look-up finds as many papers as requested: no model and no source is
asked, no folder is made. The inputs are read, and the corpus is opened with its embedding model. `pings` does ask: one short request
to each model and each literature source, for `manyheads check --ping`.
"""

import asyncio
import datetime as dt
import hashlib
import json
import math
import textwrap
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import BudgetError, ModelError, SubjectError, UserError
from manyheads.base.papers import Paper
from manyheads.base.resources import Resources
from manyheads.base.text import count
from manyheads.config import HUMAN, BudgetConfig, ModelConfig, RunConfig, SourceName
from manyheads.core import NOTHING, Message, Place, Raw, Recall, Speaker, Tally, Turn, money, recall_nothing
from manyheads.core.events import AnyEvent, Stage
from manyheads.core.results import Part, currency_of, price_note, read_result
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.engine.bills import TOTAL, Bills, scaled
from manyheads.engine.inputs import with_papers
from manyheads.engine.readiness import CheckResult, need_team, prepare, roles_of
from manyheads.engine.replying import StructuredHost, UnusableReplyError, forms_of, parse, with_passage
from manyheads.engine.session import RESUME, AuthorRecall, HostFactory, idea_references, open_literature
from manyheads.literature.library import Library, connect
from manyheads.literature.source import Request, Source
from manyheads.models.abilities import settled
from manyheads.models.offline import OFFLINE, OfflineModel
from manyheads.models.probe import TOKENS
from manyheads.models.requests import IMAGE, size_of, usage_of
from manyheads.team.run import Run
from manyheads.team.system import system_of

QUICK, BESIDE = 2.0, 20.0
"""Maximum seconds of the dry run before a run, and beside runs."""
LONGER = 4
"""Assumed length of a language model's texts, as a multiple of the offline model's."""
DRAWS = 5
"""Dry runs with different seeds of which the corrected estimate of a run is the mean: the offline model decides by chance, where most
language models decide alike."""
ABSTRACT = 1300
"""Assumed length of an abstract in letters: some 200 words."""


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of runs.

    Attributes:
        spent: by stage; the cost is None if no model has a price.
        runs: how many were estimated to their end; what of the next one was seen in time is counted too.
        whole: whether these are all.
        basis: by which bills it is corrected, or why not, in words.
    """

    spent: Tally
    runs: int
    whole: bool
    basis: list[str] = field(default_factory=list[str])


Estimating = Callable[[Sequence[RunConfig]], Coroutine[Any, Any, Estimate]]


async def estimate(configs: Sequence[RunConfig], within: float = math.inf) -> Estimate:
    """Calls, tokens and cost of runs; those that differ in their seeds alone are estimated once.

    Args:
        within: maximum seconds of process time for dry runs; what comes before them does not count.

    Raises:
        UserError: a run cannot begin, or a stage of the dry run cannot continue.
    """
    alike: dict[str, list[RunConfig]] = {}
    for config in configs:
        alike.setdefault(config.model_copy(update={"seed": 0}).model_dump_json(), []).append(config)
    spent, runs, whole, basis = Tally(), 0, True, set[str]()
    for each in alike.values():
        bills = Bills.of(each[0])
        draws = DRAWS if bills and within > QUICK and len(alike) == 1 else 1
        stages, whole, seconds, _ = await _dry_runs(each[0], within, draws)
        within -= seconds
        basis.add(bills.words)
        for stage, usage in (bills.corrected(stages) if bills else stages).items():
            spent.pay(stage, sum([usage] * (len(each) if whole else 1), NOTHING))
        if not whole:
            break
        runs += len(each)
    return Estimate(spent, runs, whole, sorted(filter(None, basis)))


async def compared(folder: Path, config: RunConfig) -> Bills:
    """The bills of a finished run's system and models, with its own, which is stored. Requests that its result does not use, and
    stages that no estimate foresees, are shared among the other stages.

    Raises:
        SubjectError: it is not finished, or no language model was asked.
        UserError: as for `estimate`.
    """
    run, bills = read_result(folder, Part), Bills.of(config)
    if not (bills.about and run.usage.tokens):
        raise SubjectError(f"{folder}: no language model was asked")
    estimated, _, _, titles = await _dry_runs(config, math.inf, DRAWS)
    paid = Tally(dict.fromkeys(estimated, NOTHING))
    for stage, usage in run.usage.by_stage.items():
        if (title := titles.get(stage, stage)) in paid:
            paid.pay(title, usage)
    bill = {stage: (estimated[stage], scaled(usage, paid.total, run.usage)) for stage, usage in paid.items()}
    bills.keep(folder, {**bill, TOTAL: (estimated.total, run.usage)})
    return bills


async def in_thread(configs: Sequence[RunConfig]) -> Estimate:
    """Like `estimate`, beside runs that are going on, within `BESIDE`; the thread ends if the call is cancelled."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(estimate(configs, BESIDE))

    def work() -> Estimate:
        with closing(loop):
            try:
                return loop.run_until_complete(task)
            finally:  # a corpus may be half open
                loop.run_until_complete(loop.shutdown_default_executor())

    try:
        return await asyncio.to_thread(work)
    finally:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(task.cancel)


async def excess(configs: Sequence[RunConfig], by: Estimating | None = None) -> str:
    """What is said before runs that are estimated to cost more than `confirm.money`.

    Empty for others: without a limit, without a known price, or if `QUICK` seconds of dry runs stay below that sum. The estimated
    runs are taken as typical of all.

    Raises:
        UserError: as for `estimate`.
    """
    limit = min((each.confirm.money for each in configs if each.confirm.money is not None), default=None)
    prices = {alias: model.price for each in configs for alias, model in each.models.items() if model.price}
    if limit is None or not prices:
        return ""
    known = await (by(configs) if by else estimate(configs, QUICK))
    share, total = len(configs) / max(known.runs, 1), known.spent.total
    cost, calls = (total.cost or 0) * share, round(total.calls * share)
    if cost <= limit:
        return ""
    currency, how = currency_of(prices), "about" if known.runs else "at least"
    runs = f"These {len(configs)} runs are" if len(configs) > 1 else "This run is"
    based = "; ".join((price_note(prices, {}), *known.basis))
    return (
        f"{runs} estimated to cost {how} {money(cost, currency)} in {calls:,} calls ({based}).\n"
        f"That is more than confirm.money, {money(limit, currency)}."
    )


async def shortfall(configs: Sequence[RunConfig], limits: BudgetConfig) -> str:
    """What is said before runs that are estimated to need more than their budget; empty for others.

    Raises:
        BudgetError: it has too few calls for the first run.
        UserError: as for `estimate`.
    """
    if limits == BudgetConfig() or not configs:
        return ""
    calls = (await estimate(configs[:1], QUICK)).spent.total.calls
    if calls > (limits.calls or calls):
        why = f"--budget calls={limits.calls}: the first run alone is estimated to need {calls} calls"
        raise BudgetError(why, hint=f"allow more; --estimate shows the calls of all {len(configs)} runs")
    known = await estimate(configs, QUICK)
    usage = known.spent.total.times(len(configs) / max(known.runs, 1))
    return "; ".join(
        f"--budget {key}={limit:g}: {len(configs)} runs are estimated to need {need:,.6g}"
        for key, need in {"calls": usage.calls, "tokens": usage.tokens, "money": usage.cost or 0}.items()
        if (limit := getattr(limits, key)) is not None and need > limit
    )


async def _dry_runs(
    config: RunConfig, within: float, draws: int
) -> tuple[Tally, bool, float, dict[str, str]]:
    """Like `_dry_run`, the mean of runs with several seeds: those that end in time, but at least the first."""
    spent, whole, seconds, titles = await _dry_run(config, within)
    known, ended = 1, whole
    while ended and known < draws:
        more = config.model_copy(update={"seed": config.seed + known})
        stages, ended, took, _ = await _dry_run(more, within - seconds)
        seconds += took
        known += ended
        for stage, usage in stages.items() if ended else ():
            spent.pay(stage, usage)
    return Tally({stage: usage.times(1 / known) for stage, usage in spent.items()}), whole, seconds, titles


async def _dry_run(config: RunConfig, within: float) -> tuple[Tally, bool, float, dict[str, str]]:
    """The cost of one run by stage, whether it is complete, the seconds of the dry run, and the titles of stages."""
    people = {alias for alias, model in config.models.items() if model.provider == HUMAN}
    models = {alias: _offline(settled(model)) for alias, model in config.models.items()}
    config = prepare(config.model_copy(update={"models": models, "steer": (), "budget": BudgetConfig()}))
    system, roles = system_of(config), roles_of(config)
    titles = dict[str, str]()

    def emit(event: AnyEvent) -> None:
        if isinstance(event, Stage):
            titles.setdefault(event.stage, event.title)

    async with AsyncExitStack() as stack:
        config = await with_papers(config, Path(stack.enter_context(TemporaryDirectory())))
        material = await asyncio.to_thread(system.read, config)
        literature = await open_literature(stack, config)
        if system.corpus(config):
            need_team(config, literature)
        sources = [Shelf(name) for name in config.literature.cascade]
        bound = literature.meta.options.bound if isinstance(literature, Ecosystem) else None
        library = await stack.enter_async_context(Library(config.literature, bound=bound, sources=sources))
        team = system.team(config)
        recall = AuthorRecall(literature, roles.prompts, team.invitation.suggestions if team else 0)
        host = DryHost(models, config.seed, recall, config.attempts, people)
        shown = idea_references(config, literature, library, lambda line: None)
        run = Run(
            config, host, roles, shown, emit, system.result(), recall.insiders,
            library=library, material=material,
        )  # fmt: skip
        began = time.process_time()
        host.until = began + within
        try:
            await system.run(run)
            whole = True
        except TimeoutError:
            whole = False
        seconds = time.process_time() - began
    spent = Tally()
    for stage, usage in run.spent.items():
        spent.pay(titles.get(stage, stage), usage)
    return spent, whole, seconds, titles


def _offline(model: ModelConfig) -> ModelConfig:
    """Settings of a model that the offline model replaces: the same abilities, but guests are invited by fields of replies."""
    changes = {"provider": "offline", "name": OFFLINE, "base_url": None, "tools": False, "vision": model.sees}
    return model.model_copy(update=changes)


class DryHost(StructuredHost):
    """Answers every turn by the offline model, with texts `LONGER` times as long or as long as forms ask, at the models' prices.

    Args:
        people: aliases of models that cost nothing.
    """

    until = math.inf
    """Deadline of turns, in seconds of `time.process_time`; then a `TimeoutError`."""

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        seed: int,
        recall: Recall,
        attempts: int,
        people: Collection[str] = (),
    ) -> None:
        super().__init__(attempts)
        self._models, self._recall, self._people = models, recall, people
        self._model = OfflineModel(ModelConfig(seed=seed))

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        if time.process_time() > self.until:
            raise TimeoutError
        if turn.recall and (passage := await self._recall(turn)):
            *before, last = thread
            thread = (*before, replace(last, text=with_passage(turn, last.text, passage)))
        raw = await self._model.complete(turn.speaker.system, thread)
        text = _lengthened(raw.text, turn, "\n".join(message.text for message in thread))
        if turn.speaker.model in self._people:
            return Raw(text, OFFLINE)
        pictures = sum(len(message.images) for message in thread)
        read = size_of([Message(turn.speaker.system), *thread]) + IMAGE * pictures
        usage = usage_of(self._models[turn.speaker.model], read, size_of([Message(text)]))
        return Raw(text, OFFLINE, usage)


def _lengthened(text: str, turn: Turn[Any], prompt: str) -> str:
    """A reply with its own sentences repeated to the requested length, within the field's limits."""
    forms = forms_of(turn)
    try:
        reply = _longer(json.loads(text), prompt)
        for name, meaning in forms.meanings(turn.reply_type).items():
            if meaning.words and isinstance(said := reply.get(name), str) and said:
                most = meaning.words if isinstance(meaning.words, int) else meaning.words[1]
                reply[name] = " ".join(islice(cycle(said.split()), most))
        longer = json.dumps(reply, ensure_ascii=False)
        value = parse(longer, turn.reply_type, forms=forms)
    except (ValueError, UnusableReplyError):
        return text
    return text if turn.check and turn.check(value) else longer


def _longer(value: Any, prompt: str) -> Any:
    match value:
        case str() if value.rstrip().endswith((".", "!", "?")) and value not in prompt:
            return " ".join([value] * LONGER)
        case list():
            return [_longer(each, prompt) for each in cast(list[Any], value)]
        case dict():
            return {name: _longer(each, prompt) for name, each in cast(dict[str, Any], value).items()}
        case _:
            return value


class Shelf(Source):
    """A source with any number of papers on anything; the first has the title of the query."""

    def __init__(self, name: SourceName) -> None:
        self.name = name

    async def search(self, request: Request) -> list[Paper]:
        window = request.window
        day = window.last or window.after or dt.date(2020, 1, 1)
        papers = list[Paper]()
        for number in range(1 if request.operation == "paper" else request.limit):
            mark = hashlib.sha256(f"{self.name} {request.query} {number}".encode()).hexdigest()
            words = " ".join(textwrap.wrap(mark, 6))
            paper = Paper(
                id=f"{self.name}:{mark[:16]}", source=self.name, title=words if number else request.query,
                abstract=f"{words} " * (ABSTRACT // len(words)), year=day.year, date=day, citations=0,
            )  # fmt: skip
            papers.append(paper)
        return papers

    paper = papers = references = search


PATIENCE = 30.0
"""Timeout of one request, in seconds."""
QUERY = "machine learning"


async def pings(
    config: RunConfig, make_host: HostFactory, without: Collection[str] = ()
) -> list[CheckResult]:
    """The answers to one request, of each model on a server and each literature service of a run.

    Args:
        without: findings to leave out, such as a model whose key is missing.
    """
    calls = [
        _finding(f"models.{alias}", _ask(config, alias, make_host))
        for alias, model in config.models.items()
        if model.on_server and f"models.{alias}" not in without
    ]
    known = not {"roles", "literature"} & set(without)
    if known and system_of(config).searches(config, Roles(Resources.of(config.paths))):
        calls += [
            _finding(f"literature.{name}", _search(config, name))
            for name in config.literature.cascade
            if name != "local"
        ]
    return await asyncio.gather(*calls)


async def _finding(subject: str, call: Awaitable[str]) -> CheckResult:
    try:
        return CheckResult(subject, await call)
    except UserError as error:
        error.hint = error.hint and error.hint.replace(f"then: {RESUME}", "then run check again")
        return CheckResult(subject, str(error).removeprefix(f"{subject} "), error)


async def _ask(config: RunConfig, alias: str, make_host: HostFactory) -> str:
    model = config.models[alias]
    changes = {"retries": 0, "response_format": "none", "max_tokens": min(model.max_tokens or TOKENS, TOKENS)}
    brief = model.model_copy(update={**changes, "batch": False, "timeout": min(model.timeout, PATIENCE)})
    prompt = Prompts(Resources.of()).render("probe/ready.md.j2", {}).strip()
    place, speaker = Place("check", 1, "Ping", "ready"), Speaker("Ping", "probe", "", alias)
    host, began = make_host({alias: brief}, recall_nothing, 1), time.monotonic()
    assert isinstance(host, StructuredHost)
    try:
        message = Message(prompt)
        async with asyncio.timeout(PATIENCE):
            raw = await host.native(Turn(place, speaker, (message,), ReplyModel), (message,), [])
    except TimeoutError as error:
        hint = "check whether the server is busy"
        raise ModelError(f"models.{alias}: no answer within {PATIENCE:g} s", hint=hint) from error
    finally:
        await host.close()
    usage, currency = raw.usage, model.price and model.price.currency
    cost = "no price known" if usage.cost is None else f"cost {money(usage.cost, currency)}"
    return (
        f"{model.provider}/{model.name} answered in {time.monotonic() - began:.1f} s: "
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"
    )


async def _search(config: RunConfig, name: SourceName) -> str:
    changes = {"retries": 0, "patience": min(config.literature.patience, PATIENCE)}
    source, began = connect(name, config.literature.model_copy(update=changes)), time.monotonic()
    papers = await source.look_up(Request("search", QUERY, 1))
    return (
        f"answered in {time.monotonic() - began:.1f} s: {count(len(papers), 'paper')} for {QUERY!r}, no cost"
    )
