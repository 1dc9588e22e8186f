"""Each system as an AutoGen team of its own, by the names that component JSON calls them."""

import json

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.hosts.autogen.research import ResearchTeam


class VirSciTeam(ResearchTeam):
    """VirSci (VirSci 2025, §3): team selection, topic, idea, novelty and abstract as an AutoGen team."""

    system = "virsci"
    about = "Scientists who discuss a research topic, vote on ideas and write the abstract of the best one."


class SelfReflectionTeam(ResearchTeam):
    """One agent that thinks its idea over, again and again, then writes the abstract (VirSci 2025, App. C.3)."""

    system = "self-reflection"
    about = "A researcher who reflects on one idea about a topic for many rounds and writes its abstract."


class DiscussionTeam(ResearchTeam):
    """Fixed roles that discuss one idea without an ecosystem, then the abstract (VirSci 2025, App. C.3)."""

    system = "discussion"
    about = "A few fixed roles who discuss an idea about a research topic and write its abstract."


class SingleTeam(ResearchTeam):
    """One agent with as many tokens as a team: it drafts ideas, picks one and writes its abstract."""

    system = "single"
    about = "A researcher who drafts ideas about a topic, picks the most novel one and writes its abstract."


class ConferenceReviewTeam(ResearchTeam):
    """Independent reviews of one text on a conference's form (VirSci 2024, Fig. 17; 2025, Fig. 25).

    The last message of a task is the text that is reviewed. It is never read as the name of a file: that is what
    `config.subject` is for.
    """

    system = "conference-review"
    about = "Reviewers who each review the text that they are given, alone, and score it from 1 to 10."


class RebuttalTeam(ResearchTeam):
    """An idea that is reviewed and revised until an area chair sees it get no better (Review and Rebuttal, §3).

    The task is the background that the first idea starts from: each of its messages is an abstract.
    """

    system = "rebuttal"
    about = "A proposer, a reviewer and an area chair who improve a research idea on the abstracts they are given."


class RankingTeam(ResearchTeam):
    """Ideas ranked beside a target by a judge who does not know which it is (Review and Rebuttal, §3.2, App. A.2).

    The first message of a task is the target's abstract, each further one an idea in place of the config's. None is
    read as the name of a file: that is what `config.ranking` is for.
    """

    system = "ranking"
    about = "A judge who ranks research ideas beside a target idea, blind and in several orders."


TEAMS: dict[str, type[ResearchTeam]] = {
    team.system: team
    for team in (
        VirSciTeam,
        SelfReflectionTeam,
        DiscussionTeam,
        SingleTeam,
        ConferenceReviewTeam,
        RebuttalTeam,
        RankingTeam,
    )
}


def export(config: RunConfig) -> str:
    """A run's config as the JSON of a team component, which AutoGen's own loader takes. It holds no keys.

    Raises:
        ConfigError: no team runs this system.
    """
    if config.system not in TEAMS:
        raise ConfigError(f"no AutoGen team for system {config.system!r}", tried=", ".join(TEAMS))
    team = TEAMS[config.system](config)
    return json.dumps(team.dump_component().model_dump(mode="json"), ensure_ascii=False, indent=2)
