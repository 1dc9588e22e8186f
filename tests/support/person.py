"""A person of tests: answers what is asked, by the task or in order."""

from typing import Any

from manyheads.core.events import Waiting
from support.fill import fill

Answer = Any
"""Data, fitting or not, or a function of the request."""


class Scripted:
    """Gives the answers of a task in order, and the last one from then on; what has none is filled in from its form."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers, self.requests = answers, list[Waiting]()

    async def answer(self, request: Waiting) -> Any:
        self.requests.append(request)
        if not (answers := self.answers.get(request.task)):
            return {"action": "accept"} if request.task == "steer" else fill(request.form, request.request)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(request) if callable(answer) else answer

    def asked(self, task: str) -> list[Waiting]:
        return [request for request in self.requests if request.task == task]
