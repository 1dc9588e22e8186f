"""Votes of raters on pairs of texts (MAMORX, §5), and tables of them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import isnan
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from manyheads.base.errors import RatingError
from manyheads.base.text import count, csv_text, first_few, shortened
from manyheads.measures.tables import TableRow, read_table

Answer: TypeAlias = Literal["left", "right", "tie", "poor"]
"""Which of two texts is better: the left one, the right one, neither, or both are poor."""
ANSWERS: tuple[Answer, ...] = get_args(Answer)
RaterKind: TypeAlias = Literal["person", "model"]
Repeats: TypeAlias = Literal["keep", "first", "last"]
"""What counts of a rater's votes on the same makers and case, in a table that does not say which texts they had."""
STYLE = ("words", "lines", "headings", "lists")
"""Signs of style of a text; MAMORX adjusts ratings for lines, headings and lists (§5)."""


@dataclass(frozen=True, slots=True)
class PairVote:
    """A rater's answers about two texts on one case.

    Attributes:
        left, right: the makers of the texts, by the side on which the rater saw them.
        answers: by question.
        rater: empty if it is not known; `case` too.
        left_style, right_style: signs of style of the texts, as in `STYLE`; empty if they are not known.
        seconds: time from the pair being shown to the vote; None if it is not known.
    """

    left: str
    right: str
    answers: Mapping[str, Answer]
    rater: str = ""
    case: str = ""
    kind: RaterKind = "person"
    left_style: Mapping[str, int] = field(default_factory=dict[str, int])
    right_style: Mapping[str, int] = field(default_factory=dict[str, int])
    seconds: float | None = None


def style_of(text: str) -> Mapping[str, int]:
    """Numbers of words, lines, headings and list items."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {
        "words": len(text.split()),
        "lines": len(lines),
        "headings": sum(bool(re.match(r"#{1,6}\s|\*\*[^*]+\*\*:?$", line)) for line in lines),
        "lists": sum(bool(re.match(r"(?:[-*+•]|\d{1,2}[.)])\s", line)) for line in lines),
    }


# Tables of votes: our own, and those of others.

QUESTION = "overall"
"""The question of a table with a single column of winners."""
LEADS = ("rater", "kind", "case", "left", "right")
TRAILS = ("comment", "seconds", "time", *(f"{side}_{sign}" for side in ("left", "right") for sign in STYLE))
TEXTS = ("left_text", "right_text")
"""Columns with the texts themselves, of which the signs of style are counted."""
WINNER = "winner"
COLUMNS = (*LEADS[3:], WINNER)
"""Columns that every table has, unless each of its questions has its own."""
WORDS: Mapping[str, Answer] = {
    **dict.fromkeys(("left", "a", "1", "first", "model a", "assistant a", "response 1"), "left"),
    **dict.fromkeys(("right", "b", "2", "second", "model b", "assistant b", "response 2"), "right"),
    **dict.fromkeys(("tie", "draw", "equal", "same", "0.5", "both", "both good", "neither is better"), "tie"),
    **dict.fromkeys(("poor", "both poor", "both bad", "bothbad", "tie bothbad", "tie both bad", "neither"), "poor"),
}  # fmt: skip
"""How tables name the winner, besides by its maker; in any case, without symbols and `FILLERS`."""
FILLERS = ("is", "are", "the", "about", "equally", "slightly", "much", "clearly", "better", "wins", "vote")
COMPARISON = re.compile(r"[\[\s]*([^<>=≻≺≈~]+?)\s*(?:(>+|≻)|(<+|≺)|=+|≈|~)\s*([^<>=≻≺≈~]+?)[\]\s]*")
"""Two sides or makers with a sign between them: `A>B`, `[[B>>A]]`, `gpt-4 = claude`."""
EXAMPLES = 3
UNKNOWN_ANSWER = "is neither a maker of the row, a side, nor a tie"


What: TypeAlias = Literal["row", "cell", "column"]


@dataclass(frozen=True)
class VoteTable:
    """The votes of a table.

    Attributes:
        left_out: for each reason, the rows, or the single cells of rows with other answers, as `file:row`; or columns.
        repeated: votes on the same makers and case as another one of the same rater; `repeats` says what became of them.
    """

    votes: tuple[PairVote, ...]
    left_out: Mapping[tuple[What, str], Sequence[str]]
    repeated: int = 0
    repeats: Repeats = "keep"

    @property
    def headline(self) -> str:
        """What became of repeated votes; empty if there are none."""
        what = f"{count(self.repeated, 'repeated vote')} of a rater on the same makers and case"
        kept = "kept" if self.repeats == "keep" else f"the {self.repeats} counts"
        return f"{what}: {kept}" if self.repeated else ""

    @property
    def notes(self) -> Iterator[str]:
        """What was left out, a line each."""
        for (what, reason), rows in self.left_out.items():
            yield f"{count(len(rows), what)} left out: {reason} ({first_few(rows, EXAMPLES)})"
        if any(UNKNOWN_ANSWER in reason for _, reason in self.left_out):
            yield (
                f"known answers are the makers and {', '.join(WORDS)}; symbols and {', '.join(FILLERS)} may stand beside them; "
                "and comparisons: A>B, A<B, A=B"
            )


def read_votes(path: Path, columns: Mapping[str, str] | None = None, repeats: Repeats = "keep") -> VoteTable:
    """The votes of a CSV or JSON file: of `manyheads arena export`, or of anybody.

    Without both makers, without any known winner, or of one maker against itself: such rows are left out and counted. Of a row
    with several questions, an unknown winner leaves out its cell alone. MAMORX counts a rater's repeated votes on the same makers and
    case (Table 2).

    Args:
        columns: what another table calls `left`, `right`, `winner`, `rater`, `case`, `left_text`, `right_text`; other names are
            questions.
        repeats: which of repeated votes count.

    Raises:
        RatingError: the file cannot be read, a column is missing, or no row has a vote.
    """
    hint = "name the columns of your table: --columns left=COLUMN,right=COLUMN,winner=COLUMN"
    asked = {name: name for name in columns or {} if name not in (*LEADS, *TRAILS, *TEXTS, WINNER)}
    rows = read_table(path, [("left",), ("right",)], hint, columns, () if asked else COLUMNS)
    names = [*rows[0].cells] if rows else []
    questions = {WINNER: QUESTION, **asked} if WINNER in names else asked
    left_out = dict[tuple[What, str], list[str]]()
    if not questions:
        others = [name for name in names if name and name not in (*LEADS, *TRAILS, *TEXTS)]
        questions = {name: name for name in others if _has_answers(rows, name)}
        if unread := [name for name in others if name not in questions]:
            left_out["column", "few of its cells are answers"] = unread
    if not questions:
        columns_there = f"its columns: {', '.join(names)}"
        raise RatingError(f"{path}: no column with winners", tried=columns_there, hint=hint)
    votes = list[PairVote]()
    for row in rows:
        cells: dict[str, Answer | None] = {
            column: _answer(row, row[column]) for column in questions if not row.missing(column)
        }
        answers: dict[str, Answer] = {questions[name]: answer for name, answer in cells.items() if answer}
        unknown = [f"{column} {shortened(row[column], 60)!r} {UNKNOWN_ANSWER}"
                   for column, answer in cells.items() if answer is None]  # fmt: skip
        if reason := _fault(row) or ("" if answers else next(iter(unknown), "no winner")):
            left_out.setdefault(("row", reason), []).append(row.place)
            continue
        for each in unknown:
            left_out.setdefault(("cell", each), []).append(row.place)
        votes.append(_vote(row, answers))
    if not votes:
        reasons = "; ".join(f"{count(len(each), 'row')}: {reason}" for (_, reason), each in left_out.items())
        hint = f"{hint}; known answers: the makers, {', '.join(WORDS)}" if UNKNOWN_ANSWER in reasons else hint
        raise RatingError(f"{path}: no votes", tried=reasons or "the table has no rows", hint=hint)
    # Our own tables have one row for each item; a rater may see several texts of two makers on a case.
    once = votes if "kind" in names else _once(votes, repeats)
    counted = votes if repeats == "keep" else once
    return VoteTable(tuple(counted), left_out, len(votes) - len(once), repeats)


def _once(votes: Sequence[PairVote], repeats: Repeats) -> list[PairVote]:
    """One vote of each known rater on two makers and a known case."""
    by_rater = dict[tuple[str, ...], PairVote]()
    for at, vote in enumerate(votes):
        known = (vote.rater, vote.case, *sorted((vote.left, vote.right)))
        key = known if vote.rater and vote.case else (str(at),)
        if repeats == "last" or key not in by_rater:
            by_rater[key] = vote
    return [*by_rater.values()]


def _has_answers(rows: Sequence[TableRow], column: str) -> bool:
    """Whether most cells of a column name a winner."""
    answers = [_answer(row, row[column]) is not None for row in rows if not row.missing(column)]
    return 2 * sum(answers) > len(answers)


def _fault(row: TableRow) -> str:
    if not row["left"] or not row["right"]:
        return "a maker is missing"
    return "a maker against itself" * (row["left"] == row["right"])


def _answer(row: TableRow, cell: str) -> Answer | None:
    by_maker: dict[str, Answer] = {row["right"]: "right", row["left"]: "left"}
    if cell not in by_maker and (signs := COMPARISON.fullmatch(cell)):
        first, second = _answer(row, signs[1]), _answer(row, signs[4])
        if {first, second} != {"left", "right"}:
            return None
        return first if signs[2] else second if signs[3] else "tie"
    by_words: dict[str, Answer] = {_words(row["right"]): "right", _words(row["left"]): "left"}
    words = (word.removesuffix("vote") for word in _words(cell).split())  # `leftvote`, `bothbad_vote`
    short = " ".join(word for word in words if word and word not in FILLERS)
    named = by_words.get(short) if len(by_words) == 2 else None
    return by_maker.get(cell) or WORDS.get(_words(cell)) or named or WORDS.get(short)


def _words(text: str) -> str:
    """A text in lower case, without symbols."""
    return " ".join(re.findall(r"[^\W_]+(?:\.[0-9]+)?", text.lower()))


def _vote(row: TableRow, answers: Mapping[str, Answer]) -> PairVote:
    left, right = (_style(row, side) for side in ("left", "right"))
    seconds, kind = row.number("seconds"), "model" if row["kind"] == "model" else "person"
    took = None if isnan(seconds) else seconds
    return PairVote(row["left"], row["right"], answers, row["rater"], row["case"], kind, left, right, took)


def _style(row: TableRow, side: str) -> Mapping[str, int]:
    """Signs of style of a side's text, if the row has the text or the signs."""
    if text := row[f"{side}_text"]:
        return style_of(text)
    numbers = {sign: row.number(f"{side}_{sign}") for sign in STYLE}
    return {sign: int(each) for sign, each in numbers.items() if each >= 0}  # NaN is not


def votes_csv(votes: Iterable[PairVote], questions: Sequence[str], comments: Sequence[str] = ()) -> str:
    """Votes as a table that `read_votes` reads."""
    rows: list[list[object]] = [[*LEADS, *questions, *TRAILS[:2], *TRAILS[3:]]]
    for vote, comment in zip_longest(votes, comments, fillvalue=""):
        assert isinstance(vote, PairVote)
        about = (getattr(vote, name) for name in LEADS)
        answers = [vote.answers.get(name, "") for name in questions]
        styles = [style.get(sign, "") for style in (vote.left_style, vote.right_style) for sign in STYLE]
        seconds = "" if vote.seconds is None else f"{vote.seconds:.1f}"
        rows.append([*about, *answers, comment, seconds, *styles])
    return csv_text(rows)
