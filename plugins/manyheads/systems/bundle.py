"""A folder of runs as a static site to share: start page, reports and exports; from disk, from a server, or in a zip."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from manyheads.base.errors import ConfigError, SubjectError, UserError, scrubbed
from manyheads.base.files import inside, read_text, writable
from manyheads.base.folders import CONFIG, REPORT
from manyheads.config.keys import stored_keys
from manyheads.report.index import INDEX, RunEntry, entries, index_page, is_ours
from manyheads.report.top import place, without_places
from manyheads.systems.exports import shared
from manyheads.systems.results import load, write_report

SCRIPT = re.compile(r"(?is)<script\b.*?(?:</script\s*>|\Z)")
LINK = re.compile(r'\s(href|src)="([^"#:]+)(#[^"]*)?"')
"""A link to another file of the folder; addresses have a colon."""
TEXT = re.compile(r"(?is)<style\b.*?</style\s*>|>[^<]+<")
PATH = re.compile(r"(?<![\w/.:<&;~-])(?:/[\w.@+-]+){2,}/?|\b[A-Za-z]:\\(?:[\w .@+-]+\\)+[\w.@+-]+")


def write_bundle(folder: Path, out: Path, *, replace: bool = False) -> list[RunEntry]:
    """Write the site; it has no scripts, no absolute paths, no journals and no configs of its own.

    Args:
        out: the site's folder, or a `.zip` file.
        replace: replace an earlier site.

    Returns:
        All runs of the folder; those without a report are only listed.

    Raises:
        SubjectError: the folder has no runs.
        ConfigError: `out` exists, or cannot be written.
    """
    runs = _runs(folder)
    taken = out.exists() or out.is_symlink()
    if taken and not replace:
        raise ConfigError(f"{out}: exists", hint="choose another --out, or replace it: --replace")
    if taken and not ((out.is_file() and out.suffix == ".zip") or is_ours(out)):
        hint = "choose another --out"
        raise ConfigError(f"{out}: not a site of manyheads, so it is not replaced", hint=hint)
    with writable(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out.parent, prefix=".bundle-") as temporary:
            site = Path(temporary) / out.stem
            shown = _write_site(folder, runs, site)
            if out.suffix == ".zip":
                made = Path(shutil.make_archive(str(site), "zip", temporary, site.name))
                made.replace(out)
            else:
                if taken:
                    out.rename(Path(temporary) / "replaced")
                site.rename(out)
    return shown


def _runs(folder: Path) -> list[RunEntry]:
    try:
        if (folder / CONFIG).is_file():
            hint = f"manyheads bundle {folder.parent}"
            raise SubjectError(f"{folder}: a run, not a folder of runs", hint=hint)
        runs = entries(folder)
    except OSError as error:
        raise SubjectError(f"{folder}: {error.strerror}", hint="name a folder of runs") from error
    if not runs:
        raise SubjectError(f"{folder}: no runs in it", hint="name a folder of runs, such as runs")
    return runs


def _write_site(folder: Path, runs: list[RunEntry], site: Path) -> list[RunEntry]:
    waiting = [f"{run.folder}/{REPORT}" for run in runs if _report(folder, run.folder)]
    pages = dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name not in pages and (page := inside(folder, name)):
            pages[name] = read_text(page)
            waiting += (target for _, target in _targets(pages[name], name) if target.endswith(REPORT))
    files = dict[str, list[str]]()
    for run in runs:
        made = {"": ""} if run.state in ("damaged", "") else dict(_exports(folder / run.folder))
        for file, content in made.items():
            if content:
                _write(site / run.folder / file, _without_private(content, folder, as_html=False))
                files.setdefault(run.folder, []).append(file)
    for name, html in pages.items():
        _write(site / name, _shared(html, name, pages, folder))
    shown = [run.model_copy(update={"report": f"{run.folder}/{REPORT}" in pages}) for run in runs]
    _write(site / INDEX, _without_private(index_page(folder, shown, files), folder))
    return shown


def _report(folder: Path, name: str) -> bool:
    """Whether a run has a report; one that is missing is written, as far as the run came."""
    if not (folder / name / REPORT).is_file():
        with suppress(UserError, OSError, ValueError):
            write_report(folder / name)
    return inside(folder, f"{name}/{REPORT}") is not None


def _exports(folder: Path) -> Iterator[tuple[str, str]]:
    with suppress(UserError):
        yield from shared(load(folder), folder)


def _targets(html: str, name: str) -> Iterator[tuple[str, str]]:
    """The links of a page to files, each with the file's path in the folder of runs."""
    for match in LINK.finditer(html):
        yield match[2], os.path.normpath(os.path.join(os.path.dirname(name), unquote(match[2])))


def _shared(html: str, name: str, pages: dict[str, str], folder: Path) -> str:
    """A page without scripts, private paths, and links to what is not in the site."""
    kept = {link for link, target in _targets(html, name) if target in pages}
    html = LINK.sub(lambda match: match[0] if match[2] in kept else "", SCRIPT.sub("", html))
    return _without_private(html, folder)


def _without_private(text: str, folder: Path, *, as_html: bool = True) -> str:
    """A text without the user's paths, keys and credentials; of a path, the name is left."""
    keys = [
        value
        for key, value in {**stored_keys(), **os.environ}.items()
        if key.endswith(("KEY", "TOKEN", "SECRET")) and len(value) > 7
    ]
    whole = f"{folder.resolve().parent}/"
    text = without_places(text, folder).replace(escape(whole) if as_html else whole, "")

    def clean(part: str) -> str:
        if part[:6].lower() == "<style":
            return part
        return PATH.sub(lambda match: place(match[0]), scrubbed(part, *keys))

    return TEXT.sub(lambda match: clean(match[0]), text) if as_html else clean(text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
