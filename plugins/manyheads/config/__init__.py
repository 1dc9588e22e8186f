"""A run's config: what every run has in it. Each field's text below is its documentation.

The same YAML runs on either host. What a system adds to it stands with the system; `config.files` reads the files,
`systems.loading.load` puts the whole together; the environment holds only secrets.
"""

import ast
import inspect
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from manyheads.core import Price
from manyheads.disk import expanded
from manyheads.errors import ConfigError, did_you_mean
from manyheads.escaping import scrubbed
from manyheads.papers import SourceName
from manyheads.resources import data_file

VARIABLE = re.compile(r"\$\{(\w+)\}", re.ASCII)
"""An environment variable in an address."""
CORPORA = Path("corpora")
"""Where corpora are built that are given no other folder."""
KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{20,}")
"""What could be the name of a variable, but looks like a key."""

# What all sections of a config have in common.


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    plain: ClassVar[str | None] = None
    """The key that a plain number stands for, where a section may be written as one."""
    in_full: ClassVar[frozenset[str]] = frozenset()
    """Keys that are not taken at the top of a config: those of another system may stand there under the same name."""

    @classmethod
    def key_names(cls) -> set[str]:
        """What its keys are called in a config."""
        return {field.alias or name for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _plain_number(cls, value: object) -> object:
        return {cls.plain: value} if cls.plain and isinstance(value, int | str) else value

    @classmethod
    def slots(cls) -> "dict[str, Slot]":
        """How each field is given."""
        return {
            name: next((each for each in field.metadata if isinstance(each, Slot)), Slot())
            for name, field in cls.model_fields.items()
        }


class Section(Strict):
    """The section of a run's config that is a system's own; its key is the system's name."""

    retrieves: ClassVar[bool] = False
    """Whether its papers come from the corpus's literature database, by `literature.retrieval`."""

    def course(self) -> dict[str, Any]:
        """The keys that steer who is asked what: what a resumed run must not have changed."""
        return self.model_dump(mode="json")


Fill = Literal["all", "last", "each", "first", "rest"]
"""Which messages of a team's task fill an input: all as one text or the last one; each, the first, or all after it."""


@dataclass(frozen=True)
class Slot:
    """How an input is given.

    Attributes:
        filled_by: messages of a task; None where none of them is meant for it.
        file: whether it names a file: the text of a message is kept as one in the run's folder.
        metavar: what stands for its value in the help of the command line.
        required: whether its system cannot run without it.
        hint: how to give it, where `--NAME METAVAR` does not say it all.
    """

    filled_by: Fill | None = None
    file: bool = False
    metavar: str = "TEXT"
    required: bool = False
    hint: str = ""

    def of(self, messages: Sequence[str]) -> Sequence[str]:
        """Those of the messages that fill it."""
        match self.filled_by:
            case "each":
                return messages
            case "first":
                return messages[:1]
            case "rest":
                return messages[1:]
            case "all" | "last":
                return messages[-1:]
            case None:
                return ()

    @property
    def many(self) -> bool:
        """Whether several messages fill it."""
        return self.filled_by in ("each", "rest")


class Inputs(Strict):
    """What a system is given; what stands below a field is its help text, its `Slot` says how it is given."""

    def course(self) -> dict[str, Any]:
        """As of a `Section`; a file goes by its name, as a run's folder may be moved with it."""
        slots = self.slots()
        told = self.model_dump(mode="json")
        return {
            name: Path(value).name if slots[name].file and isinstance(value, str) else value
            for name, value in told.items()
        }


def with_environment(address: str) -> str:
    """An address with `${NAME}` written out; raises `ConfigError` where that variable is not set."""

    def value(named: re.Match[str]) -> str:
        if found := os.environ.get(named[1]):
            return found
        raise ConfigError(f"{address}: ${{{named[1]}}} is not set", hint=f"export {named[1]}=…")

    return VARIABLE.sub(value, address)


def _address(text: str) -> str:
    """The address of a server, its scheme and all; it stands in config.yaml, in reports and in messages."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("must begin with http:// or https://")
    if scrubbed(text) != text:
        raise ValueError(
            "contains a login or key, which would be stored in the run folder; put it into an environment variable and "
            "write its name, such as https://${MY_LOGIN}@host/v1 (for a resumed run with --set)"
        )
    return text


def _variable_name(value: str) -> str:
    if value and (re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is None or KEY.fullmatch(value)):
        raise ValueError(
            "not the name of an environment variable; if this is the key itself, export it as a variable and write the "
            "variable's name here, such as MY_KEY"
        )
    return value


Address = Annotated[str, AfterValidator(_address)]
VariableName = Annotated[str, AfterValidator(_variable_name)]


# The section `models`.


USUAL_WINDOW = 128_000
Provider = Literal["openai", "ollama", "anthropic", "offline", "replay"]


class ModelConfig(Strict):
    """A language model. Keys come from the environment, never from here."""

    provider: Provider = "offline"
    """`openai` is any OpenAI-compatible server; `offline` and `replay` need no server."""
    name: str = "offline"
    """The model's name at its provider; for `replay` the run folder whose journal answers."""
    base_url: Address | None = None
    """The server's address; the provider's own when left out. `${NAME}` in it is an environment variable."""
    api_key_env: VariableName | None = None
    """Name of the environment variable that holds the key; the provider's usual one when left out."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only when set."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Length limit of a reply, sent only when set."""
    seed: int | None = None
    """Sent only when set, to providers that take one; the offline model takes the run's when left out."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one request may take."""
    turn_timeout: float | None = Field(default=None, gt=0)
    """Seconds that one turn may take in all: its requests, those sent or asked again, its tool calls; waits before a request
    do not count. Thirty times `timeout` when left out."""
    retries: int = Field(default=4, ge=0)
    """How often a failed request is sent again, with exponential back-off; Retry-After is honoured."""
    max_wait: float = Field(default=60.0, gt=0)
    """Longest pause between two tries, in seconds; a server that asks for more is given up."""
    concurrency: int = Field(default=8, gt=0)
    """Requests under way at once."""
    context: int | None = Field(default=None, gt=0)
    """The model's context window in tokens; when left out, what `manyheads check` has learnt of the server, else 128,000.
    Of a prompt that is longer, the oldest replies are left out, then papers, never the task."""
    tools: bool | None = None
    """Whether the model can call tools; when left out, what `manyheads check` has learnt, else yes for `openai` and
    `anthropic`. Without tools, guests are asked for by a field of the reply."""
    vision: bool | None = None
    """Whether the model can see images; when left out, what `manyheads check` has learnt, else yes."""
    response_format: bool | Literal["schema", "object", "none"] = True
    """How the reply's schema is sent beside the prompt: as `schema` (`json_schema`), as `object` (`json_object` with the
    schema), or `none`; a server that refuses it is an error. `true` takes the first of these that the server takes,
    `false` is `none`."""
    price: Price | None = None
    """What a million tokens cost, in a currency of your choice; when left out, what `configs/models/prices.yaml` lists."""

    @property
    def address(self) -> str | None:
        """`base_url` as requests are sent to it, with what it names of the environment."""
        return None if self.base_url is None else with_environment(self.base_url)

    @classmethod
    def parse(cls, text: str) -> "ModelConfig":
        """The model that `provider/name` stands for; `offline` needs no name. Raises `ConfigError` for any other."""
        provider, _, name = text.partition("/")
        name = name or ("offline" if provider == "offline" else "")
        known = provider in get_args(Provider)
        if known and name:
            return cls(provider=cast(Provider, provider), name=name)
        raise ConfigError(
            f"model {text!r}: {'the name is missing' if known else f'no such provider {provider!r}'}",
            tried=f"providers: {', '.join(get_args(Provider))}",
            hint=did_you_mean(
                provider,
                () if known else get_args(Provider),
                "write it as provider/name, such as openai/gpt-4o-mini",
            ),
        )

    @property
    def calls_tools(self) -> bool:
        return self.provider in ("openai", "anthropic") if self.tools is None else self.tools

    @property
    def sees(self) -> bool:
        return self.vision is not False

    @property
    def window(self) -> int:
        """Tokens that a prompt and its answer may have together."""
        return self.context or USUAL_WINDOW

    def identity(self) -> dict[str, Any]:
        """The settings that change what the model answers: part of each recorded request."""
        return self.model_dump(include={"provider", "name", "temperature", "max_tokens", "seed"})


class RoleConfig(Strict):
    """What a config may change about a role."""

    model: str = "default"
    """Alias of one of `models`."""


# The section `literature`: where papers are looked up, and how long that may take.


How: TypeAlias = Literal["semantic", "entity", "cocitation", "bm25"]
"""A way in which a literature database finds papers."""


class RetrievalConfig(Strict):
    """How papers are retrieved from a literature database. The numbers that the paper names k, m, n and so on are not printed in
    its text as we have it: the defaults are ours."""

    how: tuple[How, ...] = ("semantic", "entity", "cocitation")
    """Which ways are gone: `semantic`, `entity`, `cocitation` (SciPIP, §3.2.1), `bm25`. Entities of semantic hits and what is
    cited with them need `semantic` or `bm25`, or the background's own entities."""
    semantic: int = Field(default=55, ge=1, le=10_000)
    """k: papers whose backgrounds are nearest to the one given (Eq. 2)."""
    together: int = Field(default=2, ge=1)
    """m: papers in which two entities must stand together for one to bring in the other."""
    rarest: int = Field(default=5, ge=0)
    """n: entities that are kept, those that the fewest papers hold (Eq. 3)."""
    held: int = Field(default=2, ge=1)
    """Papers that must hold an entity for it to be kept: one that a single paper holds leads nowhere. 1 keeps all."""
    cocited: int = Field(default=2, ge=0)
    """Papers that are taken for each paper found: those most often cited together with it (Eq. 4)."""
    bm25: int = Field(default=55, ge=1, le=10_000)
    """Papers that BM25 finds, over titles and abstracts; not of the paper."""
    fusion: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion: a channel gives its paper of rank r 1 / (fusion + r)."""
    papers: int | None = Field(default=None, ge=1)
    """Papers that are returned, the best first; all that were found, if not given."""
    weights: tuple[float, float] = (0.5, 0.5)
    """Of a paper's summary and of its main ideas when papers are compared (Eq. 5)."""
    threshold: float = Field(default=0.8, ge=-1, le=1)
    """Cosine similarity that any two papers of a cluster have at least."""

    @field_validator("how")
    @classmethod
    def _each_once(cls, value: tuple[How, ...]) -> tuple[How, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("name at least one way, each once")
        return value

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: tuple[float, float]) -> tuple[float, float]:
        if min(value) < 0 or not any(value):
            raise ValueError("two weights of at least 0, one of them above")
        return value


class LiteratureConfig(Strict):
    """Literature search beyond the research ecosystem."""

    references: Literal["corpus", "services", "inspirations"] = "corpus"
    """Where the references of ideas come from: B_past, the cascade below (VirSci 2025, App. C.3), or the corpus's literature
    database, which finds papers in three ways (SciPIP, §3.2)."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """How the literature database is asked: by systems whose papers come from it, by `references: inspirations`, and by the
    tool retrieve_inspirations."""
    cascade: tuple[SourceName, ...] = ("local", "semantic_scholar", "openalex")
    """Sources in the order in which they are asked; the next one where the ones before found too little."""
    before: str = "bound"
    """Nothing newer is found: `bound` is the corpus's own year (no bound where there is no corpus), else a date, a
    year, or `any`."""
    max_age: float = Field(default=30.0, ge=0, le=36_525)
    """Days after which an answer kept on disk is fetched anew."""
    patience: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds that one source may take for one look-up, waits and retries counted; then it is skipped and said so."""
    retries: int = Field(default=4, ge=0)
    """How often a failed request is sent again."""
    endpoints: dict[SourceName, Address] = Field(default_factory=dict)
    """Other addresses of the services, such as a mirror's. `${NAME}` in one is an environment variable."""
    semantic_scholar_key_env: VariableName = Field(default="SEMANTIC_SCHOLAR_API_KEY", min_length=1)
    """Environment variable with the key of Semantic Scholar; without one, the shared pool is used, more slowly."""

    @field_validator("before", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        """YAML reads an unquoted year as a number, and an unquoted date as a date."""
        return value if isinstance(value, bool) or not isinstance(value, int | date) else str(value)

    @field_validator("endpoints")
    @classmethod
    def _of_services(cls, value: dict[SourceName, str]) -> dict[SourceName, str]:
        if "local" in value:
            raise ValueError("local: the corpus has no address; name it under `corpus`")
        return value

    @field_validator("cascade")
    @classmethod
    def _each_once(cls, value: tuple[SourceName, ...]) -> tuple[SourceName, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("name at least one source, each once")
        return value


class BudgetConfig(Strict):
    """Limits of a run; a limit left out does not bind."""

    tokens: int | None = Field(default=None, gt=0)
    """Input and output tokens of all models together."""
    money: float | None = Field(default=None, gt=0)
    """In the currency of the models' prices; needs a price for every model."""
    seconds: float | None = Field(default=None, gt=0)
    """Wall time of this process' share of the run."""
    calls: int | None = Field(default=None, gt=0)
    """Requests to models."""


class ConfirmConfig(Strict):
    """What is asked for on a terminal before it begins; `--yes` begins without a question."""

    money: float | None = Field(default=1.0, gt=0)
    """A run that is estimated to cost more is asked for, in the currency of the models' prices; null never asks."""


class RunConfig(Strict):
    """The keys that every run has. A system's own model adds its section, under its name, and its inputs."""

    model_config = ConfigDict(serialize_by_alias=True)

    definition: ClassVar[Any] = None
    """The system whose model this is; see `engine.system.system_of`."""
    system: str = ""
    """What is run."""
    name: str | None = None
    """Names the run folder; the config's file name when left out."""
    host: Literal["autogen", "agentscope"] = "autogen"
    """The agent framework."""
    seed: int = 0
    """Seed of the run's one random generator."""
    corpus: str = "sample"
    """A shipped corpus by name, one of the folder `corpora`, or the folder that `manyheads corpus build` made."""
    embedding: str = "auto"
    """`auto`, the quicker `minilm-int8` or `static`, `lexical`, a fastembed model's name, or a model folder."""
    normalise: Literal["year", "database", "none"] = "year"
    """How `manyheads measure` scales what the run wrote: by the mean of the neighbour's year (VirSci 2025), of all papers
    (2024), or not at all."""
    paths: tuple[str, ...] = ()
    """Folders with your own `roles/` and `prompts/`, before ours; `--path` adds to them."""
    models: dict[str, ModelConfig] = Field(default_factory=lambda: {"default": ModelConfig()})
    """Models by alias; `default` must be there."""
    roles: dict[str, RoleConfig] = Field(default_factory=dict)
    """Per-role changes."""
    attempts: int = Field(default=3, ge=1)
    """How often a speaker is asked for a valid reply."""
    literature: LiteratureConfig = LiteratureConfig()
    budget: BudgetConfig = BudgetConfig()
    confirm: ConfirmConfig = ConfirmConfig()
    settings: Any = None
    """The system's own section."""
    inputs: Any = None
    """What the system is given."""

    @field_validator("corpus")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str) -> str:
        """A folder that is there is named in full, so that a run goes on from any directory."""
        folder = expanded(value) if "/" in value else CORPORA / value
        with suppress(OSError):  # no name that a file could have
            if value and folder.is_dir() and not data_file(f"configs/corpora/{value}.jsonl").is_file():
                return str(folder.resolve())
        return value

    @model_validator(mode="after")
    def _aliases_exist(self) -> "RunConfig":
        if "default" not in self.models:
            raise ValueError("models.default is missing")
        for role, changes in self.roles.items():
            if changes.model not in self.models:
                raise ValueError(
                    f"roles.{role}.model: no model {changes.model!r} among {', '.join(self.models)}"
                )
        return self

    def course(self) -> dict[str, Any]:
        """The keys that steer who is asked what; what only prompts or prices depend on is left out."""
        keys = {"references", "cascade", "before"}
        if self.literature.references == "inspirations" or self.settings.retrieves:
            keys.add("retrieval")
        searched = self.literature.model_dump(mode="json", include=keys)
        return {
            **self.model_dump(mode="json", include={"system", "seed", "corpus", "embedding"}),
            "literature": searched,
            self.system: self.settings.course(),
            "inputs": self.inputs.course(),
        }


FRAMEWORKS = {"agentscope": "agentscope", "autogen": "autogen_agentchat"}
"""The import package that each host needs."""


@cache
def _class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    """What stands in each class of a module, by its name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def documented(model: type[BaseModel]) -> dict[str, str]:
    """The texts below a model's fields, those that it inherits too."""
    texts: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not issubclass(each, BaseModel) or each.__module__ in ("pydantic.main", "manyheads.engine.system"):
            continue
        kind = each.__pydantic_generic_metadata__["origin"] or each
        for above, below in pairwise(_class_bodies(kind.__module__).get(kind.__name__, ())):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts[name] = inspect.cleandoc(text)
                case _:
                    pass
    return texts
