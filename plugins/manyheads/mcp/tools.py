"""The tools of `manyheads mcp`: literature, reviews, ideas, and runs of any config. A tool's docstring is what clients read."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial, wraps
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, Field

from manyheads.base.errors import ConfigError
from manyheads.base.files import make_folder
from manyheads.base.folders import write
from manyheads.base.papers import Paper, SourceName, web_address
from manyheads.base.text import printable
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import Usage
from manyheads.core.events import Searched
from manyheads.core.results import currency_of
from manyheads.engine.estimate import LONGER, estimate
from manyheads.literature.search import search
from manyheads.mcp.runs import WHOLE, RunAnswer, ServedRuns
from manyheads.mcp.sdk import Context, MCPServer, ToolError, annotations, told_as
from manyheads.suites.reviews import review_of, reviewer_of, texts_of

UPLOADS = "uploads"
NO_KEYS: dict[str, Any] = {}
MOST_WORDS = 12
"""Words of a paper's file name; more are a text."""
SECONDS = 45.0
"""The default of `wait`: below the limit of most clients."""
WAIT = "Seconds to wait for the end; then the run continues, and read_result follows it. Many clients give up after 60."

# The arguments, as clients read of them.
Ctx = Context[Any, Any]
Text = Annotated[str, Field(max_length=4_000_000)]
Wait = Annotated[float, Field(ge=0, le=WHOLE, description=WAIT)]
Limits = Annotated[BudgetConfig | None, Field(description="Limits of this run, below those of the server.")]
Run = Annotated[
    str, Field(max_length=300, description="A run's name, as the tool that started it returned it.")
]
Request = Annotated[str, Field(max_length=300, description="The id of the question, from read_result.")]
Answer = Annotated[dict[str, Any], Field(description="The person's answer, by the fields of the form.")]
Format = Annotated[
    Literal["md", "bib", "ris", "csl", "json", "csv"], Field(description="bib, ris, csl: references")
]
Config = Annotated[
    str, Field(max_length=1_000, description="A shipped config or system, or a file in the folder.")
]
Inputs = Annotated[dict[str, Any], Field(description="Inputs of the system, such as topic or background.")]
Settings = Annotated[dict[str, Any], Field(description="Keys of the config, such as team.size. Not models.")]
Stages = Annotated[
    tuple[str, ...], Field(max_length=20, description="Stages after which a person steers, or all.")
]
Manuscript = Annotated[
    Text, Field(description="A file in the folder, an arXiv number, DOI or link, or the text.")
]
Form = Annotated[
    str, Field(max_length=100, description="A review form: mamorx, neurips, iclr, conference, …")
]
Idea = Annotated[Text, Field(description="A text, or a text file or run folder in the server's folder.")]
Ideas = Annotated[list[Idea], Field(min_length=1, max_length=50)]
Background = Annotated[Text, Field(description="What is known and what is missing; a text or a file.")]
Topic = Annotated[Text, Field(description="Instead of a background: a topic for a team of scientists.")]
Target = Annotated[Text, Field(description="The abstract whose idea is ranked with the others.")]
Query = Annotated[str, Field(max_length=1_000, description="Two to eight plain keywords. No operators.")]
Sources = Annotated[
    tuple[SourceName, ...], Field(description="In order; local is the corpus. Default: the server's.")
]
Before = Annotated[
    str, Field(max_length=20, description="Only papers before this year or date; any for all.")
]
Count = Annotated[int, Field(ge=1, le=200)]


class SearchAnswer(BaseModel):
    """What a search has found."""

    papers: list[Paper]
    not_searched: list[str]
    """Sources that failed: there may be more papers."""


class EstimateAnswer(BaseModel):
    """What a run is expected to use. No model was asked."""

    stages: dict[str, Usage]
    total: Usage
    currency: str | None
    basis: list[str]
    """By which finished runs it is corrected, or why not."""
    note: str = (
        f"From a dry run of the offline model, replies taken {LONGER} times as long. Reasoning costs more."
    )


def add_tools(server: MCPServer[Any], served: ServedRuns) -> None:
    """Add all tools, each with what it does to the world: a client need not ask before one that only reads."""
    tools = Tools(served)
    looks, reads = annotations(reads=True), annotations(reads=True, open_world=False)
    for tool in (tools.search_papers, tools.estimate):
        server.add_tool(telling(tool), annotations=looks)
    for tool in (tools.read_result, tools.list_runs):
        server.add_tool(telling(tool), annotations=reads)
    for tool in (
        tools.review_paper, tools.assess_novelty, tools.propose_ideas, tools.refine_idea, tools.rank_ideas,
        tools.compare_ideas, tools.run, tools.resume, tools.steer,
    ):  # fmt: skip
        server.add_tool(telling(tool), annotations=annotations(reads=False))
    server.add_tool(
        telling(tools.stop), annotations=annotations(reads=False, destroys=True, open_world=False)
    )


def telling(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The tool, whose users' errors say what is wrong and what to do next."""

    @wraps(tool)
    async def told(*args: Any, **kwargs: Any) -> Any:
        with told_as(ToolError):
            return await tool(*args, **kwargs)

    return told


class Tools:
    """The tools of a server, as clients see them."""

    def __init__(self, served: ServedRuns) -> None:
        self._served, self._bounds = served, served.bounds

    async def search_papers(
        self, ctx: Ctx, query: Query, limit: Count = 10, sources: Sources = (), before: Before = ""
    ) -> SearchAnswer:
        """Search published papers by keywords, the best match first. Reads only; asks no model."""
        wanted = {"literature.cascade": list(sources), "literature.before": before}
        settings = {key: value for key, value in wanted.items() if value}
        config = await asyncio.to_thread(self._bounds.config, "virsci", {}, settings)
        asked, sent = list[Searched](), list[asyncio.Task[None]]()

        def note(entry: Searched) -> None:
            asked.append(entry)
            message = f"{entry.source}: {entry.outcome}"
            sent.append(asyncio.create_task(ctx.report_progress(len(asked), None, message)))

        findings = await search(config, query, limit, note)
        await asyncio.gather(*sent)
        return SearchAnswer(papers=list(findings.papers), not_searched=sorted(findings.degraded))

    async def estimate(
        self, config: Config, inputs: Inputs = NO_KEYS, settings: Settings = NO_KEYS
    ) -> EstimateAnswer:
        """Calls, tokens and cost that a run is expected to use, by stage. Reads only; asks no model."""
        made = await asyncio.to_thread(self._bounds.config, config, inputs, settings)
        known = await asyncio.to_thread(asyncio.run, estimate([made], 60.0))
        prices = {alias: model.price for alias, model in made.models.items() if model.price}
        total, currency = known.spent.total, currency_of(prices)
        return EstimateAnswer(stages=dict(known.spent), total=total, currency=currency, basis=known.basis)

    async def review_paper(
        self, ctx: Ctx, paper: Manuscript, form: Form = "", wait: Wait = SECONDS, budget: Limits = None
    ) -> RunAnswer:
        """Review a paper or an abstract by a committee of agents; each point names its source. Spends."""
        return await self._served.followed(ctx, wait, self._begin_review, paper.strip(), form, budget)

    async def assess_novelty(
        self, ctx: Ctx, idea: Idea, wait: Wait = SECONDS, budget: Limits = None
    ) -> RunAnswer:
        """Search for work similar to an idea, round by round, and score its novelty from 0 to 10. Spends."""
        return await self._start(ctx, "idea-novelty", {"ideas": [idea]}, wait, budget)

    async def propose_ideas(
        self,
        ctx: Ctx,
        background: Background = "",
        topic: Topic = "",
        wait: Wait = SECONDS,
        budget: Limits = None,
    ) -> RunAnswer:
        """Propose ideas: for a background from the literature (SciPIP), or on a topic by a team (VirSci). Spends."""
        if bool(background.strip()) == bool(topic.strip()):
            hint = "a team of scientists takes a topic"
            raise ConfigError("give either a background or a topic", hint=hint)
        if topic.strip():
            return await self._start(ctx, "virsci", {"topic": topic}, wait, budget)
        return await self._start(ctx, "scipip", {"background": background}, wait, budget)

    async def refine_idea(
        self, ctx: Ctx, idea: Idea, background: Background = "", wait: Wait = SECONDS, budget: Limits = None
    ) -> RunAnswer:
        """Improve an idea by review and rebuttal, until there is no further improvement. Spends."""
        return await self._start(ctx, "rebuttal", {"idea": idea, "background": background}, wait, budget)

    async def rank_ideas(
        self, ctx: Ctx, ideas: Ideas, target: Target, wait: Wait = SECONDS, budget: Limits = None
    ) -> RunAnswer:
        """Rank ideas together with a target idea, blind and in several orders. Spends."""
        return await self._start(ctx, "ranking", {"ideas": ideas, "target": target}, wait, budget)

    async def compare_ideas(
        self, ctx: Ctx, ideas: Ideas, wait: Wait = SECONDS, budget: Limits = None
    ) -> RunAnswer:
        """Compare ideas, blind and in balanced orders, by four criteria and overall. Spends."""
        return await self._start(ctx, "idea-comparison", {"ideas": ideas}, wait, budget)

    async def run(
        self, ctx: Ctx, config: Config, inputs: Inputs = NO_KEYS, settings: Settings = NO_KEYS, steer: Stages = (),
        wait: Wait = SECONDS, budget: Limits = None,
    ) -> RunAnswer:  # fmt: skip
        """Run any system or config. Spends."""
        make = partial(self._bounds.config, config, inputs, settings, steer)
        return await self._served.followed(ctx, wait, self._served.start, make, budget)

    async def resume(self, ctx: Ctx, run: Run, wait: Wait = SECONDS, budget: Limits = None) -> RunAnswer:
        """Resume a stopped or failed run; finished turns are not asked again. Spends."""
        return await self._served.followed(ctx, wait, self._served.resume, run, budget)

    async def steer(
        self, ctx: Ctx, run: Run, request: Request, answer: Answer, wait: Wait = SECONDS
    ) -> RunAnswer:
        """Pass on a person's answer to a run that waits for it. Ask them; do not answer for them. Spends."""
        return await self._served.followed(ctx, wait, self._served.steer, run, request, answer)

    async def read_result(self, ctx: Ctx, run: Run, form: Format = "md", wait: Wait = 0) -> RunAnswer:
        """How a run stands, and its result; with `wait`, after its end. Reads only."""
        if wait:
            await self._served.follow(ctx, run, wait, stops=False)
        return await asyncio.to_thread(self._served.answer, run, form)

    async def list_runs(self, limit: Count = 20) -> list[RunAnswer]:
        """The runs in the server's folder, newest first. Reads only."""
        return await asyncio.to_thread(self._served.listed, limit)

    async def stop(self, run: Run) -> RunAnswer:
        """Stop a run after its running turns. Finished turns are kept; resume continues it."""
        self._served.stop(run)
        return await asyncio.to_thread(self._served.answer, run)

    async def _start(
        self, ctx: Ctx, system: str, inputs: dict[str, Any], wait: float, budget: BudgetConfig | None
    ) -> RunAnswer:
        make = partial(self._bounds.config, system, inputs, {})
        return await self._served.followed(ctx, wait, self._served.start, make, budget)

    async def _begin_review(self, paper: str, form: str, budget: BudgetConfig | None) -> str:
        """A text is saved, so that a resumed run reads it again; it does not stay if no run begins."""
        with ExitStack() as unless_begun:
            source = await asyncio.to_thread(self._source, paper, unless_begun)
            name = await self._served.start(partial(self._review, source, form), budget)
            unless_begun.pop_all()
        return name

    def _source(self, paper: str, unless_begun: ExitStack) -> str:
        """A paper's address or file; that of a text is a new one."""
        if web_address(paper):
            return paper
        if "\n" not in paper and len(paper.split()) <= MOST_WORDS:
            return str(self._bounds.path(paper))
        folder = self._served.runs.folder / UPLOADS
        make_folder(folder)
        file = folder / f"{uuid4().hex[:16]}.md"
        unless_begun.callback(file.unlink, missing_ok=True)
        write(file, printable(paper))
        return str(file)

    def _review(self, source: str, form: str) -> RunConfig:
        texts = texts_of(source)
        if len(texts) != 1:
            raise ConfigError(f"{source[:200]}: has {len(texts)} texts", hint="name one of them")
        system, own = reviewer_of(texts, form or None, self._bounds.resources)
        settings = {f"{system.name}.{key}": value for key, value in own.items()}
        return self._bounds.checked(review_of(self._bounds.config(system.name, {}, settings), texts[0]))
