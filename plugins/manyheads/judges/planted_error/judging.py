"""The steps of a test by planted errors: look for each fault of the key in each review of its paper, with and without the fault.

By rule, a point names a fault by its words and its sources; else a judge is asked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple, cast

from manyheads.base.errors import BudgetError, ConfigError, ModelError, ReplyError, SubjectError
from manyheads.base.papers import fold
from manyheads.base.text import count
from manyheads.config import Inputs, RunConfig, Slot
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.results import result_data
from manyheads.core.texts import PathInFull, read_subject
from manyheads.judges.planted_error.planted import KINDS, Fault, Kind, sentences
from manyheads.judges.planted_error.result import (
    KEY,
    Check,
    Key,
    PlantedDocument,
    PlantedErrorResult,
    Rates,
    Reviewed,
    essence,
    read_key,
    report,
    words,
)
from manyheads.judges.replies import FaultFound
from manyheads.judges.shared import JUDGE, JudgeConfig, bench_of, figure, invalid
from manyheads.measures.statistics import group_means
from manyheads.systems.ideas import Several
from manyheads.systems.ranking.judging import Bench, need_one
from manyheads.systems.results import in_full, load
from manyheads.team.run import Run
from manyheads.team.system import Judge, Number, System

WHERE: Mapping[Kind, re.Pattern[str]] = {
    "wrong-number": re.compile(r"\btab(?:le|\.)", re.IGNORECASE),
    "caption": re.compile(r"\bcaption|\bfig(?:ure|\.)", re.IGNORECASE),
    "missing-baseline": re.compile(r"\btab(?:le|\.)|\brows?\b", re.IGNORECASE),
    "broken-reference": re.compile(r"\[\d+\]|\b[A-Z]\w+(?: et al\.?)?,? \(?(?:19|20)\d\d|\b[Cc]itation"),
    "swapped-columns": re.compile(r"\bcolumns?\b", re.IGNORECASE),
}
"""Subjects of points that allege a fault of a kind anywhere in the paper; a section that lacks details is not a fault."""
DIFFERS = (
    r"contradict|inconsisten|not consistent|(?:do|does|did)(?: not|n[’']t) (?:match|agree|correspond|fit|add up)|mismatch|disagree"
    r"|conflict|discrepan|at odds|differ(?:s|ent)? (?:from|between|number|value)|(?:is|are|be|seems?|appears?) (?:wrong|incorrect|false)"
    r"|\bwrong(?:ly)?\b|\bincorrect|\berroneous|\btypo|\bcontrary\b|\bopposite\b|not the same|not supported by|instead of|rather than"
    r"|\bmis(?:stat|report|quot|label|print)"
)
LACKS = (
    r"\bmissing\b|\blacks?\b|\blacking\b|\babsen(?:t|ce)\b|\bomit|\bomission|left out|leaves? out|not (?:in|among|listed|included|reported"
    r"|shown|present|given|part of)\b|(?:do|does|did)(?: not|n[’']t) (?:include|contain|report|show|list|appear|exist|have|hold|give)"
    r"|no (?:row|result|number|entry|such|matching|corresponding|value|figure)|never (?:reported|shown|listed)|without (?:a row|an entry"
    r"|results?)|nowhere|\bwithheld|\bdropped\b|\bdisappear|not compared"
)
BROKEN = (
    rf"{LACKS}|dangling|unresolved|undefined|points? to nothing|broken|beyond|out of range|only \w+ (?:references|entries)"
    r"|cannot be found|(?:ends?|stops?) (?:at|with)|goes? (?:only )?(?:up )?to"
)
SWAPPED = r"\bswap|interchang|\bexchang|\breversed?\b|\bswitch|\bmix(?:ed)?[- ]up|transpos|the wrong (?:column|head)|mislabel"
SIGNS: Mapping[Kind, re.Pattern[str]] = {
    "wrong-number": re.compile(DIFFERS, re.IGNORECASE),
    "caption": re.compile(f"{DIFFERS}|{SWAPPED}", re.IGNORECASE),
    "missing-baseline": re.compile(LACKS, re.IGNORECASE),
    "broken-reference": re.compile(BROKEN, re.IGNORECASE),
    "swapped-columns": re.compile(f"{SWAPPED}|{DIFFERS}", re.IGNORECASE),
}
"""Words by which a point alleges a fault of a kind."""
RESULTS = re.compile(r"\b(?:results?|rows?|tables?|numbers?|scores?|reported|listed)\b", re.IGNORECASE)
"""Words for a row of a table that is not named."""
SWAPPED_RE = re.compile(SWAPPED, re.IGNORECASE)
BOTH: frozenset[Kind] = frozenset(("wrong-number", "caption", "swapped-columns"))
"""Kinds for which naming both values, the wrong and the right one, is enough."""
QUOTED = 20
"""Minimum letters of a quote that identifies its place by itself."""
LONG = 60
"""Points with more words are checked two sentences at a time."""


class ReviewPoint(NamedTuple):
    """A point of a review, with the names and quotes of its sources."""

    text: str
    sources: tuple[str, ...] = ()


class KeyedReview(NamedTuple):
    """A review of a document.

    Attributes:
        source: the run or file it was read from.
        document: the file of the reviewed paper, if the review names it; else the review's own name.
        sha256: of that file; empty if unknown.
    """

    source: str
    document: str
    sha256: str
    points: tuple[ReviewPoint, ...]


def read_review(named: str) -> KeyedReview:
    """The review that a finished run wrote, or the one in a text file named after its document.

    Raises:
        SubjectError: it is missing, cannot be read, or contains no review.
    """
    path = Path(named)
    if not path.is_dir():
        return KeyedReview(named, path.name, "", tuple(points_of(read_subject(path).text)))
    result: dict[str, Any] = result_data(path).get("result") or {}
    paper, review = result.get("paper") or {}, result.get("review")
    if not isinstance(review, dict):
        hint = "name a run of a reviewer of papers"
        raise SubjectError(f"{named}: this run wrote no review of a paper", hint=hint)
    points = tuple(_points(cast(dict[str, Any], review))) or tuple(
        points_of("\n\n".join(in_full(load(path))))
    )
    return KeyedReview(named, str(paper.get("source", "")), str(paper.get("sha256", "")), points)


def _points(review: Mapping[str, Any]) -> Iterator[ReviewPoint]:
    """The claims of a review with their sources, and the paragraphs of its texts."""
    for claim in review.get("claims") or ():
        sources = claim.get("sources") or ()
        told = (each[part] for each in sources for part in ("name", "quote", "found") if each.get(part))
        yield ReviewPoint(str(claim["text"]), tuple(map(str, told)))
    for entry in review.get("entries") or ():
        if isinstance(entry.get("value"), str):
            yield from points_of(entry["value"])


def points_of(text: str) -> Iterator[ReviewPoint]:
    """The paragraphs and list items of a text."""
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+•]|\d{1,2}[.)])\s)", text):
        if words := " ".join(part.split()).lstrip("-*+•# "):
            yield ReviewPoint(words)


def names(point: ReviewPoint, fault: Fault) -> bool:
    """Whether a point names a fault: an end of the contradiction, and that something is wrong there."""
    return any(_names(part, point.sources, fault) for part in _parts(point))


def alleges(point: ReviewPoint, kind: Kind) -> bool:
    """Whether a point alleges a fault of a kind anywhere in the paper."""
    return any(
        (SWAPPED_RE if kind == "swapped-columns" else SIGNS[kind]).search(part)
        and any(map(WHERE[kind].search, (part, *point.sources)))
        for part in _parts(point)
    )


def _parts(point: ReviewPoint) -> Sequence[str]:
    """A point, or its sentences two at a time if it is long."""
    if len(point.text.split()) <= LONG:
        return [point.text]
    said = sentences(point.text)
    return [" ".join(said[place : place + 2]) for place in range(max(1, len(said) - 1))]


def _names(text: str, sources: Sequence[str], fault: Fault) -> bool:
    everything = " ".join((text, *sources))
    values = [_stands(value, everything) for value in fault.values]
    place = sum(_placed(place, everything, sources) for place in fault.places)
    if fault.kind in BOTH and all(values) and (place or fault.kind == "wrong-number"):
        return True
    if not SIGNS[fault.kind].search(text):
        return False
    quoted = any(_quoted(quote, each) for quote in fault.quotes for each in (text, *sources))
    subjects = [_stands(subject, everything) for subject in fault.subjects]
    match fault.kind:
        case "wrong-number":
            return any(values) or bool(place and (quoted or place > 1 or subjects[0]))
        case "caption":
            return bool(place or quoted) and (any(values) or quoted or any(subjects))
        case "missing-baseline":
            return any(_stands(each, text) for each in fault.subjects) and bool(place or RESULTS.search(text))
        case "broken-reference":
            return bool(place or quoted)
        case "swapped-columns" if SWAPPED_RE.search(text):
            return all(subjects) or bool(place)
        case "swapped-columns":
            return bool(place) and (any(values) or all(subjects))


def _stands(part: str, text: str) -> bool:
    """Whether a text contains a value or a label, ignoring case."""
    return bool(re.search(rf"(?<![\w.])(?<!\d,){re.escape(part)}s?(?![\w]|[.,]\d)", text, re.IGNORECASE))


def _placed(place: str, text: str, sources: Sequence[str]) -> bool:
    """Whether a place is named: `Table 1` also as `Tab. 1`, a heading only where it is used as one."""
    kind, _, number = place.partition(" ")
    title, escaped = re.escape(place), re.escape(number)
    if kind in ("Table", "Figure", "Section") and number:
        short = {"Table": "Tab", "Figure": "Fig", "Section": "Sec"}[kind]
        pattern = rf"\b(?:{kind}s?|{short}s?\.?|§)\s*(?:[\w.]+(?:,|\s+and|\s*&)\s*)?{escaped}(?!\w|\.\d)"
    elif place.startswith("["):
        label = place.strip("[]")
        pattern = rf"\[[^\]]*\b{label}\b[^\]]*\]|\b(?:reference|citation|ref\.?)\s+{label}\b"
    elif re.search(r"\d", place):  # author and year
        return fold(place) in fold(text)
    else:
        if any(fold(each).lstrip("section0123456789") == fold(place) for each in sources):
            return True
        pattern = rf"\b(?:section\W+{title}|{title}\W+section|(?:the|in) {title}\b(?! of))"
        if not place[:1].isupper():
            return False
    return bool(re.search(pattern, text, re.IGNORECASE))


def _quoted(quote: str, text: str) -> bool:
    """Whether a text repeats a passage or a large part of it."""
    quote, text = fold(quote), fold(text)
    if len(text) >= QUOTED and text in quote:
        return True
    starts = range(0, max(1, len(quote) - 2 * QUOTED + 1), QUOTED)
    pieces = (quote[start : start + 2 * QUOTED] for start in starts)
    return any(len(piece) >= QUOTED and piece in text for piece in pieces)


STAGE = "planted errors"
STAGES = {STAGE: "Planted errors"}
HINT = f"--set planted-error.key=FILE: the {KEY} of manyheads plant"


class PlantedErrorConfig(JudgeConfig):
    """Settings of a test by planted errors."""

    key: Annotated[PathInFull, Slot(file=True, metavar="FILE")] = None
    """The key of the planted papers: which fault is in which document."""
    by: Literal["rules", "model"] = "rules"
    """Decides whether a point of a review names a fault: rules on its (English) words, or the judge."""


REVIEWS = Slot(
    "each",
    file=True,
    metavar="RUN|FILE",
    required=True,
    hint="name them: --set 'inputs.reviews=[…]', each the folder of a run, or a text file with the name of its paper's file",
)


class PlantedErrorInputs(Inputs):
    """KeyedReviews of planted papers."""

    in_full = frozenset({"reviews"})

    reviews: Annotated[Several, REVIEWS] = ()
    """Folders of runs that reviewed a paper, or text files."""


class KeyedReviews(NamedTuple):
    """The reviews, each with its document."""

    key: Key
    pairs: tuple[tuple[KeyedReview, PlantedDocument], ...] = ()

    def __str__(self) -> str:
        return (
            f"{count(len(self.pairs), 'review')} of {count(len(self.key.documents), 'document')} of the key"
        )


PlantedErrorRun = Run[PlantedErrorResult, PlantedErrorConfig, KeyedReviews]


def read(config: RunConfig) -> KeyedReviews:
    """The key and the reviews.

    Raises:
        ConfigError: the key is missing or cannot be read.
        SubjectError: a review cannot be read, or its paper is not in the key.
    """
    settings: PlantedErrorConfig = config.settings
    if settings.key is None:
        raise ConfigError(f"{config.system}: needs the key of the planted errors", hint=HINT)
    key = read_key(Path(settings.key))
    pairs = list[tuple[KeyedReview, PlantedDocument]]()
    for named in config.inputs.reviews:
        review = read_review(named)
        entry = key.entry(review.document, review.sha256)
        if entry is None:
            raise SubjectError(
                f"{named}: a review of {review.document or 'an unknown paper'}, which is not in {settings.key}",
                hint=f"name reviews of its documents, or another key: {HINT}",
            )
        pairs.append((review, entry))
    return KeyedReviews(key, tuple(pairs))


async def judge(run: PlantedErrorRun) -> None:
    """Look for each fault of a paper in each of its reviews, and count how often it is named with and without cause.

    Raises:
        ModelError, BudgetError: the model failed, the budget is spent, or no check has a valid answer. Answers so far are kept.
    """
    result, config = run.result, run.settings
    run.begin(STAGE, STAGES)
    result.judged_by = config.by
    rows = [(review, entry, fault) for review, entry in run.material.pairs for fault in entry.faults]
    result.checks = [
        Check(
            review=review.source, document=entry.file, paper=entry.paper, kind=fault.kind, planted=entry.planted is not None,
            about=fault.about,
        )
        for review, entry, fault in rows
    ]  # fmt: skip
    bench = bench_of(run, config.area)
    checked = [(check, review, fault) for check, (review, _, fault) in zip(result.checks, rows, strict=True)]
    if config.by == "rules":
        for check, review, fault in checked:
            check.points = [point.text for point in review.points if names(point, fault)]
            check.named = bool(check.points)
    else:
        answers = await together(*(_ask(bench, number, *each) for number, each in enumerate(checked, 1)))
        if failures := need_one(answers, len(rows), "no check has a valid answer"):
            left = f"{len(failures)} of {len(rows)} checks have no valid answer and are left out"
            run.warn(STAGE, f"{left}: {failures[0].message}")
    result.reviews = [_reviewed(review, entry, result.checks) for review, entry in run.material.pairs]
    result.failed, result.inference_cost = sum(each.named is None for each in result.checks), bench.asked
    seed = run.config.seed
    result.kinds = {kind: rates([one for one in result.checks if one.kind == kind], seed) for kind in KINDS}
    result.all = rates(result.checks, seed)
    alarms = {
        (each.paper, n): float(each.alarms) for n, each in enumerate(result.reviews) if not each.planted
    }
    result.alarms = figure(group_means(alarms, lambda place: place[0]), seed, (0, inf))
    for kind, each in result.checked_kinds.items():
        run.emit(Judged(stage=STAGE, turn=1, subject=kind, outcome=words(each)))


async def _ask(
    bench: Bench, number: int, check: Check, review: KeyedReview, fault: Fault
) -> ReplyError | None:
    """Fill in a check from the judge's answer; returns why there is none."""
    run, texts = bench.run, [each.text for each in review.points]
    if not texts:
        check.named = False
        return None

    def beyond(reply: FaultFound) -> str | None:
        strange = [each for each in reply.points if each > len(texts)]
        return invalid(run, "points", numbers=strange, count=len(texts)) if strange else None

    variables = {"fault": fault.about, "passages": fault.quotes, "points": texts}
    kind = run.reply_type(JUDGE, "fault", FaultFound)
    try:
        reply = await bench.ask(STAGE, f"Judge{number}", "fault", variables, beyond, kind)
    except (ModelError, BudgetError) as error:
        check.failed = error.message
        if isinstance(error, ReplyError):
            return error
        raise
    check.points = [texts[each - 1] for each in dict.fromkeys(reply.points)]
    check.named, check.reason = bool(check.points), reply.reason
    return None


def _reviewed(review: KeyedReview, entry: PlantedDocument, checks: Sequence[Check]) -> Reviewed:
    named = {text for each in checks if each.review == review.source and each.planted for text in each.points}
    alarms = [
        point for point in review.points
        if point.text not in named and any(alleges(point, kind) for kind in KINDS)
    ]  # fmt: skip
    about: Any = {"document": entry.file, "paper": entry.paper, "planted": entry.planted}
    return Reviewed(source=review.source, points=len(review.points), alarms=len(alarms), **about)


def rates(checks: Sequence[Check], seed: int = 0) -> Rates:
    """The rates over checks of all kinds: each paper counts once, with the mean of its checks."""
    known = [each for each in checks if each.named is not None]
    # By paper, kind and number of the check.
    parts: Iterator[dict[tuple[str, Kind, int], float]] = (
        {(each.paper, each.kind, n): float(bool(each.named)) for n, each in enumerate(known) if each.planted is sort}
        for sort in (True, False)
    )  # fmt: skip
    planted, clean = parts

    def by_paper(values: Mapping[tuple[str, Kind, int], float]) -> list[float]:
        return group_means(values, lambda place: place[0])

    def by_fault(values: Mapping[tuple[str, Kind, int], float]) -> dict[tuple[str, Kind], float]:
        faults = dict.fromkeys(place[:2] for place in values)
        return {
            fault: fmean(value for place, value in values.items() if place[:2] == fault) for fault in faults
        }

    found, alleged = by_fault(planted), by_fault(clean)
    differences = {fault: found[fault] - alleged[fault] for fault in found if fault in alleged}
    return Rates(
        planted=len(planted),
        clean=len(clean),
        found=figure(by_paper(planted), seed, (0, 1), share=True),
        false_alarms=figure(by_paper(clean), seed, (0, 1), share=True),
        difference=figure(group_means(differences, lambda fault: fault[0]), seed, (-1, 1)),
    )


def needs(config: RunConfig) -> dict[tuple[str, str], type[FaultFound]]:
    """The judge's task, if a model judges."""
    settings: PlantedErrorConfig = config.settings
    return {(JUDGE, "fault"): FaultFound} if settings.by == "model" else {}


def path(steps: Sequence[str]) -> tuple[str, ...]:
    """`found`, `caption.found` and `alarms` are means; other measures are read at their paths."""
    within = ("kinds",) if steps[0] in KINDS else ("all",) if steps[0] in Rates.model_fields else ()
    place = (*within, *steps)
    return (*place, "mean") if steps[-1] in ("found", "false_alarms", "difference", "alarms") else place


SHARES = {
    "found": "share of planted errors found",
    "false_alarms": "share of them alleged in papers without them",
}
PLANTED_ERROR = System(
    name="planted-error",
    title="Planted errors",
    about="Counts the planted errors that reviews of papers find, and those they allege without cause.",
    config=PlantedErrorConfig,
    inputs=PlantedErrorInputs,
    result=PlantedErrorResult,
    run=judge,
    needs=needs,
    essence=essence,
    table=lambda result: result.checks,
    report=report,
    read=read,
    judge=Judge("reviews", "planted-error.found", path),
    extras=("statistics",),
    numbers={
        **{f"planted-error.{name}": Number(title, (0, 1)) for name, title in SHARES.items()},
        **{
            f"planted-error.{kind}.{name}": Number(f"{title}: {kind}", (0, 1))
            for kind in KINDS
            for name, title in SHARES.items()
        },
        "planted-error.alarms": Number("points that allege an error that does not exist", (0, inf)),
        "planted-error.failed": Number("checks without a valid answer", (0, inf)),
    },
)
