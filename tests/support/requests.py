"""A request to a model server, read the same way whatever the wire format."""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

from manyheads.asking.forms import FENCE, shape_of

Wire = Literal["openai", "ollama", "anthropic"]
WIRES: dict[str, Wire] = {
    "/v1/chat/completions": "openai",
    "/api/chat": "ollama",
    "/v1/messages": "anthropic",
}
HEADING = re.compile(r"^##? ", re.MULTILINE)
BEHIND = re.compile(r"^## (Whom you may ask|The form of your answer)$", re.MULTILINE)
"""What stands behind a question."""
PERSONA = re.compile(
    r"^## Who you are\n\n(.*?)(?=^## (?:Whom you may ask|What you have looked up|The form of your answer)$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Who speaks, behind a question."""


@dataclass(frozen=True)
class Said:
    """One message of a request, its text parts joined. `role` is system, user, assistant or tool."""

    role: str
    text: str


@dataclass(frozen=True)
class Request:
    """One recorded request.

    Attributes:
        path: as requested, such as `/v1/chat/completions`.
        headers: names in lower case.
        body: the parsed JSON.
        at: when it came, `time.monotonic()` seconds.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float = field(compare=False)

    @property
    def wire(self) -> Wire:
        return WIRES[self.path]

    @property
    def stream(self) -> bool:
        """Whether pieces are asked for; Ollama streams unless told not to."""
        return bool(self.body.get("stream", self.wire == "ollama"))

    @cached_property
    def messages(self) -> list[Said]:
        first = [Said("system", _text(self.body["system"]))] if "system" in self.body else []
        return first + [said for message in self.body.get("messages", []) for said in _said(message)]

    @property
    def text(self) -> str:
        """Everything that the model reads."""
        return "\n\n".join(said.text for said in self.messages)

    @property
    def system(self) -> str:
        """What the speaker is told of itself: who it is, where that stands behind a question, and the system message."""
        own = (
            found[1] for said in self.messages if said.role == "user" for found in PERSONA.finditer(said.text)
        )
        return "\n".join([*[*own][:1], *(said.text for said in self.messages if said.role == "system")])

    @cached_property
    def asking(self) -> str:
        """The last message that shows a reply's form, else the last user message; from its first heading on, if any.

        What a retrieval hook has put before the question is no part of it, nor is who is asked.
        """
        users = [said.text for said in self.messages if said.role == "user"]
        last = next((text for text in reversed(users) if FENCE.search(text)), users[-1] if users else "")
        last = PERSONA.sub("", last)
        heading = HEADING.search(last)
        return last[heading.start() :] if heading and not BEHIND.match(last, heading.start()) else last

    def fenced(self, label: str) -> str | None:
        """What stands in the last fence of this label, None where there is none."""
        found = re.findall(rf"^<{label}>\n(.*?)\n</{label}>$", self.asking, re.DOTALL | re.MULTILINE)
        return found[-1] if found else None

    @cached_property
    def pictures(self) -> list[bytes]:
        """The pictures in its messages, as their bytes."""
        return [b64decode(data) for message in self.body.get("messages", []) for data in _pictures(message)]

    @property
    def form(self) -> dict[str, Any] | None:
        """The schema sent outside the prompt: `response_format`, or Ollama's `format`."""
        sent: Any = self.body.get("response_format") or self.body.get("format")
        if not isinstance(sent, dict):
            return None
        outer = cast(dict[str, Any], sent)
        return outer.get("json_schema", outer).get("schema", outer)

    @property
    def has_form(self) -> bool:
        return bool(self.body.get("response_format") or self.body.get("format"))

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the reply that is asked for: the one shown in the prompt, else the one sent beside it."""
        shown = shape_of(self.asking)
        return dict(shown) if shown else self.form

    @property
    def title(self) -> str:
        """The reply type's name, such as `Decision`."""
        return (self.schema or {}).get("title", "")

    @property
    def tools(self) -> list[str]:
        """Names of the tools that may be called."""
        offered = [tool.get("function", tool)["name"] for tool in self.body.get("tools") or []]
        return [] if self.body.get("tool_choice") == "none" else offered

    @property
    def tools_answered(self) -> int:
        """How many tool results the speaker has been given since it was asked."""
        roles = [said.role for said in self.messages]
        last_user = max((i for i, role in enumerate(roles) if role == "user"), default=-1)
        return roles[last_user + 1 :].count("tool")

    @property
    def seed(self) -> str:
        """What an answer depends on: the persona, the question, and what was said last if that is not the question."""
        last = self.messages[-1].text if self.messages else ""
        return "\0".join(" ".join(part.split()) for part in (self.system, self.asking, last))


def asks(request: Request, heading: str) -> bool:
    """Whether a request's question has a heading; what it shares with others may stand before."""
    return bool(re.search(rf"^# {re.escape(heading)}", request.asking, re.MULTILINE))


def question(request: Request) -> str:
    """What all hosts show alike: persona and question, not where the hook's passage and tool results stand."""
    return f"{request.system.strip()}\0{request.asking.strip()}"


def question_of(asking: str) -> str:
    """A prompt without the passage of a retrieval hook and the form of the reply."""
    return BEHIND.split(asking)[0].strip()


def _said(message: Mapping[str, Any]) -> list[Said]:
    """A message's text, and each of Anthropic's tool results as a message of its own."""
    role, content = message["role"], message.get("content") or ""
    blocks = cast(list[dict[str, Any]], content if isinstance(content, list) else [])
    results = [Said("tool", _text(b.get("content", ""))) for b in blocks if b.get("type") == "tool_result"]
    text = _text(content)
    return results + ([Said(role, text)] if text or not results else [])


def _pictures(message: Mapping[str, Any]) -> Iterator[str]:
    """In base64, whatever the wire."""
    yield from message.get("images") or ()
    content = message.get("content")
    for block in cast(list[dict[str, Any]], content if isinstance(content, list) else []):
        match block:
            case {"image_url": {"url": str(url)}}:
                yield url.partition(",")[2]
            case {"source": {"data": str(data)}}:
                yield data
            case _:
                pass


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = cast(list[dict[str, Any]], content)
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")
