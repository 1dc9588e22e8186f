"""Each stage's prompt holds exactly what its equation says (VirSci 2025, Eqs. 1–4), read off the requests."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from manyheads.core.events import Retrieved, Said
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from support.direct import Played, play_now
from support.llm import LLM
from support.requests import Request


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


def asked_to_vote(played: Played) -> list[Request]:
    return played.asked("Which idea is the most novel?")


def parts(request: Request) -> list[str]:
    """The ideas of a ballot with the numbers of their papers, as they were shown."""
    ideas = request.asking.split("## Your task")[0].split("## Idea ")[1:]
    return [idea.split("\n", 1)[1] for idea in ideas]


def papers_of(request: Request) -> dict[str, str]:
    """The titles of the papers of a ballot, by number."""
    return dict(re.findall(r"^\[(\d+)\]\n<paper>\nTitle: (.*)$", request.asking, re.MULTILINE))


def kept_ideas(played: Played) -> list[dict[str, Any]]:
    """Those that were voted on, in the order of confidence."""
    queries = [event.query for event in played.of(Retrieved) if event.stage == "novelty"]
    by_text = {f"{idea['title']}\n\n{idea['idea']}": idea for idea in played.result["ideas"]}
    return [next(idea for text, idea in by_text.items() if query.startswith(text)) for query in queries]


def task_of(request: Request) -> str:
    """The numbered instructions of a request."""
    return request.asking.split("## Your task")[1].split("## The form of your answer")[0]


class TestTopic:
    """Q_k,i = ⟨Q_team, Q_topic, summaries of turns 1…k-1, replies of this turn⟩."""

    def test_members_are_known_by_all_their_interests_and_affiliations(self, played: Played):
        for request in played.asked("Finding a research topic"):
            [team] = re.findall(r"<team>\n(.*?)\n</team>", request.asking, re.DOTALL)
            for member in played.result["team"]:
                [own] = re.findall(
                    rf"^\d\. {member['name']}\b.*?(?=^\d\. |\Z)", team, re.DOTALL | re.MULTILINE
                )
                assert len(member["interests"]) > 6, "else all of them would always be shown"
                assert f"Research interests: {'; '.join(member['interests'])}\n" in own
                assert f"Affiliations: {'; '.join(member['affiliations'])}\n" in own

    def test_a_turn_holds_the_replies_before_and_the_summary_of_earlier_turns(self, played: Played):
        for place, request in enumerate(played.asked("Finding a research topic")):
            turn, seat = 1 + place // 3, place % 3
            assert [said for said in remarks(played, turn) if said in request.asking] == remarks(
                played, turn
            )[:seat]
            assert (summaries(played, "topic")[0] in request.asking) == (turn == 2)
            assert turn == 1 or not any(remark in request.asking for remark in remarks(played, 1))

    def test_the_leader_sums_up_the_first_turn_and_settles_by_summary_and_the_last(self, played: Played):
        [summed] = [each for each in played.asked("Summing up a turn") if "topic discussion" in each.asking]
        [settled] = played.asked("Settling the topic")
        for request, shown, hidden in ((summed, 1, 2), (settled, 2, 1)):
            assert all(remark in request.asking for remark in remarks(played, shown))
            assert not any(remark in request.asking for remark in remarks(played, hidden))
        assert summaries(played, "topic")[0] in settled.asking

    def test_who_settles_reads_what_all_who_agreed_have_read_before_anything_else(self, played: Played):
        asked = [*played.asked("Does the team agree?"), *played.asked("Settling the topic")]
        [discussion] = {request.messages[-1].text.split("\n# ")[0] for request in asked}
        assert summaries(played, "topic")[0] in discussion

    def test_a_leader_is_told_who_it_is_and_nothing_to_do_behind_its_task(self, played: Played):
        [settled] = played.asked("Settling the topic")
        who = settled.messages[-1].text.split("## Who you are")[1].split("## The form")[0]
        assert "leads a small research team" in who
        assert not re.search(r"^\d\. ", who, re.MULTILINE)


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

    def test_the_idea_on_the_table_comes_whole_with_thought_and_ratings(self, played: Played):
        for place, request in enumerate(played.asked("Finding an idea")):
            assert played.result["topic"]["topic"] in request.asking
            for number, idea in enumerate(ideas(played)):
                assert (idea.data["thought"] in request.asking) == (number == place - 1)
            if place:
                last = ideas(played)[place - 1].data
                ratings = ", ".join(f"{key} {last[key]}" for key in ("clarity", "feasibility", "novelty"))
                assert ratings in request.asking
                assert f"proposed by {ideas(played)[place - 1].speaker}" in request.asking

    def test_who_comes_later_says_which_idea_is_built_on(self, played: Played):
        for place, request in enumerate(played.asked("Finding an idea")):
            fields = (request.schema or {})["properties"]
            assert ("builds_on" in task_of(request)) == (place > 0)
            assert list(fields)[:3] == ["thought", "builds_on", "title"], "one schema for all"
            assert (fields["builds_on"]["minimum"], fields["builds_on"]["maximum"]) == (0, place)
        first, *others = [idea["builds_on"] for idea in played.result["ideas"]]
        assert first is None
        assert others == [idea.data["builds_on"] for idea in ideas(played)[1:]]

    def test_the_task_asks_for_more_than_600_words(self, played: Played):
        """2024, Fig. 12."""
        for request in played.asked("Finding an idea"):
            assert sum(int(words) for words in re.findall(r"≈(\d+)", request.asking)) >= 600

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

    def test_all_voters_are_asked_the_same_in_orders_of_their_own(self, played: Played):
        votes = played.asked("Which idea is the most novel?")
        assert len(votes) == 3 * 2
        assert len({"".join(sorted(parts(request))) for request in votes}) == 1
        assert len({request.asking for request in votes}) == 3
        for place in range(3):
            assert len({parts(request)[place] for request in votes}) == 3, "no idea gains by its place"

    def test_a_vote_is_for_the_idea_that_the_voter_saw_there(self, played: Played):
        kept = kept_ideas(played)
        votes = {request.system.split()[2].rstrip(","): request for request in asked_to_vote(played)}
        # votes are cast at once, so that any may be said first
        ballots = {(vote["voter"], vote["turn"]): vote for vote in played.result["votes"]}
        assert len(ballots) == len(played.said("vote")) == len(played.result["votes"])
        for said in played.said("vote"):
            shown, vote = parts(votes[said.speaker]), ballots[said.speaker, said.turn]
            assert kept[vote["choice"] - 1]["idea"] in shown[said.data["choice"] - 1]
            assert vote["idea"] == kept[vote["choice"] - 1]["title"]
            assert [
                kept[number - 1]["idea"] in part for number, part in zip(vote["shown"], shown, strict=True)
            ]
            notes = {note["note"]: note["idea"] for note in vote["notes"]}
            assert len(notes) == 3
            for note in said.data["notes"]:
                assert notes[note["note"]] in shown[note["idea"] - 1]

    def test_a_line_on_each_idea_comes_before_the_choice(self, played: Played):
        [form] = {tuple((request.schema or {})["properties"]) for request in asked_to_vote(played)}
        assert form == ("notes", "thought", "choice")

    def test_nothing_tells_whose_an_idea_is_or_how_its_author_rates_it(self, played: Played):
        names = {member["name"] for member in played.result["team"]}
        for request in asked_to_vote(played):
            asking = request.asking.split("## The form of your answer")[0]
            fenced = re.findall(r"<idea>\n(.*?)\n</idea>", asking, re.DOTALL)
            assert sorted(fenced) == sorted(idea.text for idea in ideas(played) if idea.text in fenced)
            frame = re.sub(r"<(idea|paper)>\n.*?\n</\1>", "", asking, flags=re.DOTALL)
            assert not any(name in frame for name in names)
            assert not re.search(
                r"\b(\d+ of 10|clarity|feasibility|confidence|rated|rating)", frame, re.IGNORECASE
            )

    def test_it_holds_the_three_ideas_with_their_own_references(self, played: Played):
        looked_up = [event for event in played.of(Retrieved) if event.stage == "novelty"]
        assert len(looked_up) == 3
        for request in asked_to_vote(played):
            assert len(parts(request)) == 3
            papers = papers_of(request)
            for event in looked_up:
                [part] = [part for part in parts(request) if event.query in part]
                numbers = re.findall(r"\[(\d+)\]", part.split("</idea>")[1])
                assert [papers[number] for number in numbers] == [hit["title"] for hit in event.hits]

    def test_each_paper_is_shown_once_and_has_the_same_number_for_every_voter(self, played: Played):
        looked_up = [event for event in played.of(Retrieved) if event.stage == "novelty"]
        distinct = {hit["title"] for event in looked_up for hit in event.hits}
        [shown] = {tuple(papers_of(request).items()) for request in asked_to_vote(played)}
        assert [number for number, _ in shown] == [str(n) for n in range(1, len(distinct) + 1)]
        assert [title for _, title in shown] == sorted(distinct), "the order says nothing about the ideas"
        for request in asked_to_vote(played):
            assert request.asking.count("<paper>") == len(distinct)

    def test_the_result_tells_which_paper_a_number_is(self, played: Played):
        titles = {each["id"]: each["title"] for each in played.result["evidence"]}
        shown = [*papers_of(asked_to_vote(played)[0]).values()]
        assert len(shown) > 1
        for vote in played.result["votes"]:
            assert [titles[paper] for paper in vote["papers"]] == shown

    def test_no_history_reaches_it(self, played: Played):
        history = [*remarks(played, 1), *remarks(played, 2)]
        history += [*summaries(played, "topic"), *summaries(played, "idea")]
        for request in asked_to_vote(played):
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
            assert [message.role for message in request.messages] == ["system", "user"]

    def test_topic_and_core_of_the_idea_stand_beside_the_abstract(self, played: Played):
        for request in played.asked("Improving the abstract"):
            chosen = played.result["idea"]
            assert played.result["topic"]["topic"] in request.asking
            assert f"<idea>\n{chosen['title']}\n\n{chosen['idea']}\n</idea>" in request.asking
            assert chosen["experiment"] not in request.asking
            others = [idea for idea in played.result["ideas"] if idea["number"] != chosen["number"]]
            assert not any(idea["idea"] in request.asking for idea in others)
            assert "Do not change the contribution" in task_of(request)

    def test_abstracts_are_longer_than_200_words(self, played: Played):
        """2024, Fig. 26."""
        requests = played.asked("The first draft of the abstract") + played.asked("Improving the abstract")
        for request in requests:
            assert "200 to 300 words" in task_of(request).strip().splitlines()[-1]
            assert 200 < sum(int(words) for words in re.findall(r"≈(\d+)", request.asking)) < 300

    def test_a_revision_rates_on_eight_criteria(self, played: Played):
        for request in played.asked("Improving the abstract"):
            task = task_of(request)
            [criteria] = [line for line in task.splitlines() if line.startswith("1. ")]
            for name in ("clarity", "relevance", "structure", "conciseness", "technical accuracy", "engagement",
                         "originality", "overall"):  # fmt: skip
                assert re.search(rf"\b{name}\b", criteria), name
            assert "from 1 to 10" in criteria
            fields = list((request.schema or {})["properties"])
            assert fields[:3] == ["evaluation", "changes", "title"], (
                "it rates, then says what to change, then rewrites"
            )
        for draft in played.result["drafts"][1:]:
            assert len(draft["evaluation"]) == 8
            assert draft["changes"] is not None


def test_no_prompt_shows_a_real_name(played: Played):
    names = json.loads(
        (resolve_corpus("sample", embedding="lexical") / "names.json").read_text(encoding="utf-8")
    ).values()
    text = "\n".join(request.text for request in played.requests)
    assert not [name for name in names if name in text]


def test_system_prompts_are_the_scientists_own_and_invite_nobody(played: Played):
    for request in played.requests:
        assert request.system.count("<profile>") == 1
        assert "invite" not in (request.schema or {}).get("properties", {})
        assert "## Whom you may ask" not in request.text


def test_scientists_know_papers_of_their_own_and_the_year_up_to_which_they_know_work(played: Played):
    with Ecosystem.open(resolve_corpus("sample", embedding="lexical")) as corpus:
        past = list(corpus.papers.papers(where={"period": "past"}))
    for request in played.requests:
        name = request.system.split()[2].rstrip(",")
        [listed] = re.findall(r"<works>\n(.*?)\n</works>", request.system, re.DOTALL)
        own = {
            f"- {paper.title} ({paper.year})": paper.citations or 0 for paper in past if name in paper.authors
        }
        titles = listed.splitlines()
        assert len(titles) == min(3, len(own))
        assert sorted(own[title] for title in titles) == sorted(own.values())[-len(titles) :]
        assert f"published work up to {corpus.meta.options.bound - 1}" in request.system


class TestSelection:
    """A candidate sees the leader's profile and the members so far (§3.2), and nobody else."""

    def test_a_candidate_is_shown_the_leader_and_the_members_so_far(self, played: Played):
        with Ecosystem.open(resolve_corpus("sample", embedding="lexical")) as corpus:
            leader = corpus.scientist(played.result["team"][0]["name"])
        for place, request in enumerate(played.asked("An invitation to a research team")):
            [profile] = re.findall(r"<profile>\n(.*?)\n</profile>", request.asking, re.DOTALL)
            assert f"Name: {leader.name}\n" in profile
            assert f"Research interests: {'; '.join(leader.interests)}\n" in profile
            assert f"Past collaborators: {', '.join(leader.closest(12))}" in profile
            [team] = re.findall(r"<team>\n(.*?)\n</team>", request.asking, re.DOTALL)
            so_far = [member["name"] for member in played.result["team"][: place + 1]]
            assert re.findall(r"^\d\. (\S+)", team, re.MULTILINE) == so_far
            for member in played.result["team"][: place + 1]:
                assert "; ".join(member["interests"]) in team
