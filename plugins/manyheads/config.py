"""One pydantic model for a run. Files merge in order, then `--set a.b=c`; the environment holds only secrets.

The same YAML runs on either host. Each field's text below is its documentation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from manyheads.budget import BudgetConfig
from manyheads.errors import ConfigError
from manyheads.resources import Resources, data_file
from manyheads.roles import describe

Provider = Literal["openai", "ollama", "anthropic", "offline", "replay"]
STAGES = ("selection", "topic", "idea", "novelty", "abstract")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(Strict):
    """Price of a million tokens, in a currency of your choice."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelConfig(Strict):
    """A language model. Keys come from the environment, never from here."""

    provider: Provider = "offline"
    """`openai` is any OpenAI-compatible server; `offline` and `replay` need no server."""
    name: str = "offline"
    """The model's name at its provider; for `replay` the run folder whose journal answers."""
    base_url: str | None = None
    """The server's address; the provider's own when left out."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; the provider's usual one when left out."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only when set."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Length limit of a reply, sent only when set."""
    seed: int | None = None
    """Sent only when set, to providers that take one."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one request may take."""
    retries: int = Field(default=4, ge=0)
    """How often a failed request is sent again, with exponential back-off; Retry-After is honoured."""
    max_wait: float = Field(default=60.0, gt=0)
    """Longest pause between two tries, in seconds; a server that asks for more is given up."""
    concurrency: int = Field(default=8, gt=0)
    """Requests under way at once."""
    context: int = Field(default=128_000, gt=0)
    """The model's context window in tokens; a prompt that cannot fit is refused, never cut."""
    tools: bool | None = None
    """Whether the model can call tools; when left out, yes for `openai` and `anthropic`, else no."""
    vision: bool = True
    """Whether the model can see images."""
    response_format: bool = True
    """Whether to send the reply's schema as `response_format`; a server that refuses it is remembered."""
    price: Price | None = None
    """Lets the run count money."""

    @field_validator("base_url")
    @classmethod
    def _whole_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("write it with http:// or https://")
        return value

    @classmethod
    def parse(cls, text: str) -> "ModelConfig":
        """The model that `provider/name` stands for; `offline` needs no name.

        Raises:
            ConfigError: an unknown provider, or no name.
        """
        provider, _, name = text.partition("/")
        name = name or ("offline" if provider == "offline" else "")
        known = provider in get_args(Provider)
        if known and name:
            return cls(provider=cast(Provider, provider), name=name)
        raise ConfigError(
            f"model {text!r}: {'no name' if known else f'unknown provider {provider!r}'}",
            tried=f"providers: {', '.join(get_args(Provider))}",
            hint="write it as provider/name, such as openai/gpt-4o-mini",
        )

    @property
    def calls_tools(self) -> bool:
        return self.provider in ("openai", "anthropic") if self.tools is None else self.tools

    def identity(self) -> dict[str, Any]:
        """The settings that change what the model answers: part of each recorded request."""
        kept = {"provider", "name", "temperature", "max_tokens", "seed"}
        return self.model_dump(include=kept)


class RoleConfig(Strict):
    """What a config may change about a role."""

    model: str = "default"
    """Alias of one of `models`."""


class TeamConfig(Strict):
    """Collaborator selection (VirSci 2025, §3.2)."""

    size: int = Field(default=4, ge=1)
    """Members, the leader counted."""
    leader: str | None = None
    """Masked name of the leader; drawn at random when left out."""
    exploration: Literal["uniform", "normal", "none"] = "uniform"
    """Increment of the adjacency matrix: +1, or abs(x) with x ~ N(1, 1) (App. D.4, Eq. 7), or nothing."""
    max_invitations: int = Field(default=40, ge=1)
    """How many candidates are asked before the team goes on with those who joined."""


class TurnsConfig(Strict):
    """Turns of each stage. A plain number in a config sets all of them."""

    default: int = Field(default=5, ge=1)
    """For the stages not named."""
    topic: int | None = Field(default=None, ge=1)
    """For the topic stage; `default` when left out."""
    idea: int | None = Field(default=None, ge=1)
    """For the idea stage; `default` when left out."""
    novelty: int | None = Field(default=None, ge=1)
    """For the novelty stage; `default` when left out."""
    abstract: int | None = Field(default=None, ge=1)
    """For the abstract stage; `default` when left out."""
    adaptive: bool = False
    """The leader decides after each turn whether the stage goes on; the numbers become caps (App. D.3.2)."""

    def of(self, stage: str) -> int:
        return getattr(self, stage) or self.default


class TopicConfig(Strict):
    """Topic discussion."""

    max_restarts: int = Field(default=1, ge=0)
    """How often the discussion starts over without a majority; then the leader decides, with a warning."""
    may_leave: bool = True
    """Whether members who are not interested in the chosen topic leave."""


class IdeaConfig(Strict):
    """Idea generation."""

    keep: int = Field(default=3, ge=1)
    """How many ideas of highest confidence go on to the novelty assessment."""
    novelty_weight: float = Field(default=1.0, ge=0)
    """Weight of novelty in the confidence; 2 as in the authors' code."""
    references: int = Field(default=5, ge=0)
    """Papers of B_past shown with the topic or the previous idea; 0 for none."""


class NoveltyConfig(Strict):
    """Novelty assessment."""

    enabled: bool = True
    """Off: the last idea is taken (App. D.2.2)."""
    references: int = Field(default=5, ge=0)
    """Papers of B_past shown with each idea; 0 for none."""


class InvitationConfig(Strict):
    """Advice from scientists outside the team (App. D.2.1)."""

    enabled: bool = True
    """Whether members may ask outsiders."""
    per_turn: int = Field(default=1, ge=1)
    """Guests that one speaker may hear in one turn."""
    suggestions: int = Field(default=4, ge=1)
    """Outside scientists whose profiles the retrieval hook shows."""


class RunConfig(Strict):
    """A whole run."""

    system: Literal["virsci"] = "virsci"
    """What is run."""
    name: str | None = None
    """Names the run folder; the config's file name when left out."""
    host: Literal["autogen", "agentscope"] = "autogen"
    """The agent framework."""
    seed: int = 0
    """Seed of the run's one random generator."""
    topic: str | None = None
    """A fixed topic skips the topic discussion."""
    corpus: str = "sample"
    """A shipped corpus by name, or the folder that `manyheads corpus build` made."""
    embedding: str = "auto"
    """`auto`, `lexical`, a fastembed model's name, or a model folder."""
    paths: tuple[str, ...] = ()
    """Folders with your own `roles/` and `prompts/`, before ours; `--path` adds to them."""
    models: dict[str, ModelConfig] = Field(default_factory=lambda: {"default": ModelConfig()})
    """Models by alias; `default` must be there."""
    roles: dict[str, RoleConfig] = Field(default_factory=dict)
    """Per-role changes."""
    attempts: int = Field(default=3, ge=1)
    """How often a speaker is asked for a valid reply."""
    team: TeamConfig = TeamConfig()
    turns: TurnsConfig = TurnsConfig()
    topology: Literal["sequential", "random"] = "sequential"
    """Round table, or a random next speaker who is never the previous one (App. D.3.1)."""
    topics: TopicConfig = TopicConfig()
    ideas: IdeaConfig = IdeaConfig()
    novelty: NoveltyConfig = NoveltyConfig()
    invitation: InvitationConfig = InvitationConfig()
    budget: BudgetConfig = BudgetConfig()

    @field_validator("turns", mode="before")
    @classmethod
    def _one_number(cls, value: object) -> object:
        return {"default": value} if isinstance(value, int | str) else value

    @field_validator("corpus")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str) -> str:
        """A folder that is there is named in full, so that a run goes on from any directory."""
        folder = Path(value).expanduser()
        return str(folder.resolve()) if "/" in value and folder.is_dir() else value

    @field_validator("topic")
    @classmethod
    def _blank_is_none(cls, value: str | None) -> str | None:
        return (value or "").strip() or None

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
    def _money_needs_prices(self) -> "RunConfig":
        unpriced = [alias for alias, model in self.models.items() if model.price is None]
        if self.budget.money is not None and unpriced:
            raise ValueError(
                f"budget.money needs models.{unpriced[0]}.price (input and output per million tokens)"
            )
        return self

    def course(self) -> dict[str, Any]:
        """The keys that steer who is asked what; what only prompts or prices depend on is left out."""
        kept = {
            "system", "seed", "topic", "corpus", "embedding", "team", "turns", "topology", "topics", "ideas",
            "novelty", "invitation",
        }  # fmt: skip
        return self.model_dump(mode="json", include=kept)


def load(names: Sequence[str], sets: Iterable[str] = (), *, resources: Resources | None = None) -> RunConfig:
    """The run config of some files or shipped names, merged in order, then `a.b=c` settings.

    Raises:
        ConfigError: a file is missing or not YAML, a key is unknown, a value does not fit.
    """
    resources = resources or Resources.of()
    merged: dict[str, Any] = {}
    for name in names:
        path = config_file(name, resources)
        merged = merge(merged, {"name": path.stem, **_relative_to(path.parent, read_yaml(path))})
    for setting in sets:
        merged = merge(merged, _relative_to(Path(), parse_set(setting)))
    return validate(merged, " + ".join([*names, *sets]))


def validate(data: Mapping[str, Any], where: str) -> RunConfig:
    """Raises `ConfigError` that names each bad key."""
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        hint = f"all keys, with what they mean, are in {data_file('configs/run.schema.json')}"
        tried = "; ".join(_alternatives(error)) or None
        raise ConfigError(f"{where}: {describe(error)}", tried=tried, hint=hint) from error


def _alternatives(error: ValidationError) -> Iterator[str]:
    """What there is where a key was not known."""
    for item in error.errors(include_url=False, include_context=False):
        if item["type"] == "extra_forbidden":
            *above, _ = map(str, item["loc"])
            yield f"the keys of {'.'.join(above) or 'a config'} are {', '.join(_keys(above))}"


def _keys(path: Sequence[str]) -> list[str]:
    """The keys below a path of keys, `models.default` for one."""
    schema = RunConfig.model_json_schema()
    node: dict[str, Any] = schema
    for key in path:
        node = node["properties"][key] if "properties" in node else node["additionalProperties"]
        options: list[dict[str, Any]] = node.get("anyOf", [node])
        name = next((str(option["$ref"]).rsplit("/", 1)[-1] for option in options if "$ref" in option), None)
        node = schema["$defs"][name] if name else node
    return list(node["properties"])


def config_file(name: str, resources: Resources) -> Path:
    """The file of a config: a path, or the name of one in a `configs/` folder."""
    if Path(name).is_file():
        return Path(name)
    if name.endswith((".yaml", ".yml")) or "/" in name:
        raise ConfigError(f"{name}: no such file", tried=str(Path(name).absolute()), hint=_shipped(resources))
    if found := resources.find("configs", f"{name}.yaml"):
        return found
    tried = ", ".join(
        [str(Path(name).absolute()), *(str(root / "configs") for root in resources.search_path)]
    )
    raise ConfigError(f"{name}: no such config", tried=tried, hint=_shipped(resources))


def _shipped(resources: Resources) -> str:
    names = (name.removesuffix(".yaml") for name in resources.names("configs", ".yaml"))
    return f"name a file, or one of {', '.join(sorted(names))}"


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if not isinstance(data, dict | None):
        raise ConfigError(f"{path}: a config is a mapping of keys to values")
    return cast(dict[str, Any], data or {})


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, mapping by mapping; a mapping laid on a number keeps the number as its `default`."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, int):
            below = {"default": below}
        merged[key] = (
            merge(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
        )
    return merged


def parse_set(setting: str) -> dict[str, Any]:
    """`team.size=8` as a mapping; the value is read as YAML."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {setting}: write it as key=value, such as team.size=8")
    try:
        nested: Any = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {setting}: the value is not valid YAML") from error
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    return nested


def _relative_to(base: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Folders named in a config file are relative to that file, those of a setting to the present folder.

    Absolute from here on: the run folder keeps them in a config file of its own.
    """
    folders = data.get("paths")
    if not isinstance(folders, list):
        return data
    named = [Path(str(folder)).expanduser() for folder in cast(list[object], folders)]
    return {**data, "paths": [str((base / folder).absolute()) for folder in named]}
