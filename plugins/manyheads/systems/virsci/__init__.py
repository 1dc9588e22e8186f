"""VirSci: a team of digital-twin scientists finds a topic, an idea and an abstract (2024 and 2025 papers)."""

from manyheads.engine.system import System
from manyheads.systems.virsci import config, report
from manyheads.systems.virsci.config import TopicInput, VirSciConfig
from manyheads.systems.virsci.result import VirSciResult
from manyheads.systems.virsci.system import virsci

__all__ = ["VIRSCI"]

VIRSCI = System(
    name="virsci",
    title="VirSci",
    class_name="VirSci",
    about="Scientists who discuss a research topic, vote on ideas and write the abstract of the best one.",
    config=VirSciConfig,
    inputs=TopicInput,
    result=VirSciResult,
    run=virsci,
    essence=report.essence,
    report=report.report,
    work=report.work,
    needs=config.needs,
    corpus=lambda config: True,
    team=config.settings_of,
    searches=config.searches,
)
