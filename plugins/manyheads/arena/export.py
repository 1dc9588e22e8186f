"""An arena's answers as files, without invitations: votes, ratings, rankings, and the key of their texts."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from manyheads.arena.items import Row, StoredText
from manyheads.arena.store import Arena
from manyheads.base.errors import ArenaError
from manyheads.base.files import make_folder, replace_text
from manyheads.base.folders import writing
from manyheads.base.text import csv_text
from manyheads.measures import ranking, ratings
from manyheads.measures.forms import Layout
from manyheads.measures.votes import votes_csv

Format: TypeAlias = Literal["csv", "json"]


def export(arena: Arena, form: Format, out: Path) -> list[Path]:
    """Write the answers of an arena: votes that `arena rate` reads, or the forms and the key that `rating agreement` and
    `ranking agreement` read.

    Returns:
        The files; a key is to be kept from raters.

    Raises:
        ArenaError: there are no answers, or a file is there already.
    """
    files = _json(arena, out) if form == "json" else _csv(arena, out)
    if present := next((path for path in files if path.exists()), None):
        raise ArenaError(f"{present}: exists already", hint="name another --out")
    with writing(out.parent):
        make_folder(out.parent)
        for path, text in files.items():
            replace_text(path, text, newline="")
    return list(files)


def _csv(arena: Arena, out: Path) -> dict[Path, str]:
    if arena.kind == "pairs":
        votes = arena.votes()
        rows = arena.rows()
        if not votes:
            raise _nothing(arena)
        comments = [""] * (len(votes) - len(rows)) + [row.comment for row in rows]
        questions = list(
            dict.fromkeys((*arena.form.names, *(name for vote in votes for name in vote.answers)))
        )
        return {out: votes_csv(votes, questions, comments)}
    rows = arena.rows()
    if not rows:
        raise _nothing(arena)
    if arena.kind == "ratings":
        header = ("rater", "id", "title", "abstract", *arena.form.names, "comment")
        cells = [
            [row.rater.name, row.places[0].id, row.places[0].title, row.places[0].body,
             *(row.answers[name] for name in arena.form.names), row.comment]
            for row in rows
        ]  # fmt: skip
        key = [
            [each.id, each.source, each.title, each.details.get("sha256", ""), each.maker, each.case]
            for each in arena.texts()
        ]
        return _with_key(out, [header, *cells], [(*ratings.LAYOUT.key, "maker", "case"), *key])
    letters = _letters(arena.texts())
    cells = [
        [row.rater.name, row.case, text.details.get("quality", ""), letters[text.id], text.body, row.answers[text.id], row.comment]
        for row in rows for text in row.places
    ]  # fmt: skip
    known = {"set", "idea", "source"}
    keys = [
        [{"set": each.case, "idea": letters[each.id], "source": each.source}.get(name, each.details.get(name, "")) for name in _columns(ranking.LAYOUT)]
        for each in arena.texts()
    ]  # fmt: skip
    judged = all(known | each.details.keys() >= set(ranking.LAYOUT.key) for each in arena.texts())
    columns = _columns(ranking.LAYOUT)
    if judged:
        return _with_key(out, [ranking.LAYOUT.table, *cells], [columns, *keys])
    makers = [[each.case, letters[each.id], each.maker, each.source] for each in arena.texts()]
    return _with_key(out, [ranking.LAYOUT.table, *cells], [("set", "idea", "maker", "source"), *makers])


def _letters(texts: Sequence[StoredText]) -> dict[str, str]:
    """A letter for each text of a case, by its random id; numbers beyond Z."""
    places, letters = Counter[str](), dict[str, str]()
    for each in sorted(texts, key=lambda text: text.id):
        at = places[each.case]
        letters[each.id] = ascii_uppercase[at] if at < len(ascii_uppercase) else str(at + 1)
        places[each.case] += 1
    return letters


def _columns(layout: Layout) -> tuple[str, ...]:
    return layout.key


def _with_key(out: Path, table: list[Any], key: list[Any]) -> dict[Path, str]:
    return {out: "\ufeff" + csv_text(table), out.with_name(f"{out.stem}.key.csv"): "\ufeff" + csv_text(key)}


def _json(arena: Arena, out: Path) -> dict[Path, str]:
    rows = [*_answers(arena.rows())]
    imported = len(arena.votes()) - len(rows) if arena.kind == "pairs" else 0
    if not rows and not imported:
        raise _nothing(arena)
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
    return {out: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}


def _answers(rows: list[Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "rater": row.rater.name, "kind": row.rater.kind, "case": row.case, "texts": [each.id for each in row.places],
            "answers": row.answers, "comment": row.comment, "seconds": row.seconds,
            "time": datetime.fromtimestamp(row.time, UTC).isoformat(timespec="seconds"),
        }  # fmt: skip


def _nothing(arena: Arena) -> ArenaError:
    return ArenaError(
        f"{arena.folder}: no answers yet", hint=f"invite raters: manyheads arena invite {arena.folder} NAME"
    )
