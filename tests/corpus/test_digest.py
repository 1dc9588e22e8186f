"""Records of papers without a model: entities, background, summary, main ideas."""

import pytest

from manyheads.base.papers import Paper
from manyheads.corpus.digest import RECIPE, PaperTexts, digest, extract, sentences
from manyheads.corpus.graph import Extraction, Text
from manyheads.corpus.phrases import MOST_ENTITIES, KeyPhrases

ABSTRACT = (
    "Robots grasp rigid objects well. However, fragile objects remain hard to grasp, e.g. Ripe berries. "
    "We propose tactile grasp planning, a method that plans with touch. Our method uses Gaussian process regression of "
    "contact forces. It runs on a laptop. Experiments show that tactile grasp planning breaks half as many berries. "
    "The code is public."
)
PAPER = Paper(id="p1", title="Tactile grasp planning for fragile objects", abstract=ABSTRACT, year=2012)


def record(paper: Paper, text: Text = Text("", "")) -> Extraction:
    [made] = extract([PaperTexts(paper, text)], KeyPhrases.of([f"{paper.title}. {paper.abstract}"]))
    return made


def test_the_parts_are_sentences_of_the_abstract_in_their_order() -> None:
    made = record(PAPER)
    assert made.background == (
        "Robots grasp rigid objects well. However, fragile objects remain hard to grasp, e.g. Ripe berries."
    )
    assert made.summary == "We propose tactile grasp planning, a method that plans with touch."
    assert [idea.split()[0] for idea in made.main_ideas] == ["Our", "It", "Experiments"]
    assert made.detailed_ideas == ()
    assert (made.paper, made.made_by, made.recipe, made.basis) == ("p1", "lexical", RECIPE, "abstract")


def test_entities_are_the_papers_noun_phrases() -> None:
    entities = record(PAPER).entities
    assert entities[:2] == ("tactile grasp planning", "fragile objects")
    assert "gaussian process regression" in entities
    assert len(entities) <= MOST_ENTITIES


def test_a_phrase_that_all_papers_have_says_less_than_one_of_a_few() -> None:
    texts = [
        f"On neural networks, {n}. We train neural networks for {'berry picking' * (n < 8)}."
        for n in range(400)
    ]
    best = KeyPhrases.of(texts).best("Robots", "We train neural networks for berry picking.", 2)
    assert best == ("berry picking", "neural networks")


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("An environment consisting of glass walls is hard.", ("glass walls",)),
        ("Glass walls involving mirror foil are hard.", ("glass walls", "mirror foil")),
        ("Glass walls captured at night are considered hard.", ("glass walls",)),
        ("We frobnicate glass walls, and plan with mirror foil.", ("glass walls", "mirror foil")),
        ("Robots frobnicate glass walls faster.", ("glass walls",)),
        ("Path planning of supervised learning.", ("path planning", "supervised learning")),
    ],
)
def test_participles_and_verbs_are_no_part_of_a_phrase(text: str, entities: tuple[str, ...]) -> None:
    others = [f"They {verb} it, to frobnicate glass. We frobnicate." for verb in ("see", "like")]
    others += ["It has parts consisting of the same.", "They are consisting of it."]
    assert KeyPhrases.of([text, *others]).best("", text, 5) == entities


@pytest.mark.parametrize(
    ("text", "background", "summary", "ideas"),
    [
        ("", "A title", "A title", ()),
        ("Only this is said.", "Only this is said.", "Only this is said.", ()),
        ("We present soft hands. They are soft.", "We present soft hands.", "We present soft hands.", ("They are soft.",)),
        ("Hands are hard. Soft hands have a title.", "Hands are hard.", "Soft hands have a title.", ("Hands are hard.",)),
        ("We present hands. Hard hands break, however.", "Hard hands break, however.", "We present hands.", ()),
        ("Hands break. Soft hands are presented.", "Hands break.", "Soft hands are presented.", ()),
        ("We also show results. This paper presents hands.", "We also show results.", "This paper presents hands.", ()),
    ],
)  # fmt: skip
def test_short_abstracts(text: str, background: str, summary: str, ideas: tuple[str, ...]) -> None:
    found = digest("A title", text)
    assert (found.background, found.summary) == (background, summary)
    if found.main_ideas != ideas:
        assert found.main_ideas == ()


def test_without_an_abstract_the_introduction_is_read_and_without_that_the_title() -> None:
    bare = PAPER.model_copy(update={"abstract": " "})
    read = record(bare, Text("Berries are soft. We present a hand for them.", ""))
    assert (read.basis, read.summary) == ("full text", "We present a hand for them.")
    titled = record(bare)
    assert (titled.basis, titled.background, titled.main_ideas) == ("title", PAPER.title, ())
    assert titled.entities == ("tactile grasp planning", "fragile objects")


@pytest.mark.parametrize(
    ("title", "abstract", "entity"),
    [
        ("Greifen mit weichen Händen", "Wir zeigen, dass die weiche Hand aus dem Labor viele zerbrechliche Beeren greift, "
         "weil sie nicht nur mit dem Auge, sondern mit der ganzen Fläche fühlt und sich anpasst.", "weiche hand"),
        ("基于图神经网络的机器人抓取", "我们提出了一种抓取规划方法。实验结果表明成功率提高。", "图神经网络"),
        ("Захват хрупких предметов", "Мы предлагаем метод захвата хрупких предметов. Опыты показали успех.", "захват хрупких предметов"),
    ],
)  # fmt: skip
def test_other_languages(title: str, abstract: str, entity: str) -> None:
    made = record(Paper(id="p", title=title, abstract=abstract))
    assert entity in made.entities
    assert made.summary in abstract
    assert made.background


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = "Background: It works (cf. Fig. 2). See J. Smith et al. 2010 for 3.5 kg! 图像很好。结果不错。Really?  Yes"
    assert sentences(text) == [
        "It works (cf. Fig. 2).", "See J. Smith et al. 2010 for 3.5 kg!", "图像很好。", "结果不错。", "Really?", "Yes",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_text_without_an_end_takes_no_time() -> None:
    for text in ("word " * 200_000, "a" * 500_000, "we propose. " * 50_000, "$x_1$ \\frac{1}{2} " * 40_000):
        made = record(Paper(id="p", title="Long", abstract=text))
        assert len(made.summary) < 1000
        assert len(made.background) < 2000
