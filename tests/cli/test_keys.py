"""Stored keys: set, listed and removed by the command, read where no variable is set, and shown to nobody."""

import io
import stat
import sys
from pathlib import Path

import pytest

from manyheads.base.errors import ConfigError
from manyheads.config.keys import keys_file, store_keys, stored_keys
from support.command import SMALL, Done, manyheads_command
from support.llm import LLM

KEY = "sk-proj-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


def keys(*words: str, folder: Path, given: str = "") -> Done:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(given))
        return manyheads_command("keys", *words, cwd=folder)


def test_a_stored_key_is_sent_and_never_shown(
    tmp_path: Path, llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [keys("set", "openai", folder=tmp_path, given=f"{KEY}\n"), keys("list", folder=tmp_path)]
    assert [done.code for done in said] == [0, 0]
    assert ["OPENAI_API_KEY", "stored"] in [line.split() for line in said[1].out.splitlines()]
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    sets = (
        "-m",
        "openai/m",
        "-s",
        f"models.default.base_url={llm.url}/v1",
        "-s",
        "invitation.enabled=false",
        "-o",
        "mine",
    )
    said.append(manyheads_command("run", "virsci", *SMALL, *sets, cwd=tmp_path))
    assert said[-1].code == 0, said[-1].err
    assert {request.headers["authorization"] for request in llm.requests} == {f"Bearer {KEY}"}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-123")
    said.append(manyheads_command("run", "virsci", *SMALL, *sets[:-1], "other", cwd=tmp_path))
    assert llm.requests[-1].headers["authorization"] == "Bearer sk-of-the-environment-123"
    written = b"".join(each.read_bytes() for each in (tmp_path / "mine").rglob("*") if each.is_file())
    assert KEY not in "".join(done.out + done.err for done in said)
    assert KEY.encode() not in written


def test_a_removed_key_is_gone(tmp_path: Path) -> None:
    keys("set", "semantic-scholar", folder=tmp_path, given=KEY)
    keys("set", "MANYHEADS_KEY", folder=tmp_path, given=KEY)
    assert keys("remove", "SEMANTIC_SCHOLAR_API_KEY", folder=tmp_path).code == 0
    assert stored_keys() == {"MANYHEADS_KEY": KEY}
    assert "not stored" in keys("remove", "semantic-scholar", folder=tmp_path).message


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("openia", KEY, "openai"),
        ("openai", "", "empty"),
        ("openai", "two words", "invalid"),
        ("PATH", KEY, "PATH"),
    ],
)
def test_what_is_no_key_is_refused(tmp_path: Path, name: str, given: str, words: str) -> None:
    assert words in keys("set", name, folder=tmp_path, given=given).message
    assert not keys_file().exists()


def test_a_file_that_others_can_read_or_that_is_damaged_is_refused() -> None:
    store_keys({"OPENAI_API_KEY": KEY})
    keys_file().chmod(0o644)
    with pytest.raises(ConfigError, match="others"):
        stored_keys()
    for text in ("{", "[]", '{"OPENAI_API_KEY": 1}'):
        store_keys({})
        keys_file().write_text(text)
        with pytest.raises(ConfigError, match="damaged"):
            stored_keys()
