"""Skills for agents that read them: folders with a `SKILL.md`, whose steps call our command line.

What a skill says stands in `configs/skills/NAME.md`; who works on it is taken from the role cards.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.files import make_folder, read_text, writable
from manyheads.base.folders import write
from manyheads.base.resources import Resources, parse_yaml

SKILL = "SKILL.md"
FOLDER = "skills/"


class Skill(BaseModel):
    """The front matter of a skill."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    description: str = Field(max_length=1024)
    """What it does, and when to use it: this is all that an agent knows before it reads on."""
    roles: tuple[str, ...] = ()
    """Who works on it."""


def skills(resources: Resources) -> dict[str, str]:
    """The text of each `SKILL.md`, by the skill's name.

    Raises:
        ConfigError: a skill cannot be read, or names a role that does not exist.
    """
    names = resources.names("configs", ".md")
    return dict(
        _text(file, Roles(resources)) for name, file in sorted(names.items()) if name.startswith(FOLDER)
    )


def _text(file: Path, roles: Roles) -> tuple[str, str]:
    try:
        _, head, body = read_text(file).split("---\n", 2)
        skill = Skill.model_validate(parse_yaml(head))
    except (ValueError, yaml.YAMLError) as error:
        hint = "begin it with a front matter as the shipped ones: name, description, roles"
        raise ConfigError(f"{file}: not a skill", hint=hint) from error
    front = yaml.safe_dump(
        skill.model_dump(exclude={"roles"}), sort_keys=False, allow_unicode=True, width=10_000
    )
    parts = [f"---\n{front}---", body.strip()]
    if skill.roles:
        workers = "\n".join(f"- `{name}`: {roles.card(name).description}" for name in skill.roles)
        parts.append(f"## Who works on it\n\n{workers}\n\nTheir tasks: `manyheads roles {skill.roles[0]}`")
    return skill.name, "\n\n".join(parts) + "\n"


def export_skills(
    folder: Path, names: Iterable[str], resources: Resources, *, force: bool = False
) -> Iterator[Path]:
    """Write skills, all if none is named; yields the files that are new or changed.

    Raises:
        ConfigError: there is no such skill, or a file that would be replaced says something else; then nothing is written.
    """
    known = skills(resources)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"--name {name}: no such skill", tried=f"skills: {', '.join(known)}", hint=hint)
    texts = {folder / name / SKILL: known[name] for name in names or known}
    with writable(folder, hint="name another folder"):
        same = {file for file, text in texts.items() if file.exists() and file.read_bytes() == text.encode()}
        changed = {file: text for file, text in texts.items() if file not in same}
        mine = [file for file in changed if file.exists()]
        if mine and not force:
            hint = "name another folder, or replace it: --force"
            raise ConfigError(f"{mine[0]}: says something else, and would be replaced", hint=hint)
        for file, text in changed.items():
            make_folder(file.parent)
            write(file, text)
            yield file
