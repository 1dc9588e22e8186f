"""What a model's text is taken for, and what a speaker is asked when it cannot be used."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manyheads.asking.forms import form
from manyheads.asking.replies import Remark, ReplyModel, Summary, reply_type, seeking
from manyheads.base.errors import ReplyError
from manyheads.core import Message, Place, Raw, Speaker, ToolCall, Turn, Usage
from manyheads.engine.replying import StructuredHost, UnusableReplyError, parse, says_nothing
from manyheads.systems.baselines.replies import Analysis
from manyheads.systems.virsci.replies import Idea, Vote
from support.turns import LOOK_UP


def says(text: str) -> bool:
    return not says_nothing(text.strip())


WORDS = st.text(min_size=1).filter(says)
TRICKY = st.text(alphabet="ab{}[]\"'\\`,: \n\u00e9🙂", min_size=1).filter(says)
CHATTER = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="{"))
SCORES = st.integers(1, 10)


def ideas(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    kind = {
        name: SCORES if name in ("clarity", "feasibility", "novelty") else text for name in Idea.model_fields
    }
    return st.fixed_dictionaries(kind)


@given(value=ideas(TRICKY | WORDS), before=CHATTER, after=CHATTER)
def test_chatter_around_an_object_is_ignored(value: dict[str, Any], before: str, after: str) -> None:
    text = f"{before}{json.dumps(value, ensure_ascii=False)}{after}"
    assert parse(text, Idea) == Idea.model_validate(value)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('{summary: "no quotes around the key"}', "no quotes around the key"),
        ('{"summary": "two\nlines"}', "two\nlines"),
        ('{"summary": "he said "no", and left"}', 'he said "no", and left'),
        ("The sets {a, b} and {c} meet. {'summary': 'prose has braces'} in {d}", "prose has braces"),
        ('{{"summary": "doubled braces"}}', "doubled braces"),
        ('[{"summary": "in a list"}]', "in a list"),
        ('Draft: {"summary": "first"}\nFinal:\n```json\n{"summary": "last"}\n```', "last"),
        ('{"summary": "answered"}\n\nP.S. {"mood": "fine"}', "answered"),
        ('{"summary": "half a smile \\ud83d"}', "half a smile ?"),
        ('{"summary": "a whole one \\ud83d\\ude42"}', "a whole one 🙂"),
        ('{"summary": "  trimmed  ", "extra": 1}', "trimmed"),
    ],
)
def test_untidy_text_is_understood(text: str, summary: str) -> None:
    assert parse(text, Summary).summary == summary


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(value=ideas(TRICKY), write=st.sampled_from([json_text, repr]), data=st.data(), before=CHATTER)
def test_a_cut_reply_is_never_accepted(
    value: dict[str, Any], write: Callable[[Any], str], data: st.DataObject, before: str
) -> None:
    text = write(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(UnusableReplyError):
        parse(before + text[:cut], Idea)


@given(summary=TRICKY)
@example(summary="use {x} and more")
def test_a_cut_reply_of_one_field_is_never_accepted(summary: str) -> None:
    whole = json_text({"summary": summary})
    for cut in range(len(whole)):
        with pytest.raises(UnusableReplyError):
            parse(whole[:cut], seeking(Summary))


@given(value=ideas(WORDS), name=st.sampled_from(sorted(Idea.model_fields)))
def test_a_missing_field_is_named(value: dict[str, Any], name: str) -> None:
    with pytest.raises(UnusableReplyError, match=rf"\b{name}: field required"):
        parse(json.dumps({key: part for key, part in value.items() if key != name}), Idea)


@given(
    value=ideas(WORDS), score=st.integers().filter(lambda n: not 1 <= n <= 10) | st.just(7.5) | st.booleans()
)
def test_a_score_out_of_range_or_kind_is_named_never_clipped(value: dict[str, Any], score: object) -> None:
    with pytest.raises(UnusableReplyError, match="novelty: "):
        parse(json.dumps({**value, "novelty": score}), Idea)


@pytest.mark.parametrize(
    "text", ["", "  \n", "Never.", "{}", "null", "[1, 2]", "```json\n```", '{"a":' + "[" * 100_000]
)
def test_no_object_is_no_reply(text: str) -> None:
    with pytest.raises(UnusableReplyError):
        parse(text, Summary)


@pytest.mark.parametrize("copied", ["A term on which the topic turns.", "<a term>", "..."])
def test_a_text_that_is_copied_from_the_form_is_none_in_a_list_either(copied: str) -> None:
    with pytest.raises(UnusableReplyError, match=r"keywords\.1: says nothing"):
        parse(json.dumps({"keywords": ["robots", copied], "remark": "They need hands."}), Analysis)


@given(text=st.text(alphabet="{}[]\"':,\\ \nab1", max_size=40) | st.text())
def test_any_text_gives_a_reply_or_a_reason(text: str) -> None:
    with suppress(UnusableReplyError):
        assert parse(text, Summary).summary


def filled(kind: type[ReplyModel], words: int) -> dict[str, Any]:
    """A reply whose texts have so many words."""
    return {
        name: " ".join(["word"] * words) if field.annotation is str else 5
        for name, field in kind.model_fields.items()
    }


def turn(kind: type[ReplyModel] = Vote, check: Callable[[Any], str | None] | None = None) -> Turn[Any]:
    place = Place("novelty", 1, "Scientist3", "vote")
    speaker = Speaker("Scientist3", "scientist", "You are Scientist3.")
    return Turn(place, speaker, (Message("Background."), Message("Which one?\n")), kind, check=check)


class Scripted(StructuredHost):
    """A host whose model says these texts one after the other."""

    def __init__(self, *texts: str, attempts: int = 3) -> None:
        super().__init__(attempts)
        self.texts, self.threads = list(texts), list[Sequence[Message]]()
        self.turns, self.failed = list[Turn[Any]](), False

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        self.threads.append(thread)
        self.turns.append(turn)
        text = self.texts.pop(0)
        usage = Usage(input_tokens=100, output_tokens=10, calls=1, cost=0.5)
        calls = (ToolCall(name="search", arguments={"n": len(self.threads)}, failed=self.failed),)
        return Raw(text, "m-1", usage, calls, truncated=text.endswith("<length>"))


GOOD = '{"thought": "Both are close.", "choice": 2}'


async def test_a_good_reply_is_asked_once() -> None:
    host = Scripted(GOOD)
    reply = await host.ask(turn())
    assert (reply.value.choice, reply.text, reply.model, reply.attempts) == (2, GOOD, "m-1", 1)
    assert reply.warnings == ()
    [thread] = host.threads
    assert thread[0].text == "Background."
    assert thread[1].text.startswith("Which one?\n\n## The form of your answer")
    assert form(Vote) in thread[1].text


async def test_a_bad_reply_is_asked_again_with_the_reason_and_all_is_paid() -> None:
    host = Scripted('{"thought": "x", "choice": 0}', "", GOOD)
    reply = await host.ask(turn())
    assert reply.attempts == 3
    assert reply.usage == Usage(input_tokens=300, output_tokens=30, calls=3, cost=1.5)
    assert [call.arguments for call in reply.tool_calls] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert len(reply.warnings) == 2
    assert "novelty, turn 1, Scientist3: vote: asked again, choice: input should be" in reply.warnings[0]
    asked = host.threads[2]
    assert [message.sender for message in asked] == ["user", "user", "assistant", "user", "assistant", "user"]
    assert asked[2].text == '{"thought": "x", "choice": 0}'
    assert "`choice` is `0`" in asked[3].text
    assert "<1, 2, …: " in asked[3].text
    assert asked[4].text == "(nothing)"
    assert "was empty" in asked[5].text


async def test_a_length_limit_is_asked_again() -> None:
    host = Scripted(GOOD + "<length>", GOOD)
    reply = await host.ask(turn())
    assert "cut off" in reply.warnings[0]
    assert "briefer" in host.threads[1][-1].text


LONG, BRIEF = (json.dumps(filled(Idea, words)) for words in (350, 5))


async def test_a_far_too_short_reply_is_asked_again_once_and_then_warned_of() -> None:
    host = Scripted(BRIEF, BRIEF)
    reply = await host.ask(turn(Idea))
    assert (reply.attempts, reply.value.idea) == (2, json.loads(BRIEF)["idea"])
    assert "10 of about 600 words" in host.threads[1][-1].text
    assert "far too short, 10 of about 600 words" in reply.warnings[-1]
    assert (await Scripted(LONG).ask(turn(Idea))).warnings == ()


@pytest.mark.parametrize(("words", "far"), [(20, "short"), (99, ""), (200, ""), (600, "long")])
async def test_a_remark_is_as_long_as_its_task_asks(words: int, far: str) -> None:
    said = json.dumps({"remark": " ".join(["owls"] * words), "topic": "Owls."})
    host = Scripted(said, said)
    reply = await host.ask(turn(Remark))
    assert reply.attempts == 1 + bool(far)
    assert any(f"far too {far}, {words} of about 100–200 words" in line for line in reply.warnings) == bool(
        far
    )
    assert not far or f"far too {far}: {words} " in host.threads[1][-1].text
    assert "100–200" in host.threads[0][-1].text


@pytest.mark.parametrize("brackets", ["<{}>", "{}"])
async def test_texts_of_the_form_are_no_answer(brackets: str) -> None:
    [meaning, *_] = re.findall(r'"<(.+)>"', form(Vote))
    host = Scripted(json.dumps({"thought": brackets.format(meaning), "choice": 1}), GOOD)
    await host.ask(turn())
    assert "`thought` is `" in host.threads[1][-1].text
    assert (await Scripted('{"thought": "<BOS>", "choice": 1}').ask(turn())).attempts == 1


async def test_a_reply_that_its_check_refuses_is_asked_again() -> None:
    host = Scripted('{"thought": "x", "choice": 9}', GOOD)
    check: Callable[[Vote], str | None] = lambda vote: "there are 3 ideas" if vote.choice > 3 else None  # noqa: E731
    reply = await host.ask(turn(check=check))
    assert reply.value.choice == 2
    assert "there are 3 ideas" in host.threads[1][-1].text


def letters(thread: Sequence[Message]) -> int:
    return sum(len(message.text) for message in thread)


PAPERS = f"<paper>\n{'Owls hear mice under snow. ' * 200}\n</paper>"


@pytest.mark.parametrize(
    "bad",
    [
        '{"thought": "x", ?, "choice": 2}',
        '{"thought": {"why": "It is close."}, "choice": 2}',
        '{"thoughts": "It is close.", "choice": 2}',
        '{"thought": "x", "choice": 1, "choice": 2}',
        '{"thought": "x", "choice": 1}\n{"thought": "y", "choice": 2}',
        '[{"thought": "x", "choice": 1}, {"thought": "y", "choice": 2}]',
    ],
)
async def test_a_whole_reply_is_mended_once_without_the_question(bad: str) -> None:
    host = Scripted(bad, bad, GOOD)
    asked = replace(turn(), thread=(Message(PAPERS),), tools=(LOOK_UP,), recall="owls")
    await host.ask(asked)
    whole, alone, again = host.threads
    assert letters(alone) < 0.3 * letters(whole)
    assert [message.sender for message in alone] == ["user", "assistant", "user"]
    assert (alone[0].text, alone[1].text) == (form(Vote), bad)
    assert 'search {"n": 1}' in alone[2].text
    assert (*whole, *alone[1:]) == again[:3], "the question again, and what has been said is added to it"
    assert [(each.tools, each.recall) for each in host.turns] == [((LOOK_UP,), "owls"), *[((), None)] * 2]


@pytest.mark.parametrize(
    "bad",
    [
        '{"thought": "x", "choice": 0}',
        '{"thought": "x", "choice": "the last"}',
        '{"choice": 2}',
        '{"thought": null, "choice": 2}',
        '{"thought": "...", "choice": 2}',
        '{"thought": "It is close',
        '{"thought": "x", ?, "choice": 2',
        '{"thought": "x", "choice": }',
        '{"thought": "It is close", ?}',
        f"{GOOD}<length>",
        "I take the second.",
        "",
    ],
)
async def test_what_a_reply_lacks_needs_the_question(bad: str) -> None:
    host = Scripted(bad, GOOD)
    await host.ask(replace(turn(), thread=(Message(PAPERS),)))
    whole, again = host.threads
    assert (*whole,) == again[: len(whole)]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("SelfReview", '{"overlaps": ["Paper 3 is close."]}'),
        ("SelfReview", '{"overlaps": "Paper 3 is close."}'),
        ("SelfReview", '{"overlaps": [{"paper": 3, "similarity": 5}, {"paper": 4, ?}]}'),
        ("Ranking", '{"ranking": ["A", "B"]}'),
    ],
)
def test_scores_of_things_that_are_only_named_are_asked_for_with_the_question(name: str, bad: str) -> None:
    with pytest.raises(UnusableReplyError) as caught:
        parse(bad, reply_type(name))
    assert not caught.value.why.formal


async def test_who_has_not_read_its_material_is_asked_the_question_again() -> None:
    host = Scripted('{"thought": {"why": "x"}, "choice": 2}', GOOD)
    host.failed = True
    read = replace(LOOK_UP, material=True)
    await host.ask(replace(turn(), tools=(read,)))
    assert (*host.threads[0],) == host.threads[1][:2]
    assert [(each.tools, each.may_call) for each in host.turns] == [((read,), True)] * 2


async def test_an_error_keeps_the_raw_text_and_says_what_to_do() -> None:
    last = "I would rather not. " * 100
    with pytest.raises(ReplyError) as caught:
        await Scripted("no", last, attempts=2).ask(turn())
    assert caught.value.raw == last
    shown = str(caught.value)
    assert "novelty, turn 1, Scientist3: vote: no valid reply from m-1 in 2 attempts" in shown
    assert "it has no JSON object" in shown
    assert "roles.<role>.model" in shown
    assert len(shown) < 1200


async def test_half_characters_do_not_reach_files() -> None:
    reply = await Scripted('{"thought": "cut \ud83d", "choice": 1} \ud83d').ask(turn())
    reply.text.encode()
    assert reply.value.thought == "cut ?"
