"""What may be left out of a request that is too long."""

import re

import pytest

from manyheads.base.resources import Resources
from manyheads.core import Message
from manyheads.models.requests import SAID, fitted, size_of

TASK = {
    "abstract", "advice", "background", "caption", "cited", "context", "contribution", "discarded", "draft",
    "entity", "expected", "fault", "figure", "idea", "item", "keywords", "novelty", "outcome", "outline", "passage",
    "phrases", "point", "problem", "profile", "progress", "published", "query", "question", "rationale",
    "reason", "related", "remark", "review", "scientists", "section", "speech", "start", "step", "strengths", "table",
    "team", "terms", "text", "title", "topic", "version_a", "version_b", "weaknesses", "works",
}  # fmt: skip
"""What a task is about, or what it cannot be done without."""


def test_every_fence_of_the_prompts_is_either_said_or_of_the_task() -> None:
    files = Resources.of().names("prompts").values()
    labels = {label for file in files for label in re.findall(r'quoted\("(\w+)"\)', file.read_text("utf-8"))}
    assert labels - TASK - {"paper", "lookup"} == set(SAID)
    assert not TASK & set(SAID)


def test_what_was_looked_up_goes_after_the_papers_the_oldest_first() -> None:
    looked_up = "".join(f"<lookup>\nread {{}}\n{name} {'word ' * 100}\n</lookup>\n\n" for name in "AB")
    text = f"[1]\n<paper>\nTitle: P\n{'term ' * 100}\n</paper>\n\n{looked_up}"
    [shorter], left_out = fitted([Message(text)], 130)
    assert ("term" in shorter.text, "A word" in shorter.text, "B word" in shorter.text) == (
        False,
        False,
        True,
    )
    assert shorter.text.count("<lookup>\nread {}") == 2
    assert left_out == "the abstract of 1 paper and the answers of 1 tool call"


@pytest.mark.parametrize("label", SAID)
def test_what_was_said_goes_whatever_its_fence(label: str) -> None:
    text = f"Bo:\n<{label}>\n{'word ' * 100}\n</{label}>\n\n<idea>\n{'owl ' * 100}\n</idea>"
    [shorter], left_out = fitted([Message(text)], 50)
    assert shorter.text == f"Bo:\n<{label}>\n…\n</{label}>\n\n<idea>\n{'owl ' * 100}\n</idea>"
    assert left_out == "1 earlier reply"
    assert size_of([Message(text)]) - size_of([shorter]) > 50
