"""Structured replies: the form in the prompt, the reply read from the text, asking again. What a person reads at once is read,
nothing is guessed.

The hosts' own structured output is not used: on both it loses the raw text or the usage of a failed attempt, or wastes
dozens of calls on a model that answers JSON as plain text.
"""

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from manyheads.asking.forms import (
    Forms,
    Missing,
    Schema,
    Unusable,
    resolved,
    schema_of,
    shipped_forms,
    word_count,
)
from manyheads.asking.json_text import Found, UnreadableError, objects, printable, prose, unique
from manyheads.asking.replies import OwnReply, PlainText, ReplyModel, read_as, uniform_score
from manyheads.base.errors import ReplyError, closest, describe
from manyheads.core import (
    NOTHING,
    Charge,
    Message,
    Meter,
    Place,
    Raw,
    Reply,
    ToolCall,
    Turn,
    Usage,
    unmetered,
)
from manyheads.engine.brake import Brake
from manyheads.models.offline import OFFLINE

_FILLERS = frozenset((
    "n/a", "n.a", "tbd", "tba", "todo", "placeholder", "lorem ipsum", "your text", "your answer", "your text here",
    "your answer here", "text here", "insert text here",
))  # fmt: skip
_NONE = frozenset(("none", "n/a", "-"))
_TERMS = frozenset(("text", "string", "str", "na"))
"""Names of types, which stand in a list of terms by right."""
_SLOT = re.compile(
    r"[\[({](?:your|insert|enter|write|add|fill|describe)\b[^\[\](){}]*[\])}]|[\[({][^\[\](){}]* here[\])}]|…( ×[\d–+]+)?", re.IGNORECASE,
)  # fmt: skip


def plain(name: str) -> str:
    """A name as it is compared: `Expected results`, `expected-results` and `ExpectedResults` are one."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def says_nothing(text: str, *, term: bool = False) -> bool:
    """Whether a text stands where one should: `...`, `<your text>`, `N/A`; a `term` may be called text or string."""
    inside, word = text[1:-1], text.strip("<>[](){}\"'`*_ .…").casefold()
    slot = text.startswith("<") and text.endswith(">") and not {*"<>"} & {*inside} and not inside.isupper()
    filler = word in _FILLERS or (word in _TERMS and not term)
    return slot or filler or not any(map(str.isalnum, text)) or bool(_SLOT.fullmatch(text))


class Fitting:
    """Fits an object to a schema: keys and choices in any case, a list of one text for a text, null for `N/A`.

    Attributes:
        copied: the texts that say nothing, by path.
    """

    def __init__(self, schema: Schema, words: Collection[str], *, own: bool) -> None:
        self._schema, self._defs, self._words, self._own = schema, schema.get("$defs", {}), words, own
        self.copied, self.longest = dict[str, object](), 0
        self._unknown = dict[str, dict[str, Any]]()

    def _value(self, value: Any, part: Schema, path: str, *, term: bool = False) -> Any:
        part, optional = resolved(part, self._defs)
        match value:
            case dict() if "properties" in part:
                return self.fit(cast(dict[str, Any], value), part, f"{path}.")
            case [*items] if part.get("type") == "array":
                return self._items(items, part, path)
            case [str(only)] if part.get("type") == "string":
                return self._value(only, part, path)
            case str() if choices := part.get("enum", [part["const"]] if "const" in part else []):
                return choice(value, choices)
            case str() if part.get("type") == "string":
                free = not (self._own or "minLength" in part)
                return self._text(value, path, empty=None if optional else "" if free else value, term=term)
            case _:
                return value

    def fit(self, value: Mapping[str, Any], part: Schema | None = None, path: str = "") -> dict[str, Any]:
        """An object under the form's names; raises `UnreadableError` if one has two values."""
        parts = (part or self._schema)["properties"]
        fitted = value if value.keys() <= parts.keys() else unique(self._named(value, parts))
        self._unknown[path] = {name: each for name, each in fitted.items() if name not in parts}
        return {name: self._value(fitted[name], parts[name], path + name) for name in parts if name in fitted}

    @staticmethod
    def _named(value: Mapping[str, Any], parts: Schema) -> Iterator[tuple[str, Any]]:
        """The fields of an object under the form's names, as far as it has them."""
        names = {plain(name): name for name in parts}
        names = (names if len(names) == len(parts) else {}) | {name: name for name in parts}
        return ((names.get(key, names.get(plain(key), key)), each) for key, each in value.items())

    def fault(self, error: Any) -> tuple[str, object]:
        """The path of one of pydantic's errors and what stands there; of a missing field the key that looks like it."""
        *above, name = map(str, error["loc"])
        path = ".".join((*above, name))
        if error["type"] != "missing":
            return path, error["input"]
        unknown = self._unknown.get(path.removesuffix(name), {})
        inside = (f"{key}.{name}" for key, each in unknown.items() if isinstance(each, dict) and name in each)
        return path, Missing(next(inside, closest(name, unknown) or ""))

    def _items(self, items: list[Any], part: Schema, path: str) -> list[Any]:
        texts = [each.strip().casefold() for each in items if isinstance(each, str)]
        if len(texts) == len(items) == 1 and texts[0] in _NONE and not part.get("minItems"):
            return []
        term = not {*texts} <= _TERMS and all(len(each.split()) <= 4 for each in texts)
        return [self._value(each, part["items"], f"{path}.{at}", term=term) for at, each in enumerate(items)]

    def _text(self, text: str, path: str, *, empty: str | None, term: bool) -> str | None:
        """The text; `empty` for one that says nothing, where the form lets it be empty."""
        said, self.longest = text.strip(), max(self.longest, len(text))
        if said.strip("<>") in self._words:
            self.copied[path] = text
        elif said and says_nothing(said, term=term or self._own):
            if empty != text:
                return empty
            self.copied[path] = text
        return text


def choice(value: str, choices: list[Any]) -> str:
    """The choice that a text names: `Partly`, `NOT_NOVEL`, `Version A`."""
    bare = re.sub(r"^(?:version|option)\s+", "", value.strip(" \n*`\"'."), flags=re.IGNORECASE)
    named = [each for each in choices if each[:1].isalpha() and plain(each) in (plain(value), plain(bare))]
    return named[0] if len(named) == 1 and value not in choices else value


R = TypeVar("R", bound=ReplyModel)

LEAST = 6
"""Minimum words of prose that is taken for a text: fewer are seldom an answer."""
_NO_ANSWER = re.compile(
    r"\W*(sorry|unfortunately|((i|my) )?apolog\w+|i( am|['’]m) (sorry|unable|not able|afraid|an ai)|i['’]ll|i will|let me|sure"
    r"|i (can ?not|can['’]t|could not|couldn['’]t|won['’]t|would rather|would prefer|(must )?decline|need)|certainly|of course|ok(ay)?"
    r"|i (do not|don['’]t) (have|know|want|understand)|.*\b(as an? (ai|language)|(please|could you) (provide|share|send|clarify)))\b",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
"""Prose that refuses, announces or asks."""
_NO_PROSE = re.compile(
    r"[{}]|</?\w+>|\[TOOL|:\s*\Z|\A\W*(?:抱歉|对不起|es tut mir leid|lo siento|je suis désolé)", re.IGNORECASE
)
_CORRECTS = re.compile(
    r"\b(correct(ion|ed|ing)|actually|revis\w+|final\w*|fix\w*|updated?|amend\w*|improved|instead|second thoughts?|rewrit\w+"
    r"|reconsider\w*|wait|oops|sorry|mistake\w*)\b",
    re.IGNORECASE,
)
_DIFFERS = re.compile(
    r"\b(compar\w+|alternativ\w*|other|another|different\w*|example|instance|option|would|might|could|hypothetical\w*|less|if|else"
    r"|above|no (correct\w+|change|fix|revision))\b",
    re.IGNORECASE,
)  # fmt: skip
"""Words that introduce another's answer, or an example."""
_UNLIKE = frozenset(("string_type", "missing"))
"""Faults of a value that is there in another form, or under another name. A text in place of an object, or of a list of them, may
lack a score."""
_OBJECTS = re.compile(r'"items": \{(?!"type": "(?:string|integer)")')
"""In a schema, a list of more than texts and numbers."""
_WRAPS = re.compile(
    "response|reply|answer|result|output|json|arguments|args|parameters|input|function|toolcalls?"
)
LONGEST = 20_000
"""Maximum letters of one text: servers die of schemas that limit them."""
_NOT_MEANT = re.compile("draft|example|sample|template|schema|alternative|previous|wrong|bad|other")


class UnusableReplyError(ValueError):
    def __init__(
        self, kind: str, problem: str, faults: tuple[tuple[str, object], ...] = (), **more: Any
    ) -> None:
        self.why = Unusable(kind, problem, faults, **more)
        super().__init__(problem)


def parse(text: str, reply_type: type[R], *, truncated: bool = False, forms: Forms | None = None) -> R:
    """Read a typed reply from a model's text.

    Text around the JSON, thinking, fences, untidy quotes and commas, an object around the object, another case of keys
    and choices are accepted, and prose where one text is asked for; a cut or missing object, a missing field, a wrong
    type, a value out of range, a placeholder, or several answers are not.

    Example:
        >>> parse_reply('Sure! {"advice": "Try a smaller corpus."}', reply_type("Advice")).advice
        'Try a smaller corpus.'

    Raises:
        UnusableReplyError: with the reason.
    """
    if not text.strip():
        raise UnusableReplyError("empty", "it was empty")
    if truncated:
        raise UnusableReplyError("cut", "it was cut off at the length limit, max_tokens or the server's")
    read = partial(_read, reply_type, (forms or shipped_forms()).texts(reply_type))
    try:
        if issubclass(reply_type, PlainText):
            return read({"text": prose(text)})
        found = objects(text)
        if not any(each.dicts for each in found):
            return read(_told(reply_type, prose(text)))
        return _answer(found, reply_type, read)
    except UnreadableError as error:
        formal = error.closed and error.place != (0, "") and _has_all(text, reply_type)
        raise UnusableReplyError(error.kind, str(error), words=error.place, formal=formal) from error


def _has_all(text: str, kind: type[ReplyModel]) -> bool:
    """Whether a text that cannot be read has a value for each needed field: no score may be invented for one. In a list of objects
    nobody can tell."""
    schema = schema_of(kind)
    parts = (schema, *schema.get("$defs", {}).values())
    needed = {name for part in parts for name in part.get("required", ())}
    return not _OBJECTS.search(json.dumps(schema)) and all(
        re.search(rf"\b{re.escape(name)}\W?\s*:\s*[^\s,}}\]]", text, re.IGNORECASE) for name in needed
    )


def _told(kind: type[ReplyModel], text: str) -> dict[str, Any]:
    """Prose as the text of a reply that asks for no more than one text."""
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    one_text = len(needed) == 1 and kind.model_fields[needed[0]].annotation is str
    if not one_text or word_count(text) < LEAST or _NO_PROSE.search(text) or _NO_ANSWER.match(text):
        raise UnusableReplyError("none", "it has no JSON object")
    around = rf"\A(?:```\w*\n)?(?:\W*{needed[0]}\W*:\W*)?|\s*```\Z"
    return {needed[0]: re.sub(around, "", text, flags=re.IGNORECASE)}


def _answer(found: Sequence[Found], kind: type[R], read: Callable[[dict[str, Any]], R]) -> R:
    """The one answer of several objects: drafts that do not fit, and answers that a later one corrects, do not count."""
    taken: R | None = None
    problem: ValueError | None = None
    clear = True
    for each in found:
        try:
            one = _one_of(each, kind, read)
        except (UnusableReplyError, UnreadableError) as error:
            problem = error
            continue
        if one is not None:
            clear = (clear and one == taken) or taken is None or _corrects(each.before)
            taken, problem = one, None
    if problem:
        raise problem
    if not clear:
        raise UnusableReplyError("several", "it gave several answers; give one", formal=True)
    return taken or read(next(each.dicts[-1] for each in reversed(found) if each.dicts))


def _one_of(found: Found, kind: type[R], read: Callable[[dict[str, Any]], R]) -> R | None:
    """The reply of an object, or of a list; None if nothing in it is a field of the reply."""
    fields = {plain(name) for name in kind.model_fields}
    answers = [_unwrapped(each, kind, fields) or each for each in found.dicts]
    answers = [each for each in answers if fields & {*map(plain, each)}]
    if any(each != answers[0] for each in answers):
        problem = f"it gave {len(answers)} answers in a list; give one"
        raise UnusableReplyError("several", problem, formal=True)
    return read(answers[0]) if answers else None


def _unwrapped(
    value: dict[str, Any], kind: type[ReplyModel], fields: Set[str], deep: int = 4
) -> dict[str, Any] | None:
    """The object with all needed fields: this one, or the only one inside it, under the reply's name or another."""
    keys = {*map(plain, value)}
    inside = {plain(key): one for key, each in value.items() if (one := _object_in(each)) is not None}
    if deep and len(inside) == 1:
        [(key, inner)] = inside.items()
        usual = _WRAPS.fullmatch(key) or key == plain(kind.__name__)
        others = fields & keys - {key, "name" if usual else key}
        alike = fields >= {*map(plain, inner)} and not _NOT_MEANT.search(key)
        if not others and (usual or alike) and (found := _unwrapped(inner, kind, fields, deep - 1)):
            return found
    needed = {plain(name) for name, field in kind.model_fields.items() if field.is_required()}
    return value if needed <= keys else None


def _object_in(value: Any) -> dict[str, Any] | None:
    """An object, also alone in a list or as JSON text."""
    if isinstance(value, str):
        try:
            found = objects(value) if re.fullmatch(r"\s*\{.*\}\s*", value, re.DOTALL) else []
        except UnreadableError:
            return None
    else:
        found = [Found(value, "")]
    return found[0].dicts[0] if [len(each.dicts) for each in found] == [1] else None


def _corrects(before: str) -> bool:
    """Whether what stands before an answer says that it replaces the one above: its last sentence that says anything."""
    for sentence in reversed(re.split(r"[.!?\n]+", re.sub(r"```[\w ]*", "", before))):
        if _DIFFERS.search(sentence):
            return False
        if _CORRECTS.search(sentence):
            return True
    return False


def _read(kind: type[R], words: Collection[str], answer: Mapping[str, Any]) -> R:
    """An object as a reply; a text of the form, or one that says nothing, is none."""
    fitting = Fitting(schema_of(kind), words, own=issubclass(kind, OwnReply))
    try:
        value = read_as(kind, fitting.fit(answer))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        wrote = dict(map(fitting.fault, errors))
        formal = all(wrote.values()) and {each["type"] for each in errors} <= _UNLIKE
        raise UnusableReplyError("fields", describe(error), tuple(wrote.items()), formal=formal) from error
    if copied := fitting.copied:
        raise UnusableReplyError("copied", f"{', '.join(copied)}: says nothing", tuple(copied.items()))
    if fitting.longest > LONGEST:
        raise UnusableReplyError("rule", f"no text may have more than {LONGEST:,} letters")
    return value


LONG = 20_000
"""Characters above which a reply is parsed in a thread, so that other teams of the process continue."""
TAIL = 300
"""Characters of a reply that was cut off which its model is shown again: all of it would leave less room for the next."""
TOOL_ROUNDS = 6
"""Maximum rounds of tool calls per turn, on any host."""

asked_at: ContextVar[Place | None] = ContextVar("asked_at", default=None)
"""The current turn's place in the run, for our own models; frameworks do not pass it on."""
METER: ContextVar[Meter] = ContextVar("meter", default=unmetered)
"""Of the current turn: counts each request that our clients send."""


class StructuredHost(Brake, ABC):
    """Base of the hosts: asks for a typed reply, and again with the reason while it is invalid; can be paused.

    Args:
        attempts: maximum attempts per turn.
    """

    metered = False
    """Whether each request of `native` goes by `METER`; else a whole `native` counts as one until its usage is known."""
    remembers = False
    """Whether `native` knows what was looked up in earlier attempts."""

    def __init__(self, attempts: int = 3) -> None:
        super().__init__()
        self._attempts = attempts

    @abstractmethod
    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One turn of the host's own agent on `thread`; `warn` collects warnings."""

    def keeps_tools(self, turn: Turn[Any]) -> bool:
        """Whether `native` can send the turn's tools, allow no call, and have the server enforce the reply's schema."""
        return False

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ReplyError: no attempt gave a valid reply; contains the last raw text.
            BudgetError: the budget does not allow an attempt.
        """
        forms, began, warn, asked = forms_of(turn), time.monotonic(), list[str](), turn
        usage, calls, unusable, measured = NOTHING, tuple[ToolCall, ...](), list[str](), False
        said = list[Message]()  # the invalid replies, each with the request to repeat it
        alone = False  # whether the form stands for the question: the last reply needs no more
        while True:
            attempt = len(unusable) + 1
            question = (Message(forms.form(turn.reply_type)),) if alone else with_form(turn)
            raw = await self._metered(asked, (*question, *said), warn)
            text, model = printable(raw.text), printable(raw.model)
            usage, calls = usage + raw.usage, calls + raw.tool_calls
            try:
                read = partial(parse, text, turn.reply_type, truncated=raw.truncated, forms=forms)
                value = await asyncio.to_thread(read) if len(text) > LONG else read()
                if turn.check and (problem := turn.check(value)):
                    raise UnusableReplyError("rule", problem)
                if raw.model != OFFLINE and (unlike := forms.unlike(value)):
                    kind, *words = unlike
                    length = f"far too {kind}, {words[0]} of about {words[1]} words"
                    if not measured and attempt < self._attempts:
                        measured = True
                        raise UnusableReplyError(kind, length, words=words)
                    warn.append(f"{turn.place}: {length}")
            except UnusableReplyError as problem:
                unusable.append(problem.why.kind)
                if attempt >= self._attempts:
                    shown = text if len(text) <= 600 else text[:600] + " …"
                    raise ReplyError(
                        f"{turn.place}: no valid reply from {raw.model} in {attempt} attempts; last problem: {problem}",
                        raw=text,
                        unusable=tuple(unusable),
                        tried=f"end of its text: {shown!r}",
                        hint="resume the run, or give this role another model: --set roles.<role>.model=<alias>",
                    ) from problem
                warn.append(f"{turn.place}: asked again, {problem}")
                answer = text.strip()[:LONG] or "(nothing)"
                if raw.truncated and len(answer) > TAIL:
                    answer = f"… {answer[-TAIL:]}"
                unread = any(tool.material for tool in turn.tools) and all(call.failed for call in calls)
                alone = problem.why.formal and not (alone or unread or len(text) > LONG)
                asked = turn if unread else self._again(turn, alone=alone)
                heard = () if self.remembers else raw.tool_calls
                repeat = _lookups(asked, heard) + forms.again(turn.reply_type, problem.why, alone=alone)
                said += Message(answer, "assistant"), Message(repeat)
                continue
            if (score := uniform_score(value)) is not None:
                warn.append(
                    f"{turn.place}: every score is {score}, an end of the scale; it may be copied from the form"
                )
            seconds = time.monotonic() - began
            return Reply(text, value, model, usage, calls, attempt, seconds, tuple(warn), tuple(unusable))

    def _again(self, turn: Turn[R], *, alone: bool) -> Turn[R]:
        """The turn for a further attempt: no tool may be called, and none is sent where a server else enforces no schema."""
        if alone or (turn.tools and not self.keeps_tools(turn)):
            return replace(turn, tools=(), recall=None)
        return replace(turn, may_call=False)

    async def _metered(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One attempt, with the turn's meter around each of its requests, or around all where nothing smaller is known."""
        at, meter = asked_at.set(turn.place), METER.set(turn.meter if self.metered else unmetered)
        try:
            if self.metered:
                return await self.native(turn, thread, warn)
            charge = Charge(Usage(calls=1))
            async with turn.meter(charge):
                raw = await self.native(turn, thread, warn)
                charge.usage = raw.usage
            return raw
        finally:
            METER.reset(meter)
            asked_at.reset(at)


def forms_of(turn: Turn[Any]) -> Forms:
    return turn.forms or shipped_forms()


def _lookups(turn: Turn[Any], calls: Sequence[ToolCall]) -> str:
    """What an attempt has looked up or heard, before the request for the next: no tool runs twice."""
    if not calls:
        return ""
    each = {(call.name, str(call.arguments), call.result): call for call in calls}
    variables = {"calls": list(each.values()), "more": bool(turn.tools) and turn.may_call}
    return f"{forms_of(turn).prompts.render('lookups.md.j2', variables).strip()}\n\n"


def with_form(turn: Turn[Any]) -> tuple[Message, ...]:
    """The turn's thread, with the reply's form at the end of the last message."""
    *before, last = turn.thread
    if not (form := forms_of(turn).form(turn.reply_type)):
        return turn.thread
    return (*before, replace(last, text=f"{last.text.rstrip()}\n\n{form}\n"))


def with_passage(turn: Turn[Any], text: str, passage: str) -> str:
    """A message's text with the retrieval hook's passage, between the question and the reply's form."""
    form = forms_of(turn).form(turn.reply_type)
    form = f"\n{form}\n" if form else ""
    question = text.removesuffix(form)
    return f"{question.rstrip()}\n\n{passage.strip()}\n{form if question != text else ''}"
