"""A society's run folder without running one: epochs of teams drawn from a seed."""

import json
from pathlib import Path
from random import Random

from manyheads.systems.society.measuring import asking_figures, society_figures, team_figures
from manyheads.systems.society.network import network_figures
from manyheads.systems.society.result import (
    MEASURES,
    EpochRecord,
    EpochSummary,
    SocietyPaper,
    SocietyResult,
    TeamRecord,
    write_epoch,
)
from support.results import today

EVIL = "<script>alert(1)</script> & {{ 7 * 7 }}"
SUBJECTS = (
    "robots that forget",
    "dense retrieval",
    "tokens of speech",
    "a ledger of surprises",
    "swarms of drones",
)


def team_of(rng: Random, number: int, epoch: int, papers: list[str], scientists: int) -> TeamRecord:
    names = [f"Scientist{int(scientists * rng.random() ** 2)}" for _ in range(12)]
    members = list(dict.fromkeys(names[: rng.randint(2, 5)]))
    others = [name for name in names[5:] if name not in members]
    title = f"{rng.choice(SUBJECTS).capitalize()} by {rng.choice(SUBJECTS)}, {epoch}.{number}"
    accepted = rng.random() < 0.4
    measures = {name: rng.gauss(0.8 - epoch * 0.01, 0.1) for name in MEASURES}
    return TeamRecord(
        number=number, members=members, declined=others[:2], guests=others[2:4], freshness=rng.random(),
        diversity=rng.random(), topic=title, title=title, abstract=f"We study {title.lower()}. " * 6,
        cites=[*rng.sample(papers, min(len(papers), 2)), *(f"p{rng.randint(1, 60)}" for _ in range(4))],
        marks=[rng.randint(3, 9), rng.randint(3, 9)], accepted=accepted,
        paper=f"epoch-{epoch}-team-{number}" if accepted else None, measures={**measures},
        repeats=papers[0] if papers and rng.random() < 0.05 + epoch / 100 else None,
    )  # fmt: skip


def write_society(folder: Path, epochs: int, teams: int, scientists: int = 200, evil: bool = False) -> Path:
    """The folder of a finished society."""
    rng, records, papers = Random(0), list[EpochRecord](), list[str]()
    for number in range(1, epochs + 1):
        made = [team_of(rng, n, number, papers, scientists) for n in range(1, teams + 1)]
        if evil and number == 1:
            made[0].title = made[0].topic = EVIL
            made[0].accepted, made[0].paper = True, "epoch-1-team-1"
        if teams > 3:
            made[2] = TeamRecord(number=3, members=made[2].members, failure="budget")
            made[1].folder = f"epochs/{number:03d}-teams/0002"
            (folder / made[1].folder).mkdir(parents=True)
            (folder / made[1].folder / "report.html").write_text("a team's report", encoding="utf-8")
        records.append(EpochRecord(number=number, year=2010 + number, teams=made))
        records[-1].figures = {
            **team_figures(made, later=number > 1),
            "topic_entropy": 5 - number / 10,
            "topic_distance": 0.7,
            **asking_figures(records, scientists),
            **network_figures(team.members for each in records for team in each.teams),
        }
        papers += [team.paper for team in made if team.paper]
        write_epoch(folder, records[-1])
    last = {team.paper: team for record in records for team in record.teams if team.paper}
    best = [
        SocietyPaper(id=one, year=2010 + int(one.split("-")[1]), title=team.title or "", abstract=team.abstract or "",
                     authors=team.members, citations=3, measures=team.measures, stands_on=team.cites, folder=team.folder)
        for one, team in reversed([*last.items()]) if not evil or team.title == EVIL or len(last) < 20
    ][:10]  # fmt: skip
    summaries = [
        EpochSummary(number=each.number, year=each.year, teams=len(each.teams), figures=each.figures,
                     accepted=sum(team.accepted for team in each.teams), failed=sum(not team.abstract for team in each.teams))
        for each in records
    ]  # fmt: skip
    result = SocietyResult(
        epochs=summaries, best=best, papers=len(last), scientists=scientists, figures=society_figures(records)
    )
    told = today({"system": "society", **result.model_dump(mode="json")})
    (folder / "result.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "events.jsonl").write_text("", encoding="utf-8")
    return folder
