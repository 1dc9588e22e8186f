"""The pictures of a society: figures over its epochs, and its network in each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, floor, log10

from manyheads.report.drawing import (
    NARROW,
    Bar,
    Curve,
    Label,
    Node,
    Point,
    SvgDrawing,
    bend,
    drawn_to,
    in_sizes,
)
from manyheads.report.page import monogram
from manyheads.systems.society.network import joint_teams
from manyheads.systems.society.result import EpochRecord

MOST_PEOPLE, MOST_LINES, MOST_FRAMES = 60, 200, 24
"""Scientists and pairs in the picture of the network, and epochs of it."""
BROAD, SLIM = 12, 8
"""Columns of the picture in its two widths."""
SMALL, MOST_STEP, ROUNDS = 11.0, 100.0, 150
"""Radius of a scientist, largest distance of two columns, and steps of the layout."""
WIDTH, HEIGHT, LEFT, FOOT, EDGE = 320.0, 190.0, 44.0, 24.0, 8.0
"""Of a plot, with room for the numbers at its left and below it, and at the other sides."""
TICKS, DOT = 8, 2.5
"""Numbers below a plot, and radius of a value."""


@dataclass(frozen=True)
class EpochMean:
    """A mean with its standard error, as far as there is one."""

    mean: float
    error: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class EpochPlot:
    """A figure over the epochs: a solid line, and a dashed one for a second series. A value that is missing leaves a gap."""

    title: str
    epochs: Sequence[int]
    series: Sequence[Sequence[EpochMean | None]]

    @property
    def drawings(self) -> list[tuple[str, SvgDrawing]]:
        ends = [
            each.mean + sign * each.error for some in self.series for each in some if each for sign in (-1, 1)
        ]
        low, high = min(ends), max(ends)
        if low == high:
            low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)
        ticks, decimals = scale(low, high)
        first, last = self.epochs[0], max(self.epochs[-1], self.epochs[0] + 1)

        def x(epoch: int) -> float:
            return round(LEFT + EDGE + (WIDTH - LEFT - 3 * EDGE) * (epoch - first) / (last - first), 1)

        def y(value: float) -> float:
            return round(EDGE + (HEIGHT - FOOT - EDGE) * (high - value) / (high - low), 1)

        bars = [Bar(LEFT, y(tick), WIDTH - LEFT - EDGE, 1, "rule") for tick in ticks]
        texts = [Label(LEFT - 6, y(tick) + 4, f"{tick:.{decimals}f}", "note", "end") for tick in ticks]
        shown = self.epochs[:: ceil(len(self.epochs) / TICKS)]
        texts += [Label(x(epoch), HEIGHT - 6, str(epoch), "note", "middle") for epoch in shown]
        curves, nodes = list[Curve](), list[Node]()
        for style, hue, some in zip(("joint", "asked"), (190, 60), self.series, strict=False):
            line, errors, gap = "", "", True
            for epoch, value in zip(self.epochs, some, strict=True):
                if value:
                    line += f"{'M' if gap else 'L'}{x(epoch)} {y(value.mean)}"
                    errors += (
                        f"M{x(epoch)} {y(value.mean - value.error)}V{y(value.mean + value.error)}"
                        if value.error
                        else ""
                    )
                    title = f"epoch {epoch}: {value.mean:.{decimals + 1}f}{value.note}"
                    nodes.append(Node(x(epoch), y(value.mean), DOT, hue=hue, title=title))
                gap = value is None
            curves += [Curve(path, style, width) for path, width in ((line, 1.8), (errors, 1.0)) if path]
        return [("plotted", SvgDrawing(WIDTH, HEIGHT, curves, nodes, texts, bars))]


def scale(low: float, high: float) -> tuple[list[float], int]:
    """Two to six round numbers between two values, and their decimals."""
    span = high - low
    power = 10.0 ** floor(log10(span / 2.5))
    most = span / 2.5 * (1 + 1e-9)  # its logarithm may be rounded up to a whole number
    step = max(power * factor for factor in (1, 2, 5) if power * factor <= most)
    ticks = [n * step for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return ticks, max(0, -floor(log10(step) + 1e-9))


@dataclass(frozen=True)
class NetworkPicture:
    """The scientists with the most teams, in the same places in each epoch."""

    epochs: Sequence[EpochRecord]
    hues: Mapping[str, int]

    @cached_property
    def drawn(self) -> list[str]:
        """Those in the picture, in the order of their first team."""
        teams = Counter(name for epoch in self.epochs for team in epoch.teams for name in team.members)
        most = {name for name, _ in teams.most_common(MOST_PEOPLE)}
        return [name for name in self.hues if name in most]

    @property
    def frames(self) -> list[tuple[EpochRecord, list[tuple[str, SvgDrawing]]]]:
        """Epochs with their drawings: all, or `MOST_FRAMES` at equal distances, with the first and the last."""
        last, number = len(self.epochs) - 1, min(len(self.epochs), MOST_FRAMES)
        chosen = [round(last * n / max(number - 1, 1)) for n in range(number)]
        return [(self.epochs[n], in_sizes(lambda width, n=n: self._draw(n, width))) for n in chosen]

    @cached_property
    def _layouts(self) -> dict[bool, list[tuple[int, int]]]:
        """Columns and rows in the broad picture (False) and the slim one (True)."""
        known, numbers = {*self.drawn}, {name: n for n, name in enumerate(self.drawn)}
        teams = [
            [name for name in team.members if name in known] for epoch in self.epochs for team in epoch.teams
        ]
        names, pairs = joint_teams(teams)
        linked = [(numbers[names[one]], numbers[names[other]]) for one, other in pairs]
        return {slim: layout(len(numbers), linked, self._columns(slim)) for slim in (False, True)}

    def _columns(self, slim: bool) -> int:
        most, shape = (SLIM, 0.9) if slim else (BROAD, 2.0)
        return min(most, max(2, ceil((shape * len(self.drawn)) ** 0.5)))

    def _places(self, width: float) -> dict[str, Point]:
        """Where each scientist stands, every other column half a row lower."""
        slim = width < NARROW
        step = min(width / self._columns(slim), MOST_STEP)
        return {
            name: (round((column + 0.5) * step, 1), round((row + column % 2 / 2 + 0.5) * step, 1))
            for name, (column, row) in zip(self.drawn, self._layouts[slim], strict=True)
        }

    def _draw(self, place: int, width: float) -> SvgDrawing:
        """An epoch: its teams' links strong, those of most teams before thin; those who were in no team yet are left out."""
        at = self._places(width)
        now, before = self.epochs[place].teams, [team for each in self.epochs[:place] for team in each.teams]
        working, leading = {name for team in now for name in team.members}, {team.members[0] for team in now}
        seen = working | {name for team in before for name in team.members}
        recent, earlier = (Counter(pair for team in some for pair in combinations(sorted({*team.members} & at.keys()), 2))
                           for some in (now, before))  # fmt: skip
        height = max((y for _, y in at.values()), default=0) + 2 * SMALL
        curves = [
            Curve("".join(bend(at[one], drawn_to((width / 2, height / 2), at[one], at[other], 0.15), at[other]) for (one, other), _ in pairs.most_common(MOST_LINES)), style)
            for style, pairs in (("joint many", earlier - recent), ("joint", recent)) if pairs
        ]  # fmt: skip
        nodes = [
            Node(
                *at[name], SMALL, monogram(name),
                "leader" if name in leading else "member" if name in working else "idle", self.hues[name], name,
            )
            for name in at if name in seen
        ]  # fmt: skip
        return SvgDrawing(width, height, curves, nodes)


def layout(number: int, pairs: Iterable[tuple[int, int]], columns: int) -> list[tuple[int, int]]:
    """A column and a row for each of some scientists, those who are linked near each other, no two in one place.

    Forces as of Fruchterman and Reingold (1991) from places on a circle, without chance; then columns and rows by rank.
    """
    import numpy as np

    angles = 2 * np.pi * np.arange(number) / max(number, 1)
    at, links = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.zeros((number, number))
    for one, other in pairs:
        links[one, other] = links[other, one] = 1
    ideal = number**-0.5 if number else 1
    for step in range(ROUNDS):
        apart = at[:, None] - at[None]
        far = np.maximum(np.linalg.norm(apart, axis=2), 0.01)
        moves = np.einsum("ij,ijk->ik", (ideal / far) ** 2 - links * far / ideal, apart) - 0.1 * at
        lengths = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        at = at + moves / lengths * np.minimum(lengths, 0.1 * (1 - step / ROUNDS))
    places, tall = [(0, 0)] * number, -(-number // columns)
    for rank, one in enumerate(np.argsort(at[:, 0], kind="stable").tolist()):
        places[one] = rank // tall, 0
    for column in range(columns):
        own = sorted((one for one in range(number) if places[one][0] == column), key=lambda one: at[one, 1])
        for row, one in enumerate(own):
            places[one] = column, row
    return places
