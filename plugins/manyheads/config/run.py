"""What every run has in its config. Each field's text below is its documentation."""

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from manyheads.config.sections import BudgetConfig, LiteratureConfig, ModelConfig, RoleConfig, Strict


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
    literature: LiteratureConfig = LiteratureConfig()
    budget: BudgetConfig = BudgetConfig()
    settings: Any = None
    """The system's own section."""
    inputs: Any = None
    """What the system is given."""

    @field_validator("corpus")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str) -> str:
        """A folder that is there is named in full, so that a run goes on from any directory."""
        folder = Path(value).expanduser()
        return str(folder.resolve()) if "/" in value and folder.is_dir() else value

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
        searched = self.literature.model_dump(mode="json", include={"references", "cascade", "before"})
        return {
            **self.model_dump(mode="json", include={"system", "seed", "corpus", "embedding"}),
            "literature": searched,
            self.system: self.settings.course(),
            "inputs": self.inputs.course(),
        }


# The agent frameworks that a run is hosted on.


FRAMEWORKS = {"agentscope": "agentscope", "autogen": "autogen_agentchat"}
"""The import package that each host needs."""
