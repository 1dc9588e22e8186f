"""Prices of models: from the config, else from a price list."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, read_model, shipped
from manyheads.config import HUMAN, ModelConfig, RunConfig, Strict
from manyheads.core.usage import Amount, Price
from manyheads.models.requests import is_own

PRICES = "configs/models/prices.yaml"
FREE = ("offline", "replay", HUMAN)
"""Providers that send no requests."""
DATED = re.compile(r"-(\d{4}-?\d{2}-?\d{2}|latest)$", re.ASCII)
EXAMPLE = "{input: 0.15, output: 0.6}"


class PriceList(Strict):
    """Prices of models, as `configs/models/prices.yaml` of a folder has them."""

    as_of: date
    """Date of these prices."""
    currency: str
    """Such as USD."""
    source: str = ""
    """Their source, in words."""
    models: dict[str, Amount]
    """By `provider/name`. A name covers its dated versions too; `*` matches any letters."""

    def price(self, model: str) -> Price | None:
        """The price of `provider/name`; None if not listed. An exact name has priority, then the longest match."""
        patterns = sorted((name for name in self.models if "*" in name), key=len, reverse=True)
        matches = (name for name in patterns if fnmatchcase(model, name))
        for name in (model, DATED.sub("", model), *matches):
            if amount := self.models.get(name):
                listed = {"currency": self.currency, "as_of": self.as_of, "listed": model}
                return Price.model_validate({**amount.model_dump(), **listed})
        return None


def with_prices(models: Mapping[str, ModelConfig], folders: Sequence[str | Path]) -> dict[str, ModelConfig]:
    """The models by alias, with prices if known.

    A listed price for another model, as after resuming with another model, is looked up again.

    Args:
        folders: the user's folders, whose price lists have priority.

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
    """The price from the first list with the model; the shipped list covers the providers' own servers."""
    for root in Resources.of([each for each in folders if Path(each).is_dir()]).search_path:
        file = root / PRICES
        if file.is_file() and (price := _read(file, file.stat().st_mtime_ns).price(name)):
            elsewhere = True
            with suppress(ConfigError):  # an address with an unset variable
                elsewhere = is_own(model)
            return None if elsewhere and root == shipped() else price
    return None


@cache
def _read(file: Path, changed: int) -> PriceList:
    return read_model(file, PriceList, f"write as_of, currency and models: {{provider/name: {EXAMPLE}}}")


def shipped_prices() -> PriceList:
    """List prices at the providers' own servers."""
    return _read(shipped() / PRICES, 0)


def need_prices(config: RunConfig, key: str) -> None:
    """Raises `ConfigError` if money is limited by `key` and a model has no price, or currencies differ."""
    for alias, model in config.models.items():
        if model.price is None and model.provider != HUMAN:
            name = f"{model.provider}/{model.name}"
            known = shipped_prices().price(name) is not None
            own = f"the listed one of {name} is for the provider's own server"
            why = own if known else f"no price list has {name}"
            hint = f"--set 'models.{alias}.price={EXAMPLE}', per million tokens"
            raise ConfigError(f"{key}: models.{alias} has no price: {why}", hint=hint)


def need_one_currency(config: RunConfig) -> None:
    """Raises `ConfigError` if models have prices in different currencies, which cannot be added."""
    prices = {alias: model.price for alias, model in config.models.items() if model.price}
    named = {price.currency: alias for alias, price in prices.items() if price.currency}
    if len(named) > 1:
        (one, first), (other, second), *_ = named.items()
        raise ConfigError(
            f"models.{first} has a price in {one}, models.{second} in {other}: a run has one currency",
            hint=f"set one of them: --set 'models.{second}.price={{input: …, output: …, currency: {one}}}'",
        )
