"""`manyheads init --system NAME`: a package with a system of one's own that works, to be changed."""

import re
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from manyheads.base.errors import ConfigError
from manyheads.base.files import make_folder, writable
from manyheads.cli.printing import say

TEMPLATES = "package/"
"""The folder of `configs/` with the files of a new package; their names and texts have these words in them."""
ENDING = ".tmpl"
NAMES = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 40


def write_package(folder: Path, name: str) -> None:
    """Write the package of a system and say what to do next.

    Raises:
        ConfigError: the name is not one for a system, is taken, or the folder has files.
    """
    from manyheads.base.resources import Resources
    from manyheads.systems import systems

    if not NAMES.fullmatch(name) or len(name) > LONGEST:
        hint = "small letters, digits and hyphens, such as idea-duel"
        raise ConfigError(f"--system {name!r} is not a name for a system", hint=hint)
    module = name.replace("-", "_")
    if iskeyword(module) or module in sys.stdlib_module_names or find_spec(module):
        raise ConfigError(
            f"--system {name}: Python already uses {module!r}, as a module or a keyword",
            hint="choose another name",
        )
    if name in systems():
        raise ConfigError(f"--system {name}: there is a system of this name", hint="choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: is not an empty folder", hint="name a new folder")
    words = {
        "PACKAGE": module,
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
        "TITLE": name.replace("-", " ").capitalize(),
        "NAME": name,
    }

    def filled(text: str) -> str:
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    files = Resources().names("configs", ENDING, TEMPLATES)
    with writable(folder, hint="name another folder"):
        for place, source in files.items():
            path = place.removeprefix(TEMPLATES).removesuffix(ENDING)
            target = folder / filled(re.sub(r"^package(?=/)", "PACKAGE", path))
            make_folder(target.parent)
            target.write_text(filled(source.read_text(encoding="utf-8")), encoding="utf-8")
    say(
        f"{folder}: a package with the system {name}, {len(files)} files\n\nNext:\n"
        f"cd {folder}\npip install --editable '.[dev]'\n"
        f'manyheads run {name} --question "Why do owls fly silently?"   # offline, no key\n'
        "pytest                                                      # holds it to the contract of a system"
    )
