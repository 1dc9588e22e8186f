"""A small VirSci run, told in events as a system tells them, and the folder it leaves."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest

from manyheads.core import Usage
from manyheads.core.events import (
    AnyEvent,
    Asked,
    Invited,
    Judged,
    Recruited,
    Result,
    Retrieved,
    Said,
    Stage,
    Voted,
    Warned,
)
from manyheads.systems.results import write_report
from support.results import today

Write = Callable[..., Path]
TEAM = ("Scientist17", "Scientist4", "Scientist9", "Scientist23")
REASONS = (
    "My work on sensor fusion meets the leader's on mapping, and nobody in the team yet knows about failing hardware.",
    "I have studied how retrieval degrades when the store grows faster than it is indexed.",
    "The fit is close: two of my interests appear in the leader's profile, and the team needs statistics.",
)
TITLES = (
    "Forgetting on Purpose: Budgeted Episodic Memory for Long Robot Missions",
    "Asking the Floor Plan: Retrieval Conditioned on Where a Robot Could Be",
    "Second Opinions: Disagreement Between Two Retrievers as a Stopping Signal",
    "A Ledger of Surprises: Indexing Experience by Prediction Error",
)
IDEA = (
    "A robot that works for months cannot keep every observation. We let the store forget by expected use instead: each "
    "memory carries a price that falls when it is recalled and helps, and rises with the room it takes."
)
EXPERIMENT = (
    "Three office robots, eight weeks, two floors. We compare dropping by age, by size, by estimated use and an oracle "
    "that knows the future, at budgets of 1, 5 and 20 percent of all observations."
)
SECTIONS = {
    "introduction": "Robots that work for months gather more observations than they can keep or search.",
    "objective": "We ask which memories a robot may forget without failing its tasks.",
    "methods": "Each memory carries a price that falls when it helps and rises with its size. "
    "We run three robots for eight weeks on two floors and compare four rules of forgetting.",
    "expected_results": "At five percent of the storage we expect nine tenths of the success of a store that forgets nothing.",
    "conclusion": "Forgetting by use would let small machines remember what matters for years.",
}
LATER = {
    name: f"{text.removesuffix('.')}, and we say how early it can know." for name, text in SECTIONS.items()
}
CRITERIA = (
    "clarity", "relevance", "structure", "conciseness", "technical_accuracy", "engagement", "originality", "overall",
)  # fmt: skip


def hits(n: int) -> list[dict[str, Any]]:
    titles = (
        "Lifelong localization under changing appearance",
        "Experience replay without a replay buffer: what is worth keeping?",
        "Compact topological maps for service robots",
        "On the cost of retrieval in growing episodic stores",
        "Learning when to stop searching",
    )
    return [
        {"id": f"P{n}{i}", "title": t, "year": 2011 + i, "score": 0.71 - 0.06 * i}
        for i, t in enumerate(titles)
    ]


def said(
    stage: str,
    turn: int,
    speaker: str,
    task: str,
    text: str,
    data: dict[str, Any],
    part: Literal["member", "leader", "guest", "candidate"] = "member",
    model: str = "offline",
) -> Said:
    words = len(text.split())
    usage = Usage(input_tokens=400 + 9 * words, output_tokens=2 * words, calls=1)
    return Said(
        stage=stage, turn=turn, speaker=speaker, task=task, text=text, data=data, part=part, model=model,
        usage=usage, seconds=1.2 + words / 40,
    )  # fmt: skip


def selection() -> list[AnyEvent]:
    events: list[AnyEvent] = [Stage(stage="selection", title="Collaborator selection", number=1, total=5)]
    asked = list[tuple[str, str]](zip(TEAM[1:], REASONS, strict=True))
    asked.insert(
        1, ("Scientist31", "My group is bound to another project, and the topic lies far from my field.")
    )
    for name, reason in asked:
        yes = name in TEAM
        events += [
            Asked(stage="selection", speaker=name, task="join"),
            said("selection", 0, name, "join", reason, {"reasoning": reason, "accept": yes}, "candidate"),
            Recruited(stage="selection", candidate=name, accepted=yes, reasoning=reason),
        ]
    return events


def topic() -> list[AnyEvent]:
    events: list[AnyEvent] = [Stage(stage="topic", title="Topic discussion", number=2, total=5)]
    remarks = (
        "Long missions break retrieval first: the store grows, the robot slows, and nobody measures which memories helped.",
        "I agree that the store is the bottleneck.\nIf we can say what a memory is worth, then the index may stay as it is.",
        "Worth can be estimated from missions. We have eight weeks of logs; that is enough for a first answer.",
        "Let us also keep the measure simple. Success of the task and energy per query, nothing else.",
    )
    for turn in (1, 2):
        for name, remark in zip(TEAM, remarks, strict=True):
            if name == "Scientist9":
                question = "Which rules of forgetting have been tried on robots, and where did they fail?"
                advice = "Mostly age and novelty. Age fails with the seasons: what is needed each autumn is dropped each spring."
                events += [
                    Asked(stage="topic", turn=turn, speaker="Scientist88", task="advise Scientist9"),
                    said("topic", turn, "Scientist88", "advise", advice, {"advice": advice}, "guest"),
                    Invited(stage="topic", turn=turn, guest="Scientist88", by=name, question=question),
                ]
            data = {"remark": remark, "topic": "Memory that forgets by use in long robot missions"}
            events.append(said("topic", turn, name, "discuss", remark, data))
        summary = "The team agrees that growing memories are the problem and that forgetting is the lever."
        events.append(said("topic", turn, TEAM[0], "summarise", summary, {"summary": summary}, "leader"))
    for name in TEAM:
        reason = "We share the direction; the measure remains to be settled."
        data = {"reasoning": reason, "agree": name != "Scientist23"}
        events.append(said("topic", 2, name, "consensus", reason, data))
    chosen = {
        "topic": "Memory that forgets by use in long robot missions",
        "rationale": "It is open, testable and ours.",
    }
    return [
        *events,
        Judged(
            stage="topic", turn=2, subject="Consensus", outcome="3 of 4 agree", reasoning="more than half"
        ),
        said("topic", 2, TEAM[0], "topic", chosen["topic"], chosen, "leader"),
    ]


def ideas() -> list[AnyEvent]:
    events: list[AnyEvent] = [Stage(stage="idea", title="Idea generation", number=3, total=5)]
    for n, (name, title) in enumerate(zip(TEAM, TITLES, strict=True)):
        thought = "The references keep everything or drop by age; none asks what a memory has earned."
        data = {
            "thought": thought, "title": title, "idea": IDEA, "experiment": EXPERIMENT,
            "clarity": 8 - n % 2, "feasibility": 7, "novelty": 6 + n,
        }  # fmt: skip
        events += [
            Retrieved(stage="idea", turn=1, query="memory that forgets by use", hits=tuple(hits(n))),
            said("idea", 1, name, "ideate", title, data),
        ]
    summary = "Four proposals, three of them about what to keep, one about when to stop looking."
    events.append(said("idea", 1, TEAM[0], "summarise", summary, {"summary": summary}, "leader"))
    return events


def novelty() -> list[AnyEvent]:
    reason = "Idea {0} overlaps least: the nearest paper keeps a replay buffer and never prices a memory."
    events: list[AnyEvent] = [Stage(stage="novelty", title="Novelty assessment", number=4, total=5)]
    for name, choice in zip(TEAM, (1, 1, 2, 2), strict=True):
        events.append(
            Voted(stage="novelty", turn=1, voter=name, choice=choice, reasoning=reason.format(choice))
        )
    rule = "Ideas 1 and 2 got two votes each; the one of higher confidence goes on."
    events.append(Judged(stage="novelty", turn=1, subject="Tie", outcome="idea 1", reasoning=rule))
    return events


def abstract() -> list[AnyEvent]:
    events: list[AnyEvent] = [Stage(stage="abstract", title="Abstract generation", number=5, total=5)]
    for n, draft in enumerate(drafts()):
        data = {key: value for key, value in draft.items() if value is not None}
        events.append(
            said(
                "abstract", draft["turn"], draft["by"], "draft" if n == 0 else "revise", draft["title"], data
            )
        )
    events.insert(
        2,
        Warned(
            stage="abstract",
            turn=1,
            message="Scientist9: the first reply was not valid and was asked for again.",
        ),
    )
    return events


def drafts() -> list[dict[str, Any]]:
    first = {"by": TEAM[0], "turn": 1, "evaluation": None, "changes": None, "title": TITLES[0], **SECTIONS}
    ratings = [dict.fromkeys(CRITERIA, 7) | {"originality": 5 + n, "overall": 6 + n} for n in range(3)]
    mixed = [
        SECTIONS | {"introduction": LATER["introduction"]},
        SECTIONS | LATER | {"conclusion": SECTIONS["conclusion"]},
        LATER,
    ]
    changes = ["Name what is done today and why it is costly.", "Say how the result is measured."]
    revised = [
        {"by": name, "turn": 1, "evaluation": rating, "changes": changes, "title": TITLES[0], **text}
        for name, rating, text in zip(TEAM[1:], ratings, mixed, strict=True)
    ]
    return [first, *revised]


def result() -> dict[str, Any]:
    told = [
        {
            "number": n + 1, "title": title, "idea": IDEA, "experiment": EXPERIMENT, "clarity": 8 - n % 2,
            "feasibility": 7, "novelty": 6 + n, "confidence": 7.0 + n / 3, "by": TEAM[n], "turn": 1,
            "references": hits(n), "kept": n < 3, "builds_on": (None, 1, 0, 2)[n],
        }
        for n, title in enumerate(TITLES)
    ]  # fmt: skip
    votes = [
        {
            "voter": e.voter,
            "turn": 1,
            "choice": e.choice,
            "idea": TITLES[e.choice - 1],
            "reasoning": e.reasoning,
            "notes": [
                {"idea": title, "note": f"Nobody has priced memory {n}."} for n, title in enumerate(TITLES)
            ],
        }
        for e in novelty()
        if isinstance(e, Voted)
    ]
    final = {k: v for k, v in drafts()[-1].items() if k in (*SECTIONS, "title")}
    spent = [e for e in story() if isinstance(e, Said)]
    stages = {
        s: sum((e.usage for e in spent if e.stage == s), Usage())
        for s in dict.fromkeys(e.stage for e in spent)
    }
    total = sum((e.usage for e in spent), Usage())
    return {
        "system": "virsci",
        "host": "autogen",
        "seed": 7,
        "corpus": "sample",
        "models": {"default": "offline"},
        "team": [
            {
                "name": name, "role": "member" if n else "leader", "interests": ["robot memory", "retrieval", "lifelong learning"],
                "affiliations": ["Institute for Field Robotics"], "reasoning": REASONS[n - 1] if n else "",
            }
            for n, name in enumerate(TEAM)
        ],
        "declined": [{"name": "Scientist31", "reasoning": "My group is bound to another project, and the topic lies far from my field."}],
        "left": [],
        "topic": {"topic": "Memory that forgets by use in long robot missions", "rationale": "It is open, testable and ours.", "fixed": False},
        "ideas": told,
        "votes": votes,
        "idea": {**told[0], "votes": 2, "tie": "Ideas 1 and 2 got two votes each; the one of higher confidence goes on."},
        "abstract": {**final, "text": " ".join(SECTIONS.values())},
        "drafts": drafts(),
        "turns": {"topic": 2, "idea": 1, "novelty": 1, "abstract": 1},
        "guests": [],
        "usage": {**total.model_dump(), "by_stage": {k: v.model_dump() for k, v in stages.items()}},
        "warnings": [e.message for e in abstract() if isinstance(e, Warned)],
        "written_by_language_model": False,
    }  # fmt: skip


def story() -> list[AnyEvent]:
    """All events of the run but the last, which is its result."""
    return [*selection(), *topic(), *ideas(), *novelty(), *abstract()]


CONFIG = """\
system: virsci
host: autogen
seed: 7
team:
  size: 4
models:
  default: {provider: offline, name: offline}
"""


def write_run(
    folder: Path,
    events: list[AnyEvent] | None = None,
    outcome: dict[str, Any] | None = None,
    config: str = CONFIG,
    finished: bool = True,
) -> Path:
    """A run folder as a session leaves it; `finished=False` leaves the result out."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = today(result() if outcome is None else outcome)
    events = story() if events is None else events
    if finished:
        events = [*events, Result(data=outcome)]
        (folder / "result.json").write_text(json.dumps(outcome), encoding="utf-8")
    lines = [
        json.dumps({"at": n * 1.7, **e.model_dump(mode="json")}, ensure_ascii=False)
        for n, e in enumerate(events)
    ]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    return folder


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed in order; collects headings, ids, links and words."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not (tag in {"p", "h1", "h2", "h3", "h4", "div", "ul", "section"} and "p" in self.open), tag
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.tags if attribute in attrs]


@pytest.fixture
def told() -> dict[str, Any]:
    """The result of the sample run."""
    return result()


@pytest.fixture
def tale() -> list[AnyEvent]:
    """The events of the sample run."""
    return story()


@pytest.fixture
def run(tmp_path: Path) -> Write:
    """Writes the sample run, or a changed one, into a folder."""

    def write(**changes: Any) -> Path:
        return write_run(tmp_path / "run", **changes)

    return write


@pytest.fixture
def read() -> Callable[[Path], Reader]:
    """Writes the report of a folder and reads it."""

    def report(folder: Path) -> Reader:
        return Reader(write_report(folder).read_text(encoding="utf-8"))

    return report
