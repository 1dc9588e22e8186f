"""Suites, and the tables and texts of people, as nobody should write them."""

import json
from collections.abc import Iterator
from pathlib import Path

from attack.drive import Driver
from attack.figures import Figure

SUITE = """title: Sizes
version: 1
sources: [here]
configs: [single]
measures: [usage.calls]
repeats: 1
"""
DEEP = "[" * 50_000 + "]" * 50_000
HUGE = "9" * 5000
LARGE = "9" * 30
ODD = {
    "surrogate": '"\\ud800"', "escape": '"\\e[2J\\e]0;OWNED\\a"', "formula": '"=1+1"', "nan": ".nan", "infinite": ".inf", "huge": HUGE, "large": LARGE,
    "below": "-1", "zero": "0", "null": "null", "list": "[[1], [2]]", "map": "{a: {b: 1}}", "text": "x", "long": '"' + "a" * 100_000 + '"',
    "true": "true", "date": "2001-12-14", "nul": '"a\\0b"', "slashes": "../../../x", "turned": '"\\u202eabc"',
}  # fmt: skip
KEYS = (
    "title", "description", "version", "sources", "configs", "set", "grid", "variants", "cases", "repeats", "ideas", "begin_with", "seeds", "measures",
    "measuring", "against", "level", "plot", "no such key",
)  # fmt: skip
WHOLE = {
    "grid of 200,000": "grid: {turns: [" + ",".join(map(str, range(1, 200_001))) + "]}",
    "grid of grids": "grid:\n" + "".join(f"  key{n}: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for n in range(30)),
    "200,000 variants": "variants: {" + ",".join(f"v{n}: {{turns: 1}}" for n in range(200_000)) + "}",
    "200,000 seeds": "seeds: [" + ",".join(map(str, range(200_000))) + "]",
    "repeats": "repeats: 1000000000", "ideas": "ideas: 1000000000", "seeds": f"seeds: [{LARGE}]", "negative seeds": "seeds: [-1]",
    "deep grid": f"grid: {{name: [{DEEP}]}}", "deep variants": "variants: {a: " + "{a: " * 2000 + "1" + "}" * 2000 + "}",
    "odd axes": 'grid: {"\\e[2J": [1, 2]}', "axis of nothing": 'grid: {"": [1]}', "axis of dots": 'grid: {"....": [1]}',
    "axis of number": "grid: {5: [1]}", "odd values": 'grid: {name: ["=1+1", "\\e[2J", "\\ud800", "../../x", ".", ""]}',
    "nan values": "grid: {seed: [.nan, .nan]}", "nan grid": "grid: {virsci.turns: [.nan]}", "odd variant": 'variants: {"../../x": {name: a}, "\\ud800": {name: b}}',
    "measures": "measures: [" + ",".join(f"usage.m{n}" for n in range(100_000)) + "]", "measure": 'measures: ["a.b < 1e999"]',
    "long measure": "measures: [" + "a." * 50_000 + "b]", "digits": "measures: [a < " + "9" * 50_000 + "]", "odd measure": 'measures: ["\\e[2J", "=1+1"]',
    "around": f"measures: [rnd]\nmeasuring: {{around: {LARGE}, own: {LARGE}}}", "neighbours": f"measures: [hd]\nmeasuring: {{neighbours: {LARGE}}}",
    "many neighbours": "measures: [hd, rnd]\nmeasuring: {neighbours: 1000000000, around: 1000000000, own: 1000000000}",
    "level": "level: 0.9999999999999999", "plot": "plot: {kind: bars, x: nowhere, value: usage.calls}", "configs": "configs: [/dev/zero]",
    "config itself": "configs: [suite.yaml]", "many configs": "configs: [" + ",".join(["single"] * 100_000) + "]", "set": "set: {models.default.seed: 99999999999999999999}",
    "cases outside": "cases: ../../../../../../etc/passwd", "cases zero": "cases: /dev/zero", "cases nul": 'cases: "a\\0b"', "cases folder": "cases: .",
    "begin": "begin_with: {turns: [[1]]}", "against": f"against: {{turns: {DEEP}}}", "anchors": "grid: &a {turns: [*a]}",
}  # fmt: skip
CASE = '{"id": "a", "topic": "Owls"}'
CASES: dict[str, bytes] = {
    "surrogate id": b'{"id": "\\ud800", "topic": "Owls"}', "surrogate key": b'{"id": "a", "\\ud800": 1}', "surrogate value": b'{"id": "a", "topic": "\\ud800"}',
    "deep": DEEP.encode(), "deep value": b'{"id": "a", "topic": ' + DEEP.encode() + b"}", "huge": b'{"id": "a", "seed": ' + HUGE.encode() + b"}",
    "nan": b'{"id": "a", "turns": NaN}', "number id": b'{"id": 5}', "long id": b'{"id": "' + b"a" * 100_000 + b'"}', "path id": b'{"id": "../../../x"}',
    "escape id": b'{"id": "\\u001b[2J\\u001b]0;OWNED\\u0007"}', "formula id": b'{"id": "=1+1"}', "blank id": b'{"id": " "}', "twice": (CASE + "\n" + CASE).encode(),
    "bytes": b"\xff\xfe" + CASE.encode(), "nul": b"\x00" * 1000, "empty": b"", "half": CASE[:10].encode(), "key twice": b'{"id": "a", "id": "b"}',
    "dots": b'{"id": "a", "...": 1, "": 2}', "deep key": b'{"id": "a", "' + b"a." * 3000 + b'b": 1}', "escape key": b'{"id": "a", "\\u001b[2J": 1}',
    "many": "\n".join(f'{{"id": "c{n}"}}' for n in range(200_000)).encode(), "line": b'{"id": "a", "topic": "' + b"a" * 50_000_000 + b'"}',
    "separator": CASE.replace("Owls", "Ow\u2028ls").encode(), "file": b'{"id": "a", "subject": "/dev/zero"}', "user": b'{"id": "a", "corpus": "~nosuchuser/x"}',
    "long key": b'{"id": "a", "' + b"k" * 100_000 + b'": 1}',
}  # fmt: skip
FILES = ("/dev/zero", "/proc/self/mem", "/nonexistent", ".", "a\ud800b", "a" * 5000)
NAMES = (
    "../../x", "/", ".", "", " ", "a" * 5000, "a/" * 2000, "\x1b[2J", "~nosuchuser/x", "team-size/../team-size", "\udcff", "*",
)  # fmt: skip
LEXICAL = ("--corpus", "sample", "--embedding", "lexical")
BUDGETS = f"calls={LARGE} calls=-1 money=nan money=inf tokens=1e999 seconds=0 calls={HUGE} = nosuch=1 money=-0".split()
BEGUN = {
    "deep": DEEP,
    "list": "[]",
    "bytes": "\ud800",
    "null": "null",
    "format": '{"format": 2}',
    "old": '{"format": 2, "judging": 5, "accepted": 7}',
}
HEAD = "rater,id,title,abstract,novelty,feasibility,effectiveness,comment\n"
TABLES: dict[str, bytes] = {
    "formulas": (HEAD + "R1,=1+1,@SUM(1),-1,+5,=5,5,=cmd|' /C calc'!A0\n").encode(), "nan": (HEAD + "R1,T1,t,a,nan,inf,1e3,\n").encode(),
    "huge": (HEAD + f"R1,T1,t,a,{HUGE},5,5,\n").encode(), "arabic": (HEAD + "R1,T1,t,a,٧,5,5,\n").encode(), "negative": (HEAD + "R1,T1,t,a,-7,0,11,\n").encode(),
    "no columns": b"a,b,c\n1,2,3\n", "columns twice": b"rater,rater,id,id,novelty\nR1,R2,T1,T2,5\n", "no rows": HEAD.encode(), "empty": b"", "nul": b"\x00" * 1000,
    "bytes": HEAD.encode() + b"R1,\xff\xfe,t,a,5,5,5,\n", "utf-16": (HEAD + "R1,T1,t,a,5,5,5,\n").encode("utf-16"), "quote": (HEAD + 'R1,"T1,t,a,5,5,5,\n').encode(),
    "wide": (HEAD + "R1,T1,t,a,5,5,5," + "x," * 100_000 + "\n").encode(), "columns": (HEAD.strip() + "," + ",".join(f"c{n}" for n in range(20_000)) + "\n").encode(),
    "cell": (HEAD + "R1,T1,t," + "a" * 30_000_000 + ",5,5,5,\n").encode(), "many": (HEAD + "R1,T1,t,a,5,5,5,\n" * 100_000).encode(),
    "escapes": (HEAD + "\x1b[2J,\x1b]0;OWNED\x07,t,a,x\x1b[2J,5,5,\n").encode(), "raters": (HEAD + "".join(f"R{n},T1,t,a,5,5,5,\n" for n in range(30_000))).encode(),
    "escape column": HEAD.replace("title", "\x1b[2J").encode(), "deep": DEEP.encode(), "one": (HEAD + "R1,T1,t,a,5,5,5,\n").encode(),
    "large": HEAD.encode() + b"R1,T1,t,a,5,5,5,\n" * 6_000_000,
}  # fmt: skip
RANKED = "rater,set,quality,idea,rank,number,target,judge_ranks,source,run,sha256,text\n"
SCORES: dict[str, bytes] = {
    "deep.jsonl": DEEP.encode(), "deep.json": DEEP.encode(), "nan.jsonl": b'{"source": "a", "on": NaN}', "huge.jsonl": b'{"source": "a", "on": ' + HUGE.encode() + b"}",
    "text.jsonl": b'{"source": "a", "on": "x"}', "list.jsonl": b"[1, 2]", "bool.jsonl": b'{"source": "a", "on": true}', "null.jsonl": b'{"source": null, "on": null}',
    "surrogate.jsonl": b'{"source": "\\ud800", "on": 5}', "nul.jsonl": b'{"source": "a\\u0000b", "on": 5}', "user.jsonl": b'{"source": "~nosuchuser/x", "on": 5}',
    "escape.jsonl": b'{"source": "\\u001b[2J", "\\u001b[2J": 5}', "long.jsonl": b'{"source": "' + b"a" * 100_000 + b'", "on": 5}', "inf.csv": b"source,on\na,inf\n",
    "digits.csv": b"source,on\na," + HUGE.encode() + b"\n", "missing.jsonl": b'{"source": "a", "on": null, "missing": {"on": "\\u001b[2J"}}',
    "large.jsonl": b'{"id": "T1", "on": 1e308}\n{"id": "T2", "on": -1e308}\n{"id": "T3", "on": 1e308}',
}  # fmt: skip
TEXTS: dict[str, bytes] = {
    "deep.json": DEEP.encode(), "deep.jsonl": DEEP.encode(), "value.json": b'{"abstract": ' + DEEP.encode() + b"}", "huge.json": b'{"abstract": ' + HUGE.encode() + b"}",
    "surrogate.json": b'{"abstract": "We \\ud800 plan.", "title": "\\udc00"}', "escape.json": b'{"abstract": "We plan.", "title": "\\u001b[2J\\u001b]0;OWNED\\u0007\\u202e"}',
    "nul.json": b'{"abstract": "a\\u0000b"}', "nan.json": b'{"abstract": NaN}', "nul.md": b"\x00", "bytes.md": b"\xff\xfe", "empty.md": b"", "escape.md": b"# \x1b[2Jt\n\nWe plan \x07.",
    "blank.json": b'{"abstract": " "}', "large.md": b"a " * 20_000_000, "many.jsonl": b'{"abstract": "We plan."}\n' * 1000 + DEEP.encode(), "open.json": b"[" * 100_000,
    "script.md": b"# <script>alert(1)</script>\n\nWe plan.", "quote.jsonl": b'{"abstract": "We\xe2\x80\xa8plan."}',
}  # fmt: skip


def suites(folder: Path) -> Figure:
    """Each command in a folder of its own; none of these suites may be run to its end where it is not small."""
    figure = Figure("hostile suites, cases, budgets; forms and texts of people")
    with Driver(25) as command:
        command("roles", cwd=folder)
        for number, (what, arguments) in enumerate(tries(folder)):
            own = ("--out", f"out-{number}") if arguments[0] == "eval" and "--out" not in arguments else ()
            try:
                end = command(*arguments, *own, cwd=folder)
            except UnicodeEncodeError:
                continue
            tables = "".join(path.read_text() for path in folder.glob(f"out-{number}/*.csv"))
            figure.add(
                f"{what} {arguments!r}"[:300], end.faults, {"a formula": "\n=" in tables or ",=" in tables}
            )
    return figure


def tries(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is tried, and the command."""
    yield from _suites(folder)
    yield "arena", ("arena", "new", "rated", "--form", "rating")
    yield from _tables(folder)
    for name, data in TEXTS.items():
        (folder / name).write_bytes(data)
        yield "text", ("measure", name, *LEXICAL)
        yield "text", ("review", name, "--repeats", "1", "--quiet")
        yield "text", ("arena", "add", "rated", name)
    for name in ("/dev/zero", "/proc/self/mem", "a" * 5000, "~nosuchuser/x"):
        yield "text", ("measure", name, *LEXICAL)
        yield "text", ("arena", "add", "rated", name)
    (folder / "good.md").write_text("# Owls\n\nWe plan with owls.")
    for flag in ("--neighbours", "--rnd-papers", "--rnd-neighbours"):
        yield "number", ("measure", "good.md", *LEXICAL, "--rnd", flag, "1000000000")
    for value in ("1000000000", LARGE, "0", "-1"):
        yield "number", ("arena", "export", "rated", "--sheets", value, "--out", f"sheets/{value}.csv")


def _suites(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    base = folder / "base"
    base.mkdir()
    (base / "suite.yaml").write_text(SUITE)
    for number in ("1000000000", LARGE, HUGE, "0", "-1", "1.5"):
        yield "repeats", ("eval", "base", "--repeats", number)
    for budget in BUDGETS:
        yield "budget", ("eval", "base", "--budget", budget)
    yield "jobs", ("eval", "base", "--jobs", "1000000000")
    for file in FILES:
        yield "cases file", ("eval", "base", "--cases", file)
    for name in NAMES:
        yield "name", ("eval", name)
    for out in ("/dev/null", "/proc/x", "base/suite.yaml", "o" * 300, "base"):
        yield "out", ("eval", "base", "--out", out)
    odd = {f"{key} as {name}": f"{key}: {value}" for key in KEYS for name, value in ODD.items()}
    for name, lines in {**odd, **WHOLE}.items():
        key = lines.partition(":")[0]
        text = "".join(line for line in SUITE.splitlines(True) if line.partition(":")[0] != key)
        path = folder / name.replace(" ", "-") / "suite.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}{lines}\n")
        yield name, ("eval", path.parent.name)
    for name, data in CASES.items():
        (base / f"{name}.jsonl").write_bytes(data)
        yield f"cases {name}", ("eval", "base", "--cases", f"base/{name}.jsonl")
    for name, data in BEGUN.items():
        path = folder / f"begun-{name}" / "suite.json"
        path.parent.mkdir()
        path.write_bytes(data.encode("utf-8", "surrogatepass"))
        yield f"begun {name}", ("eval", "base", "--out", path.parent.name)
        yield f"begun {name}", ("eval", "base", "--accept-changes", "--out", path.parent.name)


def _tables(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    (folder / "one.jsonl").write_text('{"id": "T1", "on": 1}')
    for name, data in TABLES.items():
        (folder / f"{name}.csv").write_bytes(data)
        ranked = data.replace(HEAD.strip().encode(), RANKED.strip().encode())
        (folder / f"ranked {name}.csv").write_bytes(ranked)
        yield "table", ("arena", "agreement", f"{name}.csv")
        yield "table and scores", ("arena", "agreement", f"{name}.csv", "--scores", "one.jsonl")
        yield "sheet", ("arena", "import", "rated", f"{name}.csv")
        yield "ranked", ("arena", "agreement", f"ranked {name}.csv")
    for name, data in SCORES.items():
        (folder / name).write_bytes(data)
        yield "scores", ("arena", "agreement", "one.csv", "--scores", name)
        yield "scores as ratings", ("arena", "agreement", name)
    three = folder / "three.csv"
    rows = [f"R{r},T{t},t,a,{t + r},5,5,\n" for r in range(1, 3) for t in range(1, 5)]
    three.write_text("".join([HEAD, *rows]))
    scores = [{"id": f"T{t}", "on": value} for t, value in enumerate((1e308, -1e308, 1e308, 0), 1)]
    (folder / "extreme.jsonl").write_text("\n".join(map(json.dumps, scores)))
    yield "extreme", ("arena", "agreement", "three.csv", "--scores", "extreme.jsonl")
    for value in (LARGE, "-1", "0", HUGE):
        yield "seed", ("arena", "agreement", "three.csv", "--scores", "extreme.jsonl", "--seed", value)
    for file in FILES:
        yield "file", ("arena", "agreement", file)
        yield "file", ("arena", "import", "rated", file)
