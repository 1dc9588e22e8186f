"""Review forms: files of fields with their meanings, and the reply types made of them; a review by its form, and its text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args

from pydantic import BeforeValidator, ConfigDict, Field, create_model, field_validator, model_validator

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import ReplyModel, Text, of, whole_number
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.resources import Resources
from manyheads.config import RunConfig, Strict
from manyheads.documents.document import word_count
from manyheads.systems.mamorx.replies import Point, Support, WrittenReview
from manyheads.systems.mamorx.result import Claim, PaperReview, PointSource, ReviewEntry, SourceKind

FORMS, ENDING = "review_leader/forms/", ".yaml"
TAKEN = frozenset(("thought", "doubts"))  # fields that a model may fill in before the form's own
Kind: TypeAlias = Literal["text", "points", "flag", "score", "choice"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class FormField(Strict):
    """One field of a form; the key for its type has its meaning."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS]})

    title: str
    """Its heading in the review."""
    text: str | None = None
    """A text: its content."""
    points: str | None = None
    """Any number of points: the meaning of a point."""
    flag: str | None = None
    """Yes or no: the condition for yes."""
    score: dict[int, str] | None = Field(default=None, min_length=2)
    """A number: the meaning of each, from the lowest up."""
    choice: dict[str, str] | None = Field(default=None, min_length=2)
    """A choice: the meaning of each option."""
    meaning: str = ""
    """For a score or a choice, what is rated or chosen."""

    @model_validator(mode="after")
    def _one_kind(self) -> "FormField":
        if sum(getattr(self, name) is not None for name in KINDS) != 1:
            raise ValueError("should have one of text, points, flag, score and choice")
        return self

    @property
    def kind(self) -> Kind:
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def about(self) -> str:
        """Its meaning, for any type."""
        return self.text or self.points or self.flag or self.meaning

    @property
    def options(self) -> Mapping[str, str]:
        """The values of a score or a choice, each with its meaning."""
        return self.choice or {str(number): text for number, text in (self.score or {}).items()}

    @property
    def scale(self) -> tuple[int, int] | None:
        return (min(self.score), max(self.score)) if self.score else None

    def type(self, *, sources: bool) -> Any:
        """The type of its value in a reply; `sources`: whether each point names its sources."""
        line = Field(description=self.about)
        match self.kind:
            case "text":
                return Annotated[Text, line]
            case "points":
                return Annotated[list[Point] if sources else list[Text], line]
            case "flag":
                return Annotated[bool, line]
            case "choice":
                return Annotated[Literal[tuple(self.options)], line]
            case "score":
                low, high = self.scale or (0, 0)
                if len(self.options) == high - low + 1:
                    return Annotated[int, Field(ge=low, le=high, description=self.about), of(high)]
                number = BeforeValidator(lambda value: str(whole_number(value, most=high)))
                return Annotated[Literal[tuple(self.options)], line, number]


class ReviewForm(Strict):
    """A form of review: `prompts/review_leader/forms/<name>.yaml`."""

    title: str
    """The title of the review."""
    about: str
    """Guidelines for its reviewer."""
    fields: dict[str, FormField] = Field(min_length=1)
    """In the order of filling in: reasons before scores."""

    @field_validator("fields")
    @classmethod
    def _names(cls, fields: dict[str, FormField]) -> dict[str, FormField]:
        for name in fields:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in TAKEN or hasattr(WrittenReview, name):
                rule = f"use lower-case letters, and not {', '.join(TAKEN)}"
                raise ValueError(f"{name!r} is not a valid field name: {rule}")
        return fields

    def reply(
        self, kind: type[WrittenReview], first: type[ReplyModel] | None = None, *, sources: bool = True
    ) -> type[WrittenReview]:
        """The reply type for the form: its fields, after those in `first`."""
        return _reply(self.model_dump_json(), kind, first, sources)


@lru_cache(maxsize=64)
def _reply(
    form: str, kind: type[WrittenReview], first: type[ReplyModel] | None, sources: bool
) -> type[WrittenReview]:
    fields = ReviewForm.model_validate_json(form).fields
    types: dict[str, Any] = {name: (each.type(sources=sources), ...) for name, each in fields.items()}
    bases = (kind, first) if first else (kind,)
    made = create_model(kind.__name__, __base__=bases, __module__=kind.__module__, **types)
    return cast(type[WrittenReview], made)


def form_of(name: str, prompts: Prompts) -> ReviewForm:
    """A form by its name; raises `ConfigError` if it is missing or not valid."""
    if form := prompts.words(f"{FORMS}{name}{ENDING}", ReviewForm):
        return form
    names = [each.removeprefix(FORMS).removesuffix(ENDING) for each in prompts.names(FORMS)]
    own = f"choose one of these, or write prompts/{FORMS}{name}{ENDING} in your own folder (--path)"
    hint = did_you_mean(name, names, own)
    raise ConfigError(f"no such review form {name!r}", tried=f"forms: {', '.join(names)}", hint=hint)


def form_names(resources: Resources) -> list[str]:
    """All forms, including the user's own."""
    names = resources.names("prompts", ENDING, FORMS)
    return sorted(name.removeprefix(FORMS).removesuffix(ENDING) for name in names)


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the form, a line each."""
    try:
        form_of(config.settings.form, roles.prompts)
    except ConfigError as error:
        yield f"{config.system}.form: {error.message}" + (f"; {error.tried}" if error.tried else "")


SOURCE_KINDS: dict[SourceKind, re.Pattern[str]] = {
    "figure": re.compile(r"(?i)^\W*fig(ure|\.|\b)"),
    "table": re.compile(r"(?i)^\W*tab(le|\.|\b)"),
    "paper": re.compile(r"^\W*N\d+\b"),
    "reference": re.compile(
        r"(?i)^\W*(\[[^\[\]]{1,40}\]$|ref(erence|\.)?\s*\W?\d|[^\d§]{2,60}\b(19|20)\d\d[a-z]?\)?\W*$)"
    ),
}
"""The kind of a source by its name; any other name is a passage."""
QUOTE = re.compile(r"“([^“”]+)”|«([^«»]+)»|\"([^\"\n]+)\"")
LEAST_QUOTED = 4  # words in quotation marks; fewer are a term


def source_of(support: Support) -> PointSource:
    """A source of a point, before it is looked up."""
    source = PointSource(kind="passage", name=" ".join(support.where.split()), quote=support.quote.strip())
    for kind, name in SOURCE_KINDS.items():
        if name.match(source.name):
            return source.model_copy(update={"kind": kind})
    return source


def review_from(name: str, form: ReviewForm, reply: WrittenReview) -> PaperReview:
    """The entries of a form from a reply, and its points as claims, numbered over all fields."""
    entries, claims = list[ReviewEntry](), list[Claim]()
    for key, field in form.fields.items():
        value = getattr(reply, key)
        entry = ReviewEntry(name=key, title=field.title, kind=field.kind, scale=field.scale)
        if field.kind == "points":
            for point in cast(Sequence[Point | str], value):
                text = point if isinstance(point, str) else point.text
                sources = [] if isinstance(point, str) else [*map(source_of, point.sources)]
                claims.append(Claim(number=len(claims) + 1, field=key, text=text, sources=sources))
                entry.claims.append(claims[-1].number)
        else:
            entry.value = int(value) if field.kind == "score" else value
        if field.kind == "text":
            quoted = ("".join(groups).strip() for groups in QUOTE.findall(value))
            long = (quote for quote in quoted if word_count(quote) >= LEAST_QUOTED)
            entry.quotes = [
                PointSource(kind="passage", name="", quote=quote) for quote in dict.fromkeys(long)
            ]
        entries.append(entry)
    return PaperReview(form=name, title=form.title, entries=entries, claims=claims)


def markdown(review: PaperReview, form: ReviewForm, *, apart: bool) -> str:
    """The whole review; `apart`: whether points without an existing source are listed separately."""
    return "\n\n".join(_blocks(review, form, apart)).strip()


def _blocks(review: PaperReview, form: ReviewForm, apart: bool) -> Iterator[str]:
    for entry in review.entries:
        field = form.fields.get(entry.name)
        claims = [one for one in review.claims if one.number in entry.claims]
        if listed := [_line(claim.text, claim) for claim in claims if claim.grounded or not apart]:
            yield f"## {entry.title}"
            yield "\n".join(listed)
        elif isinstance(entry.value, str) and (field is None or field.kind == "text"):
            yield f"## {entry.title}"
            yield entry.value.strip()
        elif entry.value is not None:
            meaning = field.options.get(str(entry.value), "") if field else ""
            yield f"**{entry.title}:** {entry.stated}" + (f" ({meaning.rstrip('.')})" if meaning else "")
    if astray := [claim for claim in review.claims if apart and not claim.grounded]:
        yield "## Not verified"
        yield "These points name no source that was found in the paper. Do not take them as facts."
        yield "\n".join(_line(claim.text) for claim in astray)
    if apart and review.misquoted:
        yield "## Quotes that were not found"
        yield "The texts above quote these words, but they were not found in the paper."
        yield "\n".join(_line(f"“{quote.quote}”") for quote in review.misquoted)


def _line(text: str, claim: Claim | None = None) -> str:
    """A point of a list, with the places of its sources."""
    sources = claim.sources if claim else ()
    places = [f"{one.name}, p. {one.page}" if one.page else one.name for one in sources]
    listed = "; ".join(dict.fromkeys(places))
    return f"- {' '.join(text.split())}{f' ({listed})' if listed else ''}"
