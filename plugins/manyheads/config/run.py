"""One pydantic model for a run. Each field's text below is its documentation."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from manyheads.config.baseline import BaselineConfig
from manyheads.config.ranking import RankingConfig
from manyheads.config.rebuttal import RebuttalConfig
from manyheads.config.review import ReviewConfig
from manyheads.config.sections import BudgetConfig, LiteratureConfig, ModelConfig, RoleConfig, Strict
from manyheads.config.virsci import (
    IdeaConfig,
    InvitationConfig,
    NoveltyConfig,
    SelfReviewConfig,
    TeamConfig,
    TopicConfig,
    TurnsConfig,
)
from manyheads.texts import file_or_text


class RunConfig(Strict):
    """A whole run."""

    system: Literal[
        "virsci", "self-reflection", "discussion", "single", "conference-review", "rebuttal", "ranking"
    ] = "virsci"
    """What is run."""
    name: str | None = None
    """Names the run folder; the config's file name when left out."""
    host: Literal["autogen", "agentscope"] = "autogen"
    """The agent framework."""
    seed: int = 0
    """Seed of the run's one random generator."""
    topic: str | None = None
    """A fixed topic skips the topic discussion."""
    subject: str | None = None
    """What a review is of: a text file, or the folder of a run that wrote an abstract."""
    background: str | tuple[str, ...] | None = None
    """What an idea starts from: a file of papers (.bib, .jsonl, .csv, …), or a text; a list is of texts alone."""
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
    self_review: SelfReviewConfig = SelfReviewConfig()
    literature: LiteratureConfig = LiteratureConfig()
    baseline: BaselineConfig = BaselineConfig()
    review: ReviewConfig = ReviewConfig()
    rebuttal: RebuttalConfig = RebuttalConfig()
    ranking: RankingConfig = RankingConfig()
    budget: BudgetConfig = BudgetConfig()

    @field_validator("corpus")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str) -> str:
        """A folder that is there is named in full, so that a run goes on from any directory."""
        folder = Path(value).expanduser()
        return str(folder.resolve()) if "/" in value and folder.is_dir() else value

    @field_validator("subject")
    @classmethod
    def _named_in_full(cls, value: str | None) -> str | None:
        return None if value is None else str(Path(value).expanduser().resolve())

    @field_validator("background")
    @classmethod
    def _file_or_text(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        return file_or_text(value) if isinstance(value, str) else value

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
        """The keys that steer who is asked what; what only prompts or prices depend on is left out.

        A subject, and the idea that a run begins with, go by the names of their files, as a run's folder may be moved
        with them: their texts are in every prompt. So are the texts that are ranked. How this is done steers their
        judge alone, never the runs that these come from.
        """
        kept = {
            "system", "seed", "topic", "corpus", "embedding", "team", "turns", "topology", "topics", "ideas",
            "novelty", "invitation", "self_review", "baseline", "review",
        }  # fmt: skip
        ranking = self.ranking.model_dump(mode="json", exclude={"target", "ideas"})
        searched = self.literature.model_dump(mode="json", include={"references", "cascade", "before"})
        subject = self.subject and Path(self.subject).name
        idea = self.rebuttal.idea and Path(self.rebuttal.idea).name
        return {
            **self.model_dump(mode="json", include=kept),
            "rebuttal": {**self.rebuttal.model_dump(mode="json"), "idea": idea},
            **({"ranking": ranking} if self.system == "ranking" else {}),
            "subject": subject,
            "literature": searched,
        }


# The agent frameworks that a run is hosted on.


FRAMEWORKS = {"agentscope": "agentscope", "autogen": "autogen_agentchat"}
"""The import package that each host needs."""
