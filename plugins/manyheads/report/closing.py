"""The last lines that a finished run prints."""

import json
from pathlib import Path
from textwrap import fill
from typing import Any

from manyheads.models.offline import LABEL
from manyheads.report.review import SYSTEM


def closing_lines(folder: Path) -> str:
    """Topic, title and abstract, or a review's score; what it cost, and where the report is."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    usage = result["usage"]
    warnings = len(result["warnings"])
    tokens = usage["input_tokens"] + usage["output_tokens"]
    cost = f", cost {usage['cost']:.4f}" if usage["cost"] is not None else ""
    lines = [
        "",
        *(_review(result) if result["system"] == SYSTEM else _abstract(result)),
        "",
        f"{_count(usage['calls'], 'call')}, {tokens} tokens{cost}; {_count(warnings, 'warning')}",
    ]
    if silent := result.get("degraded"):
        lines.append(f"Degraded  {', '.join(silent)} could not be asked everything; see the report")
    if not result["written_by_language_model"]:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def _abstract(result: dict[str, Any]) -> list[str]:
    abstract = result["abstract"]
    return [
        f"Topic     {result['topic']['topic']}",
        f"Title     {abstract['title']}",
        "",
        fill(abstract["text"], width=100),
        *_self_review(result.get("self_review")),
        *_baseline(result.get("baseline")),
    ]


def _baseline(told: dict[str, Any] | None) -> list[str]:
    """What a baseline was allowed and did with it; nothing for a team."""
    if told is None:
        return []
    like = f", as many as {told['like']} had used" if told["like"] else ""
    allowed = f" from {told['tokens_allowed']} tokens{like}" if told["tokens_allowed"] else ""
    return ["", f"Baseline  {_count(told['ideas'], 'idea')}{allowed}"]


def _self_review(told: dict[str, Any] | None) -> list[str]:
    """How the abstract came through its self-reviews; nothing where there was none."""
    if told is None:
        return []
    reviews, discarded = told["reviews"], len(told["discarded"])
    closest, revised = reviews[-1]["closest"], len(reviews) - discarded - 1
    after = [_count(revised, "revision")] * bool(revised)
    after += [_count(discarded, "discarded idea")] * bool(discarded)
    how = f"{', after ' if after else ''}{' and '.join(after)}"
    if closest is None:
        return ["", f"Review    not made: no published paper was found to compare it with{how}"]
    if told["passed"]:
        return ["", f"Review    passed: at most {closest} of 100 alike{how}"]
    return [
        "",
        f"Review    not passed: up to {closest} of 100 alike, too close from {told['threshold']}{how}",
    ]


def _review(result: dict[str, Any]) -> list[str]:
    means = result["means"]
    return [
        f"Text      {result['subject']['source']}",
        *([f"Title     {result['title']}"] if result["title"] else []),
        "",
        *(_scores(review, list(means)) for review in result["reviews"]),
        *(_mean(name, mean) for name, mean in means.items()),
    ]


def _scores(review: dict[str, Any], names: list[str]) -> str:
    scores = ", ".join(f"{name} {review[name]}" for name in names)
    return f"{review['reviewer']}: {scores}{', asks for an ethics review' * review.get('ethical_concerns', False)}"


def _mean(name: str, mean: dict[str, Any]) -> str:
    low, high = mean["low"], mean["high"]
    interval = "" if low is None else f", {mean['level']:.0%} interval {low:.2f} to {high:.2f}"
    return f"{name.capitalize():13} {mean['mean']:.2f} of 10, the mean of {_count(mean['n'], 'review')}{interval}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
