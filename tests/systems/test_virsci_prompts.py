"""Each stage's prompt holds exactly what its equation says (VirSci 2025, Eqs. 1–4), read off the requests."""

from collections.abc import Iterator

import pytest

from manyheads.core.events import Retrieved, Said
from support.llm import LLM
from support.play import Played, play_now


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with LLM() as llm:
        yield play_now(tmp_path_factory.mktemp("run"), llm, "turns=2")


def remarks(played: Played, turn: int) -> list[str]:
    return [
        said.data["remark"] for said in played.said("topic") if said.part == "member" and said.turn == turn
    ]


def ideas(played: Played) -> list[Said]:
    return played.said("idea")


def summaries(played: Played, stage: str) -> list[str]:
    return [said.data["summary"] for said in played.said("summary") if said.stage == stage]


class TestTopic:
    """Q_k,i = ⟨Q_team, Q_topic, summaries of turns 1…k-1, replies of this turn⟩."""

    def test_every_prompt_describes_the_team(self, played: Played):
        names = [member["name"] for member in played.result["team"]]
        for request in played.asked("Finding a research topic"):
            assert all(f". {name}" in request.asking for name in names)

    def test_the_first_turn_holds_only_the_replies_before(self, played: Played):
        first = played.asked("Finding a research topic")[:3]
        said = remarks(played, 1)
        for place, request in enumerate(first):
            shown = [remark for remark in said if remark in request.asking]
            assert shown == said[:place]
            assert "<summary>" not in request.asking

    def test_the_second_turn_holds_the_summary_in_place_of_the_words(self, played: Played):
        second = played.asked("Finding a research topic")[3:]
        for place, request in enumerate(second):
            assert summaries(played, "topic")[0] in request.asking
            assert not any(remark in request.asking for remark in remarks(played, 1))
            assert [r for r in remarks(played, 2) if r in request.asking] == remarks(played, 2)[:place]

    def test_the_leader_sums_up_exactly_one_turn(self, played: Played):
        [request] = [r for r in played.asked("Summing up a turn") if "topic discussion" in r.asking]
        assert all(remark in request.asking for remark in remarks(played, 1))
        assert not any(remark in request.asking for remark in remarks(played, 2))

    def test_the_topic_is_settled_from_summaries_and_the_last_turn(self, played: Played):
        [request] = played.asked("Settling the topic")
        assert summaries(played, "topic")[0] in request.asking
        assert all(remark in request.asking for remark in remarks(played, 2))
        assert not any(remark in request.asking for remark in remarks(played, 1))


class TestIdea:
    """Q_k,i = ⟨Q_idea, R_topic, B_past(R_k,i-1), summaries of turns 1…k-1, replies of this turn⟩."""

    def test_the_very_first_prompt_holds_topic_and_its_references_only(self, played: Played):
        first = played.asked("Finding an idea")[0].asking
        looked_up = played.of(Retrieved)[0]
        assert looked_up.query == played.result["topic"]["topic"]
        assert all(hit["title"] in first for hit in looked_up.hits)
        assert all(mark not in first for mark in ("<summary>", "<reply>", "<idea>"))

    def test_references_are_those_of_the_previous_idea(self, played: Played):
        looked_up = [event for event in played.of(Retrieved) if event.stage == "idea"]
        for place, request in enumerate(played.asked("Finding an idea")[1:], start=1):
            previous = ideas(played)[place - 1].data
            assert looked_up[place].query == f"{previous['title']}\n\n{previous['idea']}"
            cited = request.asking.split("## References")[1].split("## ")[0]
            titles = [hit["title"] for hit in looked_up[place].hits]
            assert cited.count("<paper>") == len(titles)
            assert all(title in cited for title in titles)

    def test_every_prompt_holds_the_topic_and_the_idea_on_the_table(self, played: Played):
        for place, request in enumerate(played.asked("Finding an idea")):
            assert played.result["topic"]["topic"] in request.asking
            if place:
                assert request.asking.count(ideas(played)[place - 1].data["idea"]) == 1

    def test_this_turns_replies_and_no_earlier_ones(self, played: Played):
        for place, request in enumerate(played.asked("Finding an idea")):
            turn_began = place - place % 3
            for number, idea in enumerate(ideas(played)):
                wanted = turn_began <= number < place or number == place - 1
                assert (idea.data["idea"] in request.asking) == wanted, (place, number)

    def test_summaries_of_earlier_turns(self, played: Played):
        [summary] = summaries(played, "idea")
        requests = played.asked("Finding an idea")
        assert [summary in request.asking for request in requests] == [False] * 3 + [True] * 3


class TestNovelty:
    """Q_k,i = ⟨Q_check, ∪ (I_j, B_past(I_j))⟩, without memory of the dialogue."""

    def test_all_voters_are_asked_the_same(self, played: Played):
        votes = played.asked("Which idea is the most novel?")
        assert len(votes) == 3 * 2
        assert len({request.asking for request in votes}) == 1

    def test_it_holds_the_three_ideas_with_their_own_references(self, played: Played):
        asking = played.asked("Which idea is the most novel?")[0].asking
        looked_up = [event for event in played.of(Retrieved) if event.stage == "novelty"]
        parts = asking.split("## Idea ")[1:]
        assert len(parts) == len(looked_up) == 3
        for part, event in zip(parts, looked_up, strict=True):
            assert event.query in part
            assert all(hit["title"] in part for hit in event.hits)

    def test_no_history_reaches_it(self, played: Played):
        for request in played.asked("Which idea is the most novel?"):
            history = [
                *remarks(played, 1),
                *remarks(played, 2),
                *summaries(played, "topic"),
                *summaries(played, "idea"),
            ]
            assert not any(words in request.text for words in history)
            assert [message.role for message in request.messages] == ["system", "user"]


class TestAbstract:
    """First ⟨Q_abstract, R_idea⟩, then ⟨Q_abstract, Q_judgment, R_k,i-1⟩, without history (Eq. 4)."""

    def test_the_draft_is_made_from_the_chosen_idea(self, played: Played):
        [request] = played.asked("The first draft of the abstract")
        chosen = played.result["idea"]
        assert chosen["idea"] in request.asking
        others = [idea for idea in played.result["ideas"] if idea["number"] != chosen["number"]]
        assert not any(idea["idea"] in request.asking for idea in others)

    def test_each_revision_is_shown_the_one_before_and_nothing_else(self, played: Played):
        drafts = played.result["drafts"]
        requests = played.asked("Improving the abstract")
        assert len(drafts) == len(requests) + 1 == 3 * 2
        for place, request in enumerate(requests):
            shown = [draft["methods"] in request.asking for draft in drafts]
            assert shown == [number == place for number in range(len(drafts))]
            assert played.result["idea"]["idea"] not in request.text
            assert [message.role for message in request.messages] == ["system", "user"]

    def test_a_revision_rates_on_eight_criteria(self, played: Played):
        for draft in played.result["drafts"][1:]:
            assert len(draft["evaluation"]) == 8
            assert draft["changes"]


def test_no_prompt_shows_a_real_name(played: Played):
    import json

    from manyheads.bank.corpora import resolve_corpus

    names = json.loads((resolve_corpus("sample") / "names.json").read_text(encoding="utf-8")).values()
    text = "\n".join(request.text for request in played.requests)
    assert not [name for name in names if name in text]


def test_system_prompts_are_the_scientists_own(played: Played):
    for request in played.requests:
        assert request.system.count("<profile>") == 1
