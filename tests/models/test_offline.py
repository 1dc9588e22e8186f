"""The offline model: deterministic, reads its prompt, fills any schema, never passes for a language model."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.asking.forms import form
from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import REPLIES, ReplyModel, seeking
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.core import Message, Price
from manyheads.engine.replying import parse
from manyheads.models.offline import OfflineModel, phrases_of
from manyheads.systems.ranking.replies import Ranking, ranking_of
from manyheads.systems.rebuttal.replies import Condensed, Proposal, Rethought, Verdict
from manyheads.systems.virsci.replies import Idea, SelfReview, Vote, review_of

PROMPTS = Prompts(Resources.of())
SYSTEM = "<profile>\nName: Scientist3\nResearch interests: soft grippers; tactile sensing\n</profile>"
REFERENCES = "[1]\n<paper>\nTitle: Feeling in the Dark: Tactile Search\nYear: 2019, cited 12 times\nAbstract: x\n</paper>"
BANK = "From the bank:\n<scientists>\n- Scientist8: owls\n</scientists>"


async def ask(kind: type[ReplyModel], *texts: str) -> Any:
    *before, last = texts
    thread = [*map(Message, before), Message(f"{last}\n\n{form(kind)}")]
    raw = await OfflineModel().complete(SYSTEM, thread)
    return parse(raw.text, kind)


@pytest.mark.parametrize("kind", [kind for kind in REPLIES.values() if kind.model_fields])
async def test_it_fills_every_reply(kind: type[ReplyModel]):
    assert isinstance(await ask(kind, f"Question.\n<text>\nOwls plan.\n</text>\n{REFERENCES}"), kind)


@given(text=st.text(max_size=300))
async def test_it_answers_whatever_it_is_shown(text: str):
    assert isinstance(await ask(Idea, text), Idea)


async def test_its_ideas_are_made_of_the_profile_and_the_references():
    idea = await ask(Idea, REFERENCES)
    assert any(interest in idea.idea for interest in ("soft grippers", "tactile sensing"))
    assert "Feeling in the Dark: Tactile Search" in idea.idea


async def test_its_votes_are_for_ideas_that_stand_to_vote():
    shown = "<idea>\none\n</idea>\n<idea>\ntwo\n</idea>"
    choices = {(await ask(Vote, f"{number}\n{shown}")).choice for number in range(40)}
    assert choices == {1, 2}


async def test_it_sometimes_invites_a_guest_that_the_bank_named_and_sometimes_not():
    kind = seeking(Idea)
    wishes = {(await ask(kind, str(number), BANK)).invite for number in range(60)}
    assert wishes == {None, "Scientist8"}


async def test_it_invites_nobody_when_the_bank_names_nobody():
    assert (await ask(seeking(Idea), REFERENCES)).invite is None


async def test_another_seed_is_another_draw_and_the_same_one_the_same():
    thread = [Message(f"{REFERENCES}\n\n{form(Idea)}")]
    drawn = [
        (await OfflineModel(ModelConfig(seed=seed)).complete(SYSTEM, thread)).text for seed in (0, 1, 2, 2)
    ]
    assert len(set(drawn)) == 3
    assert drawn[2] == drawn[3]


VERSIONS = "<version_a>\nowls\n</version_a>\n<version_b>\n{}\n</version_b>"


async def test_what_has_not_changed_has_not_improved():
    """Else an idea that its author leaves as it is would be found better for ever."""
    compared = [
        {(await ask(Verdict, f"{number}\n{VERSIONS.format(new)}")).difference for number in range(20)}
        for new in ("owls", "owls and bats")
    ]
    assert compared == [{"none"}, {"small", "significant"}]


async def test_a_proposer_alone_sees_no_improvement_in_what_it_kept():
    seen: set[bool] = set()
    idea = PROMPTS.wording(await ask(Proposal, REFERENCES))
    for number in range(40):
        again = await ask(Rethought, f"{number}\n<idea>\n{idea}\n</idea>")
        kept = PROMPTS.wording(again) == idea
        assert not (kept and again.improved)
        seen.add(kept)
    assert seen == {False, True}


async def test_its_words_cost_what_the_prices_say_and_nothing_is_known_without_them():
    thread = [Message("What would this cost?")]
    free = (await OfflineModel().complete("", thread)).usage
    priced = (await OfflineModel(ModelConfig(price=Price(input=1, output=2))).complete("", thread)).usage
    assert free.cost is None
    assert priced.cost == (free.input_tokens + 2 * free.output_tokens) / 1_000_000


async def test_without_a_schema_it_says_that_it_is_no_language_model():
    raw = await OfflineModel().complete(SYSTEM, [Message("Is this novel?")])
    assert "no language model" in raw.text
    assert "“Is this novel?”" in raw.text


PUBLISHED = "\n".join(
    f"[{n}]\n<paper>\nTitle: {word}\nYear: 2019\nAbstract: x\n</paper>"
    for n, word in ((1, "apples"), (2, "bees"))
)


async def test_it_compares_an_abstract_with_each_paper_once():
    review = await ask(review_of(SelfReview, 2), PUBLISHED)
    assert [each.paper for each in review.overlaps] == [1, 2]
    assert "apples" in review.overlaps[0].reason
    assert "bees" in review.overlaps[1].reason
    assert len((await ask(review_of(SelfReview, 1), PUBLISHED)).overlaps) == 1


async def test_its_abstracts_are_too_close_to_published_work_now_and_then_only():
    reviews = [await ask(review_of(SelfReview, 2), f"{number}\n{PUBLISHED}") for number in range(200)]
    close = [max(each.similarity for each in review.overlaps) >= 70 for review in reviews]
    assert 0 < sum(close) < 40


async def test_its_rankings_hold_every_idea_once_and_differ():
    kind = ranking_of(Ranking, 4)
    orders = [(await ask(kind, f"Set {number}.")).order() for number in range(20)]
    assert all(sorted(order) == [1, 2, 3, 4] for order in orders)
    assert len({order[0] for order in orders}) == 4


async def test_it_condenses_a_text_to_its_sentences():
    condensed = await ask(
        Condensed, "# Brief\n\n<text>\nTitle: Owls\n\nOwls plan. Nobody tried!\nWe do.\n</text>"
    )
    assert (condensed.title, condensed.problem, condensed.objective, condensed.hypothesis) == (
        "Owls",
        "Owls plan.",
        "Nobody tried!",
        "We do.",
    )
    assert set(condensed.contents()) == {"title", "problem", "objective", "hypothesis"}
    whole = await ask(Condensed, "<text>\n" + " ".join(f"No {n}." for n in "abcdefg") + "\n</text>")
    assert (whole.title, whole.expected_impact) == ("No a", "No e. No f. No g.")
    assert (await ask(Condensed, "<text>\nOwls plan. ... We do.\n</text>")).hypothesis == "We do."
    assert await ask(Condensed, "<text>\n...\n</text>"), "a text without words is no reason to ask for ever"


class Objection(ReplyModel):
    """A reply that no system of ours asks for."""

    point: str
    source: str | None
    weight: int


PHRASES = """\
fields:
  Objection.point: ["{claim}, but {-phrase}not in the {place_of_work}"]
  point: Never seen.
  source: 1
  weight: {spread: [3, 3, 3]}
"""


@pytest.fixture
def phrases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "prompts/phrases/objections.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(PHRASES)
    monkeypatch.setenv("MANYHEADS_PATH", str(folder))
    return path


async def test_a_reply_that_it_does_not_know_is_filled_all_the_same():
    drawn = [await ask(Objection, f"{number}\n<claim>\nOwls plan.\n</claim>") for number in range(30)]
    assert {each.source is None for each in drawn} == {True, False}
    assert all(each.point for each in drawn)


async def test_a_folder_brings_phrases_for_its_replies_and_leaves_the_others(phrases: Path):
    objection = await ask(Objection, "<claim>\nOwls plan.\nOften.\n</claim>")
    assert objection.point == "Owls plan., but not in the place of work"
    assert objection.source is not None
    assert objection.weight == 3
    assert "Feeling in the Dark" in (await ask(Idea, REFERENCES)).idea


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fields: {point: {wrods: x}}", r"point\.wrods"),
        ("fields: {accept: 2}", "less than or equal to 1"),
        ("feilds: {}", "feilds"),
        ("a: [", "not valid YAML"),
    ],
)
def test_phrases_with_a_mistake_are_one_clear_error(phrases: Path, text: str, words: str):
    phrases.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        phrases_of(Resources.of())
    assert str(phrases) in str(caught.value)
