"""Each system as a pipeline of AgentScope of its own."""

from manyheads.hosts.agentscope.system import SystemPipeline


class VirSciPipeline(SystemPipeline):
    """VirSci: from a research ecosystem to a team, a topic, ideas, a vote and an abstract (VirSci 2025, §3.2)."""

    system = "virsci"


class SelfReflectionPipeline(SystemPipeline):
    """One agent that thinks its idea over, again and again, then writes the abstract (VirSci 2025, App. C.3)."""

    system = "self-reflection"


class DiscussionPipeline(SystemPipeline):
    """Fixed roles that discuss one idea without an ecosystem, then the abstract (VirSci 2025, App. C.3)."""

    system = "discussion"


class SinglePipeline(SystemPipeline):
    """One agent with as many tokens as a team: it drafts ideas, picks one and writes its abstract."""

    system = "single"


class ConferenceReviewPipeline(SystemPipeline):
    """Independent reviews of one text on a conference's form (VirSci 2024, Fig. 17; 2025, Fig. 25).

    A message's text is what is reviewed. It is never read as the name of a file: that is what `config.subject`
    is for.
    """

    system = "conference-review"


class RebuttalPipeline(SystemPipeline):
    """An idea that is reviewed and revised until an area chair sees it get no better (Review and Rebuttal, §3).

    The messages are the background that the first idea starts from: each of them is an abstract.
    """

    system = "rebuttal"


class RankingPipeline(SystemPipeline):
    """Ideas ranked beside a target by a judge who does not know which it is (Review and Rebuttal, §3.2, App. A.2).

    The first message is the target's abstract, each further one an idea in place of the config's. None is read as the
    name of a file: that is what `config.ranking` is for.
    """

    system = "ranking"


PIPELINES: dict[str, type[SystemPipeline]] = {
    pipeline.system: pipeline
    for pipeline in (
        VirSciPipeline,
        SelfReflectionPipeline,
        DiscussionPipeline,
        SinglePipeline,
        ConferenceReviewPipeline,
        RebuttalPipeline,
        RankingPipeline,
    )
}
