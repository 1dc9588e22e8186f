"""Papers in office formats, spoilt at random, and servers of papers that misbehave."""

import asyncio
import io
import random
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path
from unittest.mock import patch

import pypandoc

from attack.figures import Figure, times
from attack.files import BYTES, spoilt
from manyheads.base.errors import UserError
from manyheads.base.http import Pace
from manyheads.config import LiteratureConfig
from manyheads.documents import read_document
from manyheads.documents.folders import unpacked
from manyheads.literature import fulltext
from manyheads.literature.fulltext import fetch
from support.files import Answer, FileServer

WORDS = "Words that people read in a paper about owls, and about mice under the snow. " * 6
PAPER = f"""---
title: Owls
author: [Ada Berg]
abstract: We ask.
---

# Introduction

{WORDS}[^1] [a]{{style="color:white"}} $x^2$ [Accept.]{{.comment-start id="0" author="R" date="2020-01-01T00:00:00Z"}}x[]{{.comment-end id="0"}}

[^1]: A note.

: Counts.

| a | b |
|---|---|
| 1 | 2 |

# References

[1] A. Berg. Owls. 1990. doi:10.1000/abc.
"""
KINDS = {"docx": "docx", "odt": "odt", "epub": "epub", "jats": "nxml", "rst": "rst", "typst": "typ"}
HURTFUL: dict[str, bytes] = {
    "deep.rst": b"* " * 5000 + WORDS.encode(), "quotes.rst": b"`" * 50_000, "roles.rst": b".. |a| replace:: |a|\n\n|a|\n" + WORDS.encode(),
    "file.rst": b".. include:: /etc/passwd\n.. csv-table::\n   :file: /etc/passwd\n\n" + WORDS.encode(), "raw.rst": b".. raw:: html\n   :file: /etc/passwd\n\n" + WORDS.encode(),
    "loop.typ": b"#let f(x) = f(x + 1)\n#f(1)\n" + WORDS.encode(), "while.typ": b"#while true { [a] }\n" + WORDS.encode(), "deep.typ": b"#[" * 20_000 + WORDS.encode(),
    "read.typ": b'#read("/etc/passwd")\n#include "/etc/passwd"\n' + WORDS.encode(), "deep.nxml": b"<article><body>" + b"<sec>" * 20_000 + WORDS.encode(),
    "entity.nxml": b'<!DOCTYPE article [<!ENTITY a SYSTEM "file:///etc/passwd">]><article><body><p>&a;' + WORDS.encode() + b"</p></body></article>",
    "laughs.nxml": b'<!DOCTYPE article [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><article><body><p>&b;</p></body></article>',
}  # fmt: skip


def made(folder: Path) -> dict[str, bytes]:
    """A small paper in each format."""
    (folder / "paper.md").write_text(PAPER)
    files = dict[str, bytes]()
    for kind, ending in KINDS.items():
        path = folder / f"made.{ending}"
        command = [pypandoc.get_pandoc_path(), "-s", "paper.md", "-t", kind, "-o", path.name]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        files[path.name] = path.read_bytes()
    return files


def inside(data: bytes, rng: random.Random) -> bytes:
    """An archive with one of its parts spoilt."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([name for name in parts if parts[name]])
    parts[name] = spoilt(parts[name], rng)
    with zipfile.ZipFile(new := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for each, part in parts.items():
            archive.writestr(each, part)
    return new.getvalue()


def office(folder: Path) -> Figure:
    """Papers of six formats: spoilt, cut, nested, endless. Read or refused in a sentence, never with a traceback or a stranger's file."""
    figure, rng = Figure("spoilt papers in office formats: read or refused"), random.Random(11)
    cases = dict(HURTFUL)
    for name, data in made(folder).items():
        cases |= {f"{how}.{name}": change(data, rng) for how, change in BYTES.items()}
        for number in range(times(8)):
            spoil = inside if data.startswith(b"PK") and number % 2 else spoilt
            cases[f"{number}.{name}"] = spoil(data, rng)
    for name, data in cases.items():
        (path := folder / name).write_bytes(data)
        wrong, begin = dict[str, object](), time.monotonic()
        try:
            wrong["reads a file of the machine"] = "root:" in read_document(path).model_dump_json()
        except UserError as error:
            wrong["unnamed"] = name not in error.message
        except Exception as error:  # noqa: BLE001
            wrong[f"traceback: {type(error).__name__}: {error}"] = True
        figure.add(name, (), {**wrong, "slow": time.monotonic() - begin > 90})
    return figure


def archives() -> dict[str, bytes]:
    """Archives that hurt who unpacks them."""
    with tarfile.open(fileobj=(tar := io.BytesIO()), mode="w:gz") as file:
        for kind, name, target in (
            (tarfile.SYMTYPE, "main.tex", "/etc/passwd"),
            (tarfile.LNKTYPE, "a.tex", "../x"),
            (tarfile.CHRTYPE, "d", ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            file.addfile(member)
    with zipfile.ZipFile(bomb := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("main.tex", bytes(310_000_000))
    with zipfile.ZipFile(out := io.BytesIO(), "w") as file:
        file.writestr("../../evil.tex", "x")
    with zipfile.ZipFile(same := io.BytesIO(), "w") as file:
        file.writestr("a", "x")
        file.writestr("a/b.tex", "x")
    return {"links.tar.gz": tar.getvalue(), "bomb.zip": bomb.getvalue(), "out.zip": out.getvalue(), "same.zip": same.getvalue(), "empty.zip": b"",
            "random.tar.gz": b"\x1f\x8b" + random.Random(1).randbytes(999)}  # fmt: skip


def addresses(folder: Path) -> Figure:
    """Servers that send what is no paper, too much, elsewhere or never; archives with bombs, links and names outside."""
    figure = Figure("papers from servers and in archives: had or refused")
    with FileServer() as stranger, FileServer() as server:
        to = [
            f"{stranger.url}/x",
            "file:///etc/passwd",
            "//[::1]/",
            "http://",
            "ftp://a/b",
            "/round",
            "http://[",
            "\x00",
        ]
        answers: dict[str, Answer | bytes] = {
            f"/to{n}": (302, {"Location": where}, b"") for n, where in enumerate(to)
        }
        answers |= {
            f"/page{n}": f'<!doctype html><meta name="citation_pdf_url" content="{where}">'.encode()
            for n, where in enumerate(to)
        }
        answers |= {
            "/round": (302, {"Location": "/round"}, b""),
            "/gzip": (200, {"Content-Encoding": "gzip"}, b"%PDF-"),
            "/br": (200, {"Content-Encoding": "br"}, b"%PDF-"),
        }
        answers |= {
            f"/{status}": (status, {"Retry-After": "9999"}, b"<html>" * 99)
            for status in (401, 403, 404, 429, 500)
        }
        answers |= {f"/{name}": data for name, data in archives().items()}
        answers |= {
            "/%2e%2e%2fevil.pdf": b"%PDF-",
            "/..%5cevil.pdf": b"%PDF-",
            f"/{'a' * 999}.pdf": b"%PDF-",
            "/.pdf": b"%PDF-",
            "/null.tex": b"\0" * 99,
        }
        server.files |= answers
        config = LiteratureConfig(endpoints={"openalex": server.url}, patience=3)
        with patch.object(fulltext, "PACE", Pace(0.0)):
            for path in answers:
                home, wrong = folder / "home", dict[str, object]()
                try:
                    file = asyncio.run(fetch(f"{server.url}{path}", home, config))
                    wrong["is outside"] = file.parent != home
                    if file.name.endswith((".zip", ".tar.gz")):
                        unpacked(file, home / "in")
                except UserError as error:
                    wrong["without what to do"] = not error.hint
                except Exception as error:  # noqa: BLE001
                    wrong[f"traceback: {type(error).__name__}: {error}"] = True
                figure.add(path[:40], (), {**wrong, "writes outside": any(folder.parent.rglob("evil.tex"))})
        figure.add("strangers", (), {"asks a private address": stranger.asked})
    return figure
