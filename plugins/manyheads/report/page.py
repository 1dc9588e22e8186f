"""The page of a report: common parts of all reports, and writing.

Texts come from models and papers: they are escaped and stripped of control characters; there is no script.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from traceback import extract_tb
from typing import Any, Generic, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, TemplateSyntaxError
from typing_extensions import TypeVar

from manyheads.asking.replies import Abstract, Ratings, label
from manyheads.base.compiled import Compiled
from manyheads.base.errors import JournalError
from manyheads.base.files import replace_text
from manyheads.base.folders import LABELS
from manyheads.base.text import count, rounded
from manyheads.config import label_words
from manyheads.core import Tally, Usage
from manyheads.core.events import Said, Searched, Stage
from manyheads.core.results import Evidence, Person, PersonWord
from manyheads.core.texts import run_and_number
from manyheads.literature.lookup import LEDGER, SearchLedger
from manyheads.report.drawing import hue, hues
from manyheads.report.labels import in_words, texts_of
from manyheads.report.record import Record, section
from manyheads.report.references import bibtex, links_of
from manyheads.report.talk import Round, rounds
from manyheads.report.top import (
    REPORT,
    Measured,
    RelatedRun,
    first_sentences,
    place,
    read_measure,
    report_link,
    without_places,
)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
R = TypeVar("R", default=Any)
SECTIONS = tuple(name for name in Abstract.model_fields if name != "title")
POINT = re.compile(r"\s*[-*•]\s+(?=\S)")
"""Before a point of a list."""
FOLD_AT = 3000
"""Texts longer than this many characters are folded."""
SOURCES = {
    "local": "The corpus", "semantic_scholar": "Semantic Scholar", "openalex": "OpenAlex", "arxiv": "arXiv",
    "crossref": "Crossref", "pubmed": "PubMed",
}  # fmt: skip


@dataclass(frozen=True)
class Share:
    """A row of the usage tables: `part` is its share of the cost, of the tokens where there is no price, 0 to 1."""

    name: str
    usage: Usage
    seconds: float
    part: float


@dataclass(frozen=True)
class Page(Generic[R]):
    """Common data of reports."""

    record: Record

    @property
    def result(self) -> R:
        """The system's own part of the result."""
        return self.record.result.result

    @cached_property
    def said(self) -> list[Said]:
        return self.record.of(Said)

    @cached_property
    def stages(self) -> list[Share]:
        """Usage and model time of each stage, in order; unused calls last."""
        usage, begun = self.record.result.usage, self.record.of(Stage)
        spent, titles = usage.by_stage, {stage.stage: stage.title for stage in reversed(begun)}
        names = dict.fromkeys([*(each.stage for each in begun if each.stage in spent), *spent])
        seconds = {n: sum(said.seconds for said in self.said if said.stage == n) for n in names}
        rows = [(titles.get(n, n), spent[n], seconds[n]) for n in names]
        return _shares(rows, "unused calls", usage.unused)

    @cached_property
    def speakers(self) -> list[Share]:
        """Usage and model time of each speaker, most tokens first; calls without a speaker last."""
        return self._shares_by(lambda said: said.speaker)

    @cached_property
    def models(self) -> list[Share]:
        """Usage and model time of each model, by its server's name."""
        return self._shares_by(lambda said: said.model)

    def _shares_by(self, key: Callable[[Said], str]) -> list[Share]:
        usage, seconds = Tally(), dict[str, float]()
        for said in self.said:
            usage.pay(key(said), said.usage)
            seconds[key(said)] = seconds.get(key(said), 0.0) + said.seconds
        rows = [(name, used, seconds[name]) for name, used in usage.items()]
        rows.sort(key=lambda row: -row[1].tokens)
        return _shares(rows, "other calls", self.record.result.usage.beyond(usage.total))

    @cached_property
    def unwritten(self) -> frozenset[str]:
        return self.record.unwritten()

    @cached_property
    def ledger(self) -> SearchLedger:
        """From the run's folder, else from the events. Raises `JournalError` if it cannot be read."""
        path = self.record.folder / LEDGER
        if path.is_file():
            return SearchLedger(path)
        ledger = SearchLedger()
        for event in self.record.of(Searched):
            ledger.note(event)
        return ledger

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The runs among the inputs, each with the link to its report; one of their ideas as `RUN#NUMBER`."""
        inputs, folder = section(self.record.config, "inputs").values(), self.record.folder
        named = [
            one for each in inputs for one in (cast(list[object], each) if isinstance(each, list) else [each])
        ]
        links = {one: report_link(run_and_number(str(folder / one))[0], folder) for one in map(str, named)}
        return [(Path(one).name, link) for one, link in links.items() if link]

    @property
    def searches(self) -> dict[tuple[str, str], list[Searched]]:
        """Searches by operation and query, each with all its look-ups."""
        searches: dict[tuple[str, str], list[Searched]] = {}
        for entry in self.ledger.entries:
            searches.setdefault((entry.operation, entry.query), []).append(entry)
        return searches

    @cached_property
    def hues(self) -> dict[str, int]:
        """The colour of each scientist."""
        talk = [said.speaker for said in self.said if said.part != "candidate"]
        team = getattr(self.result, "team", None)  # of another package's system, it may be anything
        people = [each.name for each in team if isinstance(each, Person)] if isinstance(team, list) else []
        return hues([*talk, *people, *(said.speaker for said in self.said)])

    @cached_property
    def talk(self) -> list[tuple[str, list[Round]]]:
        """Everything that was said, by stage."""
        titles = {stage.stage: stage.title for stage in self.record.of(Stage)}
        stages = dict.fromkeys([*titles, *(said.stage for said in self.said)])
        return [(titles.get(each) or each, rounds(self.record, each)) for each in stages]

    @cached_property
    def key_figures(self) -> list[tuple[str, float]]:
        """The numbers of the result outside its lists, each with its path."""
        return [*numbers(self.record.result.result.model_dump(mode="json"))]

    @property
    def finished(self) -> bool:
        return self.record.result.finished

    @property
    def mixed(self) -> bool:
        """Whether only some texts were written by a language model."""
        return bool(self.unwritten) and len(self.unwritten) < len(self.record.models())

    @property
    def marked(self) -> frozenset[str]:
        """Labels of models to mark on each text; none if all texts are alike, as a section then says so once."""
        return self.unwritten if self.mixed else frozenset()

    @cached_property
    def measured(self) -> Measured | None:
        """The measures that `manyheads measure` has saved in the run folder."""
        return read_measure(self.record.folder)

    @cached_property
    def humans(self) -> frozenset[str]:
        """Speakers whom a person played."""
        return frozenset(said.speaker for said in self.said if said.by_person)

    @property
    def played(self) -> list[tuple[str, int]]:
        """Roles' speakers whom a person played, with their numbers of answers."""
        words = self.record.result.people
        return list(Counter(word.speaker for word in words if word.action == "reply").items())

    @property
    def steering(self) -> list[PersonWord]:
        """What the person decided who steered; of an edit only the text."""
        words = [word for word in self.record.result.people if word.action != "reply"]
        return [word for word in words if word.task != "steer" or word.action not in ("edit", "add")]

    @property
    def replayed(self) -> bool:
        """Whether all replies come from the record of an earlier run."""
        return set(self.record.models().values()) == {"replay"}

    def home(self, source: str | None) -> str:
        """The relative link to the report of a source that is a run, else empty."""
        return report_link(Path(source), self.record.folder) if source and source.startswith("/") else ""

    def cited(self, ids: Iterable[str]) -> list[Evidence]:
        """Evidence by ids."""
        return self.record.result.cited(ids)


def numbers(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of nested mappings, each with its path."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from numbers(cast(Mapping[str, Any], value), f"{above}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{above}{key}", value


def _shares(rows: list[tuple[str, Usage, float]], name: str, rest: Usage) -> list[Share]:
    """Rows with their shares, and a row for the rest if there is any."""
    rows = [*rows, (name, rest, 0)] if rest.calls else rows
    priced = any(usage.cost for _, usage, _ in rows)
    sizes = [(usage.cost or 0.0) if priced else usage.tokens for _, usage, _ in rows]
    total = sum(sizes) or 1
    return [Share(*row, size / total) for row, size in zip(rows, sizes, strict=True)]


PLAIN = "manyheads.report"
"""The package with the plain page, for systems without a template of their own."""


@dataclass(frozen=True)
class View:
    """A system's view of a run: the package with its `report.html.j2`, and its data."""

    package: str
    page: Page
    shown: Mapping[str, object] = field(default_factory=dict[str, object])


def write_page(folder: Path, view: View, related: Sequence[RelatedRun] = ()) -> Path:
    """Write `report.html` into a run folder, as one self-contained file.

    Args:
        related: runs that review or judge this one.

    Raises:
        JournalError: the report cannot be written.
    """
    record = view.page.record
    base = {"page": view.page, "record": record, "run": record.result, "result": view.page.result}
    shown = {**base, "related": related, **view.shown}
    html = render(view.package, "report.html.j2", shown)
    code = code if re.fullmatch(r"[a-z]{2}(-\w+)?", code := record.result.language or "") else ""
    words = label_words(file) if (file := folder / LABELS).is_file() else section(record.config, "labels")
    if words:
        html = in_words(html, words, texts_of(folder))
        html = html.replace('<html lang="en">', f'<html lang="{code}">')
    if code := ("en" if words else "") if record.result.offline else code:
        html = html.replace(' class="prose', f' lang="{code}" class="prose')
    return write_html(folder, html)


def render(package: str, template: str, shown: Mapping[str, object]) -> str:
    """Render a template of a package, which may extend `base.html.j2`."""
    return _environment(package).get_template(template).render(**shown)


def place_of(error: BaseException | None) -> str:
    """Where a template failed, such as `my_package/report.html.j2:3: `; empty if no template did."""
    frames = [(each.filename, each.lineno) for each in extract_tb(error and error.__traceback__)]
    if isinstance(error, TemplateSyntaxError):
        frames.append((error.filename or error.name or "", error.lineno))
    places = [(Path(file), line) for file, line in frames if file.endswith(".j2")]
    # The author's template, where the error came up in a piece of ours that it uses.
    places = [each for each in places if each[0].name == "report.html.j2"] or places
    return "".join(f"{file.parent.name}/{file.name}:{line}: " for file, line in places[-1:])


def write_html(folder: Path, html: str) -> Path:
    """Write `report.html` into a folder, without paths of the user; raises `JournalError`."""
    path, html = folder / REPORT, without_places(html, folder)
    try:
        replace_text(path, html)
    except OSError as error:
        hint = "free disk space or make the folder writable, then: manyheads resume RUN"
        raise JournalError(f"{path}: {error.strerror}", hint=hint) from error
    return path


@cache
def _environment(package: str) -> Environment:
    def clean(value: object) -> object:
        """Text without characters that are invalid in HTML or UTF-8."""
        return CONTROL.sub("\ufffd", value) if type(value) is str else value

    env = Environment(
        loader=ChoiceLoader([PackageLoader(each, "") for each in (package, PLAIN)]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=clean, bytecode_cache=Compiled(__file__),
    )  # fmt: skip
    filters = (
        whole, number, count, duration, monogram, label, split, listed, source_name, first_sentences, place, links_of, bibtex, hue, rounded,
    )  # fmt: skip
    cast(dict[str, Any], env.filters).update({each.__name__: each for each in filters})
    cast(dict[str, Any], env.globals).update(SECTIONS=SECTIONS, CRITERIA=tuple(Ratings.model_fields))
    return env


def listed(text: str) -> list[tuple[list[str], str]]:
    """A text in pieces: the points of each list whose lines begin with a dash, and the words between lists."""
    pieces = list[tuple[list[str], str]]()
    for is_list, group in groupby(text.split("\n"), lambda line: bool(POINT.match(line))):
        lines = list(group)
        if is_list:
            pieces.append(([POINT.sub("", line, 1) for line in lines], ""))
        elif words := "\n".join(lines).strip():
            pieces.append(([], words))
    return pieces or [([], "")]


def source_name(key: str) -> str:
    """The public name of a source."""
    return SOURCES.get(key, key)


def whole(value: float) -> str:
    """`12345` as `12,345`."""
    return f"{value:,.0f}"


def number(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """Seconds in words: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 04 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def monogram(name: str) -> str:
    """At most three letters for a name: the number of an anonymous scientist, else initials."""
    if digits := re.search(r"\d+$", name):
        return digits.group()[-3:]
    return "".join(word[0] for word in re.split(r"[\s_]+", name) if word)[:2].upper() or "?"


def split(text: str) -> tuple[str, str]:
    """The visible part of a text and the folded rest, cut between words."""
    if len(text) <= FOLD_AT + 500:
        return text, ""
    cut = text.rfind(" ", FOLD_AT - 300, FOLD_AT)
    cut = cut if cut > 0 else FOLD_AT
    return text[:cut], text[cut:]
