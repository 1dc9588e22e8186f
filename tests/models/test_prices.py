"""What models cost: set in a config, else from a price list."""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from manyheads.base.errors import ConfigError
from manyheads.base.resources import shipped
from manyheads.core import Price
from manyheads.core.events import Began
from manyheads.engine.estimate import estimate
from manyheads.engine.readiness import prepare
from manyheads.models.prices import PriceList
from manyheads.systems.loading import load
from manyheads.systems.results import closing_lines
from support.llm import LLM
from support.play import config_for, play

OWN = {"as_of": "2026-01-02", "currency": "EUR", "models": {"openai/te*": {"input": 1, "output": 2}}}


def price_of(model: str, *sets: str) -> Price | None:
    provider, _, name = model.partition("/")
    named = (f"models.default.provider={provider}", f"models.default.name={name}")
    return load(["conference-review"], [*named, *sets]).models["default"].price


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of the user's with a price list."""
    folder = tmp_path / "own"
    (folder / "configs" / "models").mkdir(parents=True)
    (folder / "configs" / "models" / "prices.yaml").write_text(yaml.safe_dump(OWN))
    return folder


def test_a_dated_version_costs_what_its_model_costs() -> None:
    listed = price_of("openai/gpt-4o-mini")
    assert listed
    assert (listed.input, listed.output, listed.currency) == (0.15, 0.6, "USD")
    assert listed.as_of
    dated = price_of("openai/gpt-4o-mini-2024-07-18")
    assert dated == listed.model_copy(update={"listed": "openai/gpt-4o-mini-2024-07-18"})
    older = price_of("openai/gpt-4o-2024-05-13")
    assert older
    assert older.input == 5, "a version with a price of its own has that"
    assert price_of("openai/gpt-4o-mini-audio-preview") is None
    assert price_of("ollama/gpt-4o-mini") is price_of("offline/offline") is None


def test_list_prices_are_those_of_the_providers_own_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_of("openai/gpt-4o", "models.default.base_url=http://127.0.0.1:9/v1") is None
    assert price_of("openai/gpt-4o", "models.default.base_url=https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert price_of("openai/gpt-4o") is None


def test_a_price_of_ones_own_comes_first(own: Path) -> None:
    assert price_of("openai/gpt-4o", "models.default.price={input: 7, output: 8}") == Price(input=7, output=8)
    address = "models.default.base_url=http://127.0.0.1:9/v1"
    listed = price_of("openai/test", f"paths=[{own}]", address)
    assert listed == Price(input=1, output=2, currency="EUR", as_of=dt.date(2026, 1, 2), listed="openai/test")


def test_a_price_goes_with_its_model(own: Path) -> None:
    data = load(["single"], ["models.default.provider=openai", "models.default.name=gpt-4o"])
    kept = {"models": data.model_dump(mode="json")["models"]}
    kept["models"]["default"]["name"] = "gpt-4o-mini"
    file = own / "run.yaml"
    file.write_text(yaml.safe_dump(kept))
    price = load([str(file)]).models["default"].price
    assert price
    assert (price.input, price.listed) == (0.15, "openai/gpt-4o-mini")
    kept["models"]["default"]["name"] = "unknown"
    file.write_text(yaml.safe_dump(kept))
    assert load([str(file)]).models["default"].price is None


def test_a_broken_list_is_named(own: Path) -> None:
    file = own / "configs" / "models" / "prices.yaml"
    file.write_text(yaml.safe_dump({**OWN, "models": {"openai/test": {"input": -1, "output": 2}}}))
    with pytest.raises(ConfigError, match="input") as refused:
        price_of("openai/test", f"paths=[{own}]")
    assert str(file) in str(refused.value)


def test_a_budget_of_money_needs_prices() -> None:
    sets = ("models.default.provider=openai", "budget.money=1", "topic=T")
    prepare(load(["virsci"], [*sets, "models.default.name=gpt-4o"]))
    with pytest.raises(ConfigError, match=r"budget\.money: models\.default .*openai/mine") as refused:
        prepare(load(["virsci"], [*sets, "models.default.name=mine"]))
    assert "models.default.price=" in str(refused.value)
    judge = "models.judge={provider: openai, name: mine, price: {input: 1, output: 2, currency: EUR}}"
    with pytest.raises(ConfigError, match="EUR"):
        prepare(load(["virsci"], [*sets, "models.default.name=gpt-4o", judge]))


async def test_an_estimate_needs_no_price() -> None:
    sets = ["models.default.provider=openai", "models.default.name=mine", "budget.money=1", "topic=T"]
    made = await estimate([load(["single"], [*sets, "tokens=3000", "embedding=lexical"])])
    assert made.spent.total.calls
    assert made.spent.total.cost is None


def test_what_ships_fits_together() -> None:
    prices = PriceList.model_validate(
        yaml.safe_load((shipped() / "configs/models/prices.yaml").read_text("utf-8"))
    )
    assert all(name.partition("/")[0] in ("openai", "anthropic") for name in prices.models)
    assert all(each.input <= each.output for each in prices.models.values())


async def test_a_run_says_which_prices_its_cost_is_made_of(llm: LLM, own: Path, tmp_path: Path) -> None:
    played = await play(config_for(llm, "turns=1", "topic=T", f"paths=[{own}]"), tmp_path / "run", llm)
    run = played.run
    assert run.prices["default"].as_of == dt.date(2026, 1, 2)
    usage = run.usage
    assert usage.cost == pytest.approx((usage.input_tokens + 2 * usage.output_tokens) / 1e6)
    cost = f"{usage.cost:.4f} EUR"
    assert run.cost == cost
    began = played.events[0]
    assert isinstance(began, Began)
    assert began.prices == run.prices
    assert all(words in closing_lines(tmp_path / "run") for words in (cost, "2026-01-02"))


async def test_without_a_price_no_cost_is_made_up(llm: LLM, tmp_path: Path) -> None:
    run = (await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)).run
    assert (run.usage.cost, run.cost, run.prices) == (None, None, {})
    assert closing_lines(tmp_path / "run").count("no price is known") == 1
