"""A run's config: the keys of every run. The text below each field is its documentation.

The same YAML runs on every host. Each system defines its own section; `config.files` reads the files,
`systems.loading.load` combines them; secrets come only from the environment.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, cast, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from manyheads.base.errors import ConfigError, did_you_mean, scrubbed
from manyheads.base.files import expanded
from manyheads.base.papers import OWN_SOURCES, SOURCES, SourceName, source_names
from manyheads.base.resources import data_file, read_model, read_yaml
from manyheads.config.environment import BUILT_IN, default_host, host_entry, with_environment
from manyheads.core.usage import Amount, Price

T = TypeVar("T")
CORPORA = Path("corpora")
"""Default folder for corpora."""
KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{20,}")
"""Matches a value that could be a variable's name, but looks like a key."""

# Shared by all sections of a config.


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    plain: ClassVar[str | None] = None
    """The key that a plain number sets, for a section that may be written as one."""
    in_full: ClassVar[frozenset[str]] = frozenset()
    """Keys that are not lifted to the top level of a config: another system may use the same name there."""

    @classmethod
    def key_names(cls) -> set[str]:
        """The names of its keys in a config."""
        return {field.alias or name for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _plain_number(cls, value: object) -> object:
        return {cls.plain: value} if cls.plain and isinstance(value, int | str) else value

    @classmethod
    def slots(cls) -> "dict[str, Slot]":
        """How each field is provided."""
        return {
            name: next((each for each in field.metadata if isinstance(each, Slot)), Slot())
            for name, field in cls.model_fields.items()
        }


class Section(Strict):
    """A system's own section of a config; its key is the system's name.

    Example:
        class CountConfig(Section):
            limit: int = 100
            "How many words may be counted."
    """

    retrieves: ClassVar[bool] = False
    """Whether its papers come from the corpus's literature database, by `literature.retrieval`."""

    def course(self) -> dict[str, Any]:
        """The keys that determine the turns: a resumed run must not have changed them."""
        return self.model_dump(mode="json")

    @property
    def corpora(self) -> tuple[str, ...]:
        """Those that the run opens besides the config's."""
        return ()


Fill = Literal["all", "last", "each", "first", "rest"]
"""Messages of a team's task for an input: all as one text, the last, or each, the first, or all after it."""

_SHARES = {
    "each": slice(None), "first": slice(1), "rest": slice(1, None), "all": slice(-1, None), "last": slice(-1, None), None: slice(0),
}  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """How an input is provided.

    Example:
        >>> Slot("last", metavar="TEXT|FILE", required=True).of(["one", "two"])
        ['two']

    Attributes:
        filled_by: messages of a team's task; None if messages cannot provide it.
        file: whether it is a file's name: a message's text is saved as a file in the run folder.
        metavar: placeholder of its value in the command line's help.
        required: whether its system needs it.
        hint: how to provide it, if `--NAME METAVAR` is not enough.
    """

    filled_by: Fill | None = None
    file: bool = False
    metavar: str = "TEXT"
    required: bool = False
    hint: str = ""

    def of(self, messages: Sequence[str]) -> Sequence[str]:
        """The messages for this input."""
        return messages[_SHARES[self.filled_by]]

    @property
    def many(self) -> bool:
        """Whether several messages fill it."""
        return self.filled_by in ("each", "rest")


class Inputs(Strict):
    """A system's inputs; the text below a field is its help, its `Slot` says how it is provided.

    Example:
        class CountInputs(Inputs):
            text: Annotated[FileOrText, Slot("last", required=True)] = None
            "The text whose words are counted."
    """

    def course(self) -> dict[str, Any]:
        """As in `Section`; a file counts by its name, as a run folder may move with it."""
        slots = self.slots()
        told = self.model_dump(mode="json")
        return {
            name: Path(value).name if slots[name].file and isinstance(value, str) else value
            for name, value in told.items()
        }


def _address(text: str) -> str:
    """A server's full address, with its scheme; it appears in config.yaml, reports and messages."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("must begin with http:// or https://")
    if scrubbed(text) != text:
        raise ValueError(
            "contains a login or key, which would be stored in the run folder. Put it into an environment variable and "
            "write its name, such as https://${MANYHEADS_LOGIN}@host/v1 (for a resumed run with --set)"
        )
    return text


def _variable_name(value: str) -> str:
    if value and (re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is None or KEY.fullmatch(value)):
        raise ValueError(
            "not the name of an environment variable; if this is the key itself, export it and write the "
            "variable's name here, such as MANYHEADS_KEY"
        )
    return value


def _each_once(value: tuple[T, ...]) -> tuple[T, ...]:
    if not value or len(set(value)) < len(value):
        raise ValueError("needs at least one, each once")
    return value


Address = Annotated[str, AfterValidator(_address)]
VariableName = Annotated[str, AfterValidator(_variable_name)]


# The section `models`.


USUAL_WINDOW = 128_000
Provider = Literal["openai", "ollama", "anthropic", "command", "offline", "replay", "human"]
COMMAND = "command"
"""The provider of a program on this machine."""
HUMAN, PERSON = "human", "person"
"""The provider of a role that a person plays; the alias of who steers a run."""


class ModelConfig(Strict):
    """A language model. Keys come only from the environment."""

    provider: Provider = "offline"
    """`openai` is any OpenAI-compatible server; `offline` and `replay` need no server. `command` is a program
    on this machine, which reads the prompt and writes the answer. For `human` a person answers."""
    name: str = "offline"
    """The model's name at its provider; for `replay`, a run folder with a recorded journal; for `command`,
    the command line."""
    base_url: Address | None = None
    """The server's address; the provider's own if omitted. `${MANYHEADS_…}` is replaced by an environment variable."""
    api_key_env: VariableName | None = None
    """Name of the environment variable with the key, such as `MANYHEADS_KEY`; the provider's usual one if omitted."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only when set."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Maximum tokens of a reply, sent only when set."""
    seed: int | None = None
    """Sent only when set, to providers that support it; the offline model uses the run's if omitted."""
    timeout: float = Field(default=120.0, gt=0)
    """Timeout of one request, in seconds."""
    turn_timeout: float | None = Field(default=None, gt=0)
    """Timeout of one turn, in seconds, with all its requests, retries and tool calls; waits before a request do not
    count. Thirty times `timeout` if omitted."""
    retries: int = Field(default=4, ge=0)
    """Maximum number of retries of a failed request, with exponential back-off; Retry-After is honoured."""
    max_wait: float = Field(default=60.0, gt=0)
    """Longest pause between two tries, in seconds; if a server asks for more, the request fails."""
    concurrency: int = Field(default=8, gt=0)
    """Maximum concurrent requests."""
    batch: bool = Field(default=False, exclude_if=lambda value: not value)
    """Ask in batches of all requests that wait, at half price; answers may take a day. For `openai` and `anthropic`."""
    context: int | None = Field(default=None, gt=0)
    """The model's context window in tokens; if omitted, the value that `manyheads check` found, else 128,000.
    A longer prompt loses the oldest replies, then papers, never the task."""
    tools: bool | None = None
    """Whether the model supports tool calls; if omitted, the result of `manyheads check`, else yes for `openai` and
    `anthropic`. Without tools, also if the server refuses them, a field of the reply invites guests."""
    vision: bool | None = None
    """Whether the model accepts images; if omitted, the result of `manyheads check`, else yes."""
    response_format: bool | Literal["schema", "object", "none"] = True
    """How to send the reply's schema with the prompt: `schema` (`json_schema`), `object` (`json_object` with the schema),
    or `none`. A server that refuses it is an error. `true` uses the first of these that the server accepts, `false`
    is `none`. OpenAI's own server gets `object` without the schema, since its cache reads a schema before the prompt."""
    prompt_cache: bool | None = None
    """Whether requests steer the server's prompt cache (`prompt_cache_key`, Anthropic's `cache_control`); if omitted, only
    on servers that document these fields, such as the providers' own."""
    price: Price | None = None
    """Price per million tokens, in any currency; if omitted, from `configs/models/prices.yaml`."""

    @model_validator(mode="before")
    @classmethod
    def _person(cls, value: object) -> object:
        """A person without a name is not called `offline`."""
        if isinstance(value, Mapping) and cast(Mapping[str, Any], value).get("provider") == HUMAN:
            return {"name": PERSON, **cast(Mapping[str, Any], value)}
        return value

    @property
    def address(self) -> str | None:
        """`base_url` with environment variables expanded."""
        return None if self.base_url is None else with_environment(self.base_url)

    @classmethod
    def parse(cls, text: str) -> "ModelConfig":
        """The model for `provider/name`; `offline` needs no name. Raises `ConfigError` for anything else."""
        provider, _, name = text.partition("/")
        name = name or {"offline": "offline", HUMAN: PERSON}.get(provider, "")
        known = provider in get_args(Provider)
        if known and name:
            return cls(provider=cast(Provider, provider), name=name)
        near = () if known else get_args(Provider)
        raise ConfigError(
            f"model {text!r}: {'the name is missing' if known else f'no such provider {provider!r}'}",
            tried=f"providers: {', '.join(get_args(Provider))}",
            hint=did_you_mean(provider, near, "write it as provider/name, such as openai/gpt-4o-mini"),
        )

    @model_validator(mode="after")
    def _has_batches(self) -> "ModelConfig":
        if self.batch and self.provider not in ("openai", "anthropic"):
            raise ValueError(f"batch: {self.provider} has no batches; name a model of openai or anthropic")
        return self

    @property
    def rate(self) -> Price | None:
        """The price per million tokens that is paid, in batches half of the listed one."""
        if (price := self.price) is None or not self.batch:
            return self.price
        listed = {name: getattr(price, name) for name in Amount.model_fields}
        return price.model_copy(update={name: each and each / 2 for name, each in listed.items()})

    @property
    def on_server(self) -> bool:
        """Whether a server answers, of a provider or of one's own."""
        return self.provider in ("openai", "ollama", "anthropic")

    @property
    def calls_tools(self) -> bool:
        return self.provider in ("openai", "anthropic") if self.tools is None else self.tools

    @property
    def sees(self) -> bool:
        return self.vision is not False and self.provider not in (COMMAND, HUMAN)

    @property
    def window(self) -> int:
        """Maximum tokens of a prompt and its answer together."""
        return self.context or USUAL_WINDOW

    def identity(self) -> dict[str, Any]:
        """The settings that change the model's answers: part of each recorded request."""
        return self.model_dump(include={"provider", "name", "temperature", "max_tokens", "seed"})


class RoleConfig(Strict):
    """Changes to a role."""

    model: str = "default"
    """Alias in `models`."""


# The section `literature`: sources and limits of look-ups.


How: TypeAlias = Literal["semantic", "entity", "cocitation", "bm25"]
"""A strategy for finding papers in a literature database."""


class RetrievalConfig(Strict):
    """Retrieval from a literature database. The values of k, m, n and so on cannot be read in the paper's text. The defaults
    are ours, except those that name the authors' code (its `configs/datasets.yaml`)."""

    how: Annotated[tuple[How, ...], AfterValidator(_each_once)] = ("semantic", "entity", "cocitation")
    """Retrieval strategies: `semantic`, `entity`, `cocitation` (SciPIP, §3.2.1), `bm25`. Entities of semantic hits and
    co-cited papers need `semantic` or `bm25`, or entities of the background itself."""
    semantic: int = Field(default=55, ge=1, le=10_000)
    """k: papers with the most similar backgrounds (Eq. 2)."""
    together: int = Field(default=2, ge=1)
    """m: minimum number of papers with both entities for one to add the other."""
    entity_hits: int = Field(default=5, ge=0)
    """The most similar papers whose entities are added to the background's: as many as in the authors' configuration."""
    entity_papers: int = Field(default=100, ge=1)
    """Entities are kept, the rarest first, until one of them appears in this many papers: the rule of the authors' code."""
    rarest: int | None = Field(default=None, ge=0)
    """n: maximum entities kept, the rarest first (Eq. 3); no other limit than `entity_papers` if omitted."""
    held: int = Field(default=1, ge=1)
    """Minimum number of papers with an entity for it to be kept; an entity of the background itself needs only one."""
    cocited: int = Field(default=2, ge=0)
    """Papers added for each paper found: those most often cited together with it (Eq. 4)."""
    bm25: int = Field(default=55, ge=1, le=10_000)
    """Papers found by BM25 in titles and abstracts; not in the paper."""
    fusion: int = Field(default=60, ge=1)
    """Constant of reciprocal rank fusion: a channel adds 1 / (fusion + r) to its paper of rank r."""
    papers: int | None = Field(default=None, ge=1)
    """Maximum papers returned, best first; all if omitted."""
    weights: tuple[float, float] = (0.5, 0.5)
    """Weights of summary and main ideas when papers are compared (Eq. 5)."""
    threshold: float = Field(default=0.8, ge=-1, le=1)
    """Minimum cosine similarity of any two papers in a cluster."""

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: tuple[float, float]) -> tuple[float, float]:
        if min(value) < 0 or not any(value):
            raise ValueError("needs two weights of at least 0, one of them positive")
        return value


def _known_source(name: str) -> str:
    if name not in OWN_SOURCES and name not in (names := source_names()):
        raise ValueError(
            f"{name!r} is no literature source, not of an installed package either (entry points {SOURCES}); "
            f"sources: {', '.join(names)}"
        )
    return name


_Source = Annotated[
    SourceName,
    AfterValidator(_known_source),
    WithJsonSchema({"anyOf": [{"enum": list(OWN_SOURCES)}, {"type": "string"}]}),
]


class LiteratureConfig(Strict):
    """Literature search outside the research ecosystem.

    Example:
        >>> LiteratureConfig(cascade=("openalex",), before="any").cascade
        ('openalex',)
    """

    references: Literal["corpus", "services", "inspirations"] = "corpus"
    """Source of the references for ideas: B_past, the sources below (VirSci 2025, App. C.3), or the corpus's literature
    database with three strategies (SciPIP, §3.2)."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """Settings of the literature database, for systems whose papers come from it, for `references: inspirations`, and for
    the tool retrieve_inspirations."""
    cascade: Annotated[tuple[_Source, ...], AfterValidator(_each_once)] = (
        "local",
        "semantic_scholar",
        "openalex",
    )
    """Sources in order of priority: `local` (the corpus), `semantic_scholar`, `openalex`, `arxiv`, `crossref`, `pubmed`, or one of
    another package (entry points `manyheads.sources`). The next is asked if the earlier ones found too little."""
    before: str = "bound"
    """Only papers before this: `bound` is the corpus's own year (no bound without a corpus), else a date, a year, or
    `any`."""
    max_age: float = Field(default=30.0, ge=0, le=36_525)
    """Days before a cached answer is fetched again."""
    patience: float = Field(default=60.0, gt=0, le=86_400)
    """Maximum seconds of one source per look-up, with waits and retries; then it is skipped with a warning."""
    retries: int = Field(default=4, ge=0)
    """Maximum number of retries of a failed request."""
    endpoints: dict[_Source, Address] = Field(default_factory=dict)
    """Other addresses of the services, such as mirrors. `${MANYHEADS_…}` is replaced by an environment variable."""
    semantic_scholar_key_env: VariableName = Field(default="SEMANTIC_SCHOLAR_API_KEY", min_length=1)
    """Environment variable with the key of Semantic Scholar; without a key, the slower shared pool is used."""

    @field_validator("before", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        """YAML reads an unquoted year as a number, and an unquoted date as a date."""
        return value if isinstance(value, bool) or not isinstance(value, int | date) else str(value)

    @field_validator("endpoints")
    @classmethod
    def _of_services(cls, value: dict[SourceName, str]) -> dict[SourceName, str]:
        if "local" in value:
            raise ValueError("local: the corpus has no address; set `corpus`")
        return value


class BudgetConfig(Strict):
    """Limits of a run; an omitted limit does not apply."""

    tokens: int | None = Field(default=None, gt=0)
    """Maximum input and output tokens of all models together."""
    money: float | None = Field(default=None, gt=0)
    """Maximum cost in the currency of the models' prices; needs a price for every model."""
    seconds: float | None = Field(default=None, gt=0)
    """Maximum wall time of this process's share of the run."""
    calls: int | None = Field(default=None, gt=0)
    """Maximum requests to models."""


class ConfirmConfig(Strict):
    """When a terminal asks for confirmation; `--yes` skips the question."""

    money: float | None = Field(default=1.0, gt=0)
    """Ask before a run with a higher estimated cost, in the currency of the models' prices; null never asks."""


def label_words(file: Path) -> dict[str, str]:
    """The words of a file, by the English label, without empty ones; raises `ConfigError`."""
    words = read_model(file, RootModel[dict[str, str | None]], 'write each label so: "Ideas": "Ideen"').root
    return {label: word for label, word in words.items() if word}


class RunConfig(Strict):
    """The keys of every run. A system adds its section, under its name, and its inputs.

    Example:
        >>> load_config(["virsci"], ["seed=7", "team.size=3"]).seed
        7
    """

    model_config = ConfigDict(serialize_by_alias=True)

    definition: ClassVar[Any] = None
    """The system of this model; see `engine.system.system_of`."""
    system: str = ""
    """The system to run."""
    name: str | None = Field(default=None, max_length=200)
    """Name of the run folder; the config's file name if omitted."""
    host: str = Field(default_factory=default_host, json_schema_extra={"examples": [*BUILT_IN]})
    """The agent framework; if omitted, the first one installed of autogen, agentscope, agent_framework."""
    seed: int = 0
    """Seed of the run's random generator."""
    corpus: str = "sample"
    """A shipped corpus, a corpus in the folder `corpora`, or a folder made by `manyheads corpus build`."""
    embedding: str = "auto"
    """`auto`, the faster `minilm-int8`, `lexical`, a fastembed model's name, or a model folder."""
    normalise: Literal["year", "database", "none"] = "year"
    """How `manyheads measure` scales distances: by the mean of the neighbour's year (VirSci 2025), of all papers (2024), or
    not at all."""
    paths: tuple[str, ...] = ()
    """Folders with your own `roles/` and `prompts/`, searched before the shipped ones; `--path` adds to them."""
    models: dict[str, ModelConfig] = Field(default_factory=lambda: {"default": ModelConfig()})
    """Models by alias; needs `default`."""
    roles: dict[str, RoleConfig] = Field(default_factory=dict)
    """Per-role changes."""
    language: str = Field(default="", max_length=40, exclude_if=lambda value: not value)
    """The language in which agents answer: a code such as `de`, or a name such as `German`; as the prompts if omitted."""
    labels: dict[str, str] = Field(
        default={}, exclude_if=lambda value: not value, json_schema_extra={"type": ["string", "object"]}
    )
    """Words for the labels of the report, by the English label: a YAML file of `manyheads report --labels`, or a map."""
    attempts: int = Field(default=3, ge=1)
    """Maximum attempts to get a valid reply."""
    steer: tuple[str, ...] = ()
    """Stages after which a person steers, or `all`; `manyheads check` names those of a system."""
    send_backs: int = Field(default=5, ge=0)
    """How often a person may send one stage back."""
    literature: LiteratureConfig = LiteratureConfig()
    budget: BudgetConfig = BudgetConfig()
    engine: Literal["local", "ray"] | None = None
    """Where many runs of one command run: `local`, in its process, or `ray`, on several processes or machines; `--engine` wins."""
    confirm: ConfirmConfig = ConfirmConfig()
    settings: Any = None
    """The system's own section."""
    inputs: Any = None
    """The system's inputs."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For Ray. A class that is made at run time is pickled whole: once a process is enough."""
        return _with_state, (_cloudpickle("dumps", type(self)), self.__getstate__())

    @model_validator(mode="before")
    @classmethod
    def _people(cls, value: object) -> object:
        """Names people after their aliases, and adds the one who steers."""
        if not isinstance(value, Mapping):
            return value
        data = dict(cast(Mapping[str, Any], value))
        if isinstance(steer := data.get("steer"), str):
            data["steer"] = [stage.strip() for stage in steer.split(",") if stage.strip()]
        if isinstance(models := data.get("models", {}), Mapping):
            models = dict(cast(Mapping[str, Any], models))
            if data.get("steer"):
                models.setdefault(PERSON, {"provider": HUMAN})
            people = [alias for alias, model in models.items() if _is_human(model)]
            for alias in people:
                if isinstance(models[alias], Mapping):
                    models[alias] = {"name": alias, **models[alias]}
            if len(people) == len(models) > 0:
                models["default"] = models.get("default", {})
            data |= {"models": models} if models else {}
        return data

    @field_validator("host")
    @classmethod
    def _host_exists(cls, value: str) -> str:
        try:
            return host_entry(value).name
        except ConfigError as error:
            raise ValueError("; ".join(filter(None, (error.message, error.tried, error.hint)))) from error

    @field_validator("language", mode="before")
    @classmethod
    def _language_code(cls, value: object) -> object:
        """The code of a listed language; YAML reads `no` (Norwegian) as false."""
        if value in ("", True) or not isinstance(value, str | bool):
            return value
        listed = read_yaml(data_file("prompts/languages.yaml"))
        given = "no" if value is False else str(value).strip()
        known = {key.casefold(): code for code, name in listed.items() for key in (code, name)}
        if given.casefold() not in known and not re.fullmatch(r"[^\W\d_][\w ()'-]{3,}", given):
            raise ValueError(f"{given!r} is no language; write its name, such as German")
        return known.get(given.casefold(), given)

    @field_validator("labels", mode="before")
    @classmethod
    def _label_file(cls, value: object) -> object:
        """The words of a file, or of the map that a run's own config has in its place."""
        return label_words(expanded(value)) if isinstance(value, str) and value else value or {}

    @field_validator("corpus")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str) -> str:
        """The absolute path of an existing folder, so that a run resumes from any directory."""
        folder = expanded(value) if "/" in value else CORPORA / value
        with suppress(OSError):  # not a possible file name
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

    @model_validator(mode="after")
    def _stages_exist(self) -> "RunConfig":
        if self.definition is not None and self.steer:
            self.need_stages(self.steer)
        return self

    def need_stages(self, names: Sequence[str]) -> None:
        """Raises `ValueError` if a person cannot steer after one of these stages."""
        stages: Mapping[str, str] = self.definition.steers
        if not stages:
            raise ValueError(f"steer: {self.system} has no stage that a person can steer; leave it out")
        if unknown := [stage for stage in names if stage not in {*stages, "all"}]:
            hint = did_you_mean(unknown[0], stages)
            raise ValueError(
                f"steer: no stage {unknown[0]!r}; the stages of {self.system}: {', '.join(stages)}, or all"
                + (f"; {hint}" if hint else "")
            )

    @property
    def in_batches(self) -> bool:
        """Whether a model is asked in batches."""
        return any(model.batch for model in self.models.values())

    def alias_of(self, role: str, usual: str) -> str:
        """The alias of a role's model: the config's own, or else the `usual` one of its card."""
        return self.roles[role].model if role in self.roles else usual

    def steers(self, stage: str) -> bool:
        """Whether a person steers after a stage."""
        return "all" in self.steer or stage in self.steer

    def course(self) -> dict[str, Any]:
        """The keys that determine the turns, without those that affect only prompts or prices."""
        keys = {"references", "cascade", "before"}
        if self.literature.references == "inspirations" or self.settings.retrieves:
            keys.add("retrieval")
        searched = self.literature.model_dump(mode="json", include=keys)
        return {
            **self.model_dump(mode="json", include={"system", "seed", "corpus", "embedding"}),
            **({"steer": list(self.steer)} if self.steer else {}),
            "literature": searched,
            self.system: self.settings.course(),
            "inputs": self.inputs.course(),
        }


def _with_state(kind: bytes, state: dict[Any, Any]) -> RunConfig:
    (config := _cloudpickle("loads", kind).model_construct()).__setstate__(state)
    return config


@cache
def _cloudpickle(way: str, what: Any) -> Any:
    return getattr(import_module("ray.cloudpickle"), way)(what)


def _is_human(model: object) -> bool:
    if isinstance(model, Mapping):
        return cast(Mapping[str, Any], model).get("provider") == HUMAN
    return isinstance(model, ModelConfig) and model.provider == HUMAN


@cache
def _class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    """Docstrings below the fields of each class in a module, by class name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in _statements(tree) if isinstance(node, ast.ClassDef)}


def _statements(block: ast.AST) -> Iterator[ast.AST]:
    """Those of a block and of the blocks in it: much fewer than all nodes of the tree."""
    for part in ("body", "handlers", "orelse", "finalbody"):
        for each in getattr(block, part, ()):
            yield each
            yield from _statements(each)


def documented(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings below a model's fields, including inherited ones."""
    texts: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not issubclass(each, BaseModel) or each.__module__ in ("pydantic.main", "manyheads.team.system"):
            continue
        kind = each.__pydantic_generic_metadata__["origin"] or each
        for above, below in pairwise(_class_bodies(kind.__module__).get(kind.__name__, ())):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts[name] = inspect.cleandoc(text)
                case _:
                    pass
    return texts
