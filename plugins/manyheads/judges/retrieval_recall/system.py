"""Recall of retrieval: the share of a paper's references found from its background alone (SciPIP, §4.4, Tables 4 and 5)."""

from manyheads.judges.retrieval_recall import config, result
from manyheads.judges.retrieval_recall.recall import retrieval_recall
from manyheads.judges.retrieval_recall.result import RecallResult
from manyheads.team.system import Number, System

__all__ = ["RETRIEVAL_RECALL"]

RETRIEVAL_RECALL = System(
    name="retrieval-recall",
    title="Recall of retrieval",
    about="Retrieves papers for the backgrounds of a corpus's papers, and counts how many of their references are found.",
    config=config.RecallConfig,
    inputs=config.RecallInputs,
    result=RecallResult,
    run=retrieval_recall,
    needs=lambda run: {},
    essence=result.essence,
    table=lambda result: result.rows,
    report=result.report,
    corpus=lambda run: True,
    prepare=config.need_corpus,
    aliases={"retrieval-recall.options": "literature.retrieval"},
    extras=("statistics",),
    numbers={f"recall.{depth}.mean": Number(f"recall at {depth}", (0, 1)) for depth in config.DEPTHS},
)
