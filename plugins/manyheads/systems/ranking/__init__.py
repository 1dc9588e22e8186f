"""The relative quality ranking: ideas beside a target idea, ranked blind (Review and Rebuttal, §3.2, App. A.2)."""

from manyheads.systems.ranking.ready import fits, need_ideas, needs
from manyheads.systems.ranking.system import ranking

__all__ = ["fits", "need_ideas", "needs", "ranking"]
