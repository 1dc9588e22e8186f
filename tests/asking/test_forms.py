"""The form in which a reply is asked for: what a model reads, and that all of it is said in files."""

from pathlib import Path
from typing import Any

import pytest

from manyheads.asking.forms import (
    FENCE,
    Forms,
    Unusable,
    form,
    resolved,
    schema_of,
    shape_of,
    shipped_forms,
    word_count,
)
from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import REPLIES, ReplyModel, limited, seeking
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources
from manyheads.systems.rebuttal.replies import Review
from manyheads.systems.virsci.replies import Idea, SelfReview, Vote, review_of, vote_among
from manyheads.systems.virsci.result import Ballot

KINDS: dict[str, type[ReplyModel]] = {
    **REPLIES,
    "a vote among three": vote_among(Vote, 3),
    "a review of five": review_of(SelfReview, 5),
    "an idea with a wish": seeking(Idea),
}
LIMITS = ("type", "minimum", "maximum", "minItems", "maxItems", "enum", "const")


def skeleton(schema: Any, defs: Any) -> Any:
    """What a form can show of a schema."""
    schema, optional = resolved(schema, defs)
    limits = {key: schema[key] for key in LIMITS if key in schema}
    if schema.get("type") == "array":
        return {"minItems": 0, **limits, "items": skeleton(schema["items"], defs)}
    if schema.get("type") == "object":
        return {name: skeleton(each, defs) for name, each in schema["properties"].items()}
    if "enum" in schema:
        limits.pop("type", None)
    return (limits, optional)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_form_asks_for_what_its_schema_asks_for(kind: type[ReplyModel]) -> None:
    shape = shape_of(f"Before.\n\n{form(kind)}\n")
    assert shape
    assert shape["title"] == kind.__name__
    schema = schema_of(kind)
    assert skeleton(shape, {}) == skeleton(schema, schema.get("$defs", {}))


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_text_has_a_line_that_says_what_it_is_for(kind: type[ReplyModel]) -> None:
    assert '"<…>"' not in form(kind)


def test_wishes_come_after_thoughts() -> None:
    assert list(seeking(Idea).model_fields)[-2:] == ["invite", "question"]


def words(schema: Any, *, named: bool = False) -> set[str]:
    """What a schema says beside its fields: titles of types, descriptions."""
    if not isinstance(schema, dict):
        return set()
    own = set() if named else {key for key in ("description", "title") if isinstance(schema.get(key), str)}
    return own.union(*(words(each, named=key in ("properties", "$defs")) for key, each in schema.items()))


def test_the_schema_that_goes_beside_a_prompt_has_no_words() -> None:
    for kind in KINDS.values():
        schema = schema_of(kind)
        parts = [
            each
            for part in (schema, *schema.get("$defs", {}).values())
            for each in part["properties"].values()
        ]
        assert not set().union(*map(words, parts))


def written(folder: Path, name: str, text: str) -> Forms:
    path = folder / "prompts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Forms(Prompts(Resources.of([folder])))


def test_a_line_of_a_users_own(tmp_path: Path) -> None:
    forms = written(
        tmp_path, "replies/Vote.yaml", "choice: die Nummer\nthought: {meaning: erst denken, words: 40}\n"
    )
    shown = forms.form(vote_among(Vote, 2))
    assert '"thought": "<≈40: erst denken>"' in shown
    assert '"choice": <1–2: die Nummer>' in shown
    assert forms.unlike(Vote(thought="too few words", choice=1)) == ("short", 3, "40")
    assert forms.unlike(Vote(thought="w " * 24, choice=1)) is None
    assert forms.unlike(Vote(thought="w " * 2400, choice=1)) is None, "more is welcome"


@pytest.mark.parametrize(("words", "far"), [(11, "short"), (12, None), (20, None), (50, None), (51, "long")])
def test_a_line_may_say_from_how_many_words_to_how_many(tmp_path: Path, words: int, far: str | None) -> None:
    forms = written(tmp_path, "replies/Vote.yaml", "thought: {meaning: erst denken, words: [20, 30]}\n")
    assert '"thought": "<≈20–30: erst denken>"' in forms.form(Vote)
    assert (shape_of(forms.form(Vote)) or {})["properties"]["thought"]["words"] == (20, 30)
    asked = forms.unlike(Vote(thought="w " * words, choice=1))
    assert asked == (far and (far, words, "20–30"))


def test_scripts_without_spaces_are_counted_by_their_letters() -> None:
    assert word_count("three plain words") == 3
    assert word_count("研究" * 100 + " and more") == 102
    assert word_count("งานวิจัย" * 100 + " and more") == 162


def test_a_line_that_looks_like_a_form_stays_a_line(tmp_path: Path) -> None:
    forms = written(tmp_path, "replies/Vote.yaml", 'choice: one\nthought: "a <b>, \\"c\\" | d \\\\ e"\n')
    shape = shape_of(forms.form(Vote))
    assert shape
    assert shape["properties"]["thought"] == {"type": "string"}


@pytest.mark.parametrize(
    "text", ["- a", "choice: [1]", "choice: {words: 0}", "choice: {words: [1, 2, 3]}", "a: b: c"]
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"Vote\.yaml"):
        written(tmp_path, "replies/Vote.yaml", text).form(Vote)


@pytest.mark.parametrize(
    ("name", "says"), [("Idea", "no field experimnet"), ("Advise", "there is no reply Advise")]
)
def test_words_that_no_reply_reads_are_named(tmp_path: Path, name: str, says: str) -> None:
    written(tmp_path, f"replies/{name}.yaml", "experimnet: The design.\n")
    [problem] = Roles(Resources.of([tmp_path])).problems()
    assert f"{name}.yaml" in problem
    assert says in problem


def test_another_class_of_the_same_name_is_not_said_in_a_replys_words() -> None:
    class Vote(ReplyModel):
        choice: str

        def spoken(self) -> str:
            return self.choice

    prompts = Forms(Prompts(Resources.of())).prompts
    ballot = Ballot(voter="A", turn=1, choice=1, reasoning="R", idea="I")
    assert prompts.wording(ballot) == str(ballot)
    for kind in (Vote, seeking(Vote), limited(Vote, "choice", str, max_length=9)):
        assert prompts.wording(kind(choice="mine")) == "mine"


def test_a_fault_in_a_list_is_told_with_what_the_form_asks_for() -> None:
    wrong = Unusable("fields", "", (("suggestions", []), ("verdicts", []), ("verdicts.1.met", "maybe")))
    lines = shipped_forms().again(Review, wrong).splitlines()
    assert any("`suggestions` is `×0`" in line and "… ×1–3]" in line for line in lines)
    parts = '[{"trait": …, "finding": …, "met": …}, …]'
    assert any(f"`verdicts` is `×0`; the form asks for `{parts}`" in line for line in lines)
    assert any(
        '`verdicts.1.met` is `maybe`; the form asks for `"<yes | partly | no>"`' in line for line in lines
    )


def test_the_last_form_counts() -> None:
    both = f"{form(Idea)}\n\n{form(Vote)}"
    assert len(FENCE.findall(both)) == 2
    assert (shape_of(both) or {})["title"] == "Vote"
