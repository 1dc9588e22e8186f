"""The offline model: deterministic, needs no key and no server, and is no language model.

It reads its prompt: it finds the reply's JSON Schema there and fills it from the profile, the references and the
earlier words that it was shown. Its text shows how a run goes; nobody should mistake it for thought.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, cast

from manyheads.config import ModelConfig
from manyheads.core import Message, Raw
from manyheads.models.requests import spent
from manyheads.replies import Abstract, Proposal
from manyheads.replies.refinement import ABSENT

# The words of the offline model: sentences of ours around phrases that its prompt holds.


TITLE = re.compile(r"^<paper>\nTitle: (.+)$", re.MULTILINE)
KEPT = 0.7
"""How often a section of an abstract is left as it stands when the abstract is rewritten."""
BLOCK = re.compile(
    rf"<(topic|idea|question|reply|summary|{'|'.join(Abstract.model_fields)})>\n(.*?)\n</\1>", re.DOTALL
)
TEXT = re.compile(r"<text>\n(?:Title: (.+)\n\n)?(.*?)\n</text>", re.DOTALL)
"""What is to be condensed, with its title."""
SENTENCES = re.compile(r"(?<=[.!?])\s+")
COMPARED = re.compile(r"<(?:previous|revised)>\n(.*?)\n</(?:previous|revised)>", re.DOTALL)
"""An idea, and what it was before."""
FORM = re.compile(r"^([A-Z][a-z ]+): (.+)$", re.MULTILINE)
"""A field of a proposal, as an idea is shown."""
INTERESTS = re.compile(r"^Research interests: (.+)$", re.MULTILINE)
KEYWORDS = re.compile(r"<keywords>\n(.*?)\n</keywords>", re.DOTALL)
PHRASE, MOST_INTERESTS = 5, 5
"""Words of a term above which it is cut to a phrase, and terms that are taken for interests."""
NAME = re.compile(r"^Name: (\S+)$", re.MULTILINE)
LISTED = re.compile(r"<scientists>\n(.*?)\n</scientists>", re.DOTALL)
COMMON = (
    "error analysis", "simple baselines", "controlled ablations", "careful calibration", "data curation",
    "failure cases", "longer horizons", "cheaper supervision",
)  # fmt: skip
"""Interests of a speaker who has no record of their own."""
SEAMS = re.compile(r"[:,;?]| (?:for|with|in|from|by|of|and|to) ")
SMALL = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the",
    "to", "under", "using", "via", "when", "with", "without",
))  # fmt: skip


@dataclass(frozen=True)
class Material:
    """What a prompt holds that can be written about."""

    interests: tuple[str, ...]
    titles: tuple[str, ...]
    keywords: tuple[str, ...]
    """Of the papers of an author whose interests are asked for, the most frequent first."""
    topic: str
    question: str
    on_table: str
    outsiders: tuple[str, ...]
    sections: Mapping[str, str]
    """The sections of an abstract, or the fields of a proposal, that is to be rewritten."""
    told: Mapping[str, str]
    """The fields of a proposal as a text that is to be condensed tells them."""
    choices: int
    """How many ideas stand to vote."""
    unchanged: bool
    """Whether an idea is compared with itself."""

    @classmethod
    def read(cls, system: str, texts: Sequence[str]) -> "Material":
        whole = "\n".join(texts)
        outsiders = [name for listed in LISTED.findall(whole) for name in NAME.findall(listed)]
        shown = LISTED.sub("", whole)
        blocks = BLOCK.findall(shown)
        compared = COMPARED.findall(whole)
        topic = next((body for label, body in blocks if label == "topic"), "")
        question = next((body for label, body in blocks if label == "question"), "")
        table = next((body for label, body in blocks if label in ("idea", "title")), "")
        return cls(
            interests=tuple(_listed(INTERESTS.search(system))) or COMMON,
            titles=tuple(TITLE.findall(shown)),
            keywords=tuple(
                term for listed in KEYWORDS.findall(whole) for term in listed.splitlines() if term
            ),
            topic=_first_line(topic),
            question=_first_line(question),
            on_table=_first_line(table).removeprefix("Title: "),
            outsiders=tuple(outsiders),
            sections=_sections(blocks),
            told=_told(TEXT.search(whole)),
            choices=sum(label == "idea" for label, _ in blocks) or 1,
            unchanged=len(compared) == 2 and len(set(compared)) == 1,
        )

    def phrase(self, rng: random.Random) -> str:
        """A phrase from a reference's title, or an interest where no reference was shown."""
        if not self.titles:
            return rng.choice(self.interests).lower()
        return _core(rng.choice(self.titles))

    def subject(self, rng: random.Random) -> str:
        return self.topic.rstrip(".") or self.on_table or " and ".join(self.two(rng))

    def interest(self, rng: random.Random) -> str:
        return rng.choice(self.interests).lower()

    def two(self, rng: random.Random) -> tuple[str, str]:
        """An interest of the speaker's and another matter, from a reference or from the speaker again."""
        one = self.interest(rng)
        others = [phrase for phrase in (self.phrase(rng), *map(str.lower, self.interests)) if phrase != one]
        return one, others[0] if others else "its limits"


def _core(title: str) -> str:
    """The longest phrase between a title's seams."""
    parts = [part.strip() for part in SEAMS.split(title)]
    whole = [part for part in parts if part and part.split()[0].lower() not in SMALL]
    return max(whole or [title], key=len).lower()


def _listed(match: re.Match[str] | None) -> list[str]:
    return [part.strip() for part in match[1].split(";")] if match and match[1] != "not recorded" else []


def _sections(blocks: Sequence[tuple[str, str]]) -> dict[str, str]:
    ideas = [body for label, body in blocks if label == "idea"]
    fields = {label.lower().replace(" ", "_"): text for body in ideas for label, text in FORM.findall(body)}
    kept = {name: text for name, text in fields.items() if name in Proposal.model_fields}
    return {**kept, **{label: body for label, body in blocks if label in Abstract.model_fields}}


def _told(text: re.Match[str] | None) -> dict[str, str]:
    """The sentences of a text, one after the other, as the fields of a proposal; what is left of them is the last."""
    if text is None:
        return {}
    below = [name for name in Proposal.model_fields if name != "title"]
    sentences = SENTENCES.split(" ".join(text[2].split()), maxsplit=len(below) - 1)
    sentences += [ABSENT] * (len(below) - len(sentences))
    title = text[1] or " ".join(sentences[0].split()[:8]).rstrip(".,;:!?") or sentences[0]
    return {"title": title, **dict(zip(below, sentences, strict=True))}


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 160 else line[:157] + "…"


def condensed(keywords: Sequence[str]) -> list[str]:
    """The first keywords, long ones (titles) cut to a phrase, each once."""
    phrases = (term if len(term.split()) <= PHRASE else _core(term) for term in keywords)
    return list(dict.fromkeys(phrases))[:MOST_INTERESTS]


def headline(words: str) -> str:
    """Words in the capitals of a title."""
    return " ".join(
        word if index and word in SMALL else word[:1].upper() + word[1:]
        for index, word in enumerate(words.split())
    )


Writer = Callable[[Material, random.Random], str]


def _title(m: Material, rng: random.Random) -> str:
    if m.on_table and not m.titles:
        return m.on_table
    frames = (
        "{a} meets {b}",
        "{b} through {a}",
        "{a} as a lens on {b}",
        "what {a} can do for {b}",
        "{b}, seen from {a}",
    )
    one, other = m.two(rng)
    return headline(rng.choice(frames).format(a=one, b=other))


def _topic(m: Material, rng: random.Random) -> str:
    frames = (
        "How {a} can make {b} hold up outside the laboratory",
        "Using {a} to find out where {b} fails, and why",
        "What {b} can learn from {a} when data are scarce",
    )
    one, other = m.two(rng)
    return rng.choice(frames).format(a=one, b=other)


def _idea(m: Material, rng: random.Random) -> str:
    return (
        f"We take up {m.subject(rng)}. Work such as “{_cited(m, rng)}” treats {m.phrase(rng)} on its own; we join it "
        f"with {m.interest(rng)}, so that each supplies what the other lacks. The mechanism is a shared "
        f"representation that is corrected whenever the two disagree, and the disagreement itself is the signal "
        f"that we learn from."
    )


def _cited(m: Material, rng: random.Random) -> str:
    return rng.choice(m.titles) if m.titles else m.on_table or m.interest(rng)


def _experiment(m: Material, rng: random.Random) -> str:
    return (
        f"Three settings of growing difficulty around {m.phrase(rng)}; baselines are the strongest published method "
        f"and the same system without {m.interest(rng)}. Five seeds each, paired tests, and one setting held back "
        f"until the end. The idea fails if the held-back setting shows no gain."
    )


def _remark(m: Material, rng: random.Random) -> str:
    return rng.choice(
        (
            f"From my work on {m.interest(rng)} I would look at where {m.phrase(rng)} breaks down, and ask why.",
            f"I see a gap between {m.interest(rng)} and {m.phrase(rng)} that none of us could close alone.",
            f"Let us be narrower: {m.interest(rng)} under realistic conditions, measured and not assumed.",
        )
    )


def _reasoning(m: Material, rng: random.Random) -> str:
    return rng.choice(
        (
            f"My interest in {m.interest(rng)} touches this directly, and what is asked can be tested.",
            f"Seen from {m.interest(rng)}, the overlap is partial, which leaves room for something new.",
            f"I weighed it against what I know of {m.interest(rng)}; the fit decides.",
        )
    )


def _question(m: Material, rng: random.Random) -> str:
    frames = (
        "What has surprised you most about {a} in practice?",
        "Where would {a} break first here?",
        "Which data would you use to test {a}?",
        "Who has tried {a} before, and what stopped them?",
    )
    return rng.choice(frames).format(a=m.interest(rng))


STRENGTHS = (
    "Clarity: it says plainly what is claimed about {it}.",
    "Originality: {it} is taken up from a side that is seldom looked at.",
    "Significance: others who work on {it} could build on this.",
)
WEAKNESSES = (
    "Quality: how {it} would be measured is left open, and no baseline is named.",
    "Significance: it is not said what would change if {it} came out otherwise.",
    "Clarity: the step from {it} to the conclusion is too quick to follow.",
)
SUGGESTIONS = (
    "Make {other} the mechanism and not the setting, and say what it would take to refute it.",
    "Narrow the claim to one case of {it} in which the outcome is not known beforehand.",
    "Name the strongest earlier work on {it}, and change whatever it has done already.",
)
QUESTIONS = (
    "What would you conclude if {it} made no difference?",
    "Which earlier work on {it} comes closest, and what does it lack?",
    "On which data would {it} fail first?",
)

WRITERS: dict[str, Writer] = {
    "title": _title,
    "idea": _idea,
    "experiment": _experiment,
    "remark": _remark,
    "advice": lambda m, rng: (
        f"On “{m.question}”: try it with {m.interest(rng)} first; that is where it will fail soonest."
    ),
    "topic": _topic,
    "question": _question,
    "summary": lambda m, rng: (
        f"The work is about {m.phrase(rng)}, and about what could be gained from it."
        if m.titles
        else f"The turn circled around {m.interest(rng)}; the members differ on how narrow to be."
    ),
    "strengths": lambda m, rng: rng.choice(STRENGTHS).format(it=m.phrase(rng)),
    "weaknesses": lambda m, rng: rng.choice(WEAKNESSES).format(it=m.phrase(rng)),
    "suggestions": lambda m, rng: rng.choice(SUGGESTIONS).format(it=m.phrase(rng), other=m.interest(rng)),
    "questions": lambda m, rng: rng.choice(QUESTIONS).format(it=m.phrase(rng)),
    "rationale": lambda m, rng: (
        f"It joins {m.interest(rng)} with what the others bring, and it can be tested."
    ),
    "thought": lambda m, rng: (
        f"Closest is “{_cited(m, rng)}”; it leaves {m.interest(rng)} aside, which is the opening."
    ),
    "reason": lambda m, rng: (
        f"Both turn on {m.phrase(rng)}; what is asked here about {m.interest(rng)} is not in that paper."
    ),
    "introduction": lambda m, rng: (
        f"{m.subject(rng)}: little is known about it once {m.interest(rng)} comes in."
    ),
    "objective": lambda m, rng: (
        f"We set out to learn whether work on {m.interest(rng)} makes a difference, and to whom."
    ),
    "problem": lambda m, rng: (
        f"Work on {m.phrase(rng)} takes {m.interest(rng)} as given; nobody has tested what happens where it fails."
    ),
    "hypothesis": lambda m, rng: (
        f"If {m.interest(rng)} is corrected while {m.phrase(rng)} goes on, the errors of both fall by a third."
    ),
    "method": lambda m, rng: (
        f"Three settings around {m.phrase(rng)}, with and without {m.interest(rng)}, five seeds each, paired tests."
    ),
    "expected_impact": lambda m, rng: (
        f"Whoever works on {m.phrase(rng)} would know when {m.interest(rng)} is worth its cost."
    ),
    "methods": lambda m, rng: (
        f"We build on {m.phrase(rng)} and compare against the same system without it, over five seeds."
    ),
    "expected_results": lambda m, rng: (
        "We expect a gain on the held-back setting, and report its absence if there is none."
    ),
    "conclusion": lambda m, rng: f"Either outcome tells how far what is known of {m.interest(rng)} carries.",
    "keywords": lambda m, rng: m.phrase(rng),
    "reflection": lambda m, rng: (
        f"A reader who knows {m.phrase(rng)} would ask what is new; I make more of {m.interest(rng)}."
    ),
    "changes": lambda m, rng: f"Say earlier what {m.interest(rng)} contributes.",
}


def write(key: str, material: Material, rng: random.Random) -> str:
    """A text for a field of a reply; a section that is being rewritten often stays as it is."""
    if key in material.told:
        return material.told[key]
    if key in material.sections and rng.random() < KEPT:
        return material.sections[key]
    return WRITERS.get(key, _reasoning)(material, rng)


DEFAULTS = ModelConfig()
OFFLINE = "offline"
"""Model name of every reply that no language model has written."""
LABEL = "Written by the offline model, which is no language model: this shows how a run goes, no more."
"""Stands beside every result that it has written."""
SCHEMA = re.compile(r"```json schema\s*\n(.*?)```", re.DOTALL)
LIKELY = {
    "accept": 0.75, "agree": 0.85, "stay": 0.95, "another_turn": 0.4, "ethical_concerns": 0.05, "done": 0.15,
    "approve": 0.3, "improved": 0.7,
}  # fmt: skip
"""How often a yes-or-no field says yes; one half for the others."""
INVITES = 0.15
"""How often a speaker who may hear a guest does."""
ALIKE = (5, 80, 30)
"""Least, most and usual similarity of an abstract to a published one, 0 to 100."""

UNFORMED = """\
[offline model: this is no language model's answer] I was asked: “{question}”. I can only fill in forms, to show how \
a run goes; name a real model to get an answer, such as openai/gpt-4o-mini."""


class OfflineModel:
    """Fills the schema that a prompt ends with; the same prompt and seed always give the same answer.

    A word counts as a token, and costs what the config's prices say: nothing is known without them.
    """

    def __init__(self, config: ModelConfig = DEFAULTS) -> None:
        self._config = config
        self._salt = f"\n{config.seed}" if config.seed else ""

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; this model never calls tools."""
        texts = [message.text for message in thread]
        whole = "\n\n".join([system, *texts])
        rng = random.Random(hashlib.sha256(f"{whole}{self._salt}".encode()).digest())
        material = Material.read(system, texts)
        schema = _schema(texts)
        if schema is None:
            text = UNFORMED.format(question=_opening(texts))
        else:
            filled = _Filler(schema, material, rng).fill(schema)
            text = json.dumps(filled, ensure_ascii=False, indent=1)
        return Raw(text, OFFLINE, spent(self._config, len(whole.split()), len(text.split())))


def labelled(text: str, model: str) -> str:
    """A speaker's words, marked where no language model has found them."""
    return f"[{OFFLINE}] {text}" if model == OFFLINE else text


def _opening(texts: Sequence[str]) -> str:
    """The first words of what was asked last."""
    words = texts[-1].split() if texts else []
    return " ".join(words[:20]) + (" …" if len(words) > 20 else "")


def _schema(texts: Sequence[str]) -> dict[str, Any] | None:
    found = [block for text in texts for block in SCHEMA.findall(text)]
    return json.loads(found[-1]) if found else None


class _Filler:
    """Fills one JSON Schema, field by field."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        material: Material,
        rng: random.Random,
        defs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._defs: Mapping[str, Any] = schema.get("$defs", defs)
        self._material, self._rng = material, rng
        guests = material.outsiders
        self._guest = rng.choice(guests) if guests and rng.random() < INVITES else None

    def fill(self, schema: Mapping[str, Any], key: str = "") -> Any:
        schema = self._resolve(schema)
        if key in ("invite", "question"):
            return self._invitation(key)
        if options := schema.get("enum"):
            return self._rng.choice(cast(list[Any], options))
        match schema.get("type"):
            case "object":
                fields: Mapping[str, Any] = schema.get("properties", {})
                return self._sober({name: self.fill(field, name) for name, field in fields.items()})
            case "array" if key == "interests" and self._material.keywords:
                return condensed(self._material.keywords)
            case "array" if key == "ranking":
                return self._ranking(schema)
            case "array":
                return self._array(schema, key)
            case "boolean":
                return self._rng.random() < LIKELY.get(key, 0.5)
            case "integer" | "number":
                return self._number(schema, key)
            case _:
                return write(key, self._material, self._rng)

    def _sober(self, filled: dict[str, Any]) -> dict[str, Any]:
        """What has not changed has not improved."""
        kept = self._material.sections
        same = self._material.unchanged or (kept and all(filled.get(name) == kept[name] for name in kept))
        return {**filled, "improved": False} if same and "improved" in filled else filled

    def _array(self, schema: Mapping[str, Any], key: str) -> list[Any]:
        """Two things, or as many as the schema asks for."""
        count = max(min(2, schema.get("maxItems", 2)), schema.get("minItems", 0))
        if key != "overlaps":
            return [self.fill(schema["items"], key) for _ in range(count)]
        return [self._overlap(schema["items"], number) for number in range(1, count + 1)]

    def _ranking(self, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All ideas in an order that is drawn."""
        count = schema["minItems"]
        places = [self.fill(schema["items"], "place") for _ in range(count)]
        drawn = self._rng.sample(range(1, count + 1), count)
        return [{**place, "idea": number} for place, number in zip(places, drawn, strict=True)]

    def _overlap(self, schema: Mapping[str, Any], number: int) -> dict[str, Any]:
        """What an abstract shares with the published paper of that number: little, now and then too much."""
        titles = self._material.titles
        about = replace(self._material, titles=titles[number - 1 : number] or titles)
        filled: dict[str, Any] = _Filler(schema, about, self._rng, self._defs).fill(schema)
        return {**filled, "paper": number, "similarity": round(self._rng.triangular(*ALIKE))}

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if reference := schema.get("$ref"):
            return self._defs[str(reference).rsplit("/", 1)[-1]]
        options: list[Mapping[str, Any]] = schema.get("anyOf", [])
        return next((self._resolve(option) for option in options if option.get("type") != "null"), schema)

    def _number(self, schema: Mapping[str, Any], key: str) -> int:
        low, high = schema.get("minimum", 0), schema.get("maximum")
        if high is None:
            return self._rng.randint(low, max(low, self._material.choices))
        # Sober self-ratings: the upper middle of the scale.
        return self._rng.randint(low + (high - low) // 2, high - (high - low) // 9)

    def _invitation(self, key: str) -> str | None:
        if self._guest is None:
            return None
        return self._guest if key == "invite" else write("question", self._material, self._rng)


# Models that need no server: what both hosts' adapters call.


class LocalModel(Protocol):
    """Answers a thread in this process.

    A `Raw` whose text is empty and that holds `tool_calls` asks for these calls (their `result` is ignored);
    the host runs them and asks once more.
    """

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """Answer a thread; `answered` counts the tool results that the model has been given so far."""
        ...
