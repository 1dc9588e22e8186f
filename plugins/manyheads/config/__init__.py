"""A run's config: one pydantic model. Files merge in order, then `--set a.b=c`; the environment holds only secrets.

The same YAML runs on either host.
"""

from manyheads.config.baseline import BASELINES, BaselineConfig
from manyheads.config.files import config_file, load, merge, parse_set, read_yaml, validate
from manyheads.config.like import settled
from manyheads.config.ranking import RankingConfig
from manyheads.config.rebuttal import RebuttalConfig
from manyheads.config.review import ReviewConfig
from manyheads.config.run import RunConfig
from manyheads.config.sections import LiteratureConfig, ModelConfig, Price, Provider, RoleConfig, SourceName
from manyheads.config.virsci import (
    STAGES,
    TALKS,
    IdeaConfig,
    InvitationConfig,
    NoveltyConfig,
    SelfReviewConfig,
    TeamConfig,
    TopicConfig,
    TurnsConfig,
)

__all__ = [
    "BASELINES",
    "STAGES",
    "TALKS",
    "BaselineConfig",
    "IdeaConfig",
    "InvitationConfig",
    "LiteratureConfig",
    "ModelConfig",
    "NoveltyConfig",
    "Price",
    "Provider",
    "RankingConfig",
    "RebuttalConfig",
    "ReviewConfig",
    "RoleConfig",
    "RunConfig",
    "SelfReviewConfig",
    "SourceName",
    "TeamConfig",
    "TopicConfig",
    "TurnsConfig",
    "config_file",
    "load",
    "merge",
    "parse_set",
    "read_yaml",
    "settled",
    "validate",
]
