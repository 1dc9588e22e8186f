"""The steps of a test by planted errors: look for each fault of the key in each review of its paper, with and without the fault."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import Field, field_validator, model_validator

from manyheads.asking.replies import FaultFound
from manyheads.base.errors import ConfigError, ReplyError, SubjectError
from manyheads.base.files import expanded
from manyheads.config import Inputs, RunConfig, Slot
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.results import Figure
from manyheads.core.texts import Given
from manyheads.judges.planted_error.key import KEY, Entry, Key, read_key
from manyheads.judges.planted_error.matching import Review, alleges, names, read_review
from manyheads.judges.planted_error.planted import KINDS, Fault
from manyheads.judges.planted_error.report import words
from manyheads.judges.planted_error.result import Check, PlantedErrorResult, Rates, Reviewed
from manyheads.judges.shared import JUDGE, JudgeConfig, bench_of, invalid, need_one
from manyheads.measures.statistics import mean_of
from manyheads.report.record import count
from manyheads.systems.ranking.judging import Bench
from manyheads.team.run import Run

T = TypeVar("T")
K = TypeVar("K")
STAGE = "planted errors"
STAGES = {STAGE: "Planted errors"}
HINT = f"--set planted-error.key=FILE: the {KEY} of manyheads plant"


class PlantedErrorConfig(JudgeConfig):
    """Settings of a test by planted errors."""

    key: Annotated[str | None, Slot(file=True, metavar="FILE")] = Field(default=None)
    """The key of the planted papers: which fault is in which document."""
    by: Literal["rules", "model"] = "rules"
    """Decides whether a point of a review names a fault: rules on its (English) words, or the judge."""

    @field_validator("key")
    @classmethod
    def _in_full(cls, value: str | None) -> str | None:
        return None if value is None else str(expanded(value).resolve())


REVIEWS = Slot(
    "each",
    file=True,
    metavar="RUN|FILE",
    required=True,
    hint="name them: --set 'inputs.reviews=[…]', each the folder of a run, or a text file with the name of its paper's file",
)


class PlantedErrorInputs(Inputs):
    """Reviews of planted papers."""

    in_full = frozenset({"reviews"})

    reviews: Annotated[tuple[Given, ...], REVIEWS] = ()
    """Folders of runs that reviewed a paper, or text files."""

    @model_validator(mode="after")
    def _each_once(self) -> "PlantedErrorInputs":
        if len(set(self.reviews)) < len(self.reviews):
            raise ValueError("reviews: one is named twice")
        return self


class Reviews(NamedTuple):
    """The reviews, each with its document."""

    key: Key
    pairs: tuple[tuple[Review, Entry], ...] = ()

    def __str__(self) -> str:
        return (
            f"{count(len(self.pairs), 'review')} of {count(len(self.key.documents), 'document')} of the key"
        )


PlantedErrorRun = Run[PlantedErrorResult, PlantedErrorConfig, Reviews]


def read(config: RunConfig) -> Reviews:
    """The key and the reviews.

    Raises:
        ConfigError: the key is missing or cannot be read.
        SubjectError: a review cannot be read, or its paper is not in the key.
    """
    settings: PlantedErrorConfig = config.settings
    if settings.key is None:
        raise ConfigError(f"{config.system}: needs the key of the planted errors", hint=HINT)
    key = read_key(Path(settings.key))
    pairs = list[tuple[Review, Entry]]()
    for named in config.inputs.reviews:
        review = read_review(named)
        entry = key.entry(review.document, review.sha256)
        if entry is None:
            raise SubjectError(
                f"{named}: a review of {review.document or 'an unknown paper'}, which is not in {settings.key}",
                hint=f"name reviews of its documents, or another key: {HINT}",
            )
        pairs.append((review, entry))
    return Reviews(key, tuple(pairs))


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
            review=review.source,
            document=entry.file,
            paper=entry.paper,
            kind=fault.kind,
            planted=entry.planted is not None,
            about=fault.about,
        )
        for review, entry, fault in rows
    ]
    bench = bench_of(run, config.area)
    if config.by == "rules":
        for check, (review, _, fault) in zip(result.checks, rows, strict=True):
            check.points = [point.text for point in review.points if names(point, fault)]
            check.named = bool(check.points)
    else:
        asked = (_ask(bench, number, check, review, fault)
                 for number, (check, (review, _, fault)) in enumerate(zip(result.checks, rows, strict=True), 1))  # fmt: skip
        failures = list[ReplyError]()
        for error in await together(*asked):
            if isinstance(error, ReplyError):
                failures.append(error)
            elif error is not None:
                raise error
        need_one(failures, len(rows), "no check has a valid answer")
        if failures:
            run.warn(
                STAGE,
                f"{len(failures)} of {len(rows)} checks have no valid answer and are left out: {failures[0].message}",
            )
    result.reviews = [_reviewed(review, entry, result.checks) for review, entry in run.material.pairs]
    result.failed, result.inference_cost = sum(each.named is None for each in result.checks), bench.asked
    seed = run.config.seed
    result.kinds = {
        kind: rates([each for each in result.checks if each.kind == kind], seed) for kind in KINDS
    }
    result.all = rates(result.checks, seed)
    clean = [each for each in result.reviews if each.planted is None]
    result.alarms = _figure(
        _by_paper(clean, lambda each: each.paper, lambda each: each.alarms), seed, within=(0, inf)
    )
    for kind, each in result.kinds.items():
        if each.planted or each.clean:
            run.emit(Judged(stage=STAGE, turn=1, subject=kind, outcome=words(each)))


async def _ask(bench: Bench, number: int, check: Check, review: Review, fault: Fault) -> Exception | None:
    """Fill in a check from the judge's answer; returns its failure."""
    run, texts = bench.run, [each.text for each in review.points]
    if not texts:
        check.named = False
        return None

    def beyond(reply: FaultFound) -> str | None:
        strange = [each for each in reply.points if each > len(texts)]
        return invalid(run, "points", numbers=strange, count=len(texts)) if strange else None

    variables = {"fault": fault.about, "passages": fault.quotes, "points": texts}
    reply = await bench.ask(
        STAGE, f"Judge{number}", "fault", variables, beyond, run.reply_type(JUDGE, "fault", FaultFound)
    )
    if isinstance(reply, Exception):
        check.failed = reply.message
        return reply
    check.points = [texts[each - 1] for each in dict.fromkeys(reply.points)]
    check.named, check.reason = bool(check.points), reply.reason
    return None


def _reviewed(review: Review, entry: Entry, checks: Sequence[Check]) -> Reviewed:
    named = {text for each in checks if each.review == review.source and each.planted for text in each.points}
    alarms = [
        point for point in review.points
        if point.text not in named and any(alleges(point, kind) for kind in KINDS)
    ]  # fmt: skip
    return Reviewed(
        source=review.source,
        document=entry.file,
        paper=entry.paper,
        planted=entry.planted,
        points=len(review.points),
        alarms=len(alarms),
    )


def rates(checks: Sequence[Check], seed: int = 0) -> Rates:
    """The rates over checks of all kinds: each paper counts once, with the mean of its checks."""
    known = [each for each in checks if each.named is not None]
    parts = {planted: [each for each in known if each.planted is planted] for planted in (True, False)}

    def shares(planted: bool, of: Callable[[Check], K]) -> dict[K, float]:
        return _by_paper(parts[planted], of, lambda each: float(bool(each.named)))

    found, alarms = (shares(planted, lambda each: each.paper) for planted in (True, False))
    pairs = [shares(planted, lambda each: (each.paper, each.kind)) for planted in (True, False)]
    both = {pair: pairs[0][pair] - pairs[1][pair] for pair in pairs[0] if pair in pairs[1]}
    differences = _by_paper([*both], lambda pair: pair[0], lambda pair: both[pair])
    return Rates(
        planted=len(parts[True]),
        clean=len(parts[False]),
        found=_figure(found, seed, share=True),
        false_alarms=_figure(alarms, seed, share=True),
        difference=_figure(differences, seed, within=(-1, 1)),
    )


def _by_paper(some: Sequence[T], of: Callable[[T], K], value: Callable[[T], float]) -> dict[K, float]:
    """The mean by paper, or by paper and fault."""
    groups: dict[K, list[float]] = {}
    for each in some:
        groups.setdefault(of(each), []).append(value(each))
    return {name: fmean(values) for name, values in groups.items()}


def _figure(
    values: Mapping[str, float], seed: int, *, share: bool = False, within: tuple[float, float] | None = None
) -> Figure | None:
    mean = mean_of([*values.values()], seed=seed, share=share, within=(0, 1) if share else within)
    return mean and Figure(mean=mean.mean, low=mean.low, high=mean.high, interval=mean.method)


def needs(config: RunConfig) -> dict[tuple[str, str], type[FaultFound]]:
    """The judge's task, if a model judges."""
    settings: PlantedErrorConfig = config.settings
    return {(JUDGE, "fault"): FaultFound} if settings.by == "model" else {}
