"""A run's config: one pydantic model. Files merge in order, then `--set a.b=c`; the environment holds only secrets.

The same YAML runs on either host. What a system adds to it stands with the system; `systems.load` reads the whole.
"""

from manyheads.config.files import common, config_file, layers, merge, parse_set, read_yaml, validated
from manyheads.config.run import (
    Inputs,
    LiteratureConfig,
    ModelConfig,
    Price,
    Provider,
    RoleConfig,
    RunConfig,
    Section,
    Slot,
    SourceName,
    Strict,
)

__all__ = [
    "Inputs",
    "LiteratureConfig",
    "ModelConfig",
    "Price",
    "Provider",
    "RoleConfig",
    "RunConfig",
    "Section",
    "Slot",
    "SourceName",
    "Strict",
    "common",
    "config_file",
    "layers",
    "merge",
    "parse_set",
    "read_yaml",
    "validated",
]
