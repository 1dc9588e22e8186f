"""A society's epochs: who founds and joins, what is accepted, what the next epoch sees; the same in any order, and resumed."""

import asyncio
import json
import random
import time
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from manyheads.base.errors import BudgetError, CorpusError, EmbeddingError, ModelError, UserError
from manyheads.base.papers import People, Scientist
from manyheads.core import Usage
from manyheads.corpus.corpora import open_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.engine import local
from manyheads.engine.journal import spent_in
from manyheads.engine.local import Local, Process
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.loading import load, reopen
from manyheads.systems.results import load as load_result
from manyheads.systems.society.config import ChangesConfig, SizeConfig, SocietyConfig
from manyheads.systems.society.epochs import share_past, team_config
from manyheads.systems.society.growth import accept, awake
from manyheads.systems.society.membership import candidates, draw_size, found_teams
from manyheads.systems.society.result import EpochRecord, TeamRecord, read_epochs, write_epoch
from manyheads.systems.virsci import system as virsci
from manyheads.systems.virsci.result import VirSciRun
from manyheads.team.team import Team
from support.command import manyheads_command, start
from support.societies import write_society

SMALL = ("embedding=lexical", "epochs=2", "teams=3", "size.draw=fixed", "size.most=2", "virsci.turns=1", "virsci.ideas.references=2",
         "virsci.novelty.enabled=false", "virsci.invitation.enabled=false", "virsci.peer_review.revisions=0")  # fmt: skip


async def live(folder: Path, *sets: str, at_once: int = 4) -> Session:
    """Run a society, or resume it."""
    config = reopen(folder, sets) if (folder / "config.yaml").exists() else load(["society"], [*SMALL, *sets])
    session, token = Session(config, folder), local.ENGINE.set(Process(at_once))
    try:
        async with aclosing(session.events(host_factory(config.host))) as events:
            async for _ in events:
                pass
    finally:
        local.ENGINE.reset(token)
    return session


def state(folder: Path) -> dict[str, Any]:
    """All that a society came to, without times and folders."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.glob("epochs/**/*")
        if path.is_file() and "-teams" not in path.as_posix()
    }
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    del result["made_by"]
    kept = [path.relative_to(folder).as_posix() for path in folder.glob("epochs/*-teams/*")]
    return {**files, "result": result, "kept": sorted(kept)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished society of two epochs."""
    folder = tmp_path_factory.mktemp("societies") / "whole"
    asyncio.run(live(folder))
    return folder


async def test_a_damaged_embedding_model_ends_a_society_before_its_teams_ask(tmp_path: Path) -> None:
    damaged = EmbeddingError("the model cannot be loaded")
    with patch.object(Ecosystem, "unread", side_effect=damaged), pytest.raises(EmbeddingError):
        await live(tmp_path / "run")
    assert not await asyncio.to_thread(lambda: [*tmp_path.rglob("*-teams")])


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 2, 4])
async def test_the_order_in_which_teams_end_decides_nothing(
    whole: Path, tmp_path: Path, at_once: int
) -> None:
    run, rng = Local.__call__, random.Random(at_once)

    async def late(self: Local, *arguments: Any) -> Any:
        await asyncio.sleep(rng.random())
        return await run(self, *arguments)

    with patch.object(Local, "__call__", late):
        await live(tmp_path / "other", at_once=at_once)
    assert state(tmp_path / "other") == state(whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_a_society_that_was_stopped_goes_on_to_the_same_end(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    folder, rng = tmp_path / "run", random.Random(seed)
    for _ in range(2):
        session = Session(load(["society"], SMALL), folder)
        left = rng.randrange(3, 40)
        async with aclosing(session.events(host_factory(session.config.host))) as events:
            async for _ in events:
                left -= 1
                if not left:
                    break
    await live(folder)
    assert state(folder) == state(whole)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_society_goes_on_and_branches_by_command(whole: Path, tmp_path: Path) -> None:
    rng, sets = random.Random(7), [part for each in SMALL for part in ("--set", each)]
    command: list[str] = ["run", "society", *sets, "-q", "-o", "run", "--jobs", "2"]
    for begun in (2, 5):  # in the first epoch, and in the second
        process = start(*command, cwd=tmp_path)
        while process.poll() is None and len([*tmp_path.glob("run/epochs/*-teams/*/journal.sqlite")]) < begun:
            time.sleep(0.02)
        time.sleep(rng.random() / 2)
        process.kill()
        process.communicate()
        command = ["resume", "run", "-q"]
    assert manyheads_command(*command, cwd=tmp_path).code == 0
    assert state(tmp_path / "run") == state(whole)
    sets = ["--set", "epochs=3", "--set", "links=accepted"]
    done = manyheads_command("branch", "run", "--from", "1", *sets, "-q", "-o", "other", cwd=tmp_path)
    assert done.code == 0, done.err
    assert [epoch.number for epoch in read_epochs(tmp_path / "other")] == [1, 2, 3]
    assert "links: accepted" in (tmp_path / "other/config.yaml").read_text(encoding="utf-8")
    refused = manyheads_command("run", "virsci", "--jobs", "2", "--set", "embedding=lexical", cwd=tmp_path)
    assert (refused.code, "--jobs" in refused.message) == (2, True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_teams_on_workers_of_ray_write_the_same(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    sets = [part for each in SMALL for part in ("--set", each)]
    where = ["--engine", "ray", "--workers", "2"]
    done = manyheads_command("run", "society", *sets, *where, "-q", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    assert state(tmp_path / "run") == state(whole)


@pytest.mark.slow
async def test_a_budget_that_ends_within_an_epoch_leaves_what_was_finished(
    whole: Path, tmp_path: Path
) -> None:
    folder, calls = tmp_path / "run", load_result(whole).usage.calls
    with pytest.raises(BudgetError, match=r"budget\.calls"):
        await live(folder, f"budget.calls={calls * 3 // 4}")
    partial = load_result(folder)
    assert not partial.finished
    assert [epoch.number for epoch in partial.result.epochs] == [1]
    assert any("epoch 2 ended early" in line for line in partial.warnings)
    assert len(read_epochs(folder)) == 1
    assert partial.usage.calls == sum(spent_in(path).calls for path in folder.rglob("journal.sqlite"))
    await live(folder, "budget.calls=null")
    assert load_result(folder).result == load_result(whole).result
    assert load_result(folder).usage.calls == calls


@pytest.mark.slow
def test_what_a_society_leaves_can_be_read_and_reopened(whole: Path) -> None:
    run, epochs = load_result(whole), read_epochs(whole)
    accepted = [team for epoch in epochs for team in epoch.teams if team.accepted]
    assert [len(epoch.teams) for epoch in epochs] == [3, 3]
    assert [epoch.year for epoch in epochs] == [2021, 2022]
    assert run.result.papers == len(accepted) > 0
    assert run.usage.calls == sum(usage.calls for epoch in epochs for usage in epoch.usage.values())
    assert {team.folder for epoch in epochs for team in epoch.teams} == {
        path.relative_to(whole).as_posix() for path in whole.glob("epochs/*-teams/*")
    }
    assert all(load_result(whole / team.folder).finished for team in accepted if team.folder)


@pytest.mark.slow
async def test_an_epoch_sees_what_the_one_before_wrote_and_who_wrote_it(whole: Path) -> None:
    first = read_epochs(whole)[0]
    async with open_corpus("sample", "lexical") as base, open_corpus(str(whole / "epochs/001")) as world:
        written = {paper.id: paper for paper in world.papers.papers(where={"period": "past"})}
        assert len(written) == base.papers.count(where={"period": "past"}) + sum(
            t.accepted for t in first.teams
        )
        assert world.last_year == first.year == base.last_year + 1
        for team in first.teams:
            leader, other = team.members
            before, after = base.scientist(leader), world.scientist(leader)
            assert after.collaborators[other] == before.collaborators.get(other, 0) + 1
            if team.paper:
                assert written[team.paper].authors == tuple(team.members)
        cited = Counter(paper for team in first.teams for paper in team.cites)
        counts = [
            {one: (bank.papers.get([one])[one].citations or 0) for one in cited} for bank in (base, world)
        ]
        gained = {one: counts[1][one] - counts[0][one] for one in cited}
        assert gained == cited


@pytest.mark.slow
async def test_a_branch_shares_the_past_and_goes_its_own_way(whole: Path, tmp_path: Path) -> None:
    sets = [f"branch={whole}", "after=1", "epochs=3", "acceptance.least=1"]
    await live(tmp_path / "branch", *sets)
    shared, own = read_epochs(whole), read_epochs(tmp_path / "branch")
    assert len(own) == 3
    apart = {"teams": [], "usage": {}}
    assert own[0].model_copy(update=apart) == shared[0].model_copy(update=apart)
    usage, paid = load_result(tmp_path / "branch").usage, [*own[1].usage.values(), *own[2].usage.values()]
    assert (usage.calls, usage.unused.calls) == (sum(each.calls for each in paid), 0)
    assert [team.members for team in own[1].teams] == [team.members for team in shared[1].teams]
    assert all(team.accepted for team in own[1].teams)
    assert not (tmp_path / "branch/epochs/001").exists()
    kept = [team.folder for team in own[0].teams if team.folder]
    assert kept
    assert all((tmp_path / "branch" / each / "result.json").is_file() for each in kept)
    with pytest.raises(UserError, match="epochs"):
        await live(tmp_path / "late", f"branch={whole}", "after=2")
    with pytest.raises(UserError, match="2"):
        await live(tmp_path / "far", f"branch={whole}", "after=3", "epochs=9")


@pytest.mark.slow
async def test_independent_teams_see_the_corpus_as_it_was_published(whole: Path, tmp_path: Path) -> None:
    await live(tmp_path / "run", "independent=true")
    first, second = read_epochs(tmp_path / "run")
    alike = [team.model_dump(include={"members", "title", "marks"}) for team in first.teams]
    assert alike == [
        team.model_dump(include={"members", "title", "marks"}) for team in read_epochs(whole)[0].teams
    ]
    assert not any(path.is_dir() and path.name.isdigit() for path in (tmp_path / "run/epochs").iterdir())
    assert not any(cited.startswith("epoch-") for team in second.teams for cited in team.cites)


@pytest.mark.parametrize(
    ("sets", "named"),
    [(["teams=1000"], "society.teams"), (["size.most=1000"], "society.size.most")],
    ids=["founders", "members"],
)
async def test_too_few_scientists(tmp_path: Path, sets: list[str], named: str) -> None:
    with pytest.raises(CorpusError, match=named):
        await live(tmp_path / "run", *sets)


@pytest.mark.slow
async def test_an_epoch_whose_teams_all_fail_has_no_record(tmp_path: Path) -> None:
    broken = "models.broken={provider: openai, name: x, base_url: 'http://127.0.0.1:9/v1', retries: 0, api_key_env: ''}"
    with pytest.raises(ModelError, match=r"epoch 1.*3 teams.*models\.broken"):
        await live(tmp_path / "run", broken, "roles.leader.model=broken")
    assert not read_epochs(tmp_path / "run")
    partial, journals = load_result(tmp_path / "run"), (tmp_path / "run").rglob("journal.sqlite")
    assert partial.usage.calls == sum(spent_in(path).calls for path in journals) >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("least", "outcome"), [(11, "none"), (1, "all")])
async def test_three_epochs_of_all_or_none_are_warned_about_once(
    tmp_path: Path, least: int, outcome: str
) -> None:
    sets = ("epochs=4", "teams=1", f"acceptance.least={least}")
    await live(tmp_path / "run", *sets)
    [warning] = load_result(tmp_path / "run").warnings
    assert outcome in warning
    assert "society.acceptance" in warning
    await live(tmp_path / "run", "epochs=5")
    assert load_result(tmp_path / "run").warnings == [warning]


STAGED = ("pace=stage", "teams=1", "virsci.novelty.enabled=true")
STAGES = ["topic", "idea", "novelty", "abstract", "peer_review"]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished society of seven epochs, whose teams do one stage in each."""
    folder = tmp_path_factory.mktemp("societies") / "staged"
    asyncio.run(live(folder, *STAGED, "epochs=7"))
    return folder


@pytest.mark.slow
async def test_a_team_does_one_stage_an_epoch_and_sees_the_state_of_each(staged: Path) -> None:
    epochs, run = read_epochs(staged), load_result(staged)
    assert [len(epoch.teams) for epoch in epochs] == [0] * 5 + [1] * 2
    assert [team.stage for team in epochs[4].under_way] == [*reversed(STAGES[:4]), None]
    assert [team.number for team in epochs[-1].formed] == [1]
    [first], [second] = epochs[5].teams, epochs[6].teams
    for epoch, team in ((6, first), (7, second)):
        assert (team.founded, team.stage) == (epoch - 5, "peer_review")
        assert team.paper in (None, f"epoch-{epoch - 5}-team-1")
        async with open_corpus(str(staged / f"epochs/{team.founded:03d}")) as world:
            assert all(world.scientist(team.members[0]).collaborators[name] for name in team.members[1:])
    config = reopen(staged / (second.folder or ""))
    assert config.settings.worlds == tuple(str(staged / f"epochs/{number:03d}") for number in range(2, 7))
    assert load_result(staged / (second.folder or "")).result.stages == STAGES
    assert run.usage.calls == sum(usage.calls for epoch in epochs for usage in epoch.usage.values())
    assert (run.result.epochs[-1].under_way, run.result.papers) == (
        5,
        sum(t.accepted for t in (first, second)),
    )
    assert sum("5 teams are under way" in line for line in run.warnings) == 1


@pytest.mark.slow
async def test_a_paced_society_that_was_stopped_or_goes_on_later_is_the_same(
    staged: Path, tmp_path: Path
) -> None:
    folder, rng = tmp_path / "run", random.Random(3)
    await live(folder, *STAGED, "epochs=3")
    session = Session(reopen(folder, ("epochs=7",)), folder)
    left = rng.randrange(20, 60)
    async with aclosing(session.events(host_factory(session.config.host))) as events:
        async for _ in events:
            left -= 1
            if not left:
                break
    await live(folder, "epochs=7")
    now, then = state(folder), state(staged)
    for each in (now, then):  # the corpus of a layer is named by its folder
        each["epochs"] = {name: data for name, data in each.items() if name.endswith(".json") and "/" in name}
    names = [name for name in then["epochs"] if name.count("/") == 1]
    assert [json.loads(now[name]) for name in names] == [json.loads(then[name]) for name in names]
    assert now["result"]["usage"] == then["result"]["usage"]


@pytest.mark.slow
async def test_a_team_whose_topic_stage_fails_is_over_and_the_others_go_on(tmp_path: Path) -> None:
    find, failed = virsci.find_topic, list[str]()

    async def find_or_fail(run: VirSciRun, team: Team) -> str:
        topic, place = await find(run, team), str(run.folder)
        if place.endswith("001-teams/0001"):
            failed.append(place)
            raise ModelError("no answer")
        return topic

    with patch.object(virsci, "find_topic", find_or_fail):
        await live(tmp_path / "run", *STAGED, "teams=2", "epochs=3")
    epochs, run = read_epochs(tmp_path / "run"), load_result(tmp_path / "run")
    [team] = epochs[1].teams
    assert (len(failed), team.failure, team.stage, team.accepted) == (1, "no answer", "topic", False)
    assert [(team.founded, team.stage) for team in epochs[2].under_way] == [
        (1, "idea"), (2, "topic"), (2, "topic"), (3, None), (3, None),
    ]  # fmt: skip
    assert run.usage.calls == sum(usage.calls for epoch in epochs for usage in epoch.usage.values())
    assert [(each.failed, each.under_way) for each in run.result.epochs] == [(0, 2), (1, 3), (0, 5)]


@pytest.mark.slow
async def test_a_branch_of_a_paced_society_says_which_teams_it_leaves(staged: Path, tmp_path: Path) -> None:
    await live(tmp_path / "branch", f"branch={staged}", "after=2", *STAGED, "epochs=3")
    own = read_epochs(tmp_path / "branch")
    assert [len(epoch.under_way) for epoch in own] == [1, 0, 1]
    assert any("2 teams" in line for line in load_result(tmp_path / "branch").warnings)


def test_a_branch_that_goes_on_shares_no_more_than_when_it_began(tmp_path: Path) -> None:
    write_society(tmp_path / "source", 2, 2)
    share_past(tmp_path / "branch", tmp_path / "source", None)
    write_society(tmp_path / "source", 4, 2)
    share_past(tmp_path / "branch", tmp_path / "source", None)
    assert [epoch.number for epoch in read_epochs(tmp_path / "branch")] == [1, 2]


def test_a_branch_does_not_count_what_another_society_paid(tmp_path: Path) -> None:
    record = EpochRecord(number=1, year=2000, usage={"epoch-1": Usage(calls=3), "teams": Usage(calls=9)})
    write_epoch(tmp_path / "source", record)
    share_past(tmp_path / "branch", tmp_path / "source", None)
    assert not read_epochs(tmp_path / "branch")[0].usage


def test_teams_revise_what_would_not_be_accepted() -> None:
    for sets, threshold in ((["acceptance.least=8"], 8), (["acceptance.share=0.5"], 6)):
        assert team_config(load(["society"], sets)).settings.peer_review.threshold == threshold
    assert not team_config(load(["society"], ["acceptance.by=on"])).settings.peer_review.enabled


def scientists(count: int) -> list[Scientist]:
    return [Scientist(name=f"Scientist{number}") for number in range(count)]


def test_a_draw_that_looks_at_few_is_as_likely_as_one_that_looks_at_all() -> None:
    pool = scientists(20)
    pool[0] = leader = pool[0].model_copy(update={"collaborators": {"Scientist3": 18, "Scientist7": 5}})
    counts = dict[bool, Counter[str]]()
    for large in (False, True):
        with patch("manyheads.systems.society.membership.LARGE", 1 if large else 1000):
            rng = random.Random(0)
            drawn = [candidates(rng, People.of(pool), leader, "uniform", 2) for _ in range(3000)]
        assert all(len({*pair, leader.name}) == 3 for pair in drawn)
        counts[large] = Counter(name for pair in drawn for name in pair)
    for name in ("Scientist3", "Scientist7", "Scientist9"):
        assert counts[True][name] / 3000 == pytest.approx(counts[False][name] / 3000, abs=0.04)


def test_founders_and_sizes() -> None:
    settings = SocietyConfig(teams="all")
    assert {team.leader.name for team in found_teams(0, 1, scientists(9), settings, {})} == {
        f"Scientist{n}" for n in range(9)
    }
    one, other = (found_teams(0, epoch, scientists(50), SocietyConfig(), {}) for epoch in (1, 2))
    assert [team.leader for team in one] != [team.leader for team in other]
    rng = random.Random(0)
    for draw, least, most in (("fixed", 5, 5), ("normal", 3, 7), ("exponential", 3, 13)):
        sizes = {draw_size(rng, SizeConfig(draw=draw, most=5)) for _ in range(500)}  # pyright: ignore[reportArgumentType]
        assert (min(sizes), max(sizes)) == (least, most)


def teams_with(**values: list[Any]) -> list[TeamRecord]:
    rows = (dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True))
    return [
        TeamRecord(number=number, members=[f"Scientist{number}"], abstract="A", **row)
        for number, row in enumerate(rows, 1)
    ]


@pytest.mark.parametrize(
    ("how", "accepted"),
    [
        ({"least": 6}, [1, 4]),
        ({"share": 0.25}, [4]),
        ({"by": "cd", "least": 0.5}, [2]),
        ({"by": "cd", "share": 0.5}, [2, 3]),
    ],
)
def test_acceptance(how: dict[str, Any], accepted: list[int]) -> None:
    measures = [{"cd": 0.9}, {"cd": 0.5}, {"cd": 0.6}, {"cd": None}]
    teams = teams_with(marks=[[7, 5], [5, 6], [], [9]], measures=measures)
    accept(teams, 3, SocietyConfig.model_validate({"acceptance": how}))
    assert [team.number for team in teams if team.accepted] == accepted
    assert all(team.paper == f"epoch-3-team-{team.number}" for team in teams if team.accepted)


def test_who_rests_and_who_comes() -> None:
    people, changes = People.of(scientists(6)), ChangesConfig(rest_after=1, newcomers=2)
    record = EpochRecord(number=1, year=2000, teams=teams_with(marks=[[1], [1]]))
    assert awake(people, [], 4, changes) is people
    assert [one.name for one in awake(people, [record], 4, changes)] == [
        f"Scientist{n}" for n in (1, 2, 4, 5)
    ]
    assert [one.name for one in awake(people, [record, record], 4, changes)] == ["Scientist1", "Scientist2"]
