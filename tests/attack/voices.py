"""Runs of teams in which one voice never gives an answer in the form: it is left out, said to be, and not counted."""

import json
from functools import partial
from itertools import product
from pathlib import Path

from attack.drive import Driver, sets
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
        for (name, headings), tools, host, said in product(bad.items(), (True, False), HOSTS, sayings):
            voters = list[str]()
            llm.reply = partial(one_voice, headings, voters, said)
            llm.tool_calls = (
                [("invite_scientist", {"name": "Scientist9", "question": "Why?"})] if tools else ()
            )
            llm.answers = {"invite": "Scientist9", "question": "Why?"}
            what = f"{name}-{'tool' if tools else 'field'}-{host}-{PROSE.index(said)}"
            out = folder / what
            given = sets({
                "models.default.base_url": llm.base_url, "models.default.tools": str(tools).lower(),
                "embedding": "lexical", "team.size": 3, "turns": 1, "topic": "owls", "team.leader": "Scientist1",
            })  # fmt: skip
            words = ("run", "virsci", "--model", "openai/m", "--host", host, *given, "--out", out)
            end = command(*words, cwd=folder)
            figure.add(what, [*end.faults, *(["ended"] if end.code else left_out(out, headings))])
    return figure


def one_voice(headings: tuple[str, ...], voters: list[str], said: str, request: Request) -> str | None:
    """What a bad voice says to a question of these headings: of the voters, the first alone is one."""
    if not request.asking.startswith(tuple(f"# {heading}" for heading in headings)):
        return None
    if not request.asking.startswith(f"# {VOTE}"):
        return said
    voters[:] = voters or [request.system]
    return said if request.system in voters else None


def left_out(out: Path, headings: tuple[str, ...]) -> list[str]:
    """What a result does not say of the voice that is missing."""
    result = json.loads((out / "result.json").read_text())
    warned = [each for each in result["warnings"] if "continues without" in each]
    silent, own = ADVICE in headings, result["result"]
    wrong = {
        "no warning of the guest": silent and not any("advise" in each for each in warned),
        "no warning of the ballot": VOTE in headings and not any(" vote:" in each for each in warned),
        "a guest who said nothing": silent and bool(own["guests"]),
        "a wrong number of votes": len(own["votes"]) != 3 - (VOTE in headings),
    }
    return [fault for fault, there in wrong.items() if there]
