"""A review by its form: entries and claims, and the text for the author."""

import re
from collections.abc import Iterator, Sequence
from typing import cast

from manyheads.systems.mamorx.forms import ReviewForm
from manyheads.systems.mamorx.replies import Point, Support, WrittenReview
from manyheads.systems.mamorx.result import Claim, Entry, PaperReview, Source, SourceKind

KINDS: dict[SourceKind, re.Pattern[str]] = {
    "figure": re.compile(r"(?i)^\W*fig(ure|\.|\b)"),
    "table": re.compile(r"(?i)^\W*tab(le|\.|\b)"),
    "paper": re.compile(r"^\W*N\d+\b"),
    "reference": re.compile(
        r"(?i)^\W*(\[[^\[\]]{1,40}\]$|ref(erence|\.)?\s*\W?\d|[^\d§]{2,60}\b(19|20)\d\d[a-z]?\)?\W*$)"
    ),
}
"""The kind of a source by its name; any other name is a passage."""
QUOTE = re.compile(r"“([^“”]+)”|«([^«»]+)»|\"([^\"\n]+)\"")
LEAST_QUOTED = 4
"""Minimum words in quotation marks for a quote; fewer are a term."""


def source_of(support: Support) -> Source:
    """A source of a point, before it is looked up."""
    source = Source(kind="passage", name=" ".join(support.where.split()), quote=support.quote.strip())
    for kind, name in KINDS.items():
        if name.match(source.name):
            return source.model_copy(update={"kind": kind})
    return source


def review_from(name: str, form: ReviewForm, reply: WrittenReview) -> PaperReview:
    """The entries of a form from a reply, and its points as claims, numbered over all fields."""
    entries, claims = list[Entry](), list[Claim]()
    for key, field in form.fields.items():
        value, entry = (
            getattr(reply, key),
            Entry(name=key, title=field.title, kind=field.kind, scale=field.scale),
        )
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
            long = (quote for quote in quoted if len(quote.split()) >= LEAST_QUOTED)
            entry.quotes = [Source(kind="passage", name="", quote=quote) for quote in dict.fromkeys(long)]
        entries.append(entry)
    return PaperReview(form=name, title=form.title, entries=entries, claims=claims)


# The text.


def markdown(review: PaperReview, form: ReviewForm, *, apart: bool) -> str:
    """The whole review.

    Args:
        apart: whether points without an existing source are listed separately.
    """
    return "\n\n".join(_blocks(review, form, apart)).strip()


def _blocks(review: PaperReview, form: ReviewForm, apart: bool) -> Iterator[str]:
    claims = {claim.number: claim for claim in review.claims}
    for entry in review.entries:
        field, kept = (
            form.fields.get(entry.name),
            [claims[number] for number in entry.claims if number in claims],
        )
        shown = [claim for claim in kept if claim.grounded or not apart]
        if shown:
            yield f"## {entry.title}"
            yield "\n".join(f"- {_flat(claim.text)}{_places(claim)}" for claim in shown)
        elif isinstance(entry.value, str) and (field is None or field.kind == "text"):
            yield f"## {entry.title}"
            yield entry.value.strip()
        elif entry.value is not None:
            meaning = field.options.get(str(entry.value), "") if field else ""
            yield f"**{entry.title}:** {entry.stated}" + (f" ({meaning.rstrip('.')})" if meaning else "")
    if astray := [claim for claim in review.claims if apart and not claim.grounded]:
        yield "## Not verified"
        yield "These points name no source that was found in the paper. Do not take them as facts."
        yield "\n".join(f"- {_flat(claim.text)}" for claim in astray)
    if apart and review.misquoted:
        yield "## Quotes that were not found"
        yield "The texts above quote these words, but they were not found in the paper."
        yield "\n".join(f"- “{_flat(quote.quote)}”" for quote in review.misquoted)


def _places(claim: Claim) -> str:
    names = (f"{source.name}, p. {source.page}" if source.page else source.name for source in claim.sources)
    listed = "; ".join(dict.fromkeys(names))
    return f" ({listed})" if listed else ""


def _flat(text: str) -> str:
    return " ".join(text.split())
