"""What a run came to, in words: the last lines that it prints, and what the frameworks' teams end with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from manyheads.models.offline import LABEL
from manyheads.report import ranking
from manyheads.report.rebuttal import Course
from manyheads.report.record import count
from manyheads.report.review import SYSTEM, Mean, Review, Reviewed
from manyheads.report.virsci import RANKING

ABSTRACT = "Abstract"


def essence(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The essence of a result, such as `result.json` keeps it: names, and what is told under each, in order.

    A review comes to the scores of each reviewer and their means, a ranking to S, mean ranks and what places have
    done. Everything else comes to topic, idea, title and abstract, how that came through self-review, and what a
    baseline was allowed; each as far as there is one. An idea that the abstract has its title from is not named twice.
    """
    if result.get("system") == SYSTEM:
        return list(_review(Reviewed.model_validate(result)))
    if result.get("system") == RANKING:
        return list(ranking.in_lines(ranking.Ranked.model_validate(result)))
    return list(_abstract(result))


def closing_lines(folder: Path) -> str:
    """A finished run's essence; what it cost, and where the report is."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    usage = result["usage"]
    warnings = len(result["warnings"])
    tokens = usage["input_tokens"] + usage["output_tokens"]
    cost = f", cost {usage['cost']:.4f}" if usage["cost"] is not None else ""
    lines = [
        "",
        _laid_out([*_source(result), *essence(result)]),
        "",
        f"{count(usage['calls'], 'call')}, {tokens} tokens{cost}; {count(warnings, 'warning')}",
    ]
    if silent := result.get("degraded"):
        lines.append(f"Degraded  {', '.join(silent)} could not be asked everything; see the report")
    if not result["written_by_language_model"]:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def _source(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where a text that was reviewed is kept."""
    return [("Text", result["subject"]["source"])] if result["system"] == SYSTEM else []


def _laid_out(told: Sequence[tuple[str, str]]) -> str:
    """Names and texts in two columns, the abstract between them over both."""
    width = max(10, *(len(name) + 1 for name, _ in told)) if told else 0
    lines = [
        f"\n{fill(text, width=100)}\n" if name == ABSTRACT else f"{name:{width}}{text}" for name, text in told
    ]
    return "\n".join(lines).strip("\n")


def _abstract(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    topic, idea, abstract = (result.get(key) or {} for key in ("topic", "idea", "abstract"))
    title = abstract.get("title")
    named = idea.get("title") if idea.get("title") != title else None
    told = {"Topic": topic.get("topic"), "Idea": named, "Title": title, ABSTRACT: abstract.get("text")}
    yield from ((name, text) for name, text in told.items() if text)
    if told := result.get("rebuttal"):
        if not abstract:
            yield "Hypothesis", str(idea.get("hypothesis") or idea.get("idea"))
        yield "Rebuttal", _rebuttal(told)
    if reviews := result.get("self_review"):
        yield "Review", _self_review(reviews)
    if course := result.get("baseline"):
        yield "Baseline", _baseline(course)


def _baseline(told: Mapping[str, Any]) -> str:
    """What a baseline used of what it was allowed, which may be much less, and what came of it."""
    used, allowed, like = (told[key] for key in ("tokens_used", "tokens_allowed", "like"))
    whole = f"the {allowed} tokens that {like} had used" if like else f"{allowed} tokens"
    return f"{count(told['ideas'], 'idea')}{f' from {used} of {whole}' if allowed else ''}"


def _rebuttal(told: Mapping[str, Any]) -> str:
    """How an idea got on."""
    course = Course.model_validate(told)
    went = f"{count(course.iterations, 'revision')} for {course.indicator}"
    better = "" if course.improvements is None else f", {course.improvements} found better"
    return f"{went}{better}; the end: {course.ending}"


def _self_review(told: Mapping[str, Any]) -> str:
    """How the abstract came through its self-reviews."""
    reviews, discarded = told["reviews"], len(told["discarded"])
    closest, revised = reviews[-1]["closest"], len(reviews) - discarded - 1
    after = [count(revised, "revision")] * bool(revised)
    after += [count(discarded, "discarded idea")] * bool(discarded)
    how = f"{', after ' if after else ''}{' and '.join(after)}"
    if closest is None:
        return f"not made: no published paper was found to compare it with{how}"
    if told["passed"]:
        return f"passed: at most {closest} of 100 alike{how}"
    return f"not passed: up to {closest} of 100 alike, too close from {told['threshold']}{how}"


def _review(reviewed: Reviewed) -> Iterator[tuple[str, str]]:
    if reviewed.title:
        yield "Title", reviewed.title
    yield from ((review.reviewer, _scores(review)) for review in reviewed.reviews)
    yield from ((name.capitalize(), _mean(mean)) for name, mean in reviewed.means.items())


def _scores(review: Review) -> str:
    scores = ", ".join(f"{name} {score}" for name, score in review.scores.items())
    return f"{scores}{', asks for an ethics review' * bool(review.ethical_concerns)}"


def _mean(mean: Mean) -> str:
    score = f"{mean.mean:.2f} of 10, the mean of {count(mean.n, 'review')}"
    if mean.low is None or mean.high is None:
        return score
    return f"{score}, {mean.level:.0%} interval {mean.low:.2f} to {mean.high:.2f}"
