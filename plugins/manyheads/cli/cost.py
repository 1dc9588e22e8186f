"""The estimated cost of runs, for `--estimate` and for a confirmation before expensive runs."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from manyheads.cli.printing import safe_console, say, say_json

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.engine.estimate import Estimate

    Estimating = Callable[[Sequence[RunConfig]], Coroutine[Any, Any, Estimate]]

QUICK = 2.0
"""Maximum seconds of the dry run before a run."""


def print_estimate(
    configs: "Sequence[RunConfig]",
    *,
    as_json: bool,
    without: Sequence[str] = (),
    by: "Estimating | None" = None,
) -> None:
    """Print the estimated cost of runs by stage. Needs their models' names, but no key and no server.

    Args:
        by: estimates them, if they are no runs of a system.
        without: what the estimate leaves out, in words.
    """
    from rich.table import Table

    from manyheads.engine.estimate import LONGER, estimate

    spent = asyncio.run((by or estimate)(configs)).spent
    currency, note = _prices(configs)
    if as_json:
        shown = {"calls", "input_tokens", "output_tokens", "cost"}
        stages = [{"stage": stage, **usage.model_dump(include=shown)} for stage, usage in spent.items()]
        data = {"runs": len(configs), "stages": stages, "total": spent.total.model_dump(include=shown)}
        say_json(json.dumps({**data, "longer": LONGER, "currency": currency, "prices": note}))
        return
    priced = spent.total.cost is not None
    runs = f" of {len(configs)} runs" if len(configs) != 1 else ""
    table = Table(title=f"Estimate{runs} (no model was asked)", title_justify="left")
    cost = [f"cost ({currency})" if currency else "cost"] * priced
    for heading in ("stage", "calls", "tokens in", "tokens out", *cost):
        table.add_column(heading, justify="left" if heading == "stage" else "right", overflow="fold")
    for name, usage in [*spent.items(), ("total", spent.total)]:
        if name == "total":
            table.add_section()
        figures = (f"{each:,}" for each in (usage.calls, usage.input_tokens, usage.output_tokens))
        table.add_row(name, *figures, *([f"{usage.cost or 0:.4f}"] * priced))
    safe_console().print(table, markup=False)
    say(
        f"Based on a dry run of the offline model, with replies {LONGER} times as long (or as long as the form asks for) and "
        "the maximum number of papers per search.\nReasoning models and repeated requests cost more."
    )
    if any(model.calls_tools for each in configs for model in each.models.values()):
        say("The model calls tools: each round of tool calls in a turn takes one more request.")
    for each in without:
        say(f"Not included: {each}.")
    if note:
        say(f"Prices: {note}.")
    if not priced:
        say("For a cost: --set 'models.default.price={input: 0.15, output: 0.6}', per million tokens")


def _prices(configs: "Sequence[RunConfig]") -> tuple[str | None, str]:
    """The currency of runs' models, and where their prices come from."""
    from manyheads.core.results import currency_of, price_note

    models = {
        f"{alias} {model.provider}/{model.name}": model
        for each in configs
        for alias, model in each.models.items()
    }
    prices = {name: model.price for name, model in models.items() if model.price}
    return currency_of(prices), price_note(prices, {name: name.split(" ", 1)[1] for name in models})


def confirm(
    configs: "Sequence[RunConfig]", *, yes: bool, as_json: bool = False, by: "Estimating | None" = None
) -> None:
    """Ask for confirmation if runs are estimated to cost more than `confirm.money`.

    Does not ask without a terminal, with `--json` or `--yes`, without a known price, or if `QUICK` seconds of the dry run
    stay below that sum.

    Raises:
        typer.Exit: the answer is no.
    """
    limit = min((each.confirm.money for each in configs if each.confirm.money is not None), default=None)
    priced = any(model.price for each in configs for model in each.models.values())
    if yes or as_json or limit is None or not priced or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    from manyheads.base.errors import UserError
    from manyheads.core import money
    from manyheads.engine.estimate import estimate

    try:
        known = asyncio.run((by or partial(estimate, within=QUICK))(configs))
    except UserError:
        return  # said by the run itself
    # the estimated runs are taken as typical of all
    share, total = len(configs) / max(known.runs, 1), known.spent.total
    cost, calls = (total.cost or 0) * share, round(total.calls * share)
    if cost <= limit:
        return
    currency, note = _prices(configs)
    how = "about" if known.runs else "at least"
    runs = f"These {len(configs)} runs are" if len(configs) > 1 else "This run is"
    say(
        f"{runs} estimated to cost {how} {money(cost, currency)} in {calls:,} calls ({note}).\n"
        f"That is more than confirm.money, {money(limit, currency)}. Nothing was asked yet."
    )
    try:
        if typer.confirm("Start?"):
            return
    except typer.Abort:
        say()
    say("manyheads: not started", err=True)
    raise typer.Exit(130)
