"""Targets that the user names, with their references as literature services tell them."""

from collections import Counter
from collections.abc import Sequence

from manyheads.errors import LiteratureError
from manyheads.literature.library import Findings, Library
from manyheads.literature.publication import Publication
from manyheads.literature.targets.before import before
from manyheads.literature.targets.case import Case, Targets, Wish, case_of, reasons

MOST_LISTED = 1000
"""References of a paper that are asked for, at most."""


async def targets_named(library: Library, names: Sequence[str], wish: Wish) -> Targets:
    """These papers, each with those of its references of which a service knows the abstract.

    Args:
        names: ids, DOIs, arXiv numbers or exact titles.

    Raises:
        LiteratureError: a paper is known to no service, a service that may know of more could not be asked, or none
            of the papers can be a target.
    """
    cases, passed, silent = dict[str, Case](), Counter[str](), dict[str, None]()
    for name in names:
        paper = await library.paper(name)
        if paper is None:
            raise LiteratureError(
                f"{name}: no source knows such a paper",
                source="literature",
                hint="name it by DOI:…, arXiv:…, or its exact title",
            )
        found = await _case(library, paper, wish, silent)
        if isinstance(found, str):
            passed[found] += 1
        else:
            cases.setdefault(paper.key, found)
    if not cases:
        raise LiteratureError(
            "none of these papers can be a target",
            source="literature",
            tried=reasons(passed),
            hint="name others, or ask for fewer: --least",
        )
    return Targets(tuple(cases.values()), len(cases), passed, tuple(silent))


async def _case(library: Library, paper: Publication, wish: Wish, silent: dict[str, None]) -> Case | str:
    """The paper as a target, or why it is none; services that could not be asked are put to `silent`."""
    if why := wish.unfit(paper.abstract, paper.year, paper.citations):
        return why
    findings = await library.references(paper.id, MOST_LISTED)
    silent.update(dict.fromkeys(findings.degraded))
    others = (one for one in findings.papers if one.abstract.strip() and one.key != paper.key)
    told = [*{one.key: one for one in before(paper, others)}.values()]
    if len(told) < wish.least:
        _need_all(paper, findings)
        return wish.too_few
    return case_of(paper, wish.some(paper.id, told), f"its {len(findings.papers)} references")


def _need_all(paper: Publication, findings: Findings) -> None:
    """Too few references are no fact about a paper where a source was silent."""
    if findings.degraded:
        raise LiteratureError(
            f"{paper.id}: too few references came, but not everything was asked: {', '.join(findings.degraded)}",
            source=findings.degraded[0],
            hint="run the same command again, or leave the source out: --source",
        )
