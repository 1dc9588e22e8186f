"""The folders, forms and visitors of the web room, and the files of strangers that its owner works on."""

import asyncio
import contextlib
import itertools
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx
from reportlab.platypus import Paragraph

from attack.drive import Driver
from attack.figures import Figure, times
from golden.commands import environment
from support.arenas import arena
from support.pdfs import TITLE, body, heading, typeset
from support.served import served
from support.web import ADDRESS, CSRF, app_of, browser, owner

RUN = ("run", "conference-review", "--subject", "idea.md", "--set", "embedding=lexical", "--quiet", "--out")
FILES = [
    "result.json",
    "report.html",
    "journal.sqlite",
    "config.yaml",
    "events.jsonl",
    "searches.jsonl",
    "measure.json",
]
PARTS = [
    "result.json.part",
    "config.yaml.part",
    "events.jsonl.part",
    "report.html.part",
    "journal.sqlite-wal",
]
COMMANDS = ("resume", "show", "report", "measure")
NAMES = [
    "json",
    "random",
    "types",
    "typing",
    "yaml",
    "pydantic",
    "manyheads",
    "sitecustomize",
    "pypdfium2",
    "numpy",
]
VALUES = (
    "9" * 29, "9" * 5000, "-1", "1e999", "nan", "1" + "0" * 400, "a" * 5000, "\u0667", "\x00", "\ud800", "../../x", "/dev/zero", "/etc/passwd",
    "[" * 2000, "{{ x }}", "a\nb", "<script>", "2015-13-01", "true",
)  # fmt: skip


QUERIES = [
    "/runs?page=",
    "/runs?q=",
    "/runs?state=",
    "/compare?left=",
    "/arenas/a/cases/",
    "/runs/",
    "/start/",
    "/vote/items/",
]


def folders(folder: Path) -> Figure:
    """Pipes, links, sockets and folders in the place of a run's files: commands and pages end at once, and write nowhere else."""
    figure = Figure("pipes and links in run folders: commands and pages")
    secret, before = folder / "secret", "a file of the owner's\n"
    kinds: dict[str, Callable[[Path], object]] = {
        "pipe": os.mkfifo, "link": partial(os.symlink, secret), "loop": lambda path: os.symlink(path, path),
        "zero": partial(os.symlink, "/dev/zero"), "folder": Path.mkdir, "socket": bound,
    }  # fmt: skip
    with Driver(40) as command:
        (folder / "idea.md").write_text("# Owls\n\nWe plan with owls.\n")
        made = command(*RUN, "runs/run", cwd=folder)
        assert made.code == 0, made
        shutil.copytree(folder / "runs/run", folder / "sound")
        for name in (*FILES, *PARTS):
            for kind, make in kinds.items():
                shutil.rmtree(folder / "runs")
                shutil.copytree(folder / "sound", folder / "runs/run")
                path = folder / "runs/run" / name
                path.unlink(missing_ok=True)
                make(path)
                secret.write_text(before)
                faults = list[str]()
                for words in COMMANDS:
                    end = command(words, "runs/run", cwd=folder)
                    faults += [f"{words}: {fault}" for fault in end.faults]
                faults += asyncio.run(pages(folder / "runs"))
                faults += ["wrote through the link"] * (secret.read_text() != before)
                figure.add(f"{name} as {kind}", faults)
    return figure


def bound(path: Path) -> None:
    # A socket's path may have 107 letters at most.
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):
        one.bind(path.name)


async def pages(runs: Path) -> list[str]:
    faults = list[str]()
    async with owner(runs) as client:
        for page in ("", "/run", "/run/report.html", "/run/files/result.json", "/run/files/events.jsonl"):
            try:
                async with asyncio.timeout(10):
                    response = await client.get(f"/runs{page}")
            except TimeoutError:
                return [*faults, f"/runs{page}: endless"]
            if response.status_code >= 500 or "a file of the owner" in response.text:
                faults.append(f"/runs{page}: {response.status_code}")
    return faults


def forms(folder: Path) -> Figure:
    """Each field of each form with values that nobody types."""
    figure = Figure("hostile values in each field of the web room's forms")
    asyncio.run(_forms(folder, figure))
    return figure


async def _forms(folder: Path, figure: Figure) -> None:
    rng = random.Random(17)
    with arena(folder / "a", ("one", "two")) as made:
        async with owner(folder) as client, browser(app_of(client)) as guest:
            entered = await guest.get("/arena/enter", params={"token": made.invite("Ada").token})
            assert entered.status_code == 200
            item = (await guest.get("/vote/next")).headers["location"]
            for who, page, path in (
                (client, "/start/virsci", "/start/virsci"), (client, "/start/mamorx", "/start/mamorx"), (client, "/arenas/a", "/arenas/a/invite"),
                (client, "/arenas/a", "/arenas/a/revoke"), (guest, item, item),
            ):  # fmt: skip
                text = (await who.get(page)).text
                token = CSRF.search(text)
                assert token
                names = set(re.findall(r'<(?:input|select|textarea)[^>]*? name="([^"]+)"', text)) - {"csrf"}
                tries = [(name, value) for name in sorted(names) for value in VALUES]
                inputs = {"names": "Eve", "topic": "Owls", "inputs.paper": "x.pdf"} if who is client else {}
                sound = {"csrf": token[1], **inputs}
                must = [("name", "a" * 5000), ("days", "9" * 29)]
                for name, value in [*must, *rng.sample(tries, min(len(tries), times(60)))]:
                    data = urlencode({**sound, name: value}, errors="surrogatepass")
                    headers = {"origin": ADDRESS, "content-type": "application/x-www-form-urlencoded"}
                    response = await who.post(path, content=data, headers=headers)
                    code = response.status_code
                    figure.add(f"{path} {name}={value[:20]!a}", (), {str(code): code >= 500})
            for query, value in itertools.product(QUERIES, VALUES):
                code = (await client.get(query + quote(value, errors="replace"))).status_code
                figure.add(f"{query}{value[:20]!a}", (), {str(code): code >= 500})


def imports(folder: Path) -> Figure:
    """Files with the names of modules in the working folder: none is imported."""
    figure = Figure("modules in the working folder: command, PDF reader, runs of the web room")
    typeset(
        folder / "paper.pdf", [Paragraph("Owls", TITLE)], [heading("1 Introduction"), body("Owls plan.", 200)]
    )
    for name in NAMES:
        (folder / f"{name}.py").write_text(
            f"open({str(folder / 'imported')!r}, 'a').write({name + ' '!r})\nraise SystemExit(9)\n"
        )
    manyheads = Path(sys.executable).with_name("manyheads")
    local = ("literature.cascade=[local]", "-s", "embedding=lexical")
    for words in (("check", "virsci"), ("review", "paper.pdf", "--quiet", "-s", *local)):
        made = [manyheads, *words]
        end = subprocess.run(made, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120)
        figure.add(" ".join(words), (), {end.stderr: end.returncode})
    figure.add("modules", (), {"imported": (folder / "imported").exists()})
    return figure


def visitors(folder: Path) -> Figure:
    """Half-open requests and wrong tokens of one address, while a rater of the same address gets pages."""
    figure = Figure("1,500 half-open requests and wrong tokens, while a rater gets pages")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with arena(folder / "a", ("one", "two")) as made:
        tokens = [made.invite(f"Ada {number}").token for number in range(5)]
    with served(folder) as room:
        resource.prlimit(room.process.pid, resource.RLIMIT_NOFILE, (1024, 4096))
        place = room.url.removeprefix("http://").split(":")
        held = [socket.socket() for _ in range(1500)]
        for one in held:
            one.setblocking(False)
            one.connect_ex((place[0], int(place[1])))
        time.sleep(0.5)
        slowest = 0.0
        for token in tokens:
            for one in held:
                try:
                    one.send(b"G")
                except OSError:
                    continue
            began = time.monotonic()
            with httpx.Client(base_url=room.url, timeout=10) as client:
                for number in range(30):
                    wrong = client.get("/arena/enter", params={"token": f"{number}" * 32}).status_code
                    figure.add("a wrong token", (), {str(wrong): wrong != 401})
                for path in (f"/arena/enter?token={token}", "/vote"):
                    try:
                        code = client.get(path).status_code
                    except httpx.HTTPError as error:
                        code = repr(error)
                    figure.add(path[:12], (), {str(code): code != 200})
            slowest = max(slowest, time.monotonic() - began)
        for one in held:
            one.close()
        figure.add("the time of 32 pages", (), {f"{slowest:.1f} s": slowest > 10})
    figure.notes.append(f"slowest 32 pages {slowest:.1f} s")
    return figure


def bombs() -> Iterator[tuple[str, list[bytes]]]:
    """PDFs that grow: the objects after catalogue and tree."""
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>"
    )

    def stream(data: bytes, words: bytes = b"") -> bytes:
        return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (words, len(data), data)

    def form(data: bytes, inner: int = 0) -> bytes:
        drawn = b"/Resources<</XObject<</I %d 0 R>>>>" % inner if inner else b""
        return stream(data, b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]" + drawn)

    path = form(b"0 0 m 10 10 l S")
    lines = zlib.compress(b"0 0 m 10 10 l S " * 20_000_000)
    yield "flate", [page, stream(lines, b"/Filter/FlateDecode"), path]
    twice = zlib.compress(zlib.compress(b" " * 1_500_000_000))
    yield "flate twice", [page, stream(twice, b"/Filter[/FlateDecode/FlateDecode]"), path]
    yield "forms", [page, stream(b"/I Do"), *(form(b"/I Do " * 10, number) for number in range(6, 15)), path]
    yield "wide forms", [page, stream(b"/I Do " * 4000), form(b"0 0 m 1 1 l S " * 1500)]


def pdfs(folder: Path) -> Figure:
    """PDFs that grow when they are read, and names that are no files."""
    figure = Figure("PDFs that grow, and pipes given as papers")
    os.mkfifo(folder / "paper.pdf")
    (folder / "loop.pdf").symlink_to(folder / "loop.pdf")
    (folder / "corpus").mkdir()
    os.mkfifo(folder / "corpus" / "papers.jsonl")
    os.mkfifo(folder / "papers.bib")
    with Driver(60) as command:
        for name, objects in bombs():
            write_pdf(folder / "bomb.pdf", objects)
            began = time.monotonic()
            end = command("review", "bomb.pdf", "--out", "out", cwd=folder)
            seconds = time.monotonic() - began
            figure.add(name, end.faults, {"accepted": end.code == 0, f"{seconds:.0f} s": seconds > 30})
        for words in (("review", "paper.pdf"), ("review", "loop.pdf"), ("review", "/dev/stdin"), ("review", "C:\\papers\\x.pdf"), ("measure", "papers.bib"),
                      ("corpus", "build", "papers.bib", "--out", "o"), ("corpus", "build", "corpus", "--out", "o"), ("arena", "add", "a", "paper.pdf")):  # fmt: skip
            end = command(*words, cwd=folder)
            figure.add(" ".join(words), end.faults, {"accepted": end.code == 0})
    return figure


def write_pdf(path: Path, objects: list[bytes]) -> None:
    whole, places = b"%PDF-1.5\n", list[int]()
    tree = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    for number, one in enumerate((*tree, *objects), 1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, len(whole))
    path.write_bytes(whole + b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1) + table + end)
