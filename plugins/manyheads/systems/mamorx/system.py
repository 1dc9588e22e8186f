"""MAMORX: a committee reviews a real paper, with its figures, its references and related published work.

Two parts of it are tools for other apps: the critique of a figure, the novelty of an abstract.
"""

import asyncio

from pydantic import Field

from manyheads.base.errors import DocumentError
from manyheads.base.files import expanded
from manyheads.config import Strict
from manyheads.documents import PictureError, picture_in
from manyheads.documents.figures import LABEL
from manyheads.systems.equal_cost import resolve
from manyheads.systems.mamorx import config, report
from manyheads.systems.mamorx.committee import mamorx
from manyheads.systems.mamorx.desk import tool_answer
from manyheads.systems.mamorx.figures import ROLE, Critic, Exhibit
from manyheads.systems.mamorx.novelty import assess_text
from manyheads.systems.mamorx.paper import MamorxRun, read_paper
from manyheads.systems.mamorx.result import FigureNote, MamorxResult
from manyheads.systems.mamorx.review import ReviewForm, check, form_names
from manyheads.systems.mamorx.tools import TOOLS
from manyheads.team.system import Reviews, Service, System

CRITIQUE, ASSESS = "critique_figure", "assess_novelty"


class FigureArguments(Strict):
    image: str = Field(min_length=1)
    caption: str = ""
    title: str = ""
    abstract: str = ""


class NoveltyArguments(Strict):
    title: str = Field(min_length=1)
    abstract: str = Field(min_length=1)


async def critique_figure(run: MamorxRun, asked: FigureArguments) -> str:
    """The figure critic's note of one picture with its caption.

    Raises:
        ToolRefusedError: there is neither a picture that the model can see nor a caption.
    """
    label = LABEL.match(caption := asked.caption.strip())
    note = FigureNote(name=f"Figure {label[2] if label else 1}", caption=label[4] if label else caption)
    try:
        pixels = run.settings.figures.pixels
        exhibit = Exhibit(1, note, await asyncio.to_thread(picture_in, expanded(asked.image), pixels), "")
    except DocumentError as error:
        exhibit = Exhibit(1, note, None, error.why if isinstance(error, PictureError) else "unreadable")
    seen = bool(exhibit.picture)
    critic = await Critic.of(run, asked.title.strip(), asked.abstract.strip(), (note,), pictures=seen)
    found = await critic.judge(exhibit)
    return tool_answer(run, CRITIQUE, refuse=not (found.description or found.critique), figure=found)


async def assess_novelty(run: MamorxRun, asked: NoveltyArguments) -> str:
    """The novelty of a title and an abstract compared with the papers that the literature layer finds.

    Raises:
        ToolRefusedError: it could not be assessed; the message has the reason.
    """
    novelty = await assess_text(run, asked.title.strip(), asked.abstract.strip())
    return tool_answer(run, ASSESS, refuse=novelty.verdict == "not assessed", novelty=novelty)


MAMORX = System(
    name="mamorx",
    title="MAMORX",
    class_name="MAMORX",
    about="A committee that reviews a paper from its file; each point names its source in the paper.",
    config=config.MamorxConfig,
    inputs=config.MamorxInputs,
    result=MamorxResult,
    run=mamorx,
    essence=report.essence,
    details=report.details,
    work=report.work,
    annotated=report.annotated_paper,
    table=lambda result: result.review.claims if result.review else (),
    report=report.report,
    needs=config.needs,
    corpus=config.uses_corpus,
    searches=config.searches,
    pictures=frozenset({ROLE}),
    prepare=resolve,
    check=check,
    read=read_paper,
    reviews=Reviews(
        "paper",
        "papers",
        lambda resources: {form: {"form": form} for form in form_names(resources)},
        report.scores,
    ),
    tools=TOOLS,
    services=(
        Service(CRITIQUE, FigureArguments, critique_figure),
        Service(ASSESS, NoveltyArguments, assess_novelty),
    ),
    steers=config.STEERS,
    extras=("papers",),
    files={"prompts/review_leader/form.schema.json": ReviewForm},
)
