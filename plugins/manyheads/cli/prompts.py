"""Copies of our prompts and roles to edit: `manyheads prompts export`, and what has changed in ours since: `prompts diff`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.files import make_folder, read_text, replace_text, writable
from manyheads.cli.options import Paths
from manyheads.cli.printing import say

if TYPE_CHECKING:
    from manyheads.base.resources import Resources

app = typer.Typer(no_args_is_help=True)

ORIGINALS = ".originals.json"
"""In a user's folder: the texts that were copied into it, by their places, to tell later what has changed in ours."""
PROMPT = ".md.j2"
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Your copies.")]


@app.command("export")
def export(
    folder: Folder,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT…", help="A role, a task (scientist/idea), or a pattern ('*/system', '*')."
        ),
    ] = None,
    path: Paths = None,
) -> None:
    """Copy roles and prompts into a folder, to edit them and use them with --path.

    A role brings its card and its prompts. Existing files are kept.
    """
    from manyheads.base.resources import Resources

    resources = Resources.of(path or ())
    files = {place: file for each in what or () for place, file in _matching(resources, each)}
    if not files:
        roles = sorted(name.removesuffix(".yaml") for name in resources.names("roles", ".yaml"))
        tried = f"roles: {', '.join(roles)}"
        hint = f"manyheads prompts export {folder} scientist/idea, or '*' for all"
        raise ConfigError("say what to copy: a role, a task of it, or a pattern", tried=tried, hint=hint)
    written, originals = 0, _originals(folder)
    with writable(folder, hint="name another folder"):
        for place, source in files.items():
            target = folder / place
            if target.exists():
                continue
            make_folder(target.parent)
            target.write_bytes(source.read_bytes())
            originals[place] = source.read_text(encoding="utf-8")
            written += 1
        if written:
            replace_text(folder / ORIGINALS, json.dumps(originals, indent=0, sort_keys=True))
    kept = f"; {len(files) - written} that are there were kept" if len(files) > written else ""
    files_copied = f"{written} file{'s' * (written != 1)}"
    say(f"{files_copied} copied to {folder}{kept}; use them with: manyheads run virsci --path {folder}")


def _matching(resources: "Resources", what: str) -> Iterator[tuple[str, Path]]:
    """The files of a role, a task or a pattern; raises `ConfigError` if there is none."""
    cards = {name.removesuffix(".yaml"): file for name, file in resources.names("roles", ".yaml").items()}
    prompts = {name.removesuffix(PROMPT): file for name, file in resources.names("prompts", PROMPT).items()}
    wanted = what.removesuffix(PROMPT)
    of_role = f"{wanted}/*" if "/" not in wanted else wanted
    found = {f"roles/{name}.yaml": file for name, file in cards.items() if fnmatchcase(name, wanted)}
    found |= {f"prompts/{name}{PROMPT}": file for name, file in prompts.items() if fnmatchcase(name, of_role)}
    if not found:
        near = did_you_mean(wanted, [*cards, *prompts], "manyheads roles lists all roles")
        raise ConfigError(f"{what}: no such role or prompt", hint=near)
    yield from found.items()


def _originals(folder: Path) -> dict[str, str]:
    """The texts that were copied into a folder; raises `ConfigError` if their record is damaged."""
    try:
        data: object = json.loads(read_text(folder / ORIGINALS))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        hint = "remove it: your prompts are not in it"
        raise ConfigError(f"{folder / ORIGINALS}: cannot be read", hint=hint) from error
    return dict(cast(Mapping[str, str], data)) if isinstance(data, dict) else {}


@app.command("diff")
def diff(folder: Folder) -> None:
    """Show what has changed in our prompts and roles since you copied them.

    Lists each of your files; below those whose original has changed, the lines that changed in ours. Take over what you want.
    """
    from manyheads.base.resources import Resources

    originals, ours = _originals(folder), Resources()
    own = {f"{kind}/{name}": file for kind in ("roles", "prompts") for name, file in ours.names(kind).items()}
    mine = [
        file.relative_to(folder).as_posix()
        for kind in ("roles", "prompts")
        for file in sorted((folder / kind).rglob("*"))
        if file.is_file()
    ]
    if not mine:
        hint = "name the folder of your copies: manyheads prompts export FOLDER WHAT"
        raise ConfigError(f"{folder}: has no roles/ and no prompts/", hint=hint)
    changed = 0
    for place in mine:
        now = own[place].read_text(encoding="utf-8") if place in own else None
        lines = [*_changes(place, originals.get(place), now)]
        edited = place in originals and originals[place] != read_text(folder / place)
        say(
            f"{place}: {_state(place in originals, now is not None, bool(lines))}{', you have edited it' if edited else ''}"
        )
        changed += bool(lines)
        for line in lines:
            say(f"    {line}")
    say(f"\n{len(mine)} file{'s' * (len(mine) != 1)}, {changed} with changes in ours")


def _state(copied: bool, there: bool, changed: bool) -> str:
    if not there:
        return "ours is gone" if copied else "your own"
    if not copied:
        return "takes the place of ours; it was not copied by prompts export, so what changed cannot be told"
    return "ours has changed" if changed else "ours has not changed"


def _changes(place: str, then: str | None, now: str | None) -> Iterable[str]:
    if then is None or now is None or then == now:
        return ()
    names = f"{place}, when copied", f"{place}, now"
    return unified_diff(then.splitlines(), now.splitlines(), *names, lineterm="", n=2)
