"""What a rater is shown next, from what the table of an arena holds."""

import json
import random
from collections.abc import Mapping
from typing import TypeAlias

from manyheads.arena.form import ArenaForm
from manyheads.arena.pairing import Entry, Pairs
from manyheads.base.sqlite import Database

Chosen: TypeAlias = tuple[str, list[str]]
"""A case, and the ids of texts in the order shown."""


class Choice:
    """The next item of each rater. Reads only what is new in the table, as other processes write it too."""

    def __init__(self, database: Database, form: ArenaForm) -> None:
        self._db, self._form, self._rng = database, form, random.Random()
        self._texts: tuple[int, int | None] | None = None
        self._entries: Mapping[str, Entry] = {}
        self._pairs: Pairs | None = None
        self._item = self._answer = 0
        self._skipped = set[int]()

    def next(self, rater: int) -> Chosen | None:
        """A new item for a rater; None if there is nothing left."""
        match self._form.kind:
            case "pairs":
                pair = self._current().next(rater, self._rng)
                return (self._entries[pair[0]].case, [*pair]) if pair else None
            case "ratings":
                return self._rating(rater)
            case "ranking":
                return self._ranking(rater)

    def left(self, rater: int) -> int:
        """Items that a rater has not seen."""
        match self._form.kind:
            case "pairs":
                return self._current().left_for(rater)
            case "ratings":
                return len(self._unrated(rater))
            case "ranking":
                return len(self._unranked(rater))

    # One text at a time: the one with the fewest ratings.

    def _rating(self, rater: int) -> Chosen | None:
        if not (unrated := self._unrated(rater)):
            return None
        sql = "SELECT texts, count(*) FROM item WHERE state != 'skipped' GROUP BY texts"
        times = {json.loads(texts)[0]: number for texts, number in self._db.rows(sql)}
        text = min(unrated, key=lambda each: (int(times.get(each.id, 0)), self._rng.random()))
        return text.case, [text.id]

    def _unrated(self, rater: int) -> list[Entry]:
        """Texts that a rater has not seen, nor an equal one on the same case."""
        self._read_texts()
        rows = self._db.rows("SELECT texts FROM item WHERE rater = ?", rater)
        shown = [self._entries[json.loads(row[0])[0]] for row in rows]
        seen = {(each.case, each.digest) for each in shown}
        fresh = {(each.case, each.digest): each for each in self._entries.values()}
        return [each for key, each in fresh.items() if key not in seen]

    # All texts of a case: the case with the fewest rankings.

    def _ranking(self, rater: int) -> Chosen | None:
        if not (unranked := self._unranked(rater)):
            return None
        sql = """SELECT "case", count(*) FROM item WHERE state != 'skipped' GROUP BY "case" """
        times = dict(self._db.rows(sql))
        case = min(unranked, key=lambda each: (int(times.get(each, 0)), self._rng.random()))
        texts = unranked[case]
        return case, self._rng.sample(texts, len(texts))

    def _unranked(self, rater: int) -> dict[str, list[str]]:
        """The texts of the cases that a rater has not seen, as far as there are two."""
        self._read_texts()
        texts = dict[str, list[str]]()
        for each in self._entries.values():
            texts.setdefault(each.case, []).append(each.id)
        seen = {row[0] for row in self._db.rows('SELECT "case" FROM item WHERE rater = ?', rater)}
        return {case: ids for case, ids in texts.items() if case not in seen and len(ids) > 1}

    # Pairs.

    def _read_texts(self) -> bool:
        """Read the texts if there are new ones; returns whether there are."""
        texts = self._db.row("SELECT count(*), max(rowid) FROM text")
        if texts == self._texts:
            return False
        rows = self._db.rows('SELECT id, "case", maker, digest FROM text ORDER BY rowid')
        self._texts, self._entries = (
            (texts[0], texts[1]) if texts else None,
            {row[0]: Entry(*row) for row in rows},
        )
        return True

    def _current(self) -> Pairs:
        if self._read_texts() or self._pairs is None:
            self._pairs = Pairs(self._entries.values())
            self._item = self._answer = 0
            self._skipped.clear()
        pairs = self._pairs
        sql = "SELECT number, rater, texts, state FROM item WHERE number > ? ORDER BY number"
        for number, rater, texts, state in self._db.rows(sql, self._item):
            self._item = number
            left, right = json.loads(texts)
            pairs.show(rater, left, right, skipped=state == "skipped")
            self._skipped |= {number} if state == "skipped" else set()
        for number, texts in self._db.rows("SELECT number, texts FROM item WHERE state = 'skipped'"):
            if number not in self._skipped and number <= self._item:
                self._skipped.add(number)
                pairs.skip(*json.loads(texts))
        sql = (
            "SELECT answer.number, item.rater, item.texts, answer.answers FROM answer JOIN item ON item.id = answer.item"
            " WHERE answer.number > ? ORDER BY answer.number"
        )
        for number, rater, texts, answers in self._db.rows(sql, self._answer):
            self._answer = number
            left, right = json.loads(texts)
            pairs.answer(rater, left, right, json.loads(answers).get(self._form.first))
        return pairs
