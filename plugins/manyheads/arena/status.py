"""What an arena holds, for its owner."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from manyheads.arena.blinding import giveaways
from manyheads.arena.items import StoredText
from manyheads.arena.store import Arena
from manyheads.core.texts import count


def status_of(arena: Arena) -> dict[str, Any]:
    """Makers, cases, raters and their progress; what keeps raters from voting."""
    texts, raters = arena.texts(), arena.raters()
    seconds = [row.seconds for row in arena.rows() if row.seconds is not None]
    imported = len(arena.votes()) - len(arena.rows()) if arena.kind == "pairs" else 0
    progress = {rater.name: (rater.kind, arena.progress(rater)) for rater in raters} if texts else {}
    return {
        "folder": str(arena.folder),
        "title": arena.form.title,
        "kind": arena.kind,
        "questions": list(arena.form.names),
        "makers": dict(Counter(each.maker for each in texts).most_common()),
        "cases": len({each.case for each in texts}),
        "texts": len(texts),
        "answers": len(arena.rows()),
        "imported": imported,
        "seconds": sorted(seconds)[len(seconds) // 2] if seconds else None,
        "raters": {
            name: {"kind": kind, "answered": each.answered, "skipped": each.skipped, "left": each.left}
            for name, (kind, each) in progress.items()
        },
        "problems": [*_problems(arena)],
    }


def _problems(arena: Arena) -> Iterator[str]:
    texts = arena.texts()
    if not texts:
        yield f"There are no texts. Add some: manyheads arena add {arena.folder} RUN…"
        return
    makers = {each.maker for each in texts}
    if arena.kind == "pairs" and len(makers) == 1:
        yield f"All texts are by {makers.pop()}: a pair needs two makers."
        return
    by_case = dict[str, set[str]]()
    for each in texts:
        by_case.setdefault(each.case, set()).add(each.maker)
    alone = [case for case, own in by_case.items() if len(own) == 1]
    if arena.kind != "ratings" and alone:
        more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
        yield f"{count(len(alone), 'case')} with the texts of one maker only, shown to nobody: {', '.join(alone[:3])}{more}."
    met = {maker for own in by_case.values() if len(own) > 1 for maker in own}
    if arena.kind == "pairs" and (never := sorted(makers - met)):
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        yield f"{count(len(never), 'maker')} share no case with another: {', '.join(never[:3])}{more}."
    twins = Counter((each.case, each.digest) for each in texts)
    if equal := sum(number > 1 for number in twins.values()):
        yield f"{count(equal, 'text')} are there under several makers; equal texts are not shown as a pair."
    yield from (f"{each[0].upper()}{each[1:]}." for each in giveaways(texts))
    if arena.kind == "ranking" and (odd := _recognisable(texts)):
        yield f"The same text among different others: who ranks several of these cases can recognise it: {', '.join(odd)}."
    if not arena.raters():
        yield f"Nobody is invited. Invite raters: manyheads arena invite {arena.folder} NAME"


def _recognisable(texts: Sequence[StoredText]) -> list[str]:
    """Cases that share a text with another case, but not all."""
    sets = defaultdict[str, set[str]](set)
    for each in texts:
        sets[each.case].add(each.digest)
    return [one for one, own in sets.items() if any(own & each and own != each for each in sets.values())]


def as_lines(known: dict[str, Any]) -> Iterator[str]:
    """The status in words."""
    yield f"Arena      {known['folder']}: {known['title']} ({known['kind']})"
    yield f"Texts      {count(known['texts'], 'text')} of {count(len(known['makers']), 'maker')} on {count(known['cases'], 'case')}"
    for maker, number in known["makers"].items():
        yield f"  {maker}: {count(number, 'text')}"
    imported = f", and {count(known['imported'], 'imported vote')}" if known["imported"] else ""
    pace = f", {known['seconds']:.0f} s each (median)" if known["seconds"] is not None else ""
    yield f"Answers    {count(known['answers'], 'answer')}{pace}{imported}"
    for name, each in known["raters"].items():
        kind = " (model)" if each["kind"] == "model" else ""
        skipped = f", {each['skipped']:,} skipped" if each["skipped"] else ""
        yield f"  {name}{kind}: {each['answered']:,} answered{skipped}, {each['left']:,} left"
    for problem in known["problems"]:
        yield f"Note       {problem}"
