"""A person steers: between two stages they see the result of the first, and decide how the run continues.

What they say is a turn like any other, by the role `person`. A remark is shown to the team: in all prompts of the stage
that is sent back, or else of the next stage.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from typing_extensions import TypeVar

from manyheads.asking import replies
from manyheads.asking.replies import Action, OwnText, ReplyModel, Steering, own, prefilled, steering_among
from manyheads.config import PERSON
from manyheads.core.results import Abstract, Draft
from manyheads.team.run import Question, Run

R = TypeVar("R", bound=ReplyModel, default=ReplyModel)
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {
    (PERSON, "steer"): Steering,
    (PERSON, "edit"): OwnText,
    (PERSON, "add"): OwnText,
}
"""The replies of the person who steers."""


@dataclass(frozen=True)
class Steer(Generic[R]):
    """A person's decision.

    Attributes:
        action: `accept`, `edit`, `pick`, `add`, or `back`: the stage must be repeated.
        picks: the numbers picked, from 1 on.
        reply: what was edited or added.
    """

    action: Action = "accept"
    picks: tuple[int, ...] = ()
    reply: R | None = None

    @property
    def back(self) -> bool:
        return self.action == "back"


async def steer(
    run: Run[Any, Any, Any],
    stage: str,
    turn: int,
    shown: str,
    *,
    items: Sequence[str] = (),
    most: int = 0,
    edit: R | None = None,
    add: type[R] | None = None,
    back: bool = True,
    name: str = "",
) -> Steer[R]:
    """Let a person steer after a stage, if the config says so; otherwise it is accepted.

    Args:
        turn: the stage's last turn.
        shown: the result of the stage.
        items: what it consists of, such as ideas.
        most: how many items may be picked; 0 for none.
        edit: the reply that may be edited.
        add: the type of a further reply.
        back: whether the stage can be repeated, up to `send_backs` times.
        name: what configs call it, if not by the stage.
    """
    switched = run.switched(name or stage)  # it counts the passes of each stage
    if not (switched or run.config.steers(name or stage)):
        return Steer()
    left = run.config.send_backs - run.sent_back[stage] if back else 0
    offers: dict[Action, bool] = {
        "accept": True, "edit": edit is not None, "pick": bool(most and items), "add": add is not None,
        "back": left > 0,
    }  # fmt: skip
    actions: list[Action] = [action for action, offered in offers.items() if offered]
    most = min(most, len(items))
    kind = steering_among(actions, items, most)
    speaker = run.speaker(PERSON, PERSON)
    outcome = {"shown": shown, "items": items}
    variables = {
        **outcome, "actions": actions, "most": most, "left": left if back else None,
        "limit": run.config.send_backs,
    }  # fmt: skip
    question = Question(stage, turn, speaker, PERSON, "steer", variables, part=PERSON, check=_fault)
    said = (await run.ask(question, kind)).value
    if said.remark and said.action != "back":
        run.for_next.append(said.remark)
    match said.action:
        case "back":
            run.sent_back[stage] += 1
            run.remarks.setdefault(stage, []).append(said.remark)
        case "edit" if edit is not None:
            return Steer("edit", reply=await _write(run, question, "edit", outcome, prefilled(edit)))
        case "add" if add is not None:
            return Steer("add", reply=await _write(run, question, "add", outcome, own(add)))
        case _:
            pass
    return Steer(said.action, tuple(said.picks))


async def steer_abstract(
    run: Run[Any, Any, Any], stage: str, by: str, write: Callable[[], Awaitable[replies.Abstract]]
) -> None:
    """Have an abstract written until a person does not send it back; each version is a draft of the result."""
    result = run.result
    while True:
        abstract = await write()
        result.drafts.append(Draft.of(abstract, by, 1))
        person = await steer(run, stage, 1, run.wording(abstract), edit=abstract)
        if person.reply:
            result.drafts.append(Draft.of(person.reply, PERSON, 1))
        result.abstract = Abstract.of(result.drafts[-1])
        if not person.back:
            return


async def _write(
    run: Run[Any, Any, Any], asked: Question, task: str, outcome: Mapping[str, object], kind: type[R]
) -> R:
    question = Question(asked.stage, asked.turn, asked.speaker, PERSON, task, outcome, part=PERSON)
    return (await run.ask(question, kind)).value


def _fault(said: Steering) -> str | None:
    """What is missing for an action."""
    match said.action:
        case "back" if not said.remark.strip():
            return "remark: empty; to send a stage back, say what should change"
        case "pick" if not said.picks:
            return "picks: empty; name at least one number"
        case "pick" if len(set(said.picks)) < len(said.picks):
            return "picks: a number is named twice"
        case _:
            return None
