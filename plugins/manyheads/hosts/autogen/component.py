"""The component files of our classes: checked with an error for people, of one version, without keys."""

from collections.abc import Mapping
from typing import Any, NoReturn, Self

from autogen_core import ComponentModel
from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    model_validator,
)

from manyheads.base.errors import ConfigError, describe

SECRETS = frozenset({
    "api_key", "x_api_key", "authorization", "azure_ad_token", "auth_token", "access_token", "password",
    "aws_access_key", "aws_secret_key", "aws_session_token",
})  # fmt: skip


class ComponentConfig(BaseModel):
    """Base of the configs of our components.

    Raises:
        ConfigError: a key is unknown or has a wrong value.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _for_people(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ConfigError(
                f"component file: config: {describe(error)}",
                tried=f"keys: {', '.join(cls.model_fields)}",
                hint="write the file again: manyheads export, or dump_component() of the component",
            ) from None


class Version(int):
    """The version of a component's files. AutoGen would read a newer file as if it were of this version."""

    def __gt__(self, other: int) -> bool:
        return self != other


class Versioned:
    """Refuses component files of other versions."""

    component_version = Version(1)

    @classmethod
    def _from_config_past_version(cls, config: Mapping[str, Any], version: int) -> NoReturn:
        raise ConfigError(
            f"{cls.__name__}: the component file is of version {version}; version {cls.component_version:d} is needed",
            hint="write it again with this version of manyheads: manyheads export, or dump_component()",
        )


def without_keys(data: Any) -> Any:
    """A component's config without its secrets at any depth: AutoGen would write them as asterisks or in clear text."""
    if isinstance(data, ComponentModel):
        return data.model_copy(update={"config": without_keys(data.config)})
    if isinstance(data, Mapping):
        return {
            key: without_keys(value)
            for key, value in data.items()
            if not isinstance(value, SecretStr) and str(key).lower().replace("-", "_") not in SECRETS
        }
    return [without_keys(item) for item in data] if isinstance(data, list | tuple) else data
