"""The offline model: deterministic, without key, server or language model.

It finds the skeleton of a reply in its prompt and fills it, field by field, with sample phrases and with content of the
prompt: a profile, papers, an idea. Its text shows the course of a run, nothing more.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, Protocol, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from manyheads.asking.forms import resolved, shape_of
from manyheads.asking.replies import label
from manyheads.base.resources import Resources, read_model
from manyheads.config import ModelConfig
from manyheads.core import Message, Raw
from manyheads.models.requests import usage_of

Words = str | tuple[str, ...]
"""A sentence, or several to draw from; their slots, such as `{interest}`, are those of `Filler.slot`."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Filling(_Strict):
    """How to fill a field of a reply; in a file, plain text is short for `says`, a number for `odds`."""

    words: Words = ()
    """Its text; for a choice, the options, repeated by likelihood."""
    with_papers: Words = ()
    """Its text if the prompt has papers, if different."""
    without_papers: Words = ()
    """Its text about the current idea if the prompt has no papers, if different."""
    draw_all: bool = False
    """Whether to draw the slots of all sentences before a sentence, instead of that sentence's slots after it."""
    capitals: bool = False
    """Whether to write the words as a title."""
    kept: float = Field(default=0, ge=0, le=1)
    """Probability that a text in the prompt under this field's name is repeated."""
    odds: float = Field(default=0.5, ge=0, le=1)
    """Probability that a yes-or-no field says yes, a nullable field is filled, or somebody is named."""
    compares: tuple[str, ...] = ()
    """Fences of the prompt to compare; if they are equal the field says no, or the first of its options."""
    spread: tuple[int, int, int] | None = None
    """Minimum, maximum and usual value of a number; otherwise the upper middle of its scale."""
    lines: str | None = None
    """The fence whose lines become the list."""
    terms: str | None = None
    """The fence whose phrases, of two to five words, become the list."""
    counts: str = "idea"
    """The fences from which a number without a limit takes one."""
    names: str | None = None
    """The fence of profiles from which a text takes a name."""
    follows: str | None = None
    """The field with a name; if it names nobody, this field is null."""


class Sentences(_Strict):
    """A reply whose fields are the sentences of a fenced text, in order."""

    fence: str
    """Label of the text, which has its title above it, after `Title:`."""
    missing: str
    """Value of a field when no sentences are left."""


def _spelled_out(value: object) -> object:
    if isinstance(value, str | list):
        return {"words": value}
    return {"odds": value} if isinstance(value, int | float) else value


class Phrases(_Strict):
    """Sample phrases, by reply fields."""

    fields: dict[
        str, Annotated[Filling, BeforeValidator(_spelled_out, json_schema_input_type=Filling | Words | float)]
    ] = {}
    """How fields are filled: `Reply.field` overrides `field`, and `*` is any other text."""
    sentences: dict[str, Sentences] = {}
    """Replies made from a text's sentences, by name."""
    interests: tuple[str, ...] = Field(default=(), min_length=1)
    """Interests of a speaker without a record."""
    alone: str = ""
    """A second interest for a speaker with a single one."""

    def filling(self, reply: str, field: str) -> Filling:
        return self.fields.get(f"{reply}.{field}") or self.fields.get(field) or self.fields["*"]


@cache
def phrases_of(resources: Resources) -> Phrases:
    """The phrases of a search path; for each field, those of the folder with the highest priority that has any.

    Raises:
        ConfigError: a file is invalid.
    """
    merged: dict[str, Any] = {}
    folders = [root / "prompts/phrases" for root in reversed(resources.search_path)]
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        phrases = read_model(path, Phrases, "see prompts/phrases.schema.json")
        for key in phrases.model_fields_set:
            value = getattr(phrases, key)
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
    return Phrases.model_construct(**merged)


# Content of a prompt.

TITLE = re.compile(r"^<paper>\nTitle: (.+)$", re.MULTILINE)
INTERESTS = re.compile(r"^Research interests: (.+)$", re.MULTILINE)
NAME = re.compile(r"^- (\S+): ", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
LONGEST_PHRASE, MOST_INTERESTS = 5, 5
"""Words above which a term is cut to a phrase, and terms used as interests."""
SEAMS = re.compile(r"[:,;?]| (?:for|with|in|from|by|of|and|to) ")
CLAUSES = re.compile(
    r"[.:;,!?\n]| (?:for|with|in|from|by|of|and|to|over|is|are|that|which|what|as|while|at|on|can|we) ",
    re.IGNORECASE,
)
"""Separators of phrases in a text."""
SMALL = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the",
    "to", "under", "using", "via", "when", "with", "without",
))  # fmt: skip


@dataclass(frozen=True)
class _Prompt:
    """A prompt without its list of people."""

    text: str
    titles: tuple[str, ...]
    """Titles of its papers."""
    interests: tuple[str, ...]
    """Interests of the speaker."""

    def fenced(self, *labels: str) -> list[str]:
        return _fenced(self.text, *labels)

    def first(self, *labels: str) -> str:
        """The first line of the first of these fences, shortened; empty if there is none."""
        lines = next(iter(self.fenced(*labels)), "").strip().splitlines() or [""]
        return lines[0] if len(lines[0]) <= 160 else lines[0][:157] + "…"

    @cached_property
    def table(self) -> str:
        """The title of the current idea, or its beginning."""
        return self.first("idea", "title").removeprefix("Title: ")

    def former(self, names: Iterable[str]) -> dict[str, str]:
        """The texts by field name: in a fence, or in an idea on a line that begins with the name."""
        lines = dict(re.findall(r"^([A-Z][a-z ]+): (.+)$", "\n".join(self.fenced("idea")), re.MULTILINE))
        texts = {name: self.fenced(name) or [lines.get(label(name), "")] for name in names}
        return {name: found[-1] for name, found in texts.items() if found[-1]}


def _fenced(text: str, *labels: str) -> list[str]:
    return [body for _, body in re.findall(rf"<({'|'.join(labels)})>\n(.*?)\n</\1>", text, re.DOTALL)]


def _core(title: str) -> str:
    """The longest phrase between a title's seams."""
    parts = [part.strip() for part in SEAMS.split(title)]
    whole = [part for part in parts if part and part.split()[0].lower() not in SMALL]
    return max(whole or [title], key=len).lower()


# The model.

DEFAULTS = ModelConfig()
OFFLINE = "offline"
"""Model name of every reply of the offline model."""
LABEL = "Written by the offline model, not by a language model: it shows the course of a run, nothing more."
"""Note on every result of the offline model."""

UNFORMED = """\
[offline model: this is no language model's answer] I was asked: “{question}”. I can only fill in forms, to show how \
a run goes; name a real model to get an answer, such as openai/gpt-4o-mini."""


class OfflineModel:
    """Fills the form at the end of a prompt; the same prompt and seed always give the same answer.

    A word counts as a token, at the config's prices; without prices there is no cost.

    Raises:
        ConfigError: a file of sample phrases is invalid.
    """

    def __init__(self, config: ModelConfig = DEFAULTS) -> None:
        self._config = config
        self._salt = f"\n{config.seed}" if config.seed else ""
        self._phrases = phrases_of(Resources.of())

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; this model never calls tools."""
        texts = [message.text for message in thread]
        whole = "\n\n".join([system, *texts])
        if schema := shape_of("\n\n".join(texts)):
            rng = random.Random(hashlib.sha256(f"{whole}{self._salt}".encode()).digest())
            filled = _reply(schema, system, "\n".join(texts), self._phrases, rng)
            text = json.dumps(filled, ensure_ascii=False, indent=1)
        else:
            words = texts[-1].split() if texts else []
            text = UNFORMED.format(question=" ".join(words[:20]) + (" …" if len(words) > 20 else ""))
        return Raw(text, OFFLINE, usage_of(self._config, len(whole.split()), len(text.split())))


def with_label(text: str, model: str) -> str:
    """A speaker's words, marked as the offline model's."""
    return f"[{OFFLINE}] {text}" if model == OFFLINE else text


def _reply(schema: Mapping[str, Any], system: str, text: str, phrases: Phrases, rng: random.Random) -> Any:
    """A reply that fits a schema."""
    lists = {filling: filling.names for filling in phrases.fields.values() if filling.names}
    people = {filling: NAME.findall("\n".join(_fenced(text, fence))) for filling, fence in lists.items()}
    for fence in set(lists.values()):
        text = re.sub(rf"<{fence}>\n.*?\n</{fence}>", "", text, flags=re.DOTALL)
    # In a run, a speaker's own record stands behind its task.
    recorded = INTERESTS.search("\n".join([system, *reversed(_fenced(text, "profile"))]))
    known = recorded[1].split(";") if recorded and recorded[1] != "not recorded" else phrases.interests
    prompt = _Prompt(text, tuple(TITLE.findall(text)), tuple(map(str.strip, known)))
    return Filler(prompt, phrases, rng, people).object(schema)


class Filler:
    """Fills one reply, or one of its numbered items.

    Args:
        people: names for fields that name somebody.
    """

    def __init__(
        self, prompt: _Prompt, phrases: Phrases, rng: random.Random, people: Mapping[Filling, Sequence[str]]
    ) -> None:
        self._prompt, self._phrases, self._rng, self._people = prompt, phrases, rng, people
        self._named = {
            filling: rng.choice(names) if names and rng.random() < filling.odds else None
            for filling, names in people.items()
        }
        self._former = prompt.former(name for name, each in phrases.fields.items() if each.kept)
        self._copied: Mapping[str, str] = {}
        self._title = ""
        self._pair: tuple[str, str] | None = None

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A reply, or a part of it, filled under the name of the whole."""
        self._title = title = schema.get("title", self._title)
        fields = schema.get("properties", {})
        if spread := self._phrases.sentences.get(title):
            self._copied = self._sentences(spread, list(fields))
        fillings = {name: self._phrases.filling(title, name) for name in fields}
        filled: dict[str, Any] = {}
        for name, filling in fillings.items():
            asked = fillings.get(filling.follows or name, filling)
            named = self._named.get(asked)
            if filling.names or (asked.names and named is None):
                filled[name] = named
            else:
                filled[name] = self._value(fields[name], name, filling, given=asked is not filling)
        for name, filling in fillings.items():
            if filling.spread:
                filled[name] = round(self._rng.triangular(*filling.spread))
            if filling.compares and self._unchanged(filling.compares, filled):
                filled[name] = fields[name].get("enum", [False])[0]
        return filled

    def _value(self, schema: Mapping[str, Any], name: str, filling: Filling, given: bool = False) -> Any:
        """A field's value; a nullable field is null now and then, unless it must be `given`."""
        schema, optional = resolved(schema, {})
        if optional and not given and self._rng.random() >= filling.odds:
            return None
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            likely = [each for each in filling.words if each in options]
            return self._rng.choice(likely or cast(list[Any], options))
        match schema.get("type"):
            case "object":
                return self.object(schema)
            case "array" if terms := self._terms(filling):
                return terms
            case "array":
                fences = self._prompt.fenced(filling.lines) if filling.lines else ()
                terms = (line for fence in fences for line in fence.splitlines() if line)
                phrases = (term if len(term.split()) <= LONGEST_PHRASE else _core(term) for term in terms)
                return [*dict.fromkeys(phrases)][:MOST_INTERESTS] or self._array(schema, name, filling)
            case "boolean":
                return self._rng.random() < filling.odds
            case "integer" | "number":
                low, high = schema.get("minimum", 0), schema.get("maximum")
                if high is None:
                    counted = len(self._prompt.fenced(filling.counts)) or 1
                    return low + self._rng.randint(0, max(0, counted - int(low)))
                if isinstance(low, float):
                    return round(self._rng.uniform(low + (high - low) / 2, high - (high - low) / 9), 2)
                # Modest self-ratings: the upper middle of the scale.
                return self._rng.randint(low + (high - low) // 2, high - (high - low) // 9)
            case _:
                return self._text(name, filling)

    def _terms(self, filling: Filling) -> list[str]:
        fences = self._prompt.fenced(filling.terms) if filling.terms else ()
        pieces = (piece.strip().lower() for fence in fences for piece in CLAUSES.split(fence))
        phrases = (re.sub(rf"^(?:(?:{'|'.join(SMALL)}) )+", "", piece) for piece in pieces)
        return [*dict.fromkeys(p for p in phrases if 2 <= len(p.split()) <= LONGEST_PHRASE)][:MOST_INTERESTS]

    def _array(self, schema: Mapping[str, Any], name: str, filling: Filling) -> list[Any]:
        """Two items, or the number in the schema; a numbered item is about the paper, or idea, with that number."""
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        count = max(min(2, most or 2), least)
        item = schema["items"]
        fields = item.get("properties", {}).items()
        limits = {each["minimum"]: field for field, each in fields if "minimum" in each}
        if (numbered := limits.get(1)) and item["properties"][numbered].get("maximum", count) == count:
            titles, parts = self._prompt.titles, list[dict[str, Any]]()
            numbers = range(1, count + 1) if titles else self._rng.sample(range(1, count + 1), count)
            for number in numbers:
                prompt = replace(self._prompt, titles=titles[number - 1 : number] or titles)
                filler = Filler(prompt, self._phrases, self._rng, self._people)
                parts.append({**filler.object(item), numbered: number})
            return parts
        return [self._value(item, name, filling) for _ in range(count)]

    def _unchanged(self, fences: Sequence[str], filled: Mapping[str, Any]) -> bool:
        compared = self._prompt.fenced(*fences)
        same = len(compared) == len(fences) and len(set(compared)) == 1
        former = self._former.items()
        return same or (bool(former) and all(filled.get(key) == text for key, text in former))

    def _sentences(self, spread: Sentences, fields: Sequence[str]) -> dict[str, str]:
        """The sentences of a text, one per field after the title; the last field takes the rest."""
        title, *below = fields
        [text, *_] = [*self._prompt.fenced(spread.fence), ""]
        headed = re.fullmatch(r"Title: (.+)\n\n(.*)", text, re.DOTALL)
        heading, body = headed.groups() if headed else ("", text)
        sentences = SENTENCE_END.split(" ".join(body.split()), maxsplit=len(below) - 1)
        words = sentences[0].split()
        short = " ".join(words[:8]).rstrip(".,;:!?") + "…" * (len(words) > 8)
        heading = heading or short or sentences[0]
        sentences += [""] * (len(below) - len(sentences))
        sentences = [each if re.search(r"\w", each) else spread.missing for each in sentences]
        return {title: heading, **dict(zip(below, sentences, strict=True))} if heading.strip(" .…") else {}

    # Words.

    def _text(self, name: str, filling: Filling) -> str:
        if name in self._copied:
            return self._copied[name]
        if name in self._former and self._rng.random() < filling.kept:
            return self._former[name]
        self._pair = None
        papers = self._prompt.titles
        if words := filling.with_papers if papers else self._prompt.table and filling.without_papers:
            return self._one_of(words, filling.draw_all)
        filling = filling if filling.words else self._phrases.fields["*"]
        text = self._one_of(filling.words, filling.draw_all)
        if filling.capitals:
            words = text.split()
            capitals = [word if word in SMALL else word[:1].upper() + word[1:] for word in words[1:]]
            text = " ".join([*(word[:1].upper() + word[1:] for word in words[:1]), *capitals])
        return text

    def _one_of(self, words: Words, draw_all: bool) -> str:
        if isinstance(words, str):
            return self._filled(words)
        if draw_all:
            return self._rng.choice([self._filled(each) for each in words])
        return self._filled(self._rng.choice(words))

    def _filled(self, words: str) -> str:
        """The words with their slots filled in order."""
        pieces = re.split(r"\{(-?\w+)\}", words)
        pieces[1::2] = [self.slot(name.lstrip("-")) * (name[0] != "-") for name in pieces[1::2]]
        return "".join(pieces)

    def slot(self, name: str) -> str:
        """The value of `{name}`, drawn again for each slot; `{-name}` is drawn and not shown.

        `interest`: an interest of the speaker. `phrase`: from the title of a paper, or an interest. `paper`: the title of a paper.
        `one`, `other`: an interest and another matter, the same in all sentences of a field. `subject`: the topic.
        `table`: the current idea. Any other name: the first line of the fence of that name.
        """
        match name:
            case "interest":
                return self._rng.choice(self._prompt.interests).lower()
            case "phrase":
                titles = self._prompt.titles
                return _core(self._rng.choice(titles)) if titles else self.slot("interest")
            case "paper":
                titles = self._prompt.titles
                return self._rng.choice(titles) if titles else self._prompt.table or self.slot("interest")
            case "one" | "other":
                if self._pair is None:
                    one = self.slot("interest")
                    others = (self.slot("phrase"), *map(str.lower, self._prompt.interests))
                    self._pair = one, next((each for each in others if each != one), self._phrases.alone)
                return self._pair[name == "other"]
            case "subject":
                topic = self._prompt.first("topic").rstrip(".")
                return topic or self._prompt.table or f"{self.slot('one')} and {self.slot('other')}"
            case "table":
                return self._prompt.table
            case _:
                return self._prompt.first(name) or name.replace("_", " ")


class LocalModel(Protocol):
    """A model in this process, without a server, as the hosts' adapters call it.

    A `Raw` with empty text and `tool_calls` requests these calls (their `result` is ignored); the host runs them and asks
    once more.
    """

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """Answer a thread; `answered` is the number of tool results so far."""
        ...
