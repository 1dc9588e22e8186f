"""The tokens that a baseline may use. What a reply will cost is judged from what the replies before it cost."""

from collections.abc import Collection
from dataclasses import dataclass, field

from manyheads.core import Usage
from manyheads.errors import BudgetError


@dataclass
class Allowance:
    """Tokens of a whole run, input and output together, and the replies that were paid from them.

    No question is put once they are spent: a run exceeds them by less than its last reply, whatever replies cost.

    Attributes:
        limit: tokens that may be used; None for as many as it takes.
        paid: what each reply has cost, by the task that it answered.
    """

    limit: int | None = None
    paid: dict[str, list[Usage]] = field(default_factory=dict[str, list[Usage]])

    @property
    def used(self) -> int:
        return sum(usage.tokens for usage in self._of(self.paid))

    def need(self, what: str) -> None:
        """Raises `BudgetError` where the allowance is spent and `what` cannot be asked for any more."""
        if self.limit is not None and self.used >= self.limit:
            raise BudgetError(
                f"the allowance of {self.limit} tokens is spent, used are {self.used}: none is left for {what}",
                hint="allow more: manyheads resume RUN --accept-changes --set baseline.like=null "
                "--set baseline.tokens=<larger>",
            )

    def pay(self, task: str, usage: Usage) -> None:
        """Note a reply; raises `BudgetError` where a limit cannot be kept, as the model counts no tokens."""
        if self.limit is not None and usage.tokens == 0:
            raise BudgetError(
                "the model does not say how many tokens it has used: an allowance of tokens cannot be kept",
                hint="take a server that reports usage; self-reflection and discussion can go by baseline.rounds and "
                "baseline.turns, without baseline.tokens and baseline.like",
            )
        self.paid.setdefault(task, []).append(usage)

    def allows(self, task: str, *reserved: int) -> bool:
        """Whether one more reply to a task can be paid, and what is reserved after it."""
        return self.leaves(self.expected(task), *reserved)

    def leaves(self, *costs: int) -> bool:
        """Whether so many tokens are left."""
        return self.limit is None or self.used + sum(costs) <= self.limit

    def expected(self, task: str) -> int:
        """Tokens that one more reply to a task may take: as many as the dearest so far.

        One that was never asked for is taken to read the longest prompt so far and another reply, and to be as long.
        """
        if task in self.paid:
            return max(usage.tokens for usage in self.paid[task])
        prompts = [reply.input_tokens for reply in self._of(self.paid)]
        return max(prompts, default=0) + 2 * self._longest(self.paid)

    def reading(self, tasks: Collection[str], shown: int = 1) -> int:
        """Tokens that a reply may take which is shown so many replies to these tasks, and is as long as one.

        What else stands in its prompt is taken to be as long as their prompts were, as often as it is shown one.
        """
        prompts = [reply.input_tokens for reply in self._of(tasks)]
        return shown * min(prompts, default=0) + (shown + 1) * self._longest(tasks)

    def _longest(self, tasks: Collection[str]) -> int:
        return max((reply.output_tokens for reply in self._of(tasks)), default=0)

    def _of(self, tasks: Collection[str]) -> list[Usage]:
        return [usage for task in tasks for usage in self.paid.get(task, ())]
