"""An arena's answers as tables: exports, sheets for raters without a browser and back again, and what agreement is computed of."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from manyheads.arena.items import AnsweredItem, StoredText
from manyheads.arena.store import Arena
from manyheads.base.errors import ArenaError
from manyheads.base.files import make_folder, replace_text
from manyheads.base.folders import writing
from manyheads.base.text import count, csv_text
from manyheads.measures.ranking import IdeaSet, Rankings
from manyheads.measures.ratings import RatingTable, identity_of
from manyheads.measures.tables import TableRow, read_table, refuse
from manyheads.measures.votes import Repeats, read_votes, votes_csv

Format: TypeAlias = Literal["csv", "json"]
SHEET = ("rater", "set", "id", "title", "text")
"""Columns of a sheet before those that raters fill in."""


def write_files(files: Mapping[Path, str]) -> list[Path]:
    """Write new files; raises `ArenaError` if one is there already, as it may contain answers."""
    if present := next((path for path in files if path.exists()), None):
        raise ArenaError(f"{present}: exists already", hint="name another --out")
    for path, text in files.items():
        with writing(path.parent):
            make_folder(path.parent)
            replace_text(path, text)
    return list(files)


# Sheets: the items of an arena for people with a spreadsheet.


def write_sheets(arena: Arena, raters: int, out: Path) -> list[Path]:
    """Write a sheet for each rater, such as `sheet-1.csv` for `sheet.csv`, and a guideline, `sheet.guide.md`.

    The ids of texts say nothing about their makers; each rater gets them in another order.

    Raises:
        ArenaError: this is an arena of pairs, it has no texts, or a file exists already, as it may be filled in.
    """
    sets = _sets(arena)
    if arena.kind == "pairs" or not sets:
        why = "pairs need the browser" if arena.kind == "pairs" else "it has no texts"
        hint = f"see its contents: manyheads arena status {arena.folder}"
        raise ArenaError(f"{arena.folder}: no sheets: {why}", hint=hint)
    rng, files = random.Random(0), dict[Path, str]()
    for rater in range(1, raters + 1):
        order = [
            (name, text)
            for name in rng.sample([*sets], len(sets))
            for text in rng.sample(sets[name], len(sets[name]))
        ]
        if arena.kind == "ratings":
            rng.shuffle(order)
        rows = [(f"R{rater}", name, text.id, text.title, text.body) for name, text in order]
        path = out.with_name(f"{out.stem}-{rater}{out.suffix}") if raters > 1 else out
        files[path] = _table([(*SHEET, *arena.form.names, "comment"), *rows])
    return write_files(files | {out.with_name(f"{out.stem}.guide.md"): _guide(arena, sets)})


def _sets(arena: Arena) -> dict[str, list[StoredText]]:
    """The texts to rate or rank, without equal ones, by a name for their case that says nothing about it."""
    by_case = defaultdict[str, dict[str, StoredText]](dict)
    for each in sorted(arena.texts(), key=lambda text: text.id):  # random ids
        by_case[each.case].setdefault(each.digest if arena.kind == "ratings" else each.id, each)
    least = 2 if arena.kind == "ranking" else 1
    whole = [[*texts.values()] for texts in by_case.values() if len(texts) >= least]
    return {f"S{number}": texts for number, texts in enumerate(whole, 1)}


def _guide(arena: Arena, sets: Mapping[str, Sequence[StoredText]]) -> str:
    form, cases = arena.form, {each.id: each for each in arena.cases()}
    low, high = form.scale
    what = (
        f"a whole number from {low} to {high}"
        if form.kind == "ratings"
        else "1 for the best of its set, each number once"
    )
    parts = [f"# {form.title}", form.guide.strip(), "## What to fill in"]
    parts += [f"**{each.id}**, {what}. {each.text}. {each.help}".strip() for each in form.questions]
    for name, texts in sets.items():
        case = cases[texts[0].case]
        parts += [f"## {' '.join((name, case.title))}".strip(), case.context.strip()] * bool(case.context)
    return "\n\n".join(filter(None, parts)) + "\n"


@dataclass(frozen=True)
class Taken:
    """What a table brought into an arena: votes or answers, how many of them are new, and what was left out."""

    number: int
    new: int
    notes: tuple[str, ...] = ()


def take(
    arena: Arena, paths: Sequence[Path], columns: Mapping[str, str] | None = None, repeats: Repeats = "keep"
) -> Taken:
    """Take votes on pairs from tables of anybody, or answers from sheets, all or none. The same again changes nothing.

    Args:
        columns: what the tables call our columns.
        repeats: which of a rater's repeated votes on the same makers and case count.

    Raises:
        RatingError: a table cannot be read, or an answer is not allowed; lists all problems by file and row.
    """
    if arena.kind != "pairs":
        return _take_sheets(arena, paths, columns)
    read = [read_votes(path, columns, repeats) for path in paths]
    votes = [vote for table in read for vote in table.votes]
    notes = [note for table in read for note in (table.headline, *table.notes) if note]
    return Taken(len(votes), arena.keep(votes), tuple(notes))


def _take_sheets(arena: Arena, paths: Sequence[Path], columns: Mapping[str, str] | None) -> Taken:
    names, case_of = arena.form.names, {each.id: each.case for each in arena.texts()}
    shown = defaultdict[str, list[str]](list)
    for text, case in case_of.items():
        shown[_item(arena, text, case)].append(text)
    needed = [(name,) for name in ("rater", "id", *names)]
    hint = f"manyheads arena export {arena.folder} --sheets 1"
    items, problems = defaultdict[tuple[str, str], dict[str, TableRow]](dict), list[str]()
    for row in (row for path in paths for row in read_table(path, needed, hint, columns, names)):
        rater, text = row["rater"], row["id"]
        if not rater or text not in case_of:
            problems.append(f"{row.place}: {f'{text!r} is no text of this arena' if rater else 'no rater'}")
        elif items[rater, _item(arena, text, case_of[text])].setdefault(text, row) is not row:
            problems.append(f"{row.place}: {rater} has already answered on {text}")
    blank, answers = list[str](), list[tuple[str, str, dict[str, str], str]]()
    for (rater, item), rows in items.items():
        first, cells = next(iter(rows.values())), [row[name] for row in rows.values() for name in names]
        if not any(cells):
            blank.append(first.place)
            continue
        if arena.kind == "ratings":
            said = {name: _plain_number(first, name) for name in names}
        else:
            said = {text: _plain_number(row, names[0]) for text, row in rows.items()}
        try:
            arena.checked(said, shown[item])
        except ArenaError as error:
            problems.append(f"{first.place}: {error.message}")
        answers.append((rater, item, said, first["comment"]))
    refuse(problems)
    new = sum(
        arena.take(arena.enter(rater), case_of[shown[item][0]], shown[item], said, comment)
        for rater, item, said, comment in answers
    )
    notes = [f"{count(len(blank), 'item')} without an answer left out ({', '.join(blank[:3])})"] * bool(blank)
    return Taken(len(answers), new, tuple(notes))


def _item(arena: Arena, text: str, case: str) -> str:
    """What a rater answers on at once: a text, or a case to rank."""
    return text if arena.kind == "ratings" else case


def _plain_number(row: TableRow, column: str) -> str:
    """A cell; a whole number as plainly as it can be written."""
    number = row.number(column)
    return f"{number:.0f}" if number.is_integer() else row[column]


# Exports.


def export(arena: Arena, form: Format, out: Path) -> Path:
    """Write the answers of an arena with the makers: votes that `arena rate` reads, ratings that `arena agreement` reads.

    Raises:
        ArenaError: there are no answers, or a file is there already.
    """
    if not arena.rows() and not arena.votes():
        hint = f"invite raters: manyheads arena invite {arena.folder} NAME"
        raise ArenaError(f"{arena.folder}: no answers yet", hint=hint)
    [path] = write_files({out: _json(arena) if form == "json" else _csv(arena)})
    return path


def _csv(arena: Arena) -> str:
    rows, names = arena.rows(), arena.form.names
    if arena.kind == "pairs":
        votes = arena.votes()
        comments = [""] * (len(votes) - len(rows)) + [row.comment for row in rows]
        questions = dict.fromkeys((*names, *(name for vote in votes for name in vote.answers)))
        return votes_csv(votes, [*questions], comments)
    cells = [
        (row.rater.name, row.case, text.id, text.title, text.body,
         *([row.answers[name] for name in names] if arena.kind == "ratings" else [row.answers[text.id]]),
         row.comment, text.maker, text.source, text.details.get("sha256", ""))
        for row in rows for text in row.places
    ]  # fmt: skip
    return _table([(*SHEET, *names, "comment", "maker", "source", "sha256"), *cells])


def _table(rows: Sequence[Sequence[object]]) -> str:
    """CSV for spreadsheets."""
    return "\ufeff" + csv_text(rows, newline="\r\n")


def _json(arena: Arena) -> str:
    rows = [*_answers(arena.rows())]
    imported = len(arena.votes()) - len(rows) if arena.kind == "pairs" else 0
    data = {
        "form": arena.form.model_dump(mode="json"),
        "cases": [{"id": each.id, "title": each.title, "paper": each.paper} for each in arena.cases()],
        "texts": [
            {"id": each.id, "case": each.case, "maker": each.maker, "source": each.source, "style": each.style, "hints": each.hints}
            for each in arena.texts()
        ],
        "answers": rows,
        "imported": [
            {"rater": vote.rater, "kind": vote.kind, "case": vote.case, "left": vote.left, "right": vote.right, "answers": vote.answers}
            for vote in arena.votes()[:imported]
        ],
    }  # fmt: skip
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _answers(rows: list[AnsweredItem]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "rater": row.rater.name, "kind": row.rater.kind, "case": row.case, "texts": [each.id for each in row.places],
            "answers": row.answers, "comment": row.comment, "seconds": row.seconds,
            "time": datetime.fromtimestamp(row.time, UTC).isoformat(timespec="seconds"),
        }  # fmt: skip


# What people's answers are compared by.


def ratings_of(arena: Arena) -> RatingTable:
    """The ratings in an arena of ratings; raises `ArenaError` if there are none."""
    scores, texts = defaultdict[str, dict[str, dict[str, float]]](dict), arena.texts()
    for row in _need_rows(arena, "ratings"):
        scores[row.places[0].id][row.rater.name] = {
            name: float(row.answers[name]) for name in arena.form.names
        }
    known = {
        each.id: identity_of({**each.details, "source": each.source, "name": each.title, "id": None})
        for each in texts
    }
    scales = dict.fromkeys(arena.form.names, (float(arena.form.scale[0]), float(arena.form.scale[1])))
    makers = {each.id: each.maker for each in texts}
    return RatingTable(arena.form.names, scores, scales, texts=known, groups=makers)


def rankings_of(arena: Arena) -> Rankings:
    """The rankings in an arena of rankings, with the judge's of the same sets where their runs are known."""
    ranks, sets = defaultdict[str, dict[str, tuple[int, ...]]](dict), dict[str, IdeaSet]()
    for row in _need_rows(arena, "ranking"):
        texts = sorted(row.places, key=lambda text: (int(text.details.get("number", 0)), text.id))
        ranks[row.case][row.rater.name] = tuple(int(row.answers[text.id]) for text in texts)
        first = texts[0].details
        judged = all("judge_ranks" in text.details for text in texts)
        by_text = [map(int, text.details["judge_ranks"].split()) for text in texts] if judged else []
        orders = zip(*by_text, strict=True)
        sets[row.case] = IdeaSet(
            first.get("quality", arena.form.first), first.get("target", row.case), first.get("run", ""), len(texts),
            tuple(orders), judged,
        )  # fmt: skip
    return Rankings(ranks, sets)


def _need_rows(arena: Arena, kind: str) -> list[AnsweredItem]:
    if arena.kind != kind or not (rows := arena.rows()):
        what = f"an arena of {arena.kind}, not of {kind}" if arena.kind != kind else "no answers yet"
        raise ArenaError(f"{arena.folder}: {what}", hint=f"manyheads arena status {arena.folder}")
    return rows
