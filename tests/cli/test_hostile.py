"""Values that nobody should give: one message, exit code 2, no secret, and nothing that commands the terminal."""

from pathlib import Path

import pytest

from support.command import manyheads_command

NINES = "9" * 5000
FILES = {
    "deep.yaml": "topic: " + "[" * 100_000,
    "bomb.yaml": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
    "self.yaml": "topic: &a [*a]",
    "nul.yaml": 'system: virsci\npaths: ["a\\0b"]',
    "month.yaml": "literature: {before: 2015-13-01}",
    "huge.yaml": f"seed: {NINES}",
    "deep.json": "[" * 100_000,
    "cases.jsonl": '{"id": "\\ud800", "topic": "Owls"}\n',
    "idea.md": "# \x1b[2J\x1b]0;OWNED\x07\u202e Owls\n\nWe plan with owls, and compare them with crows.\n",
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "deep.yaml"), "nest"),
        (("check", "bomb.yaml"), "bomb.yaml: not valid YAML: more than 200,000 values"),
        (("check", "self.yaml"), "*a contains itself"),
        (("check", "nul.yaml"), "nul.yaml"),
        (("check", "month.yaml"), "month must be in 1..12"),
        (("check", "huge.yaml"), "huge.yaml"),
        (("check", "virsci", "--set", "ideas.references=99999999999999999999"), "64 bits"),
        (("check", "virsci", "--path", "~nosuchuser/x"), "no such folder"),
        (("check", "a" * 300), "aaa"),
        (("check", "--", "--"), "no config is named"),
        (("init", "a/" * 2000), "File name too long"),
        (("run", "conference-review", "--subject", "idea.md", "--out", "a" * 300), "File name too long"),
        (("check", "virsci", "--set", f"corpus={'a/' * 2500}"), "a/a/"),
        (("report", "a" * 5000), "File name too long"),
        (("measure", "deep.json"), "deep.json: not valid JSON: nested too deep"),
        (("measure", "/dev/zero"), "/dev/zero: not a file"),
        (("eval", "team-size", "--cases", "cases.jsonl"), "cases.jsonl:1: not valid JSON"),
        (("check", "virsci", "--set", "topic=\udcff"), "word 4 of the command line is not UTF-8"),
        (("measure", "idea.md", "--normalise", NINES), "--normalise"),
    ],
)  # fmt: skip
def test_a_message_and_no_traceback(home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = manyheads_command(*arguments, cwd=home)
    shown = done.out + done.err
    assert (done.code, said in shown, "Traceback" in shown) == (2, True, False), shown[-2000:]
    assert len(done.err) < 4000


@pytest.mark.parametrize(
    "setting",
    [
        "models.default.api_key=sk-0123456789",
        "models.default.api_key=hunter2hunter2",
        "models.default.api_key_env=sk-hunter2hunter2",
        "models.default.api_key_env=hunter2hunter2hunter2",
        "models.default.base_url=http://me:hunter2@127.0.0.1:9/v1",
        "models.default.base_url=http://127.0.0.1:9/v1?api_key=hunter2",
        "literature.endpoints.arxiv=http://me:hunter2@127.0.0.1:9",
    ],
)
def test_a_secret_is_refused_and_not_repeated(home: Path, setting: str) -> None:
    done = manyheads_command("run", "virsci", "--set", setting, "--out", "run", cwd=home)
    assert done.code == 2
    assert "hunter2" not in done.out + done.err
    assert "0123456789" not in done.out + done.err
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    "more",
    [
        (),
        pytest.param(("--json",), marks=pytest.mark.slow),
        pytest.param(("--show-neighbours",), marks=pytest.mark.slow),
    ],
)
def test_a_title_commands_no_terminal(home: Path, more: tuple[str, ...]) -> None:
    quick = ("--corpus", "sample", "--embedding", "lexical")
    done = manyheads_command("measure", "idea.md", *quick, *more, cwd=home)
    assert done.code == 0
    assert "OWNED" in done.out
    assert all(line.isprintable() for line in (done.out + done.err).split("\n"))
