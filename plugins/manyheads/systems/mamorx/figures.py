"""The figure critic: one figure at a time, with title, abstract and all captions (MAMORX, §3.1, App. A.3).

Frameworks and servers may drop pictures silently. So the critic first names the colours of a test picture; if it cannot, it is
asked about captions and text only, and the result says so.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import BugError, DocumentError, ModelError
from manyheads.base.files import replace_bytes
from manyheads.base.folders import door, writing
from manyheads.core import Image, Speaker, led, together
from manyheads.documents import Figure, PictureError, picture
from manyheads.models.abilities import COLOURS, colours_in, image_of_bands
from manyheads.models.governor import DownError
from manyheads.systems.mamorx.desk import FIGURES, note_of
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.replies import CaptionCritique, Colours, FigureCritique, FigureDescription
from manyheads.systems.mamorx.result import FigureNote
from manyheads.team.run import Question

R = TypeVar("R", bound=ReplyModel)
ROLE = "figure_critic"
FOLDER = "figures"  # for the pictures, in a run's folder
MENTIONS = 12  # passages about a figure that a critic sees
SMALL = 8.0  # minimum height and width of a figure, in points
Why = Literal[
    "", "asked", "beyond", "blind", "missing", "small", "large", "unreadable", "unanswered", "failed", "nothing", "page",
]  # fmt: skip
"""Reasons why a figure was not seen or not criticised; texts in `partials/unseen.md.j2`."""


@dataclass(frozen=True)
class Exhibit:
    """A figure for its critic: its PNG, or why there is none, the problem for the user, and what the text says about it."""

    number: int
    note: FigureNote
    picture: bytes | None = None
    why: Why = "missing"
    problem: str = ""
    mentions: Sequence[str] = ()


@dataclass
class Critic:
    """The critic of a paper's figures, with its title, its abstract and all captions; `sees` the pictures or not."""

    run: MamorxRun
    speaker: Speaker
    paper: dict[str, Any]
    sees: bool = False

    @classmethod
    async def of(
        cls, run: MamorxRun, title: str, abstract: str, captions: Sequence[FigureNote], *, pictures: bool
    ) -> "Critic":
        """Its model's vision is tested if there are pictures."""
        paper = {"title": title, "abstract": abstract, "captions": captions}
        critic = cls(run, run.speaker(ROLE, "Figure critic", area=run.settings.area), paper)
        critic.sees = pictures and await critic._names_colours()
        return critic

    async def judge(self, exhibit: Exhibit) -> FigureNote:
        """The note of a figure, with description and critique."""
        note, why = exhibit.note, exhibit.why
        if exhibit.picture and self.sees:
            images = (Image(exhibit.picture),)
            shown = {"figure": note.name, "whole_page": exhibit.why == "page"}
            described, criticised = await together(
                self._in_words("describe", FigureDescription, exhibit, shown, images),
                self._in_words("critique", FigureCritique, exhibit, {**shown, **self.paper}, images),
            )
            if described or criticised:
                why = self.reason(why if criticised else "failed")
                found = {"description": described, "critique": criticised, "seen": True, "why": why}
                return note.model_copy(update=found)
            why = "unanswered"
        elif exhibit.picture:
            why = "blind"
        if not note.caption and not exhibit.mentions:
            return note.model_copy(update={"why": self.reason("nothing")})
        mentions, more = exhibit.mentions[:MENTIONS], len(exhibit.mentions[MENTIONS:])
        shown = {**self.paper, "figure": note.name, "mentions": mentions, "more_mentions": more}
        said = await self._in_words("captions", CaptionCritique, exhibit, shown)
        return note.model_copy(update={"critique": said, "why": self.reason(why if said else "failed")})

    async def _in_words(
        self,
        task: str,
        like: type[R],
        exhibit: Exhibit,
        shown: dict[str, Any],
        images: tuple[Image, ...] = (),
    ) -> str:
        """A reply in words; empty if there is no usable one. Raises `DownError`."""
        try:
            return self.run.wording(await self._ask(exhibit.number, task, like, shown, images))
        except DownError:
            raise
        except ModelError as error:
            self.run.warn(FIGURES, f"{exhibit.note.name}: {error.message}")
            return ""

    async def _ask(
        self, number: int, task: str, like: type[R], shown: dict[str, Any], images: tuple[Image, ...]
    ) -> R:
        question = Question(FIGURES, number, self.speaker, ROLE, task, shown, images=images, spare=True)
        reply = await self.run.ask(question, like)
        self.run.result.count(FIGURES)
        return reply.value

    async def _names_colours(self) -> bool:
        """Whether the model sees pictures: it names the colours of one that is sent like a figure.

        The offline model sees nothing; with `vision: true` it is asked anyway, which shows the cost of a run.
        """
        config = self.run.config.models[self.speaker.model]
        offline = config.provider == "offline"
        if not config.sees or (offline and not config.vision):
            return False
        unseen = f"{config.name} is shown no figures"
        try:
            said = await self._ask(1, "look", Colours, {}, (Image(image_of_bands()),))
        except DownError:
            raise
        except ModelError as error:
            self.run.warn(FIGURES, f"{unseen}: {error.message}")
            return False
        bands = [colours_in(band) for band in (said.left, said.middle, said.right)]
        if seen := offline or bands == [(one,) for one in COLOURS]:
            return seen
        self.run.warn(FIGURES, f"{unseen}: it did not name the colours of a test picture")
        return False

    def reason(self, why: Why) -> str:
        return reason(self.run, why, model=self.run.config.models[self.speaker.model].name)


def reason(run: MamorxRun, why: Why, *, model: str = "") -> str:
    """Why a figure was not seen or not criticised, in words."""
    shown = {"why": why, "model": model, "count": run.settings.figures.most}
    return run.roles.prompts.render("partials/unseen.md.j2", shown).strip()


async def critique(run: MamorxRun) -> None:
    """Describe and criticise all figures of the paper at the same time; fills `figures` of the result.

    A failure is recorded in the figure's note.

    Raises:
        BudgetError: the budget is spent; finished notes are kept.
    """
    paper, settings, result = run.material, run.settings.figures, run.result
    figures = paper.document.figures
    notes = [*map(note_of, figures)]
    waiting, beyond = reason(run, "asked"), reason(run, "beyond")
    result.figures = [
        note.model_copy(update={"why": waiting if at < settings.most else beyond})
        for at, note in enumerate(notes)
    ]
    if (left_out := len(figures) - settings.most) > 0:
        run.warn(FIGURES, f"{left_out} figures are left out: figures.most is {settings.most}")
    files = _files(figures)
    drawable = bool(paper.document.pages) or any(one.files for one in figures)
    critic = asyncio.ensure_future(Critic.of(run, paper.title, paper.abstract, notes, pictures=drawable))

    async def judge(at: int) -> None:
        try:
            with door(run.folder):
                exhibit = await asyncio.to_thread(_exhibit, run, at, notes[at], files[at])
                if exhibit.problem:
                    run.warn(FIGURES, f"{exhibit.note.name}: {exhibit.problem}")
                result.figures[at] = await (await critic).judge(exhibit)
        except (BugError, DownError) as error:
            what = notes[at].name if isinstance(error, BugError) else "figures are not assessed"
            if (told := f"{what}: {error.message}") not in run.warned.get(FIGURES, ()):
                run.warn(FIGURES, told)
            result.figures[at] = notes[at].model_copy(update={"why": reason(run, "failed")})

    shown = range(min(len(figures), settings.most))
    await led(judge, shown[:1], shown[1:], batch=run.config.in_batches)  # all begin with all captions


def _files(figures: Sequence[Figure]) -> list[str]:
    """A safe file name for each figure: its number is untrusted text."""
    stems = [re.sub(r"[^a-z0-9]+", "-", one.number.casefold()).strip("-")[:20] or "x" for one in figures]
    again = [stems[:at].count(stem) for at, stem in enumerate(stems)]
    return [
        f"{FOLDER}/figure-{stem}{f'-again-{count}' if count else ''}.png"
        for stem, count in zip(stems, again, strict=True)
    ]


def _exhibit(run: MamorxRun, at: int, note: FigureNote, file: str) -> Exhibit:
    """A figure with its picture, stored in the run's folder so that a resumed run shows the same bytes."""
    paper, figure = run.material, run.material.document.figures[at]
    number = rf"(?i)\bfig(?:ure|\.)?s?\.?\s*{re.escape(figure.number)}(?![\d.]*\d)"
    mentions = tuple(one.text for one in paper.passages if re.search(number, one.text))
    left, top, right, bottom = figure.box or (0, 0, 0, 0)
    if not figure.files and min(right - left, bottom - top) < SMALL:  # too small to be seen on the page
        figure = figure.model_copy(update={"box": None})
    path = run.folder and run.folder / file
    try:
        if path and path.is_file():
            shown = path.read_bytes()
        else:
            shown = picture(paper.path, figure, run.settings.figures.pixels)
            if path:
                with writing(path.parent):
                    path.parent.mkdir(exist_ok=True)
                    replace_bytes(path, shown)
    except DocumentError as error:
        why = error.why if isinstance(error, PictureError) else "unreadable"
        return Exhibit(at + 1, note, None, why, "" if why == "missing" else error.message, mentions)
    note = note.model_copy(update={"image": file if path else None})
    return Exhibit(at + 1, note, shown, "" if figure.files or figure.box else "page", "", mentions)
