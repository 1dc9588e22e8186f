"""What passes as an answer: what a person reads at once is read, and nothing is guessed."""

import json
from typing import Any, Literal

import pytest

from attack.answers import CLEAR, KINDS, PROSE, UNCLEAR, Way, fault
from manyheads.asking.forms import shipped_forms
from manyheads.asking.replies import Advice, OwnReply, ReplyModel, Summary, seeking
from manyheads.engine.replying import UnusableReplyError, parse
from manyheads.judges.replies import IdeaLikeness
from manyheads.systems.mamorx.replies import ExpertAnswer, NoveltyReport
from manyheads.systems.rebuttal.replies import Condensed
from manyheads.systems.scipip.replies import Entities
from manyheads.systems.virsci.replies import Idea, Revision, Vote, vote_among

SOME = ("Vote of three", "ConferenceReview", "Review", "Revision", "Verdict", "NoveltyReport", "Summary", "Advice", "Plan", "IdeaRating")  # fmt: skip


@pytest.mark.parametrize(("name", "way"), CLEAR.items(), ids=list(CLEAR))
def test_what_a_person_reads_at_once_is_read(name: str, way: Way) -> None:
    made = [fault(name, KINDS[kind], True, way) for kind in SOME]
    assert any(made)
    assert [each for each in made if each and each[0]] == []


@pytest.mark.parametrize(("name", "way"), UNCLEAR.items(), ids=list(UNCLEAR))
def test_what_nobody_can_read_with_certainty_is_asked_again(name: str, way: Way) -> None:
    made = [fault(name, KINDS[kind], False, way) for kind in SOME]
    assert any(made)
    assert [each for each in made if each and each[0]] == []


@pytest.mark.parametrize("idea", ["An owl. " * 3000, "猫" * 20_001])
def test_a_text_without_end_is_asked_for_again(idea: str) -> None:
    with pytest.raises(UnusableReplyError, match="20,000"):
        parse(json.dumps({**IDEA, "idea": idea}), Idea)
    parse(json.dumps({**IDEA, "idea": idea[:20_000].strip()}), Idea)


class Data(OwnReply):
    kind: Literal["text", "image"]
    form: str
    about: str | None = None


FINDING = {"where": "Table 2", "quote": "N/A", "finding": "It holds."}
EXPERT = {"thought": "t", "findings": [FINDING], "answer": "是。", "questions": ["None"]}
IDEA = {
    "thought": "t",
    "title": "GAN",
    "idea": "i",
    "experiment": "e",
    "clarity": 5,
    "feasibility": 5,
    "novelty": 5,
}


@pytest.mark.parametrize(
    ("kind", "wrote", "read"),
    [
        (Entities, {"entities": ["text", "image", "NA"]}, {}),
        (Entities, {"entities": ["N/A"]}, {"entities": []}),
        (Vote, {"thought": "<BOS>", "choice": 1}, {}),
        (Vote, {"thought": "None of them is new, but […] the first is close.", "choice": "2"}, {"choice": 2}),
        (NoveltyReport, {"reasoning": "r", "conflicts": ["None"], "verdict": "Novel"}, {"conflicts": [], "verdict": "NOVEL"}),
        (ExpertAnswer, EXPERT, {"findings": [{**FINDING, "quote": ""}], "questions": []}),
        (seeking(Idea), {**IDEA, "invite": "N/A", "question": "..."}, {"invite": None, "question": None}),
        (Condensed, dict.fromkeys(Condensed.model_fields, "NONE"), {}),
        (IdeaLikeness, {"reason": "r", "similarity": "4/5"}, {"similarity": 4}),
        (Data, {"kind": "Text", "form": "text", "about": "N/A"}, {"kind": "text", "about": None}),
    ],
)  # fmt: skip
def test_a_short_answer_that_the_form_allows_is_one(
    kind: type[ReplyModel], wrote: dict[str, Any], read: dict[str, Any]
) -> None:
    assert parse(json.dumps(wrote), kind).model_dump(exclude_unset=True) == {**wrote, **read}


@pytest.mark.parametrize("kind", [Summary, Advice, seeking(Summary)])
def test_prose_is_the_text_of_a_form_of_one_text(kind: type[ReplyModel]) -> None:
    assert PROSE in parse(f"<think>Hm.</think> {PROSE}", kind).model_dump().values()


def test_prose_is_no_vote() -> None:
    with pytest.raises(UnusableReplyError):
        parse("I vote for the second idea, as it is newer than the others.", Vote)


def again(kind: type[ReplyModel], text: str) -> str:
    with pytest.raises(UnusableReplyError) as refused:
        parse(text, kind)
    return shipped_forms().again(kind, refused.value.why)


def test_the_message_says_where_json_broke() -> None:
    said = again(Vote, 'Well:\n{"thought": "x",\n "choice" 2}')
    assert "line 3" in said
    assert '"choice" 2}' in said


def test_what_was_written_under_another_name_or_elsewhere_is_not_called_missing() -> None:
    said = again(vote_among(Vote, 3), '{"thoughts": "x", "note": [], "mine": {"choice": 1}}')
    assert "missing" not in said
    assert all(f"`{name}`" in said for name in ("thoughts", "note", "mine.choice"))
    assert '[{"idea": …, "note": …}, … ×3]' in said


def test_a_missing_object_is_asked_for_by_its_fields() -> None:
    assert '{"clarity": …, "relevance": …,' in again(Revision, '{"title": "Owls"}')


def test_a_field_given_twice_is_named() -> None:
    assert "`choice` twice" in again(Vote, '{"thought": "t", "Choice": 1, "choice": true}')
