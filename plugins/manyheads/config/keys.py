"""The user's stored keys: one file that only they can read, for keys that stand in no environment variable and no `.env`."""

import io
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from manyheads.base.errors import ConfigError
from manyheads.base.files import read_text, writable


def keys_file() -> Path:
    """`keys.json` in the user's folder for settings."""
    import platformdirs

    return platformdirs.user_config_path("manyheads") / "keys.json"


def stored_keys() -> dict[str, str]:
    """The stored keys, by the names of their variables.

    Raises:
        ConfigError: the file is damaged, or others may read it.
    """
    file = keys_file()
    try:
        if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
            hint = f"chmod 600 {file}, and make new keys"
            raise ConfigError(f"{file}: others on this machine can read your keys", hint=hint)
        data: object = json.loads(read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        hint = "remove it, and set your keys again"
        raise ConfigError(f"{file}: cannot be read: {reason}", hint=hint) from None
    if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):  # pyright: ignore[reportUnknownVariableType]
        raise ConfigError(f"{file}: cannot be read: it is damaged", hint="remove it, and set your keys again")
    return data


def store_keys(keys: Mapping[str, str]) -> None:
    """Replace the stored keys; the file has mode 600 from its first byte on. Raises `ConfigError` if it cannot be written."""
    file = keys_file()
    with writable(file, hint="make the folder writable, or export the key"):
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}")
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            json.dump(dict(keys), new, indent=1)
        os.replace(beside, file)


def value_of(variable: str) -> str:
    """The value of a variable: that of the environment, else the stored key; empty without either. Raises as `stored_keys`."""
    return (os.environ.get(variable) or (stored_keys().get(variable, "") if variable else "")).strip()


KEYS = re.compile(r"[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|MAILTO)", re.ASCII)
OURS = re.compile(r"MANYHEADS_\w+|(?:OPENAI|ANTHROPIC)_BASE_URL|OLLAMA_HOST|HF_\w+", re.ASCII)
"""Settings that are not read from `.env`."""


def read_keys(file: Path = Path(".env")) -> list[str]:
    """Add the keys of a `.env` file to the environment; variables that are set already win.

    Only keys are read, so that a folder from somebody else cannot send them to another address.

    Returns:
        Settings in it that are not read.

    Raises:
        ConfigError: the file cannot be read.
    """
    if not file.is_file():
        return []
    from dotenv import dotenv_values

    try:
        values = dotenv_values(stream=io.StringIO(read_text(file, 1_000_000, "utf-8-sig")), interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        hint = "see .env.example of manyheads init"
        raise ConfigError(f"{file}: cannot be read: {reason}", hint=hint) from error
    for name, value in values.items():
        if value and "\0" not in value and KEYS.fullmatch(name):
            os.environ.setdefault(name, value)
    return [name for name in values if OURS.fullmatch(name) and name not in os.environ]
