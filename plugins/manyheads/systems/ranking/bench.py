"""The judges of a ranking, each of whom is asked one question and sees nothing of the others."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from manyheads.core import Reply, together
from manyheads.discussion import Run
from manyheads.discussion.run import Question
from manyheads.errors import ModelError, ReplyError
from manyheads.events import Judged
from manyheads.literature.ideas import Entry
from manyheads.replies import Condensed, Ranking, ReplyModel, ranking_of
from manyheads.systems.ranking.ready import JUDGE, Quality
from manyheads.systems.ranking.result import TARGET, Order

R = TypeVar("R", bound=ReplyModel)
CONDENSING, RANKING = "condensing", "ranking"


@dataclass
class Bench:
    """The judges of a run.

    Attributes:
        asked: replies that were asked for: the inference cost.
    """

    run: Run
    quality: Quality
    asked: int = 0

    async def condense(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries in the form of a proposal (Fig. 13): the target, and every other that is not in it yet.

        Each text is asked for once, however often it stands among them.

        Raises:
            ModelError: one could not be condensed; the others are kept.
        """
        everything = self.run.config.ranking.condense == "all"
        bare = {
            place: (one.title, one.text)
            for place, one in enumerate(entries)
            if not one.fields and (everything or place == TARGET)
        }
        texts = list(dict.fromkeys(bare.values()))
        answers = await together(*(self._condense(number, *text) for number, text in enumerate(texts, 1)))
        told = {text: reply.value.told() for text, reply in zip(texts, _need_all(answers), strict=True)}
        return tuple(
            replace(one, fields=told[bare[place]]) if place in bare else one
            for place, one in enumerate(entries)
        )

    async def rank(self, texts: Sequence[str], drawn: Sequence[tuple[int, ...]]) -> list[Order]:
        """The same ideas ranked in each of the orders (Fig. 12).

        An order that leads to no valid ranking, however often it is asked for, has failed; it is not guessed.

        Raises:
            ModelError: the model was not to be had, or all orders have failed; what was answered is kept.
        """
        answers = await together(
            *(self._rank(number, [texts[each] for each in shown]) for number, shown in enumerate(drawn, 1))
        )
        _need_all([each for each in answers if not isinstance(each, ReplyError)])
        orders = [_order(shown, answer) for shown, answer in zip(drawn, answers, strict=True)]
        failed = [each for each in answers if isinstance(each, ReplyError)]
        if len(failed) == len(orders):
            raise ModelError(
                f"no order has led to a ranking, of {len(orders)}: {failed[0].message}",
                tried=failed[0].tried,
                hint=failed[0].hint,
            ) from failed[0]
        self._tell(orders)
        return orders

    async def _condense(self, number: int, title: str, text: str) -> Reply[Condensed] | ModelError:
        kind = self.run.reply_type(JUDGE, "condense", Condensed)
        shown = {"title": title, "text": text}
        return await self._ask(CONDENSING, f"Condenser{number}", "condense", shown, _untold, kind)

    async def _rank(self, number: int, ideas: Sequence[str]) -> Reply[Ranking] | ModelError:
        kind = ranking_of(self.run.reply_type(JUDGE, "rank", Ranking), len(ideas))
        shown = {"indicator": self.quality.indicator, "traits": self.quality.traits, "proposals": ideas}
        return await self._ask(RANKING, f"Judge{number}", "rank", shown, _amiss(len(ideas)), kind)

    async def _ask(
        self,
        stage: str,
        name: str,
        task: str,
        variables: Mapping[str, object],
        check: Callable[[Any], str | None],
        kind: type[R],
    ) -> Reply[R] | ModelError:
        """One answer. A failure must not end the others, which are paid for already."""
        self.asked += 1
        judge = self.run.speaker(JUDGE, name, area=self.quality.area)
        try:
            return await self.run.ask(Question(stage, 1, judge, JUDGE, task, variables, check=check), kind)
        except ModelError as error:
            return error

    def _tell(self, orders: Sequence[Order]) -> None:
        """Tell the listeners what came of each order: in a judge's own words ideas have the numbers of their places."""
        for number, order in enumerate(orders, 1):
            if order.failed:
                self.run.warn(
                    RANKING, f"order {number} of {len(orders)} failed and is left out: {order.failed}"
                )
                continue
            ranked = f"ranks the target {order.target_rank} of {len(order.shown)}"
            outcome = f"{ranked}, shown in place {order.target_place}"
            self.run.emit(Judged(stage=RANKING, turn=1, subject=f"Judge{number}", outcome=outcome))


def _need_all(answers: Sequence[Reply[R] | ModelError]) -> list[Reply[R]]:
    """Raises the first failure."""
    for each in answers:
        if isinstance(each, ModelError):
            raise each
    return [each for each in answers if not isinstance(each, ModelError)]


def _untold(reply: Condensed) -> str | None:
    """What is wrong with a form that there is nothing to judge by."""
    if reply.told().keys() <= {"title"}:
        return "every field but the title is NONE; tell what there is of an idea in the text"
    return None


def _amiss(count: int) -> Callable[[Ranking], str | None]:
    """Says what a ranking of so many ideas lacks, repeats or invents."""

    def problem(ranking: Ranking) -> str | None:
        given = Counter(ranking.order())
        wrong = {
            "leaves out": [number for number in range(1, count + 1) if number not in given],
            "repeats": [number for number, times in given.items() if times > 1],
            "invents": [number for number in given if number > count],
        }
        told = [f"{what} {', '.join(map(str, sorted(some)))}" for what, some in wrong.items() if some]
        return (
            f"the ranking {' and '.join(told)}; each of the {count} ideas stands in it once" if told else None
        )

    return problem


def _order(shown: tuple[int, ...], answer: Reply[Ranking] | ModelError) -> Order:
    """Numbers of places back to those of ideas."""
    if isinstance(answer, ModelError):
        return Order(shown, failed=answer.message)
    ranked = tuple(shown[number - 1] for number in answer.value.order())
    return Order(shown, ranked, tuple(each.rationale for each in answer.value.ranking))
