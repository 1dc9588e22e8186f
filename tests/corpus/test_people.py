"""The scientists of a large corpus: those who wait are lines of a file."""

import json
import tracemalloc
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.base.papers import People, Scientist
from manyheads.corpus.ecosystem import read_people

COUNT = 2_000


def scientists() -> list[Scientist]:
    return [
        Scientist(
            name=f"Scientist{n}", interests=(f'the "{n}" tides', "lenses", "graphs", "ledgers"), affiliations=("Åbo",), papers=3,
            citations=n, collaborators={f"Scientist{(n + k) % COUNT}": k for k in range(1, 6)},
        )
        for n in range(COUNT)
    ]  # fmt: skip


def write(folder: Path, rows: list[str]) -> None:
    lines = ",\n ".join(rows)
    (folder / "scientists.json").write_text(f"[{lines}]\n", encoding="utf-8")


def test_one_that_waits_takes_less_than_a_kilobyte_and_is_the_same_when_looked_at(tmp_path: Path) -> None:
    known = scientists()
    write(tmp_path, [one.model_dump_json() for one in known])
    tracemalloc.start()
    try:
        people = read_people(tmp_path)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / COUNT < 1000
    assert [*people] == known
    assert (people[-1], people[3:5]) == (known[-1], known[3:5])
    assert people.names == [one.name for one in known]
    later = people.changed(
        {"Scientist7": known[7].model_copy(update={"papers": 4}), "Scientist2000": known[0]}
    )
    assert (later.scientist("Scientist7").papers, people.scientist("Scientist7").papers, len(later)) == (
        4,
        3,
        COUNT + 1,
    )
    assert [*later.only(["Scientist9", "Scientist2000"])] == [known[9], known[0]]
    with pytest.raises(KeyError):
        people.scientist("Scientist2000")


def test_a_file_of_another_form_is_read_and_a_damaged_scientist_is_named(tmp_path: Path) -> None:
    known = scientists()[:3]
    (tmp_path / "scientists.json").write_text(json.dumps([one.model_dump() for one in known], indent=2))
    assert [*read_people(tmp_path)] == known
    rows = [each.model_dump_json() for each in known]
    (tmp_path / "scientists.json").write_text(",\n ".join(rows))
    with pytest.raises(CorpusError, match=r"scientists\.json"):
        read_people(tmp_path)
    (tmp_path / "scientists.json").write_bytes(b'[{"name":"Scientist\xff"}]')
    with pytest.raises(CorpusError, match=r"scientists\.json"):
        read_people(tmp_path)
    for broken in ('{"name":"Scientist1","papers":}', '{"name":"Scientist1","paper":1}'):
        write(tmp_path, [rows[0], broken])
        with pytest.raises(CorpusError, match=r"scientists\.json"):
            read_people(tmp_path)
    write(tmp_path, [known[0].model_dump_json(), '{"name":"Scientist1","papers":"many"}'])
    people = read_people(tmp_path)
    assert isinstance(people, People)
    assert people[0] == known[0]
    with pytest.raises(CorpusError, match=r"scientists\.json: Scientist1: papers"):
        people.scientist("Scientist1")
    for broken in ("", "[{", "{}", '[{"name":"Scientist0"},\n {"name"]'):
        (tmp_path / "scientists.json").write_text(broken)
        with pytest.raises(CorpusError, match=r"scientists\.json"):
            read_people(tmp_path)
