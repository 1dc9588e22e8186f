"""Runs of teams in which one voice never gives an answer in the form: it is left out, said to be, and not counted."""

import itertools
import json
from pathlib import Path
from typing import Any

from attack.drive import Driver
from attack.figures import Figure, times
from support.hosts import HOSTS
from support.llm import LLM
from support.requests import Request

ADVICE, VOTE = "A team asks for your advice", "Which idea is the most novel?"
PROSE = ("I would rather chat.", "", '{"advice": ', "<think>Hm.</think>", '{"thought": 5}')
"""What a bad voice says."""


def voices(folder: Path) -> Figure:
    """A bad guest, a bad ballot and both, asked by tools and by the reply's field, on every host."""
    figure = Figure("teams with one voice that gives no valid answer")
    bad = {"guest": (ADVICE,), "ballot": (VOTE,), "guest and ballot": (ADVICE, VOTE)}
    sayings = PROSE[: times(1)]
    with LLM() as llm, Driver(120) as command:
        for (name, headings), tools, host, said in itertools.product(
            bad.items(), (True, False), HOSTS, sayings
        ):
            voter = list[str]()

            def reply(
                request: Request, headings: Any = headings, voter: Any = voter, said: str = said
            ) -> str | None:
                if not request.asking.startswith(tuple(f"# {heading}" for heading in headings)):
                    return None
                if request.asking.startswith(f"# {VOTE}"):
                    voter[:] = voter or [request.system]
                    return said if request.system in voter else None
                return said

            llm.reply = reply
            llm.tool_calls = (
                [("invite_scientist", {"name": "Scientist9", "question": "Why?"})] if tools else ()
            )
            llm.answers = {"invite": "Scientist9", "question": "Why?"}
            what = f"{name}-{'tool' if tools else 'field'}-{host}-{PROSE.index(said)}"
            out = folder / what
            sets = {
                "models.default.base_url": llm.base_url, "models.default.tools": str(tools).lower(),
                "embedding": "lexical", "team.size": "3", "turns": "1", "topic": "owls", "team.leader": "Scientist1",
            }  # fmt: skip
            given = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
            end = command(
                "run", "virsci", "--model", "openai/m", "--host", host, *given, "--out", out, cwd=folder
            )
            figure.add(what, [*end.faults, *(["ended"] if end.code else left_out(out, headings))])
    return figure


def left_out(out: Path, headings: tuple[str, ...]) -> list[str]:
    """What a result does not say of the voice that is missing."""
    result = json.loads((out / "result.json").read_text())
    warned = [each for each in result["warnings"] if "goes on without" in each]
    silent, own = ADVICE in headings, result["result"]
    return [
        fault
        for fault, there in {
            "no warning of the guest": silent and not any("advise" in each for each in warned),
            "no warning of the ballot": VOTE in headings and not any(" vote:" in each for each in warned),
            "a guest who said nothing": silent and bool(own["guests"]),
            "a wrong number of votes": len(own["votes"]) != 3 - (VOTE in headings),
        }.items()
        if there
    ]
