"""Documentation as a reader follows it: each page from top to bottom, in an empty folder.

The rules, which CONTRIBUTING.md repeats:

- A block with a title, such as `yaml title="my.yaml"`, is saved under that name.
- A `python` block runs as a file; a `bash` block runs line by line. `export KEY=…` sets a made-up key.
- Requests to OpenAI, Anthropic, Ollama and `http://127.0.0.1:8000/v1` are answered by a local fake server.
- A `manyheads` line that ends in a comment `# needs …` is run without what it needs: it ends with a message and exit code 2, 4 or 5, or
  is a server that prints its address and is stopped. Other such lines are parsed, as are those that install or open something (`SKIPPED`).
- A line that ends in `# exits with N` must do so.
- A `text` block without a title after a block is its output; a line `…` leaves lines out. What `alike` masks may differ.
  What is told once, when the cache is filled, is left out.
- `MANYHEADS_PAGES` is the `bin` folder of the environment that pages run in, made from the wheel by the Makefile; else it is that of the tests.

    make pages PAGES=docs/tutorial.md    # run a page, or all, and write the outputs that they show
"""

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "evals/README.md",
        ROOT / "examples/README.md",
        *(ROOT / "configs/skills").glob("*.md"),
        *(page for page in (ROOT / "docs").rglob("*.md") if "reference" not in page.parts),
    ]
)
PAPER = "# Owls\n\nWe plan with owls.\n\n## Method\n\n" + "Owls find cells at night, and plan. " * 30
TABLE = "title,year,abstract,authors\n" + "".join(
    f"Owl paper {n},{2010 + n},Owls of kind {n} find cells at night and plan ahead.,Ada {n}; Bo {n}\n"
    for n in range(14)
)
BROUGHT = dict.fromkeys(("paper.md", "idea.md", "background.md", "abstract.md"), PAPER) | {
    "papers.csv": TABLE
}
"""The files that a reader of a skill has."""
FENCE = re.compile(r"^( *)```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`(manyheads [a-z][^`…|\[]+)`(?!`)")
SKIPPED = ("pip", "git", "make", "source", "python3 -m venv", "jupyter", "manyheads open", "uv", "docker")
"""How lines begin that only look right: they install, or open a window."""
NEEDS = re.compile(r"#.*\bneeds ")
EXITS = re.compile(r"# exits with (\d+)$")
SERVES = re.compile(r"# needs a (browser|client)")
WITHOUT = r"""lacking() {
  local said code=0
  said=$(unset OPENAI_API_KEY ANTHROPIC_API_KEY; export OLLAMA_HOST=http://127.0.0.1:9
    timeout --signal=KILL 150 "$@" 2>&1 </dev/null) || code=$?
  case "$code $said" in
    *Traceback*) ;;
    2\ *next:* | 2\ *"No such file"* | [45]\ *) return ;;
  esac
  printf 'exit code %s\n%s\n' "$code" "$said"; return 1
}
serving() {
  : >"$PAGE_LOG"
  timeout --kill-after=30 150 "$@" >"$PAGE_LOG" 2>&1 </dev/null &
  until grep --quiet http://127.0.0.1 "$PAGE_LOG"; do
    kill -0 $! || { cat "$PAGE_LOG"; return 1; }
    sleep 0.2
  done
  kill $! && { wait $! || true; } && cat "$PAGE_LOG"
}
"""
"""Run a line without what it needs: without a key, a network, a terminal; or a server without anybody who comes to it."""
ONCE = re.compile(r"corpus sample: \d+ papers have no records yet")
"""What is told once, when a cache is filled: pages share one."""
MASKED = re.compile(r"token=\S+|\b[\d.]+ s\b|\b\d{8}-\d{6}\b")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
SERVER = "http://127.0.0.1:8000/v1"
OUTPUT = "text"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `start` and `end` are where its text stands in the page."""

    language: str
    title: str | None
    text: str
    start: int
    end: int

    @property
    def lines(self) -> list[str]:
        """Commands of a `bash` block; a backslash joins lines."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [line for line in joined if line.strip() and not line.strip().startswith("#")]


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    found: list[Block] = []
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        indent, language, title, body = match.groups()
        body = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        found.append(Block(language, title, body, match.start(4), match.end(4)))
    return found


def skipped(line: str) -> bool:
    """Whether a line is only parsed."""
    line = line.strip()
    other = bool(NEEDS.search(line)) and not line.startswith("manyheads ")
    return other or line.startswith(tuple(f"{word} " for word in SKIPPED))


def script(block: Block) -> str:
    """What bash is given of a block."""
    if block.language == "python":
        return 'python "$PAGE_SCRIPT"'
    lines = [WITHOUT] if NEEDS.search(block.text) else []
    for line in block.lines:
        if not skipped(line):
            line = line.replace("=…", "=made-up-key").replace(SERVER, "$FAKE_SERVER/v1")
            if NEEDS.search(line):
                line = f"{'serving' if SERVES.search(line) else 'lacking'} {line}"
            code = EXITS.search(line)
            lines.append(f"{{ {line[: code.start()]}; }} || [ $? = {code[1]} ]" if code else line)
    return "\n".join(lines)


def environment(home: Path, server: str, cache: Path) -> dict[str, str]:
    """What a reader's terminal has: an empty home, the fake server in place of providers, and no other network."""
    # Listed prices count for the providers' own servers, those of such a folder for any server.
    shutil.copytree(ROOT / "configs/models", home / "list/configs/models")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MANYHEADS", "PYTHON"))},
        "PATH": f"{os.environ.get('MANYHEADS_PAGES', Path(sys.executable).parent)}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "settings"),
        "COLUMNS": "100",
        "BROWSER": "true",
        "MANYHEADS_CACHE": str(cache),
        "MANYHEADS_PATH": str(home / "list"),
        "FAKE_SERVER": server,
        "OPENAI_BASE_URL": f"{server}/v1",
        "ANTHROPIC_BASE_URL": server,
        "OLLAMA_HOST": server,
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def follow(page: Path, folder: Path, server: str, cache: Path) -> Iterator[tuple[Block, str, str]]:
    """Run a page; gives each block that shows an output, with the output of the block before it.

    Raises:
        AssertionError: a block fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state, output = folder.parent / "state.sh", ""
    env = environment(folder.parent, server, cache)
    for name, text in BROUGHT.items() if page.parent.name == "skills" else ():
        (folder / name).write_text(text, encoding="utf-8")
    state.write_text(f'cd "{folder}"\n')
    for number, block in enumerate(blocks(page)):
        if block.title:
            target = folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        if block.language == OUTPUT and output and not block.title:
            yield block, expected(block, output), output
        elif block.language == "bash" or (block.language == "python" and not block.title):
            source = folder.parent / f"block{number}.py"
            source.write_text(block.text, encoding="utf-8")
            code = (
                f'set -e\nsource "{state}"\nPAGE_SCRIPT="{source}" PAGE_LOG="{source}.log"\n{script(block)}\n'
                f'{{ export -p; echo "cd \\"$PWD\\""; }} > "{state}"\n'
            )
            done = subprocess.run(
                ["bash", "-c", code],
                cwd=folder,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=400,
            )
            output = done.stdout
            place = f"{page.relative_to(ROOT)}, block {number}"
            assert done.returncode == 0, f"{place} ({done.returncode}):\n{block.text}\n{output[-3000:]}"


def expected(block: Block, output: str) -> str:
    """The output, shortened as a block shows it."""
    shown = block.text.splitlines()
    lines = [line.rstrip() for line in output.strip("\n").splitlines() if not ONCE.match(line)]
    if "…" not in shown:
        return "\n".join(lines) + "\n"
    head = shown.index("…")
    tail = len(shown) - head - 1
    return "\n".join([*lines[:head], "…", *lines[len(lines) - tail :]]) + "\n"


def alike(one: str, other: str) -> bool:
    """Whether two outputs have the same words, and numbers that differ by a fiftieth at most.

    Embeddings and fits differ a little from processor to processor. What no two runs share is masked: seconds, times of day and secrets;
    so are spaces and lines of tables, whose width is that of their numbers.
    """
    (words, numbers), (others, more) = (_parted(text) for text in (one, other))
    return words == others and all(
        math.isclose(*pair, rel_tol=0.02, abs_tol=0.01) for pair in zip(numbers, more, strict=True)
    )


def _parted(text: str) -> tuple[str, list[float]]:
    masked = MASKED.sub("…", text)
    numbers = [float(each.replace(",", "")) for each in NUMBER.findall(masked)]
    return re.sub(r"[\s─━]+", " ", NUMBER.sub("0", masked)), numbers


def refresh(page: Path, folder: Path, server: str, cache: Path) -> None:
    """Write the outputs that a page shows, where they have changed."""
    text = page.read_text(encoding="utf-8")
    for block, output, _ in reversed(list(follow(page, folder, server, cache))):
        output = block.text if alike(block.text, output) else output
        text = f"{text[: block.start]}{output}{text[block.end :]}"
    page.write_text(text, encoding="utf-8")


def fake(**more: Any) -> Any:
    """The server that answers for all providers."""
    from support.llm import LLM, PROCEEDS

    return LLM(answers=PROCEEDS, **more)


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    for name in sys.argv[1:] or PAGES:
        with TemporaryDirectory() as scratch, fake() as llm:
            refresh(Path(name).resolve(), Path(scratch) / "page", llm.url, Path("/tmp/pages-cache"))
