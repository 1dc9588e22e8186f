"""Settings and inputs of a ranking, its result and its report: S, each idea's ranks, the judge's position bias. Idea 0 is the target."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field

from manyheads.asking.replies import ReplyModel, Text
from manyheads.asking.roles import Roles
from manyheads.base.text import rounded
from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.core.events import Said
from manyheads.core.results import Part
from manyheads.core.texts import FileOrText, Subject, Trait
from manyheads.measures.ranking import position_bias
from manyheads.measures.statistics import mean_of
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ideas import Contest, Entry, Several
from manyheads.systems.ranking.replies import Ranking
from manyheads.systems.rebuttal.replies import Condensed
from manyheads.systems.traits import Quality, traits_of, unknown
from manyheads.team.run import Run


class ImprovedConfig(Strict):
    """The quality that the ideas were improved for; judged unless the config names another."""

    area: Text | None = None
    """The field of research."""
    indicator: Text = "novelty"
    """The quality."""
    traits: tuple[Trait, ...] = ()
    """Traits that define the quality."""


class RankingConfig(Section):
    """The relative quality ranking (Review and Rebuttal, §3.2, App. A.2)."""

    area: Text | None = None
    """The judge's field of research. Default: `improved.area`, else that of the ideas' runs, else computer science."""
    indicator: Text | None = None
    """The quality to judge. Default: that of `improved`, with its traits."""
    traits: tuple[Trait, ...] = ()
    """Traits that define `indicator`. Default: those in `prompts/partials/indicators/<indicator>.md.j2`."""
    orders: int = Field(default=4, ge=1)
    """Number of orders in which the judge sees the same ideas. A multiple of the number of ideas (with the target) puts
    each idea in each place equally often."""
    round: int | None = Field(default=None, ge=0)
    """For runs with revisions: the version after this many revisions, or the last if there are fewer. Default: the final one."""
    condense: Literal["all", "target"] = "all"
    """Texts to bring into the form of a proposal before the ranking: all that need it, or only the target, as in the paper."""
    align: bool = True
    """Show only fields that all ideas have, so that a missing field gives no idea away."""
    improved: ImprovedConfig = ImprovedConfig()


KINDS = "the folder of a run, a text file, or a text"
TARGET_SLOT = Slot(
    "first", file=True, metavar="FILE|RUN|TEXT", required=True,
    hint=f"name the target abstract: --target, or --set inputs.target=…: {KINDS}",
)  # fmt: skip
IDEAS_SLOT = Slot(
    "rest", file=True, metavar="RUN|FILE|TEXT", required=True,
    hint=f"manyheads ranking judge IDEA… --target …, or --set 'inputs.ideas=[…]': each {KINDS}",
)  # fmt: skip


class RankingInputs(Inputs):
    """Ideas, and the target they are ranked with."""

    in_full = frozenset({"ideas"})

    target: Annotated[FileOrText, TARGET_SLOT] = None
    """The abstract whose idea is ranked with the others: a text file, the folder of a run, or the text itself."""
    ideas: Annotated[Several, IDEAS_SLOT] = ()
    """The ideas to rank: folders of runs, their ideas as RUN#NUMBER, text files, or texts."""

    def course(self) -> dict[str, Any]:
        """Nothing: every prompt contains the texts."""
        return {}


JUDGE = "judge"
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {(JUDGE, "condense"): Condensed, (JUDGE, "rank"): Ranking}


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the quality indicator, a line each."""
    quality, own = quality_of(config, roles), config.settings.indicator
    if not quality.traits:
        yield unknown("ranking" if own else "ranking.improved", quality.indicator or "", roles)


def quality_of(config: RunConfig, roles: Roles, ideas: Sequence[Entry] = ()) -> Quality:
    """The quality the judge ranks by. Default: the one the ideas were improved for."""
    settings: RankingConfig = config.settings
    improved = settings.improved
    indicator = settings.indicator or improved.indicator
    traits = settings.traits or (improved.traits if indicator == improved.indicator else ())
    areas = dict.fromkeys(idea.area for idea in ideas if idea.area)
    area = settings.area or improved.area or ", ".join(areas) or "computer science"
    return Quality(area=area, indicator=indicator, traits=traits_of(indicator, traits, roles))


TARGET = 0


@dataclass(frozen=True)
class MeanRank:
    """An idea in all orders: its mean rank over the valid ones."""

    number: int
    title: str
    mean: float | None


class RankedItem(Part):
    """A target or an idea in the form for ranking; fields missing in its text are omitted."""

    source: str
    title: str
    fields: dict[str, str] = {}
    text: str | None = None
    """The text as ranked, if it was not converted to the form."""
    round: int | None = None
    """Number of revisions so far; None if it is not from a run with revisions."""
    settled: bool | None = None
    """Whether its run had finished."""
    sha256: str | None = None
    """Hash of the source text, if the text is not stored."""
    words: int | None = None


class RankedOrder(Part):
    """One order of the same ideas, 0 the target, and the judge's ranking; positions and ranks count from 1."""

    shown: tuple[int, ...]
    """The ideas from first to last position."""
    ranked: tuple[int, ...] | None = None
    """Best to worst; None if the judge failed."""
    rationales: tuple[str, ...] | None = None
    """Reason for each rank."""
    target_place: int
    target_rank: int | None = None
    s: float | None = None
    """Share of ideas ranked above the target (Review and Rebuttal, Eq. 3)."""
    failed: str | None = None
    """The error, if there is no ranking."""

    def place(self, number: int) -> int:
        """The position at which an idea was shown."""
        return self.shown.index(number) + 1

    def rank(self, number: int) -> int | None:
        """The rank of an idea; None if the judge failed."""
        return self.ranked.index(number) + 1 if self.ranked else None

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """The ideas, best first, each with the reason for its rank."""
        reasons = self.rationales or ("",) * len(self.ranked or ())
        return list(zip(self.ranked or (), reasons, strict=True))


class Interval(Part):
    low: float
    high: float
    level: float


class RankingResult(Quality):
    """The ideas, the quality, each order, S over all orders, and the effect of places on ranks."""

    title: str | None = None
    """Of the target; empty if unknown."""
    target: RankedItem | None = None
    ideas: list[RankedItem] = []
    shown_fields: list[str] = []
    orders: list[RankedOrder] = []
    s: float | None = None
    """S over the orders with a ranking (Review and Rebuttal, Eq. 3)."""
    s_interval: Interval | None = None
    failed: int | None = None
    """Orders without a ranking."""
    s_by_place: list[float | None] | None = None
    """Mean S by place of the target."""
    position_bias: float | None = None
    """None with fewer than two rankings."""
    position_p: float | None = None
    consistency: float | None = None
    by_place: list[float] | None = None
    """Mean rank by place."""
    settled: float | None = None
    """Share of the revised ideas whose runs had ended by the ranked round."""
    inference_cost: int | None = None
    """Number of replies requested."""

    def take(self, target: Subject, entries: Sequence[Entry]) -> None:
        """The texts to rank, the target first, as far as they are condensed."""
        own, *ideas = entries
        self.title = target.title or own.fields.get("title", "")
        self.target = RankedItem(
            source=target.source, title=self.title, sha256=target.sha256, words=len(target.text.split()),
            fields=dict(own.fields),
        )  # fmt: skip
        self.ideas = [
            RankedItem(
                source=each.source, title=each.title or each.fields.get("title", ""), fields=dict(each.fields),
                text=None if each.fields else each.text,  # if it is ranked as written
                round=each.round, settled=each.settled,
            )
            for each in ideas
        ]  # fmt: skip
        settled = [each.settled for each in ideas if each.settled is not None]
        self.settled = fmean(settled) if settled else None

    def rank(self, orders: Sequence[RankedOrder], seed: int) -> None:
        """Compute the figures of the orders; `seed` is for the randomisation test."""
        self.orders = list(orders)
        if mean := mean_of([each.s for each in orders if each.s is not None], within=(0, 1)):
            self.s = mean.mean
            if mean.low is not None and mean.high is not None:
                self.s_interval = Interval(low=mean.low, high=mean.high, level=mean.level)
        self.failed = sum(each.failed is not None for each in orders)
        places = [
            [each.s for each in orders if each.target_place == place and each.s is not None]
            for place in range(1, len(orders[0].shown) + 1)
        ]
        self.s_by_place = [fmean(here) if here else None for here in places]
        if len(self.valid_orders) > 1:
            shown, ranked = [each.shown for each in orders], [each.ranked for each in orders]
            bias = position_bias(shown, ranked, seed=seed)
            self.position_bias, self.position_p = bias.bias, bias.p
            self.consistency, self.by_place = bias.consistency, list(bias.by_place)

    @property
    def interval(self) -> str:
        """The interval of S in words, after a comma; empty if there is none."""
        ends = self.s_interval
        return f", {ends.level:.0%} interval {ends.low:.2f} to {ends.high:.2f}" if ends else ""

    @property
    def items(self) -> list[RankedItem]:
        """The target, then the ideas, indexed by number."""
        return [*([self.target] if self.target else []), *self.ideas]

    @property
    def valid_orders(self) -> list[RankedOrder]:
        """The orders with a ranking."""
        return [order for order in self.orders if order.ranked]

    def spread(self, number: int) -> list[tuple[int, int]]:
        """The ranks of an idea over the orders, each with its number of orders."""
        return sorted(Counter(order.rank(number) or 0 for order in self.valid_orders).items())

    @property
    def rows(self) -> list[MeanRank]:
        """Target and ideas, the best mean rank first."""
        ranks = [
            [order.rank(number) or 0 for order in self.valid_orders] for number in range(len(self.items))
        ]
        rows = [MeanRank(n, self.name(n), fmean(each) if each else None) for n, each in enumerate(ranks)]
        return sorted(rows, key=lambda row: (row.mean or 0.0, row.number))

    def name(self, number: int) -> str:
        return self.items[number].title or ("The target" if number == TARGET else f"Idea {number}")


RankingRun = Run[RankingResult, RankingConfig, Contest]


CHANCE = 0.05  # a bias with a smaller p-value is significant
SIDE_BY_SIDE = 8  # orders in a table across a page


def report(record: Record) -> View:
    """The report of a ranking; if unfinished, also the judge's words, which number the ideas by place."""
    ranked: RankingResult = record.result.result
    orders = list(enumerate(ranked.orders, 1))
    silent = record.result.finished or orders
    shown = {
        "ranked": ranked,
        "meaning": meaning(ranked),
        "bias": bias_in_words(ranked),
        "blocks": [orders[at : at + SIDE_BY_SIDE] for at in range(0, len(orders), SIDE_BY_SIDE)],
        "broken": [(number, order) for number, order in orders if not order.ranked],
        "expected": (len(ranked.items) + 1) / 2,
        "judgements": [] if silent else [said.text for said in record.of(Said) if said.task == "rank"],
    }
    return View(__package__ or "", Page(record), shown)


def meaning(ranked: RankingResult) -> str:
    """The meaning of S for this ranking (§3.2, Eq. 3), in a sentence."""
    count = len(ranked.ideas)
    if ranked.s is None:
        return "S will be the share of the ideas that the judge ranks above the target."
    several = f"on average {ranked.s:.0%} of the {count} ideas ranked above the target"
    one = f"the idea ranked above the target in {ranked.s:.0%} of the orders"
    return f"S = {ranked.s:.2f}: {several if count > 1 else one} (0: the target is always best, 1: always worst)."


def bias_in_words(ranked: RankingResult) -> list[str]:
    """The judge's position bias and the agreement of the orders, a sentence each."""
    bias, p = ranked.position_bias, ranked.position_p
    if bias is None:
        return ["Position bias needs at least two rankings."]
    held = f"(r = {bias:.2f}{'' if p is None else f', p = {p:.2g}'})".replace("-", "−", 1)
    if p is None or p >= CHANCE:
        words = [f"No significant position bias {held}."]
        size = len(ranked.items)
        stood = {(order.place(number), number) for order in ranked.valid_orders for number in range(size)}
        if len(stood) < size * size:  # then a bias may hide behind the ideas' quality
            least = f"which needs at least {size} orders; there may still be a bias"
            words.append(f"Not every idea was shown in every place, {least}.")
    else:
        end = "early" if bias > 0 else "late"
        words = [f"Position bias: the judge prefers ideas that it is shown {end} {held}."]
    if ranked.consistency is not None:
        agreement = f"Kendall's W = {ranked.consistency:.2f} (1: always the same)"
        words.append(f"Agreement of the {len(ranked.valid_orders)} rankings: {agreement}.")
    return words


def table(ranked: RankingResult) -> list[dict[str, object]]:
    """Target and ideas, the best mean rank first."""
    return [
        {
            "place": place, "title": row.title, "mean_rank": row.mean, "target": row.number == TARGET,
            "source": Path(ranked.items[row.number].source).name,
        }
        for place, row in enumerate(ranked.rows, 1)
    ]  # fmt: skip


def essence(ranked: RankingResult) -> Iterator[tuple[str, str]]:
    count, orders = len(ranked.ideas), len(ranked.orders)
    yield "Target", ranked.name(TARGET)
    ideas = "the idea" if count == 1 else f"the {count} ideas"
    above = "" if ranked.s is None else f": {ranked.s:.0%} of {ideas} ranked above the target on average"
    yield "S", f"{rounded(ranked.s, 2)} for {ranked.indicator}{above}{ranked.interval}"
    failed = ", the others failed" * (len(ranked.valid_orders) < orders)
    agreement = ranked.consistency
    alike = "" if agreement is None else f"; agreement {agreement:.2f} (Kendall's W)"
    yield "Orders", f"{len(ranked.valid_orders)} of {orders} ranked{failed}{alike}"
    for place, row in enumerate(ranked.rows, 1):
        mark = ", the target" if row.number == TARGET else ""
        yield str(place), f"{row.title} (mean rank {rounded(row.mean, 2)}{mark})"
    yield "Position bias", bias_in_words(ranked)[0]
