"""`manyheads check`, `roles` and `export`: what a user asks before a run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from manyheads.asking.roles import Roles
from manyheads.base.errors import ExitCode
from manyheads.base.resources import Resources
from manyheads.corpus.minilm import onnx_folder, package_folder
from support.command import manyheads_command, served_by
from support.faults import Fault
from support.hosts import SLOWLY
from support.llm import LLM
from support.scholar import Scholar, record


def test_all_is_well(tmp_path: Path, llm: LLM) -> None:
    flags = (*served_by(llm), "--set", "embedding=lexical", "--host", "agentscope", "--no-probe")
    checked = manyheads_command("check", "virsci", *flags, cwd=tmp_path)
    assert (checked.code, checked.err) == (0, "")
    assert [line.split()[:2] for line in checked.out.splitlines()[:-1]] == [
        ["ok", "host:"],
        ["ok", "roles:"],
        ["ok", "models.default:"],
        ["ok", "corpus:"],
    ]
    assert llm.calls == 0, "a check is not paid for"
    assert "--ping" in checked.out.splitlines()[-1]


@pytest.mark.slow
def test_an_embedding_model_in_a_folder_is_found_as_by_a_run(tmp_path: Path) -> None:
    own = shutil.copytree(onnx_folder(package_folder()), tmp_path / "own")
    checked = manyheads_command("check", "virsci", "--set", f"embedding={own}", cwd=tmp_path)
    assert checked.code == 0, checked.out


@pytest.mark.slow
def test_what_a_server_of_ones_own_can_do_is_asked_and_told(tmp_path: Path, llm: LLM) -> None:
    llm.listed[0]["max_model_len"] = 4096
    checked = manyheads_command("check", "virsci", *served_by(llm), cwd=tmp_path)
    [line] = [line for line in checked.out.splitlines() if "models.default" in line]
    assert all(
        words in line for words in ("tools no", "json_schema", "context 4,096", f"{llm.calls} requests")
    )
    llm.faults.append(Fault("status", status=404, message="model x not found", times=None))
    checked = manyheads_command("check", "virsci", *served_by(llm), cwd=tmp_path)
    assert checked.code == ExitCode.SERVER
    assert "set models.default.name" in checked.out


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    prompt = tmp_path / "mine" / "prompts" / "scientist" / "vote.md.j2"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("Vote, {{ name }}, on {{ thing }}.")
    wrong = (
        "embedding=lexical",
        "team.size=99",
        "models.cheap={provider: ollama, name: x, base_url: http://127.0.0.1:9}",
    )
    sets = [part for each in wrong for part in ("--set", each)]
    flags = ("--path", "mine", "--model", "openai/gpt", *sets)
    checked = manyheads_command("check", "virsci", *flags, cwd=tmp_path)
    assert checked.code == 2
    found = checked.out.split("WRONG  ")[1:]
    for words, line in zip(
        ("'name'", "'thing'", "export OPENAI_API_KEY", "127.0.0.1:9", "scientists: 24"), found, strict=True
    ):
        assert words in line
    assert "models.cheap" in found[3]
    assert "set models.cheap.base_url" in found[3]


def test_roles_are_listed(tmp_path: Path) -> None:
    listed = manyheads_command("roles", cwd=tmp_path)
    assert listed.code == 0
    assert all(name in listed.out for name in Roles(Resources.of()).cards)
    assert "scientist (required)" in listed.out
    assert "indicator: novelty" in listed.out


def test_the_file_that_wins_is_listed_for_each_prompt(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "prompts" / "scientist" / "vote.md.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text("Vote.\n")
    listed = manyheads_command("roles", "--prompts", "--path", "mine", cwd=tmp_path)
    assert listed.code == 0
    rows = [line.split() for line in listed.out.splitlines()]
    assert ["vote", str(mine)] in rows
    cards = Roles(Resources.of()).cards.values()
    assert [row[0] for row in rows if len(row) == 2].count("(system)") == len(cards)
    files = [Path(row[1]) for row in rows if len(row) == 2]
    personas = [row[0] for row in rows if len(row) == 2].count("(persona)")
    assert len(files) == sum(1 + len(card.tasks) for card in cards) + personas
    assert personas > 1
    assert all(file.is_file() for file in files)


def test_a_component_that_autogen_loads(tmp_path: Path) -> None:
    from autogen_agentchat.teams import BaseGroupChat

    command = ("export", "virsci", "--host", "autogen", "--set", "team.size=3")
    printed = manyheads_command(*command, cwd=tmp_path)
    assert (printed.code, printed.err) == (0, "")
    assert isinstance(BaseGroupChat.load_component(json.loads(printed.out)), BaseGroupChat)
    assert manyheads_command(*command, "--out", "team.json", cwd=tmp_path).code == 0
    assert (tmp_path / "team.json").read_text() == printed.out
    unwritable = manyheads_command(*command, "--out", "no/team.json", cwd=tmp_path)
    assert "no/team.json: cannot be written" in unwritable.message


def test_sources_are_looked_at_where_a_run_looks_papers_up(tmp_path: Path) -> None:
    sets = ("--set", "embedding=lexical", "--set", "literature.cascade=[semantic_scholar]")
    flags = ("--host", "agentscope", *sets)
    key = {"SEMANTIC_SCHOLAR_API_KEY": "schl\u00fcssel"}
    never = manyheads_command("check", "virsci", *flags, cwd=tmp_path, env=key)
    assert (never.code, "literature" in never.out) == (0, False)
    services = ("virsci", "--set", "literature.references=services", *flags)
    wrong = manyheads_command("check", *services, cwd=tmp_path, env=key)
    assert wrong.code == 2
    assert re.search(r"WRONG  literature: .*semantic_scholar: .*SEMANTIC_SCHOLAR_API_KEY", wrong.out)
    right = manyheads_command("check", *services, cwd=tmp_path)
    assert (right.code, "ok     literature: semantic_scholar: settings only" in right.out) == (0, True)


PRICE = "models.default.price={input: 1000, output: 2000, currency: EUR}"


@pytest.mark.parametrize("name", SLOWLY)
def test_a_ping_asks_each_model_and_source_once(tmp_path: Path, llm: LLM, name: str) -> None:
    with Scholar([record("a" * 40, "Machine learning")]) as scholar:
        sources = (
            "literature.references=services",
            "literature.cascade=[local,semantic_scholar]",
            f"literature.endpoints.semantic_scholar={scholar.url}",
        )
        flags = served_by(llm, "embedding=lexical", PRICE, *sources)
        checked = manyheads_command("check", "virsci", *flags, "--host", name, "--ping", cwd=tmp_path)
        assert (checked.code, checked.err) == (0, "")
        assert (llm.calls, len(scholar.requests)) == (1, 1)
    model, source = [line for line in checked.out.splitlines() if " ping " in line]
    assert re.search(
        r"models\.default: openai/test answered in \d\.\d s: \d+ tokens in, \d+ out, cost [\d.]+ EUR", model
    )
    assert re.search(r"literature\.semantic_scholar: answered in \d\.\d s: 1 paper", source)


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "bad key", "export OPENAI_API_KEY"),
        (404, "model test not found", "models.default.name"),
        (429, "insufficient_quota: You exceeded your current quota", "quota"),
    ],
)
def test_a_ping_that_fails_says_what_to_do(
    tmp_path: Path, llm: LLM, status: int, message: str, hint: str
) -> None:
    llm.faults.append(Fault("status", status=status, message=message, times=None))
    command = ("check", "conference-review", *served_by(llm), "--host", "agentscope", "--ping")
    checked = manyheads_command(*command, cwd=tmp_path)
    assert checked.code in (2, 4)
    failed = checked.out.partition("WRONG  ping models.default: ")[2]
    assert hint in failed
    assert "resume" not in failed
    assert llm.calls == 1
