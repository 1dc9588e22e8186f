"""Parts of a review as tools for other apps: the critique of a figure, the novelty of an abstract."""

import asyncio

from pydantic import Field

from manyheads.base.errors import DocumentError
from manyheads.base.files import expanded
from manyheads.config import Strict
from manyheads.documents import PictureError, picture_in
from manyheads.documents.figures import LABEL
from manyheads.systems.mamorx.figures import Exhibit, critic_of
from manyheads.systems.mamorx.novelty import assess_text
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.result import FigureNote
from manyheads.team.system import Service
from manyheads.team.tools import ToolRefusedError

FIGURE, NOVELTY = "critique_figure", "assess_novelty"


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
        shown = await asyncio.to_thread(picture_in, expanded(asked.image), pixels)
        exhibit = Exhibit(1, note, shown, "")
    except DocumentError as error:
        exhibit = Exhibit(1, note, None, error.why if isinstance(error, PictureError) else "unreadable")
    critic = await critic_of(run, asked.title.strip(), asked.abstract.strip(), (note,), bool(exhibit.picture))
    found = await critic.judge(exhibit)
    return _told(run, FIGURE, bool(found.description or found.critique), figure=found)


async def assess_novelty(run: MamorxRun, asked: NoveltyArguments) -> str:
    """The novelty of a title and an abstract compared with the papers that the literature layer finds.

    Raises:
        ToolRefusedError: it could not be assessed; the message has the reason.
    """
    novelty = await assess_text(run, asked.title.strip(), asked.abstract.strip())
    return _told(run, NOVELTY, novelty.verdict != "not assessed", novelty=novelty)


def _told(run: MamorxRun, name: str, done: bool, **variables: object) -> str:
    text = run.roles.prompts.render(f"tools/{name}.md.j2", variables).strip()
    if not done:
        raise ToolRefusedError(text)
    return text


SERVICES = (
    Service(FIGURE, FigureArguments, critique_figure),
    Service(NOVELTY, NoveltyArguments, assess_novelty),
)
