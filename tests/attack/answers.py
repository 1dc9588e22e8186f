"""Made replies of every type, each in one way untidy, unclear or empty: what is read, and what is asked again."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attack.figures import Figure
from manyheads.asking.forms import form, schema_of, shipped_forms
from manyheads.asking.replies import REPLIES, ReplyModel, Summary, seeking
from manyheads.engine.replying import UnusableReplyError, parse
from manyheads.judges.replies import Comparison, ReviewComparison, comparison_of
from manyheads.systems.mamorx.replies import Correction, WrittenReview, correction_of
from manyheads.systems.mamorx.review import form_of
from manyheads.systems.ranking.replies import Ranking, ranking_of
from manyheads.systems.rebuttal.replies import Review, review_on
from manyheads.systems.virsci.replies import Idea, SelfReview, Vote, idea_after, review_of, vote_among
from support.fill import fill

KINDS: dict[str, type[ReplyModel]] = {
    **{name: kind for name, kind in REPLIES.items() if kind.model_fields},
    **{
        f"WrittenReview of {name}": form_of(name, shipped_forms().prompts).reply(WrittenReview)
        for name in ("iclr", "mamorx")
    },
    "Vote of three": vote_among(Vote, 3),
    "SelfReview of four": review_of(SelfReview, 4),
    "Idea after two": idea_after(Idea, 2),
    "Comparison of two": comparison_of(Comparison, 2),
    "ReviewComparison of two": comparison_of(ReviewComparison, 2),
    "Ranking of three": ranking_of(Ranking, 3),
    "Review of two traits": review_on(Review, 2),
    "Correction of two": correction_of(Correction, 4, 2),
    "Summary that seeks": seeking(Summary),
}
"""Every reply that a role card may name, and those narrowed for a task."""
Way = Callable[[dict[str, Any], dict[str, Any], type[ReplyModel]], str | None]
"""Makes a text from an answer, another one and their type; None where there is no such text."""

DRAFTS = {
    "think": "<think>{} or</think>", "thinking": "<thinking>{} or</thinking>", "Magistral": "[THINK]{} or[/THINK]",
    "with its time": '<think time="3">{} or</think>', "Kimi": "◁think▷{} or◁/think▷", "reasoning": "<reasoning>{} or</reasoning>", "thought": "<thought>{} or</thought>",
    "reflection": "<reflection>{} or</reflection>", "Seed": "<seed:think>{} or</seed:think>",
    "gpt-oss": "<|channel|>analysis<|message|>{} or<|end|><|start|>assistant<|channel|>final<|message|>",
    "gpt-oss in words": "analysisWe might say {} orassistantfinal",
    "Command A": "<|START_THINKING|>{} or<|END_THINKING|>", "Sky": "<|begin_of_thought|>{} or<|end_of_thought|>",
    "Gemma": "<|channel>thought\n{} or<channel|>", "Apertus": "<|inner_prefix|>{} or<|inner_suffix|>",
    "Granite": "Here is my thought process: {} or. Here is my response: ",
    "no beginning": "{} or</think>", "no beginning, Magistral": "{} or[/THINK]", "no beginning, Seed": "{} or</seed:think>",
}  # fmt: skip
"""What models write around their thinking."""
NOTHING = (
    "...", "…", "<...>", "<…>", "<your text>", "<text>", "string", "text", "N/A", "TBD", "-", "[Your answer here]", "???",
    "your text here", "[insert text]", "{your text}", "—", "<Text>", "n/a.", "**TBD**", "<你的回答>",
)  # fmt: skip
"""What stands where a text should."""
CORRECTIONS = (
    "Correction:", "Actually, I change my mind.", "Final answer:", "Revised answer:", "Wait, that is wrong. Let me fix that:",
    "Oops. The corrected object:", "On second thought:",
)  # fmt: skip
OTHERS = (
    "For comparison, this is what a less strict scientist might answer:", "An alternative answer would be:", "", "or",
    "And here is a final example of another answer:", "Someone else would actually say:", "No correction needed.",
    "An example of the form:",
)  # fmt: skip
REFUSALS = (
    "I cannot answer this question without seeing the paper.",
    "I'm sorry, but I am not able to help with this one.",
    "As an AI language model, I have no opinion about this work.",
    "Sure! Please provide the discussion that you want me to sum up.",
    "Let me search for the related papers first, then I will answer.",
    "Here is the JSON object that you have asked me for:",
    "I would rather chat.",
    "抱歉，我无法回答这个问题，请提供论文的全文。",
    "Never.",
    'The answer is {"advice" "try a smaller corpus first", "summary" "it', "search_papers(query) <tool_call> and then we will see </tool_call>",
)  # fmt: skip
PROSE = "The members want a smaller corpus first, and disagree about how to measure what is new."


def made(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each text and number changed."""
    match value:
        case dict():
            return {name: leaves(each, change) for name, each in value.items()}
        case list():
            return [leaves(each, change) for each in value]
        case _:
            return change(value)


def keys(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each key changed."""
    match value:
        case dict():
            return {change(name): keys(each, change) for name, each in value.items()}
        case list():
            return [keys(each, change) for each in value]
        case _:
            return value


def renamed(change: Callable[[str], str]) -> Way:
    return lambda one, other, kind: made(keys(one, change)) if keys(one, change) != one else None


def parts(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Each plain value in an object or a list: what holds it, its key, its schema."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        part = schema["properties"][key] if isinstance(value, dict) else schema["items"]
        if isinstance(each, dict | list):
            yield from parts(part, each, root)
        else:
            yield value, key, part


def put(
    wanted: Callable[[Mapping[str, Any]], bool], change: Callable[[Any, Mapping[str, Any]], Any], which: slice
) -> Way:
    """Some of an answer's values of a schema, changed."""

    def way(one: dict[str, Any], other: dict[str, Any], kind: type[ReplyModel]) -> str | None:
        value, schema = json.loads(made(one)), schema_of(kind)
        found = [each for each in parts(schema, value, schema) if wanted(each[2])][which]
        for holder, key, part in found:
            holder[key] = change(holder[key], part)
        return made(value) if found and made(value) != made(one) else None

    return way


def is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "string" and not {"enum", "const"} & part.keys() and "minLength" in part


def is_choice(part: Mapping[str, Any]) -> bool:
    return "enum" in part and part["enum"][0].isalpha()


def is_scale(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "integer" and part.get("maximum") in (5, 10, 100)


def is_number(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "integer"


def wrapped(make: Callable[[dict[str, Any], type[ReplyModel]], Any]) -> Way:
    return lambda one, other, kind: made(make(one, kind))


def text(template: str) -> Way:
    """`{0}` is the answer, `{1}` another."""
    return lambda one, other, kind: template.replace("{0}", made(one)).replace("{1}", made(other))


ALL, LAST = slice(None), slice(-1, None)
CLEAR: dict[str, Way] = {
    "plain": text("{0}"),
    "in a fence, with chatter": text("Here you go!\n```json\n{0}\n```\nI hope it helps."),
    "a Python dict": lambda one, other, kind: repr(one),
    "a comma too many": lambda one, other, kind: made(one)[:-1] + ",\n}",
    "twice the same": text("{0}\n\nSo, once more:\n{0}"),
    "a list of one": text("[{0}]"),
    **{f"draft in thinking, {name}": text(mark.replace("{}", "{1}") + "{0}") for name, mark in DRAFTS.items()},
    **{f"draft, then: {words}": text("{1}\n\n" + words + "\n```json\n{0}\n```") for words in CORRECTIONS},
    "scratch that does not fit": lambda one, other, kind: f"{made({next(iter(other)): None})} Hm. {made(one)}",
    "under its name": wrapped(lambda one, kind: {kind.__name__: one}),
    "under its name in lower case": wrapped(lambda one, kind: {kind.__name__.lower(): one}),
    "response": wrapped(lambda one, kind: {"response": one}),
    "a name of the model's own": wrapped(lambda one, kind: {"scientist_3": one}),
    "called": wrapped(lambda one, kind: {"name": kind.__name__, "arguments": one}),
    "called in text": wrapped(lambda one, kind: {"name": "reply", "arguments": made(one)}),
    "called as of OpenAI": wrapped(lambda one, kind: {"type": "function", "function": {"name": "reply", "arguments": made(one)}}),
    "keys in capitals": renamed(str.upper),
    "keys with spaces": renamed(lambda key: key.replace("_", " ").capitalize()),
    "keys with hyphens": renamed(lambda key: key.replace("_", "-")),
    "keys without underscores": renamed(lambda key: "".join(part.capitalize() for part in key.split("_"))),
    "choices with a capital": put(is_choice, lambda value, part: value.capitalize(), ALL),
    "choices in capitals": put(is_choice, lambda value, part: value.upper().replace(" ", "_"), ALL),
    "choices in lower case": put(is_choice, lambda value, part: value.lower(), ALL),
    "choices in bold": put(is_choice, lambda value, part: f"**{value}**", ALL),
    "Version A": put(is_choice, lambda value, part: f"Version {value}" if value in ("A", "B") else value, ALL),
    "8/10": put(is_scale, lambda value, part: f"{value}/{part['maximum']}", ALL),
    "8 out of 10": put(is_scale, lambda value, part: f"{value} out of {part['maximum']}", ALL),
    '"8"': put(is_number, lambda value, part: str(value), ALL),
    "8.0": put(is_number, lambda value, part: float(value), ALL),
    "Yes": put(lambda part: part.get("type") == "boolean", lambda value, part: "Yes" if value else "No", ALL),
    "a list of one text": put(is_text, lambda value, part: [value], LAST),
    "prose": lambda one, other, kind: PROSE if [*one] in (["summary"], ["advice"]) else None,
    "prose under its name": lambda one, other, kind: f"**{next(iter(one)).capitalize()}:** {PROSE}" if [*one] in (["summary"], ["advice"]) else None,
    "prose in a fence": lambda one, other, kind: f"```\n{PROSE}\n```" if [*one] in (["summary"], ["advice"]) else None,
    "prose after thinking": lambda one, other, kind: f"<think>{made(other)}</think>\n{PROSE}" if [*one] in (["summary"], ["advice"]) else None,
}  # fmt: skip
"""What a person reads at once."""


def unclosed(mark: str) -> str:
    return mark.partition("{}")[0] + "{0}"


UNCLEAR: dict[str, Way] = {
    **{f"every text {one!r}": put(is_text, lambda value, part, one=one: one, ALL) for one in NOTHING},
    **{f"the last text {one!r}": put(is_text, lambda value, part, one=one: one, LAST) for one in NOTHING},
    **{f"alternative: {words}": text("{0}\n\n" + words + "\n{1}") for words in OTHERS},
    "a list of two": text("[{0}, {1}]"),
    **{f"only thinking, {name}": text(unclosed(mark)) for name, mark in DRAFTS.items() if "no begin" not in name},
    **{f"refusal: {words[:20]}": lambda one, other, kind, words=words: words for words in REFUSALS},
    "the form": lambda one, other, kind: form(kind),
    "the schema": lambda one, other, kind: made(schema_of(kind)),
    "cut in the middle": lambda one, other, kind: made(one)[: len(made(one)) // 2],
    "cut before the end": lambda one, other, kind: made(one)[:-1],
    "draft, then a cut answer": lambda one, other, kind: f"{made(one)} Final answer: {made(other)[:-2]}",
    "null": put(lambda part: part.get("type") in ("string", "integer", "boolean") and "default" not in part, lambda value, part: None, LAST),
    "a number too large": put(is_number, lambda value, part: part.get("maximum", 0) + 1 if "maximum" in part else -1, LAST),
    "7.5": put(is_number, lambda value, part: 1.5, LAST),
    "1 or 2": put(is_number, lambda value, part: "1 or 2", LAST),
    "another scale": put(is_scale, lambda value, part: f"{value}/{part['maximum'] - 1}", LAST),
    "4/10 on 5": put(is_scale, lambda value, part: f"4/{part['maximum'] * 2}", LAST),
    "1/2 of things": put(lambda part: is_number(part) and not is_scale(part), lambda value, part: "1/2", LAST),
    "true for a number": put(is_number, lambda value, part: True, LAST),
    "no choice": put(is_choice, lambda value, part: f"not {value} at all", LAST),
    "two choices": put(is_choice, lambda value, part: " or ".join(part["enum"]), LAST),
    "a key twice in two cases": lambda one, other, kind: made({**other, **{name.upper(): each for name, each in one.items()}}),
    "two objects inside": wrapped(lambda one, kind: {"mine": one, "theirs": {**one, next(iter(one)): "x"}}),
    "a field outside, another inside": lambda one, other, kind: made({[*other][-1]: [*other.values()][-1], "response": one}) if len(one) > 1 else None,
    "an example of it": wrapped(lambda one, kind: {"example": one}),
    "a field under another name": lambda one, other, kind: made({f"the_{name}_x": each for name, each in one.items()}),
}  # fmt: skip
"""What no person can read with certainty."""


@cache
def answers(kind: type[ReplyModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two answers of a type that differ, and of which each fits."""
    some = (fill(schema_of(kind), f"{kind.__name__}{seed}") for seed in range(50))
    one = next(each for each in some if fits(each, kind))
    return one, next(each for each in some if fits(each, kind) and each != one)


def fits(value: Any, kind: type[ReplyModel]) -> bool:
    try:
        parse(made(value), kind)
    except UnusableReplyError:
        return False
    return True


def fault(name: str, kind: type[ReplyModel], clear: bool, way: Way) -> tuple[str | None, str] | None:
    """What is wrong with how a made reply is read (None if nothing), and the text; None if there is no such text."""
    one, other = answers(kind)
    if not (said := way(one, other, kind)):
        return None
    try:
        value = parse(said, kind)
    except UnusableReplyError as error:
        return (f"asked again though clear: {error}" if clear else None), said
    except Exception as error:  # noqa: BLE001 — what an attack looks for
        return f"{type(error).__name__}: {error}", said
    if name.startswith("prose"):
        return (None if PROSE in value.model_dump().values() else f"read as {value}"), said
    if "text" in name and not clear and repr(name.partition("'")[2][:-1]) not in repr(value):
        return None, said  # a list that may be empty is
    return (None if clear and value == kind.model_validate(one) else f"accepted though wrong: {value}"), said


def made_replies(_: Path) -> Figure:
    """Each way in each type."""
    figure = Figure("made replies, one way a reply, of every type")
    count = dict.fromkeys(("clear", "unclear", "asked again though clear", "accepted though wrong"), 0)
    for clear, ways in ((True, CLEAR), (False, UNCLEAR)):
        for (kind_name, kind), (name, way) in ((k, w) for k in KINDS.items() for w in ways.items()):
            if found := fault(name, kind, clear, way):
                problem, said = found
                figure.add(f"{kind_name}, {name}: {said[:200]}", [problem] if problem else [])
                count["clear" if clear else "unclear"] += 1
                for each in count:
                    count[each] += bool(problem and re.match(each, problem))
    figure.notes += [f"{number} {name}" for name, number in count.items()]
    return figure
