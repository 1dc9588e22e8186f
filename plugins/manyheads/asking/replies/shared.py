"""Replies that belong to no system alone: of a team and its guests, of a person who steers."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, create_model

from manyheads.asking.replies.base import Choice, R, ReplyModel, Score, Text, mixed, whole_number


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text
    topic: Text


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    summary: Text


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text
    another_turn: bool


class Advice(ReplyModel):
    """A guest's answer; the guest does not join the team."""

    advice: Text


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    title: Text
    introduction: Text
    objective: Text
    methods: Text
    expected_results: Text
    conclusion: Text

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.as_text()}"

    def as_text(self) -> str:
        """The five sections as one paragraph, for the measures."""
        return " ".join(getattr(self, name) for name in Abstract.model_fields if name != "title")


class Ratings(ReplyModel):
    """The eight criteria on which an abstract is rated, 1–10 (VirSci 2024, Fig. 15 and its example)."""

    clarity: Score
    relevance: Score
    structure: Score
    conciseness: Score
    technical_accuracy: Score
    engagement: Score
    originality: Score
    overall: Score


class Judgement(ReplyModel):
    """A member's opinion of an abstract before rewriting it (Q_judgment)."""

    evaluation: Ratings
    changes: list[Text]


class Seeks(ReplyModel):
    """Mixed into a reply if the model cannot call tools: the request to ask an outside scientist."""

    invite: str | None = None
    question: str | None = None


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` at its end, under the same name."""
    return mixed(kind, Seeks, kind)


class Doubts(ReplyModel):
    """Before an idea is changed."""

    reflection: Text


Action = Literal["accept", "edit", "pick", "add", "back"]
ACTIONS: Mapping[Action, str] = {
    "accept": "Continue with this result.", "edit": "Change it yourself in the next step.",
    "pick": "Continue with those that you choose.", "add": "Write one of your own in the next step.",
    "back": "Repeat the stage. Your remark says what to change.",
}  # fmt: skip
"""What each action does, as people read it."""


class Steering(ReplyModel):
    """How a stage goes on: accepted, edited, some of it picked, something added, or sent back."""

    asked_with: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {"picks": {"action": ["pick"]}}
    """Fields that people are asked for only with certain values of others: `{field: {other: values}}`."""
    value_texts: ClassVar[Mapping[str, Sequence[str]]] = {}
    """What people read for each value of a field: for each action, and for each number of an item."""

    action: Action
    picks: list[Choice] = Field(default_factory=list[Choice])
    remark: str = ""


class OwnText(ReplyModel):
    """Mixed into a stage's own reply that a person edits or adds."""


def steering_among(actions: Sequence[Action], items: Sequence[str] = (), most: int = 0) -> type[Steering]:
    """`Steering` with these actions, and up to `most` numbers of `items`."""
    number = Annotated[int, Field(ge=1, le=max(len(items), 1)), BeforeValidator(whole_number)]
    picks: Any = Annotated[list[number], Field(max_length=most)]
    if not most:  # nothing can be picked, whatever a model says
        picks = Annotated[list[number], Field(max_length=0), BeforeValidator(lambda value: [])]
    fields: dict[str, Any] = {"action": (Literal[tuple(actions)], ...), "picks": (picks, [])}
    made = create_model("Steering", __base__=Steering, __module__=Steering.__module__, **fields)
    made.value_texts = {"action": [ACTIONS[each] for each in actions], "picks": items}
    return made


def prefilled(value: R) -> type[R]:
    """The type of a reply with its values as defaults, for a person who edits it."""
    kind, fields = type(value), dict[str, Any]()
    for name, field in kind.model_fields.items():
        field = copy(field)
        field.default, field.validate_default = getattr(value, name), True
        fields[name] = (field.annotation, field)
    made = create_model(kind.__name__, __base__=(kind, OwnText), __module__=kind.__module__, **fields)
    return cast(type[R], made)


def own(kind: type[R]) -> type[R]:
    """A stage's reply, for a person who adds one."""
    return mixed(kind, kind, OwnText)
