"""A program as a model (`provider: command`), such as an agent's command line that one pays for by subscription."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Sequence
from typing import IO

from manyheads.base.errors import ConfigError
from manyheads.base.http import GarbledError, in_short
from manyheads.base.processes import end_group
from manyheads.config import ModelConfig
from manyheads.config.environment import located, need_allowed_program
from manyheads.core import Message, Raw
from manyheads.models.answers import MOST_BYTES
from manyheads.models.requests import usage_of

LAST_WORDS = 2_000
"""Bytes of the program's errors that are read."""


def command_of(config: ModelConfig, alias: str = "default") -> list[str]:
    """The words of the command line that a model's name holds, the first with the program's full path.

    Raises:
        ConfigError: it has no words or an open quote, the program is not there, or is not allowed, see `need_allowed_program`.
    """
    where = f"models.{alias}"
    try:
        words = shlex.split(config.name)
    except ValueError as error:
        hint = "close each quote"
        raise ConfigError(f"{where}: {config.name!r} is not a command line: {error}", hint=hint) from error
    if not words:
        hint = 'name a program: command/"my-model --answer"'
        raise ConfigError(f"{where}: the command line is empty", hint=hint)
    if not (found := located(words)):
        tried, hint = "the folders of PATH", "install it, or write its full path"
        raise ConfigError(f"{where}: there is no program {words[0]!r}", tried=tried, hint=hint)
    need_allowed_program(found, where)
    return found


class CommandModel:
    """Answers each question with one start of a program: the prompt on its standard input, the answer from its standard output.

    It starts in an empty folder of its own, so that an agent finds no files there; whether it has tools is up to its options.
    A program that is too slow, or whose turn was cancelled, is killed with all that it started.

    Args:
        config: `name` is the command line.
        alias: the model's name in messages.

    Raises:
        ConfigError: see `command_of`.
    """

    def __init__(self, config: ModelConfig, alias: str = "default") -> None:
        self.config, self._words = config, command_of(config, alias)

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`.

        Raises:
            GarbledError: the program fails, says nothing, or says what is not text.
        """
        prompt = prompt_of(system, thread)
        with (
            tempfile.TemporaryFile() as asked,
            tempfile.TemporaryFile() as said,
            tempfile.TemporaryFile() as errors,
            tempfile.TemporaryDirectory(prefix="manyheads-") as folder,
        ):
            asked.write(prompt.encode("utf-8", "replace"))
            asked.seek(0)
            code = await self._end(asked, said, errors, folder)
            answer, why = _head(said), _tail(errors)
        if code or not answer.strip():
            end = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            said = in_short(ValueError(why or answer.strip() or "nothing"))
            raise GarbledError(f"the program {end if code else 'wrote no answer'}; it says: {said}")
        return Raw(answer.strip(), self.config.name, usage_of(self.config, None, None, prompt, answer))

    async def _end(self, asked: IO[bytes], said: IO[bytes], errors: IO[bytes], folder: str) -> int:
        """The exit code of one start of the program; below 0, the signal that killed it."""
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=asked, stdout=said, stderr=errors, cwd=folder, start_new_session=True
        )
        try:
            return await process.wait()
        finally:
            end_group(process.pid)
            await process.wait()


def prompt_of(system: str, thread: Sequence[Message]) -> str:
    """A thread as one text: the system prompt, then the messages, each under who said it where there are several."""
    names = {"user": "# The question", "assistant": "# Your earlier answer"}
    heads = [f"{names[each.sender]}\n\n" if len(thread) > 1 else "" for each in thread]
    texts = (f"{head}{each.text.strip()}" for head, each in zip(heads, thread, strict=True))
    return "\n\n".join(filter(None, (system.strip(), *texts)))


def _head(file: IO[bytes]) -> str:
    """What a program wrote; raises `GarbledError` if it is too long or not text."""
    file.seek(0)
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise GarbledError(f"the program's answer is longer than {MOST_BYTES // 1_000_000} MB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise GarbledError("the program's answer is not UTF-8 text") from None


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - LAST_WORDS, 0))
    return file.read().decode("utf-8", "replace").strip()
