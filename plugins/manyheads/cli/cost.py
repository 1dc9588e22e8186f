"""The estimated cost of runs, for `--estimate` and for a confirmation before expensive runs."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.printing import safe_console, say, say_json

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.engine.estimate import Estimating

Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        help="Start without asking for confirmation (asked if the estimate exceeds confirm.money).",
    ),
]


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

    from manyheads.core import Usage
    from manyheads.core.results import currency_of, price_note
    from manyheads.engine.estimate import LONGER, estimate

    spent = asyncio.run((by or estimate)(configs)).spent
    models = {
        f"{alias} {model.provider}/{model.name}": model
        for each in configs
        for alias, model in each.models.items()
    }
    prices = {name: model.price for name, model in models.items() if model.price}
    currency = currency_of(prices)
    note = price_note(prices, {name: f"{model.provider}/{model.name}" for name, model in models.items()})
    if as_json:
        shown = {"calls", "input_tokens", "output_tokens", "cost"}
        stages = [{"stage": stage, **usage.model_dump(include=shown)} for stage, usage in spent.items()]
        data = {"runs": len(configs), "stages": stages, "total": spent.total.model_dump(include=shown)}
        say_json(json.dumps({**data, "longer": LONGER, "currency": currency, "prices": note}))
        return
    priced = spent.total.cost is not None

    def row(name: str, usage: Usage) -> list[str]:
        figures = [f"{each:,}" for each in (usage.calls, usage.input_tokens, usage.output_tokens)]
        return [name, *figures, *([f"{usage.cost or 0:.4f}"] * priced)]

    runs = f" of {len(configs)} runs" if len(configs) != 1 else ""
    table = Table(title=f"Estimate{runs} (no model was asked)", title_justify="left")
    cost = f"cost ({currency})" if currency else "cost"
    for heading in ("stage", "calls", "tokens in", "tokens out", *([cost] * priced)):
        table.add_column(heading, justify="left" if heading == "stage" else "right", overflow="fold")
    for stage, usage in spent.items():
        table.add_row(*row(stage, usage))
    table.add_section()
    table.add_row(*row("total", spent.total))
    safe_console().print(table, markup=False)
    say(
        f"Based on a dry run of the offline model, with replies {LONGER} times as long (or as long as the form asks for) and "
        "the maximum number of papers per search.\nReasoning models and repeated requests cost more."
    )
    if any(model.calls_tools for model in models.values()):
        say("The model calls tools: each round of tool calls in a turn takes one more request.")
    for each in without:
        say(f"Not included: {each}.")
    if note:
        say(f"Prices: {note}.")
    if not priced:
        say("For a cost: --set 'models.default.price={input: 0.15, output: 0.6}', per million tokens")


def confirm(
    configs: "Sequence[RunConfig]",
    *,
    yes: bool,
    as_json: bool = False,
    by: "Estimating | None" = None,
) -> None:
    """Ask for confirmation if runs are estimated to cost more than `confirm.money`.

    Does not ask without a terminal, or with `--json` or `--yes`.

    Raises:
        typer.Exit: the answer is no.
    """
    if yes or as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    from manyheads.base.errors import UserError
    from manyheads.engine.estimate import excess

    told = ""
    with suppress(UserError):  # said by the run itself
        told = asyncio.run(excess(configs, by))
    if not told:
        return
    say(f"{told} Nothing was asked yet.")
    try:
        if typer.confirm("Start?"):
            return
    except typer.Abort:
        say()
    say("manyheads: not started", err=True)
    raise typer.Exit(130)
