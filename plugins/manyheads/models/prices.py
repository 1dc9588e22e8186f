"""What models cost: the price that a config sets, else the one of a price list."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from manyheads.config import ModelConfig, RunConfig, Strict
from manyheads.core import Price
from manyheads.disk import read_text
from manyheads.errors import ConfigError, describe
from manyheads.models.requests import is_own
from manyheads.resources import Resources, parse_yaml, shipped

PRICES = "configs/models/prices.yaml"
FREE = ("offline", "replay")
"""Providers that send no request."""
DATED = re.compile(r"-(\d{4}-?\d{2}-?\d{2}|latest)$", re.ASCII)
EXAMPLE = "{input: 0.15, output: 0.6}"


class Amount(Strict):
    """Price of a million tokens."""

    input: float = Field(ge=0)
    """Of what the model reads."""
    output: float = Field(ge=0)
    """Of what it writes."""


class PriceList(Strict):
    """Prices of models, as `configs/models/prices.yaml` of a folder has them."""

    as_of: date
    """The day on which these prices were looked up."""
    currency: str
    """Such as USD."""
    source: str = ""
    """Where they come from, in words."""
    models: dict[str, Amount]
    """By `provider/name`. A name stands for its dated versions too; `*` stands for any letters."""

    def price(self, model: str) -> Price | None:
        """The price of `provider/name`; None where it is not listed. The name itself counts most, then the longest."""
        patterns = sorted((name for name in self.models if "*" in name), key=len, reverse=True)
        matches = (name for name in patterns if fnmatchcase(model, name))
        for name in (model, DATED.sub("", model), *matches):
            if amount := self.models.get(name):
                return Price(
                    input=amount.input,
                    output=amount.output,
                    currency=self.currency,
                    as_of=self.as_of,
                    listed=model,
                )
        return None


def with_prices(models: Mapping[str, ModelConfig], folders: Sequence[str | Path]) -> dict[str, ModelConfig]:
    """The models by alias, each with its price where one is known.

    A price that was listed for another model, as of a run that is resumed with another, is looked up again.

    Args:
        folders: of the user, whose price lists come first.

    Raises:
        ConfigError: a price list cannot be read.
    """
    priced = dict[str, ModelConfig]()
    for alias, model in models.items():
        name = f"{model.provider}/{model.name}"
        if not model.price or model.price.listed not in (None, name):
            price = None if model.provider in FREE else _listed(model, name, folders)
            model = model if price == model.price else model.model_copy(update={"price": price})
        priced[alias] = model
    return priced


def _listed(model: ModelConfig, name: str, folders: Sequence[str | Path]) -> Price | None:
    """The price of the first list that has the model; ours is of the provider's own servers."""
    for root in Resources.of([each for each in folders if Path(each).is_dir()]).search_path:
        file = root / PRICES
        if file.is_file() and (price := _read(file, file.stat().st_mtime_ns).price(name)):
            elsewhere = True
            with suppress(ConfigError):  # an address that names a variable which is not set
                elsewhere = is_own(model)
            return None if elsewhere and root == shipped() else price
    return None


@cache
def _read(file: Path, changed: int) -> PriceList:
    try:
        return PriceList.model_validate(parse_yaml(read_text(file)))
    except ValidationError as error:
        raise ConfigError(
            f"{file}: {describe(error)}", hint=f"compare it with {shipped() / PRICES}"
        ) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error


def need_prices(config: RunConfig, key: str) -> None:
    """Raises `ConfigError` where money is limited by `key`, and a model has no price, or prices differ in currency."""
    for alias, model in config.models.items():
        if model.price is None:
            raise ConfigError(
                f"{key}: models.{alias} has no price, and no price list has {model.provider}/{model.name}",
                hint=f"--set 'models.{alias}.price={EXAMPLE}', per million tokens",
            )


def need_one_currency(config: RunConfig) -> None:
    """Raises `ConfigError` where models have prices in several currencies: their sum would mean nothing."""
    prices = {alias: model.price for alias, model in config.models.items() if model.price}
    named = {price.currency: alias for alias, price in prices.items() if price.currency}
    if len(named) > 1:
        (one, first), (other, second), *_ = named.items()
        raise ConfigError(
            f"models.{first} has a price in {one}, models.{second} in {other}: a run has one currency",
            hint=f"set one of them: --set 'models.{second}.price={{input: …, output: …, currency: {one}}}'",
        )
