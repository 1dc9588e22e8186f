"""Files that were damaged, edited or made to hurt: run folders, journals, corpora, configs."""

import gzip
import io
import random
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet

from attack.drive import WITH_MODEL, Driver
from attack.figures import Figure, times
from manyheads.base.errors import DocumentError
from manyheads.documents import find_quote, read_document
from support.exports import EXPORTS, known_papers

RUN = ("run", "virsci", "--set", "team.size=2", "--set", "turns=1", "--set", "embedding=lexical", "--quiet")
BUILD = ("corpus", "build", "--bound", "2014", "--embedding", "lexical")
Mutation = Callable[[Path, random.Random], object]


def bytes_of(name: str, change: Callable[[bytes, random.Random], bytes]) -> Mutation:
    def mutate(run: Path, rng: random.Random) -> None:
        path = run / name
        path.write_bytes(change(path.read_bytes(), rng))

    return mutate


def statement(sql: str, *values: Any) -> Mutation:
    def mutate(run: Path, rng: random.Random) -> None:
        with closing(sqlite3.connect(run / "journal.sqlite")) as journal, journal:
            journal.execute(sql, values)

    return mutate


def flipped(data: bytes, rng: random.Random, bits: int = 8) -> bytes:
    changed = bytearray(data)
    for _ in range(bits if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def as_folder(name: str) -> Mutation:
    def mutate(run: Path, rng: random.Random) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return mutate


BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "empty": lambda data, rng: b"", "half": lambda data, rng: data[: len(data) // 2], "flipped": flipped,
    "cut": lambda data, rng: data[: rng.randrange(len(data) + 1)], "random": lambda data, rng: rng.randbytes(3000),
    "zeroed": lambda data, rng: bytes(len(data)), "deep": lambda data, rng: b"[" * 100_000, "latin": lambda data, rng: data + b"\xff\xe9",
    "doubled": lambda data, rng: data + data, "start flipped": lambda data, rng: flipped(data[:200], rng) + data[200:],
}  # fmt: skip
FILES = ("journal.sqlite", "events.jsonl", "config.yaml", "result.json", "report.html")
DAMAGES: dict[str, Mutation] = {
    **{f"{name} {how}": bytes_of(name, change) for name in FILES for how, change in BYTES.items()},
    **{f"{name} gone": (lambda run, rng, name=name: (run / name).unlink()) for name in FILES},
    **{f"{name} a folder": as_folder(name) for name in FILES},
}
EDITS: dict[str, Mutation] = {
    f"reply {value[:20]!r}": statement("UPDATE turn SET reply = ? WHERE rowid = 3", value)
    for value in ("[]", "{}", "5", "null", "", "{", '{"text": 5}', "\x00", "[" * 50_000, '{"usage": null}', "NaN")
} | {
    "reply usage null": statement("UPDATE turn SET reply = json_set(reply, '$.usage', null) WHERE rowid = 3"),
    "reply model 5": statement("UPDATE turn SET reply = json_set(reply, '$.model', 5) WHERE rowid = 3"),
    "reply value list": statement("UPDATE turn SET reply = json_set(reply, '$.value', json('[]')) WHERE rowid = 3"),
    "reply attempts text": statement("UPDATE turn SET reply = json_set(reply, '$.attempts', 'x') WHERE rowid = 3"),
    "reply blob": statement("UPDATE turn SET reply = ? WHERE rowid = 3", b"\xff\xfe"),
    "request {}": statement("UPDATE turn SET request = '{}' WHERE rowid = 3"),
    "request garbage": statement("UPDATE turn SET request = 'x'"),
    "hash changed": statement("UPDATE turn SET hash = 'x' WHERE rowid = 3"),
    "speaker other": statement("UPDATE turn SET speaker = 'Nobody' WHERE rowid = 3"),
    "facts lists": statement("UPDATE fact SET value = '[1]'"),
    "facts garbage": statement("UPDATE fact SET value = '{'"),
    "facts text": statement("UPDATE fact SET value = '\"x\"'"),
    "no facts": statement("DELETE FROM fact"),
    "no turns": statement("DELETE FROM turn"),
    "no table": statement("DROP TABLE turn"),
    "other table": statement("ALTER TABLE turn RENAME COLUMN reply TO answer"),
    "events infinite": bytes_of("events.jsonl", lambda data, rng: data.replace(b'"at": ', b'"at": Infinity, "was": ', 3)),
    "events null": bytes_of("events.jsonl", lambda data, rng: data + b"null\n[]\n5\n"),
    "result infinite": bytes_of("result.json", lambda data, rng: data.replace(b'"calls": ', b'"calls": 1e999, "was": ')),
    "result a list": bytes_of("result.json", lambda data, rng: b"[" + data + b"]"),
    "config models list": bytes_of("config.yaml", lambda data, rng: data.replace(b"models:", b"models: []\nwas:")),
}  # fmt: skip


def run_folders(folder: Path) -> Figure:
    """A finished run and a stopped one, damaged in one way each: gone on with, and reported."""
    figure = Figure("damaged and edited run folders: resume, report")
    rng = random.Random(3)
    with Driver(60) as command:
        assert command(*RUN, "--out", "finished", cwd=folder).code == 0
        assert command(*RUN, "--out", "stopped", "--set", "budget.calls=9", cwd=folder).code == 3
        for name, mutation in (DAMAGES | EDITS).items():
            for base in ("finished", "stopped"):
                for number in range(times(2) if "flipped" in name or "cut" in name else 1):
                    run = folder / "damaged"
                    shutil.rmtree(run, ignore_errors=True)
                    shutil.copytree(folder / base, run)
                    if not all((run / file).exists() for file in FILES if name.startswith(file)):
                        continue
                    mutation(run, rng)
                    what = f"{base}, {name} {number}"
                    figure.add(f"report of {what}", command("report", "damaged", cwd=folder).faults)
                    end = command("resume", "damaged", "--set", "budget.calls=9000", cwd=folder)
                    lost = name in ("journal.sqlite gone", "journal.sqlite empty", "no turns")
                    figure.add(
                        f"resume of {what}", end.faults, {"paid anew without a word": lost and end.code == 0}
                    )
    return figure


def papers(count: int = 40) -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{n}", "title": f"Owls and learning {n}", "year": 2008 + n % 12, "authors": [f"Ann Bee {n % 5}", f"Cy Dee {n % 3}"],
            "abstract": f"We plan with owls in setting {n}, and find that they see at night.", "keywords": ["owls", f"k{n % 4}"],
            "references": [f"p{n // 2}"], "citations": n,
        }
        for n in range(count)
    ]  # fmt: skip


def formats(folder: Path) -> dict[str, bytes]:
    """A small corpus in each format, by the name of its file."""
    found, columns = papers(), io.BytesIO()
    written = {
        one.file: one.write(folder / "whole", known_papers(40, without="水 β-sheet Ż")).read_bytes()
        for one in EXPORTS.values()
    }
    aminer = "\n".join(
        f"#index {n}\n#* {p['title']}\n#@ {';'.join(p['authors'])}\n#t {p['year']}\n#c ACL\n#! {p['abstract']}\n"
        for n, p in enumerate(found)
    )
    parquet.write_table(
        arrow.Table.from_pylist([{**p, "authors": "; ".join(p["authors"])} for p in found]), columns
    )  # pyright: ignore[reportUnknownMemberType]
    return written | {
        "papers.tsv": written["papers.csv"].replace(b",", b"\t"), "AMiner-Paper.txt": aminer.encode(), "train.parquet": columns.getvalue(),
        "broken.parquet": columnar(title=[*[f"Owls {n}".encode() for n in range(11)], b"Owls \xff\xfe"]),
        "papers.jsonl.gz": gzip.compress(written["papers.jsonl"]), "library.ris.gz": gzip.compress(written["scopus.ris"]),
    }  # fmt: skip


def spoilt(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed in one of a dozen ways."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    line = rng.choice(
        [b"", b"\x00" * 50, b"\xff\xfe\xfa", b"[" * 60_000, b"{" * 60_000, b'{"year": ' + b"9" * 5000 + b"}", b'{"title": "\\ud800"}', b"null", b'"' * 999,
         b"=1+1", b'{"authors": 5, "title": {}, "year": [], "references": {"a": 1}}', lines[at][: len(lines[at]) // 2], lines[at] * 50,
         lines[at].replace(b"20", b"-20"), lines[at].replace(b"20", b"2e3"), lines[at].replace(b'"', b""), lines[at].replace(b",", b"\n")]
    )  # fmt: skip
    return rng.choice(
        [flipped(data, rng, 40), data[: rng.randrange(len(data))], b"\n".join([*lines[:at], line, *lines[at + 1 :]]), data + line, line + b"\n" + data,
         data.decode("latin-1").encode("utf-16"), b"\xef\xbb\xbf" + data]
    )  # fmt: skip


def corpora(folder: Path) -> Figure:
    """Corpora of each format, spoilt at random."""
    figure = Figure("mutated corpora of each format")
    rng = random.Random(7)
    with Driver(60) as command:
        command("roles", cwd=folder)
        for file, data in formats(folder).items():
            for number in range(times(5)):
                path = folder / f"{number}" / file
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(spoilt(data, rng) if number else data)
                end = command(*BUILD, path, "--out", f"{file}-{number}", cwd=folder)
                refused = (
                    number == 0 and end.code and "broken" not in file and file != "dblp.xml"
                )  # no abstracts
                figure.add(f"{file} {number}", end.faults, {"a whole file is refused": refused})
    return figure


def columnar(arrays: Any = None, **columns: Any) -> bytes:
    """Parquet of a dozen papers, some of whose columns are others; `bytes` are text that may be none."""
    found = papers(12)
    table = {key: [paper[key] for paper in found] for key in ("id", "title", "year", "abstract")}
    table["authors"] = ["; ".join(paper["authors"]) for paper in found]
    made = {
        key: arrow.array(values, arrow.binary()).view(arrow.string())
        if isinstance(values[0], bytes)
        else arrow.array(values)
        for key, values in {**table, **columns}.items()
        if key not in (arrays or {})
    }
    data = io.BytesIO()
    parquet.write_table(arrow.table({**made, **(arrays or {})}), data, compression="zstd", store_schema=False)
    return data.getvalue()


def bombs() -> Iterator[tuple[str, bytes]]:
    """Files that grow when they are read."""
    header, large = b"id,title,year,authors,abstract\n", b"a" * 300_000_000

    def packed(*pieces: bytes) -> bytes:
        data = io.BytesIO()
        with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=1) as file:
            for piece in pieces:
                file.write(piece)
        return data.getvalue()

    paper = b'<paper id="1"><title>a</title></paper>'
    yield "cell.csv.gz", packed(header, b'1,"', large, b'",2012,A B,c\n')
    yield "line.csv.gz", packed(header, large)
    yield "cells.csv.gz", packed(header, b"ab," * 20_000_000)
    yield "row.csv.gz", packed(header, b'"\n",' * 20_000_000)
    yield "line.jsonl.gz", packed(b'{"title": "', large, b'"}\n')
    yield "values.jsonl.gz", packed(b'{"id": [', b"[]," * 5_000_000, b"0]}\n")
    yield "numbers.jsonl.gz", packed(b'{"id": [', b"0," * 7_000_000, b"0]}\n")
    yield "oag_publication_1.json.gz", packed(b'{"n_citation": 1, "authors": [', b"{}," * 5_000_000, b"0]}\n")
    yield "field.bib.gz", packed(b"@article{a, title={", large, b"}}\n")
    yield "lines.bib.gz", packed(b"@article{a, title={\n", (b"a" * 90_000 + b"\n") * 4900, b"}}\n")
    yield "strings.bib.gz", packed(*(b'@string{a%d = "%s"}\n' % (n, b"a" * 90_000) for n in range(4000)))
    yield "2012.acl.xml.gz", packed(b'<collection id="2012.acl"><volume id="1"><paper id="1"><title>', large)
    yield "2013.acl.xml.gz", packed(b'<collection id="2013.acl"><volume id="1">', b"<a/>" * 20_000_000)
    yield (
        "2014.acl.xml.gz",
        packed(b'<collection id="2014.acl"><volume id="1">', (b"<a/>" * 100_000 + paper) * 30),
    )
    yield (
        "2015.acl.xml.gz",
        packed(
            b'<collection id="2015.acl">', b"<a/>" * 100_000, (b"<volume><meta/>" + paper + b"</volume>") * 9
        ),
    )
    yield "AMiner-Paper.txt", b"#index 1\n#* Owls\n#@ A B\n#t 2012\n#% 67108863\n#! We plan.\n"
    yield "AMiner-Paper.txt.gz", packed(b"#index 1\n#* Owls\n#! We plan.\n", (b"a" * 90_000 + b"\n") * 4000)
    yield "aminer-paper.zip", zipped(b"#index 1\n#* " + large)
    yield "lines.ris.gz", packed(b"TY  - JOUR\nTI  - Owls\nAB  - We\n", b"plan\n" * 60_000_000)
    yield "tags.nbib.gz", packed(b"PMID- 1\nTI  - Owls\n", b"AU  - A B\n" * 30_000_000)
    yield "page.json.gz", packed(b'{"a": ' + b'{"results": [' * 20_000, b'{"results": [' * 9_000_000)
    yield (
        "tail.json.gz",
        packed(
            b'{"results": [{"id": "W1", "title": "a", "authorships": [], "publication_year": 2012}], "x": "',
            large,
        ),
    )
    yield (
        "numbers.json.gz",
        packed(b'[{"_id": "1", "n_citation": NumberInt(1), "authors": [', b"NumberInt(1)," * 20_000_000),
    )
    yield "cell.parquet", columnar(title=["a" * 150_000_000, *"abcdefghijk"])
    alike = arrow.DictionaryArray.from_arrays(arrow.array([0] * 2000, arrow.int32()), ["A B" * 300_000])
    yield (
        "rows.parquet",
        columnar(dict.fromkeys(("id", "title", "abstract", "authors"), alike), year=[2012] * 2000),
    )
    people = arrow.ListArray.from_arrays(
        [0, 9_000_000],
        arrow.DictionaryArray.from_arrays(arrow.array([0] * 9_000_000), ["A B"]).cast("string"),
    )
    yield (
        "list.parquet",
        columnar({"authors": people}, **{key: ["a"] for key in ("id", "title", "abstract")}, year=[2012]),
    )


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("AMiner-Paper.txt", data)
    return file.getvalue()


BOUND = 200
"""MB that a small file may cost."""


def oversized(folder: Path) -> Figure:
    """Small files that become large."""
    figure, most = Figure("corpora that grow when they are read"), 0.0
    with Driver(120) as command:
        command("roles", cwd=folder)
        for name, data in bombs():
            path = folder / name
            path.write_bytes(data)
            end = command(*BUILD, name, "--out", f"out-{name}", cwd=folder)
            most = max(most, end.grown)
            figure.add(name, end.faults, {f"memory, {end.grown:.0f} MB": end.grown > BOUND})
            path.unlink()
    figure.notes.append(f"most memory {most:.0f} MB")
    return figure


CONFIGS: dict[str, str] = {
    "deep": "topic: " + "[" * 100_000 + "]" * 100_000, "levels": "topic: " + "[" * 2000 + "]" * 2000, "flow": "{a: " * 3000,
    "anchors": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(f"{chr(b + 1)}: &{chr(b + 1)} [{','.join([f'*{chr(b)}'] * 9)}]" for b in range(97, 106)) + "\ntopic: *j",
    "nul": 'system: virsci\npaths: ["a\\0b"]', "tag": "system: !!python/object/apply:os.system [ls]", "months": "system: virsci\nliterature: {before: 2015-13-01}",
    "huge": "system: virsci\nseed: " + "9" * 5000, "references": "system: virsci\nvirsci: {ideas: {references: 99999999999999999999}}",
    "user": "system: virsci\ncorpus: ~nosuchuser/x", "long": "system: virsci\ncorpus: " + "a" * 5000, "list": "[1, 2]", "scalar": "5", "empty": "",
    "nan": "system: virsci\nseed: .nan", "keys": "? [a, b]\n: c", "dup": "seed: 1\nseed: 2", "merge": "<<: [1]", "date": "seed: 2001-12-14t21:59:43.10-05:00",
    "binary": "seed: !!binary aGVsbG8=", "tabs": "system:\tvirsci\n\tseed: 1", "names": "system: virsci\nname: ../../x", "self": "a: &a [*a]",
    "float": "system: virsci\nseed: 1e400", "surrogate": 'topic: "\\ud800"', "escape": 'topic: "\\e[2J"',
}  # fmt: skip
PROMPTS: dict[str, str] = {
    "itself": '{% include "scientist/system.md.j2" %}', "truncate": "{{ 'abc'|truncate(-5) }}", "dictsort": "{{ 'abc'|dictsort }}",
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}", "wrap": "{{ ('a' * 9999999)|wordwrap(1) }}",
    "lorem": "{{ lipsum(n=100000) }}", "times": "{{ 'x' * 3000000000 }}", "indent": "{{ 'x'|indent(3000000000) }}", "power": "{{ 9 ** 9 ** 9 }}",
    "surrogate": '{{ "\\ud800" }}', "attr": "{{ ''.__class__.__mro__ }}", "unclosed": "{% if %}", "undefined": "{{ nothing }}", "divide": "{{ 1 / 0 }}",
    "nested": "{% for a in [1] %}" * 60 + "{% endfor %}" * 60, "range": "{{ range(10**9)|list }}", "format": "{{ '%1000000000d'|format(1) }}",
    "center": "{{ 'x'|center(3000000000) }}", "join": "{{ (range(99999)|list)|join('a' * 99999) }}", "import": '{% import "/etc/passwd" as x %}',
    "escape": "\x1b[2J {{ missing }}",
    "slice": "{{ [1]|slice(999999999)|list }}", "batch": "{{ [1]|batch(999999999, 0)|list }}", "round": "{{ 1|round(999999999, 'ceil') }}",
    "doubled": "{% set a = 'owls' %}" + "{% set a = a ~ a %}" * 40, "lists": "{% set a = 1 %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
}  # fmt: skip


def texts(folder: Path) -> Figure:
    """Configs and prompts as nobody should write them."""
    figure = Figure("hostile configs and prompts: check, run")
    with Driver(40, most=WITH_MODEL) as command:
        for name, text in CONFIGS.items():
            (folder / f"{name}.yaml").write_text(text)
            figure.add(f"config {name}", command("check", f"{name}.yaml", cwd=folder).faults)
        for name, text in PROMPTS.items():
            path = folder / name / "prompts" / "scientist" / "system.md.j2"
            path.parent.mkdir(parents=True)
            path.write_text(text)
            checked = command("check", "virsci", "--path", name, cwd=folder)
            wrong = {"held for good": checked.code == 0 and name not in HARMLESS}
            figure.add(f"check of prompt {name}", checked.faults, wrong)
            ran = command(*RUN, "--path", name, "--out", f"run-{name}", cwd=folder)
            figure.add(f"run of prompt {name}", ran.faults)
    return figure


WORDS = "Words that people read in a paper about owls, and about mice under the snow. " * 6
TEI = '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><div><head>One</head>%s</div></body></text></TEI>'
LATEX = r"\begin{document}\section{One}" + WORDS + r"%s\section{Two} Last words.\end{document}"
REFUSED: dict[str, str] = {
    "lists.tex": LATEX % (r"\begin{itemize}\item a " * 3000 + r"\end{itemize}" * 3000), "open.tex": LATEX % (r"\begin{itemize}\item a " * 3000),
    "macros.tex": r"\newcommand{\a}{x}" + "".join(rf"\newcommand{{\{chr(98 + n)}}}{{{chr(92) + chr(97 + n)}}}" * 9 for n in range(16)) + r"\begin{document}\q\end{document}",
    "sections.json": '{"title": "a", "sections": ' + '[{"title": "b", "sections": ' * 3000 + "[]" + "}]" * 3000 + "}", "lists.json": "[" * 100_000,
    "paragraphs.xml": TEI % ("<p>a" * 5000 + "</p>" * 5000), "word.html": "<html><body>no</body></html>", "word.pdf": "<html>no</html>",
    "empty.tex": r"\begin{document}\end{document}", "denied.md": "# Access denied\n\nAsk someone else.",
}  # fmt: skip
READ: dict[str, str] = {
    "figure.tex": LATEX % r"\begin{figure}\caption{Open.}", "table.tex": LATEX % r"\begin{table}\caption{Open. ", "abstract.tex": LATEX % r"\begin{abstract} Open.",
    "verbatim.tex": LATEX % "\\begin{verbatim}\n\\end{document}\n\\end{verbatim}\n", "listing.tex": LATEX % "\\begin{lstlisting}\n% \\end{document}\n\\end{lstlisting}\n",
    "brace.tex": LATEX % r"\textbf{open", "signs.tex": LATEX % "} $ } & \\% ", "marks.md": WORDS + "> " * 20_000 + "[" * 50_000 + "\n\nLast words.",
    "boxes.html": f"<p>{WORDS}" + "<div>" * 100_000 + "Last words.", "form.html": f"<form><p>{WORDS}</p><p>Last words.</p></form>",
}  # fmt: skip


def manuscripts(folder: Path) -> Figure:
    """Broken and hostile papers: refused in a sentence, or read to their last words."""
    figure = Figure("broken and hostile papers: read or refused")
    for name, text in (REFUSED | READ).items():
        (path := folder / name).write_text(text)
        begin = time.process_time()
        try:
            document = read_document(path)
            wrong = {
                "its end is lost": "Last words." not in f"{document.abstract} {document.text()}",
                "accepted": name in REFUSED,
                "finds a quote in nothing": find_quote(document, "words that nobody wrote") is not None,
            }
        except DocumentError as error:
            wrong = {f"refused: {error.message}": name in READ, "unnamed": name not in error.message}
        figure.add(name, (), {**wrong, "slow": time.process_time() - begin > 10})
    return figure


HARMLESS = ("nested", "surrogate", "lorem", "wrap", "escape")
