"""The form that starts a run, made from its system's config and inputs; the estimate before it."""

import asyncio
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

import yaml
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from manyheads.base.errors import SubjectError, UserError, problem_of
from manyheads.base.resources import Resources, parse_yaml, summary
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.environment import hosts
from manyheads.config.files import merge, schema_of
from manyheads.config.keys import value_of
from manyheads.core.results import currency_of
from manyheads.corpus.meta import all_corpora
from manyheads.engine.budget import MINUTE
from manyheads.engine.estimate import LONGER, estimate, excess
from manyheads.engine.readiness import need_keys, prepare, roles_of
from manyheads.models.prices import shipped_prices
from manyheads.models.requests import USUAL, server_address
from manyheads.systems import systems
from manyheads.systems.follow_up import follow_up
from manyheads.systems.loading import load, validate
from manyheads.team.system import System, system_of
from manyheads.web.folder import MissingRunError, RunsFolder
from manyheads.web.pages import Field, at, fields, nested, render, stages_of, typed
from manyheads.web.security import get, post

UPLOADS = "uploads"
LARGEST_UPLOAD = 64_000_000
MOST_FILES = 20
MODEL = "models.default"
"""The field of a model, as `provider/name`."""
SIZES = {
    "team.size": "Scientists", "turns.default": "Turns in a stage", "rounds": "Rounds", "max_iters": "Most revisions",
    "exchanges": "Questions to experts", "repeats": "Reviews", "orders": "Orders", "papers": "Papers",
}  # fmt: skip
"""The keys of systems that say how much is done, as the form names them."""
BUDGET = {
    "budget.calls": "Calls", "budget.tokens": "Tokens", "budget.money": "Money", "budget.seconds": "Minutes",
}  # fmt: skip
ADDRESS = "Empty: the provider's own. Keys: `manyheads keys set`, in a terminal."
LIMITS = "The run stops at a limit, and can be resumed. Empty: no limit."
RUN = ("name", "host", "seed")
LEFT_OUT = ("system", "paths", "models", "roles")
SOON, MOST_MODELS = 0.5, 30
"""Seconds in which a server must say which models it has, and how many are shown."""
EMPTY: tuple[Any, ...] = ("", [], {}, None)
NUMBER = re.compile(r"[0-9]{1,9}")
MORE = "more"
"""The field for further keys, in YAML."""


@dataclass(frozen=True)
class FieldGroup:
    """Fields under one heading; `folded` among further settings."""

    title: str
    fields: tuple[Field, ...]
    folded: bool = True
    help: str = ""


@dataclass
class Filled:
    """What a form holds: its texts by field, problems beside them, those of the whole form, the estimate."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    error: UserError | None = None
    estimate: dict[str, Any] | None = None
    confirm: str = ""


def routes() -> Iterator[BaseRoute]:
    yield get("/start", choice)
    yield get("/start/{config}", form_page)
    yield post("/start/{config}", start, most=LARGEST_UPLOAD, files=MOST_FILES)


def configs() -> dict[str, str]:
    """Shipped configs, and systems without one, with a sentence about each."""
    shipped = Resources.of().names("configs", ".yaml")
    names = {name.removesuffix(".yaml"): file for name, file in shipped.items() if "/" not in name}
    about = {name: system.about for name, system in systems().items()}
    return about | {
        name: about.get(name) or f"{summary(file)}.".lstrip(".") for name, file in sorted(names.items())
    }


def choice(request: Request) -> Response:
    return render(request, "choice.html.j2", configs=configs())


def form_page(request: Request) -> Response:
    try:
        return _page(request, _base(request), Filled())
    except SubjectError:
        if len(request.query_params.getlist("idea")) < 2:
            raise
        page = request.url_for("run_page", name=request.query_params["run"]).path
        return RedirectResponse(f"{page}?{request.url.query}#h-onward", 303)  # back to the ticks


def _base(request: Request) -> RunConfig:
    if (name := request.path_params["config"]) not in configs():
        raise HTTPException(404)
    query, runs = request.query_params, cast(RunsFolder, request.app.state.runs)
    if not (run := query.get("run")):
        return load([name])
    numbers = [int(each) for each in query.getlist("idea") if NUMBER.fullmatch(each)]
    return load([name], follow_up(runs.path(run), load([name]).system, numbers))


def _page(request: Request, base: RunConfig, filled: Filled, status: int = 200) -> Response:
    system, runs = system_of(base), cast(RunsFolder, request.app.state.runs)
    data = base.model_dump(mode="json", by_alias=True)
    every = [each for group in groups(system.name) for each in group.fields]
    texts = {each.name: each.text(at(data, each.path)) for each in every}
    if base.steer == ("all",):
        texts["steer"] = "\n".join(system.steers)
    choices = {MODEL: known_models(), "corpus": {name: about for name, about, _ in all_corpora()}}
    return render(
        request, "start.html.j2", status=status, system=system, config=request.path_params["config"],
        groups=groups(system.name), texts={**texts, **filled.texts}, filled=filled,
        slots=_slots(system), choices=choices, titles={each.name: each.title for each in every},
        finished=[each for each in runs.entries() if each.state == "finished"][:200],
        query=f"?{request.url.query}" * bool(request.url.query), once=secrets.token_urlsafe(12), longer=LONGER, largest=LARGEST_UPLOAD // 1_000_000,
    )  # fmt: skip


def known_models() -> dict[str, str]:
    """The models that can be asked from here, each with what it is: there is a key, or a server has it."""
    found = {"offline/offline": "placeholder text, no key, no cost"}
    for name, amount in shipped_prices().models.items():
        if "*" not in name and value_of(USUAL[name.partition("/")[0]]):
            found[name] = (
                f"you have a key; {amount.input:g} and {amount.output:g} a million tokens in and out"
            )
    import httpx

    # there may be no such server, or another one
    with suppress(UserError, httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError):
        address = server_address(ModelConfig(provider="ollama", name="any"))
        listed = httpx.get(f"{address}/api/tags", timeout=SOON, trust_env=False).json()["models"]
        found |= {f"ollama/{str(each['name'])[:200]}": f"on {address}" for each in listed[:MOST_MODELS]}
    return found


def _slots(system: System) -> dict[str, Any]:
    return {f"inputs.{name}": slot for name, slot in system.slots.items()}


@cache
def groups(name: str) -> tuple[FieldGroup, ...]:
    """The fields of a system's form: inputs, model and run first, then its own settings by section, then all others."""
    system = systems()[name]
    schema = schema_of(system.model)
    parts = schema["$defs"]
    model = fields(parts["ModelConfig"], parts, ("models", "default"))
    every = {each.name: each for each in (*fields(schema, parts), *model)}
    for left_out in (*LEFT_OUT, f"{MODEL}.provider", f"{MODEL}.name"):
        every.pop(left_out, None)
    known = ("models", "default"), "Language model", "", "model"
    every[MODEL] = Field(*known, example="openai/gpt-4o-mini", other=True)
    url = f"{MODEL}.base_url"
    every[url] = replace(every[url], title="Address of the server", help=ADDRESS)
    every["corpus"] = replace(every["corpus"], kind="choice", help="", other=True)
    sizes = {f"{name}.{key}": title for key, title in SIZES.items()} | BUDGET
    for key in sizes.keys() & every.keys():
        unit = MINUTE if key == "budget.seconds" else 1
        every[key] = replace(every[key], title=sizes[key], help="", bounds="", unit=unit)

    def those(*names: str) -> tuple[Field, ...]:
        return tuple(every.pop(each) for each in names if each in every)

    def below(prefix: str, depth: int | None = None) -> tuple[Field, ...]:
        inside = [each for each in every.values() if each.name.startswith(f"{prefix}.")]
        return those(*(each.name for each in inside if depth in (None, len(each.path))))

    texts = {f"inputs.{name}" for name, slot in system.slots.items() if "TEXT" in slot.metavar}
    inputs = tuple(
        replace(each, kind="long") if each.kind == "text" and each.name in texts else each
        for each in those(*(f"inputs.{each}" for each in system.slots))
    )
    del every["steer"]
    every |= {"steer": stages_of(system.steers)} if system.steers else {}
    installed = tuple(host.name for host in hosts().values() if host.installed)
    every |= {"host": replace(every["host"], kind="choice", values=installed)}
    papers = ("corpus",) if system.corpus(load([name])) else ()
    made = [
        FieldGroup("Input", inputs, folded=False),
        FieldGroup("Model", those(MODEL, url), folded=False),
        FieldGroup("Size", those(*papers, *(key for key in sizes if key not in BUDGET)), folded=False),
        FieldGroup("Budget", those(*BUDGET), folded=False, help=LIMITS),
        FieldGroup("Steer", those("steer"), folded=False),
        FieldGroup("Run", those(*RUN)),
        FieldGroup(f"Settings of {system.title}", below(name, 2)),
    ]
    sections = dict.fromkeys(each.path[1] for each in every.values() if each.path[0] == name)
    about = {key: node.get("description", "") for key, node in parts.items()}
    own = parts[str(schema["properties"][name].get("$ref", "")).rpartition("/")[2]]["properties"]
    for section in sections:
        node = own[section]
        ref = next((each["$ref"] for each in (node, *node.get("anyOf", ())) if "$ref" in each), "")
        title = section.replace("_", " ").capitalize()
        made.append(FieldGroup(title, below(f"{name}.{section}"), help=about.get(ref.rpartition("/")[2], "")))
    made += [
        FieldGroup("More of the model", below("models.default")),
        FieldGroup("Literature", below("literature")),
        FieldGroup("Others", those(*[*every])),
    ]
    return tuple(group for group in made if group.fields)


async def start(request: Request, form: FormData) -> Response:
    """Start the run of a form, or estimate it; with problems, the form again."""
    base, runs = await run_in_threadpool(_base, request), cast(RunsFolder, request.app.state.runs)
    once = str(form.get("once") or secrets.token_urlsafe(12))[:50]
    filled = Filled()
    changes = await _changes(form, base, filled, runs)
    config = await run_in_threadpool(_validated, base, changes, filled)
    if config is not None:
        try:
            prepared = await run_in_threadpool(prepare, config)
            need_keys(prepared, await run_in_threadpool(roles_of, prepared))
            if form.get("do") == "estimate":
                filled.estimate = await run_in_threadpool(_estimate, config, 20.0)
            elif not form.get("confirmed"):
                filled.confirm = await run_in_threadpool(asyncio.run, excess([config]))
        except UserError as error:
            filled.error = error
    if config is None or filled.error or filled.estimate or filled.confirm:
        status = 200 if config and not filled.error else 422
        return await run_in_threadpool(_page, request, base, filled, status)
    if once not in runs.started:  # the same form may be sent twice
        runs.started[once] = runs.begin(config)
    return RedirectResponse(f"/runs/{runs.started[once]}", 303)


async def _changes(form: FormData, base: RunConfig, filled: Filled, runs: RunsFolder) -> dict[str, Any]:
    """What a form changes of its config; texts and problems go into `filled`."""
    system, changes = system_of(base), dict[str, Any]()
    data, slots = base.model_dump(mode="json", by_alias=True), _slots(system)
    for each in (each for group in groups(system.name) for each in group.fields):
        if (text := typed(form, each.name)) is None:
            if each.kind not in ("yes", "ticks"):
                continue
            text = ""
        filled.texts[each.name] = text
        if text == each.text(before := at(data, each.path)):
            continue
        try:
            value = each.value(text)
        except ValueError as error:
            filled.problems[each.name] = str(error)
            continue
        if each.kind == "number" and value is None and not each.optional:
            continue
        if value != before and not (value in EMPTY and before in EMPTY):
            changes = merge(changes, nested(each.path, value))
    for name, slot in slots.items():
        try:
            chosen = [*await _uploads(form, name, runs), *_chosen_runs(form, name, runs)]
        except ValueError as error:
            filled.problems[name] = str(error)
            continue
        if chosen:
            before = at(changes, name.split(".")) or []
            texts = [before] if isinstance(before, str) else before
            value = [*texts, *chosen] if slot.many or len(chosen) > 1 else chosen[0]
            changes = merge(changes, nested(name.split("."), value))
            # a browser does not send a file again
            filled.texts[name] = "\n".join(value) if isinstance(value, list) else value
        empty = not at(merge(data, changes), name.split("."))
        if slot.required and empty and name not in filled.problems:
            filled.problems[name] = "is needed"
    if (more := typed(form, MORE)) and more.strip():
        filled.texts[MORE] = more
        try:
            keys = parse_yaml(more)
        except yaml.YAMLError as error:
            filled.problems[MORE] = f"not valid YAML: {getattr(error, 'problem', None) or error}"
        else:
            if isinstance(keys, Mapping):
                changes = merge(changes, system.lift(cast(Mapping[str, Any], keys))[0] | system.lift(keys)[1])
            else:
                filled.problems[MORE] = "must be a mapping of keys to values"
    return changes


async def _uploads(form: FormData, name: str, runs: RunsFolder) -> list[str]:
    """The files that were sent for an input, stored under safe names; raises ValueError for an empty one."""
    paths = list[str]()
    for file in form.getlist(f"file:{name}"):
        if not isinstance(file, UploadFile) or not file.filename:
            continue
        if not file.size:
            raise ValueError(f"{file.filename[:80]}: the file is empty")
        folder = runs.folder / UPLOADS
        folder.mkdir(exist_ok=True)
        path = folder / f"{secrets.token_hex(4)}-{safe_name(file.filename)}"
        content = await file.read()
        await run_in_threadpool(path.write_bytes, content)
        paths.append(str(path))
    return paths


def safe_name(name: str) -> str:
    """A file name without folders, hidden names and unusual characters; the suffix stays."""
    stem, _, suffix = re.split(r"[\\/]", name)[-1].rpartition(".")
    stem, suffix = (stem, suffix) if stem else (suffix, "")
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:60] or "file"
    end = re.sub(r"[^A-Za-z0-9]+", "", suffix)[:10].lower()
    return f"{plain}.{end}" if end else plain


def _chosen_runs(form: FormData, name: str, runs: RunsFolder) -> list[str]:
    try:
        return [
            str(runs.path(each)) for each in form.getlist(f"run:{name}") if isinstance(each, str) and each
        ]
    except MissingRunError:
        raise ValueError("no such run in this folder") from None


def _validated(base: RunConfig, changes: Mapping[str, Any], filled: Filled) -> RunConfig | None:
    system = system_of(base)
    data = merge(base.model_dump(mode="json", by_alias=True), changes, system.model)
    if at(changes, ("models", "default")):
        data["models"]["default"].pop("price", None)
        if price := at(changes, ("models", "default", "price")):
            data["models"]["default"]["price"] = price
    known = {each.name for group in groups(system.name) for each in group.fields}
    try:
        system.model.model_validate(data)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            path = [str(each) for each in item["loc"]]
            names = (".".join(path[:length]) for length in range(len(path), 0, -1))
            about = str(item["msg"]).removeprefix("Value error, ").partition(": ")[0]  # of the whole config
            name = next((each for each in (*names, about) if each in known), MORE)
            where = f"{'.'.join(path)}: " if name == MORE and path else ""
            filled.problems.setdefault(name, f"{where}{problem_of(item)}")
    if filled.problems:
        return None
    try:
        return validate(data, "form")
    except UserError as error:
        filled.error = error
        return None


def _estimate(config: RunConfig, within: float) -> dict[str, Any]:
    made = asyncio.run(estimate([config], within))
    prices = {alias: model.price for alias, model in config.models.items() if model.price}
    return {
        "stages": list(made.spent.items()), "total": made.spent.total, "whole": made.whole,
        "currency": currency_of(prices), "basis": made.basis,
    }  # fmt: skip
