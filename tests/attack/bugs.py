"""Bugs and sources that do not exist: what a model makes up, and what a package of others breaks, ends nothing but itself."""

import json
from pathlib import Path

from attack.drive import Driver, sets
from attack.figures import Figure, times
from manyheads.config.environment import BUILT_IN
from manyheads.documents.reading import LEAST
from support.llm import LLM
from support.manuscripts import tei
from support.packages import write_pack

NAMES = (
    "[99]", "Reference 99", "Ref. 99", "Smith et al., 2020", "(Smith, 2020)", "N99", "Figure 99", "Table S99", "Section 99", "[1, 99]",
)  # fmt: skip
QUOTES = ("sparse touch sensors beat vision in every case that we tried", "one … two … three", "seven", "")
SYSTEM = """
from manyheads import Part, Run, RunConfig, Inputs, Section, Slot, System, FileOrText
from typing import Annotated
class In(Inputs):
    claim: Annotated[FileOrText, Slot("last")] = None
class Out(Part):
    points: int = 0
async def work(run):
    run.result.points = 7
    if run.config.inputs.claim == "bug":
        raise KeyError("a bug of this system")
BUGGY = System(name="buggy", title="Buggy", about="A test.", config=Section, inputs=In, result=Out, run=work,
    needs=lambda config: {}, essence=lambda result: [("Points", str(result.points))], report="buggy_pack")
"""
SUITE = """
title: Bugs
version: 1
sources: [an attack]
configs: [buggy]
variants: {one: {}}
cases: cases.jsonl
repeats: 1
measures: [points]
"""
TEMPLATES = ('{% extends "frame.html.j2" %}{% block content %}{{ nothing }}{% endblock %}', "{% extends", "{{ 1 // 0 }}",
             '{% extends "frame.html.j2" %}{% set sections = 7 %}', '{% extends "gone.j2" %}', "{% for x in gone %}{% endfor %}")  # fmt: skip


def sources(folder: Path) -> Figure:
    """A review whose points and texts name what the paper does not have, on each host, and one of a paper without text."""
    figure = Figure("sources that do not exist: reviews on each host")
    papers = [tei(folder / "paper.tei.xml"), folder / "empty.tex"]
    papers[1].write_text("\\begin{document}\\section{" + "Heading " * LEAST + "}\\end{document}")
    off = {f"mamorx.{each}.enabled": "false" for each in ("novelty", "references", "figures")}
    points = [
        {"text": "A point.", "sources": [{"where": name, "quote": quote}]}
        for name in NAMES
        for quote in QUOTES
    ]
    with LLM(answers={"weaknesses": points, "strengths": [], "questions": [], "inquiries": [], "points": [],
                      "summary": " ".join(f"“{quote} and {name}”" for name in NAMES for quote in QUOTES)}) as llm, Driver() as command:  # fmt: skip
        model = {"base_url": llm.base_url, "provider": "openai", "name": "test", "tools": "false"}
        given = sets({**off, **{f"models.default.{key}": value for key, value in model.items()}})
        for number, host in enumerate(list(BUILT_IN) * times(1)):
            for paper in papers:
                out = folder / f"{number}-{paper.stem}"
                words = ("review", paper, "--host", host, *given, "--out", out, "--quiet", "--yes")
                end = command(*words, cwd=folder)
                results = [json.loads(path.read_text()) for path in out.glob("*/result.json")]
                grounded = [
                    source["name"] for each in results for claim in each["result"]["review"]["claims"]
                    for source in claim["sources"] if source["state"] != "absent" and "99" in source["name"]
                ]  # fmt: skip
                wrong = {f"not finished: {end.code}": end.code or not results or not results[0]["finished"]}
                figure.add(f"{paper.name} on {host}", [*end.faults, *grounded], wrong)
    return figure


def bugs(folder: Path) -> Figure:
    """A package whose system or template is broken, alone and in a suite with sound runs."""
    figure = Figure("bugs of a package: its system, its report page")
    for number, template in enumerate(TEMPLATES):
        files = {"system.py": SYSTEM, "report.html.j2": template}
        site = write_pack(folder / f"site{number}", "buggy", files, {"buggy": "buggy_pack.system:BUGGY"})
        here = folder / f"here{number}"
        here.mkdir()
        (here / "suite.yaml").write_text(SUITE)
        (here / "cases.jsonl").write_text(
            "".join(json.dumps({"id": each, "claim": each}) + "\n" for each in ("bug", "sound"))
        )
        with Driver(env={"PYTHONPATH": str(site)}) as command:
            end = command("run", "buggy", "--claim", "sound", "--out", "sound", cwd=here)
            wrong = {"no page": not (here / "sound/report.html").is_file(), "exit code": end.code}
            figure.add(f"template {number}", end.faults, wrong)
            figure.add(f"report of {number}", command("report", "sound", cwd=here).faults)
            end = command("eval", here, "--out", "suite", "--yes", cwd=here)
            results = [json.loads(path.read_text()) for path in here.glob("suite/cells/*/result.json")]
            done = sum(each["finished"] for each in results)
            wrong = {
                f"ended with {end.code}, {done} finished": (end.code, done) != (5, 1),
                "no traceback kept": not [*here.glob("suite/cells/*/traceback.txt")],
            }
            figure.add(f"suite {number}", end.faults, wrong)
    return figure
