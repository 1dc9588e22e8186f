"""Changes to Typer's parser: readable help, and options of systems."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from manyheads.base.errors import ConfigError, UserError, closest, did_you_mean

if TYPE_CHECKING:
    from manyheads.team.system import System


def first_sentence(text: str) -> str:
    """What a list shows of a help text."""
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")


class _Help:
    """The help of commands and groups: a first sentence in lists, and lines below a heading at the end."""

    heading: str
    help: str | None
    short_help: str | None
    epilog: str | None

    def get_short_help_str(self, limit: int = 45) -> str:
        return first_sentence(self.short_help or self.help or "")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section(self.heading):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(_Help, TyperCommand):
    heading = "Examples"

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        params: list[Any] = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        names = (each.metavar or each.name.upper() for each in params)
        return [
            "[OPTIONS]",
            *(name if each.required else f"[{name}]" for each, name in zip(params, names, strict=True)),
        ]


class Group(_Help, TyperGroup):
    heading = "Exit codes"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a word names; the name of a config, or `help`, says what to type instead."""
        word, whole = args[0], ctx.parent is None
        if whole and word not in self.commands and not word.startswith("-"):
            from manyheads.base.resources import Resources

            known = f"{word.removesuffix('.yaml')}.yaml" in Resources.of().names("configs", ".yaml")
            typed = " ".join(args)
            if known or word.endswith(".yaml"):
                raise ConfigError(f"{word} is a config, not a command", hint=f"manyheads run {typed}")
            if word == "help":
                raise ConfigError("help is an option", hint=f"manyheads {' '.join([*args[1:], '--help'])}")
        return super().resolve_command(ctx, args)


class SystemCommand(Command):
    """A command on a config, with an option for each input of the config's system."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = True
        if ctx.resilient_parsing:  # the shell completes a word
            return super().parse_args(ctx, args)
        values: dict[str, Any] = self.make_parser(ctx).parse_args(args=[*args])[0]
        names, unknown = list[str](), list[tuple[str, str]]()
        words: Iterator[str] = iter(values["configs"] or [])
        for word in words:
            option, equals, value = word.partition("=")
            if not word.startswith("-"):
                names.append(word)
            else:  # an option of a system always has a value
                unknown.append((option, value if equals else next(words, "")))
        own = self._own_settings(ctx, names, unknown, values)
        left = super().parse_args(ctx, args)
        ctx.params |= {"configs": names, "sets": [*own, *(ctx.params["sets"] or ())]}
        return left

    def _own_settings(
        self, ctx: Any, names: list[str], unknown: list[tuple[str, str]], values: Mapping[str, Any]
    ) -> list[str]:
        """The system's options as settings; the parser refuses the others."""
        from pydantic import ValidationError

        from manyheads.base.resources import Resources
        from manyheads.cli.options import settings
        from manyheads.systems import system_of
        from manyheads.systems.loading import name_of

        system = None
        try:
            if names:
                resources = Resources.of(values.get("path") or ())
                system = system_of(name_of(names, values.get("sets") or (), resources))
        except UserError:
            if unknown:
                raise  # otherwise reported when the config is read
        ctx.meta[SystemCommand] = system
        inputs: dict[str, list[str]] = {}
        for option, value in unknown:
            if not option.strip("-"):
                continue
            name = option.removeprefix("--").replace("-", "_")
            if system is None or name not in system.slots:
                if system:
                    _refuse(option, name, value, system)
                options = [each.lstrip("-") for param in self.params for each in param.opts]
                near = closest(name, [*options, *(system.slots if system else ())])
                ctx.fail(f"No such option: {option}.{f' Did you mean {_option(near)}?' if near else ''}")
            elif not value.strip():
                raise ConfigError(f"{option}: empty", hint="give it a value, or leave it out")
            inputs.setdefault(name, []).append(value)
        given: dict[str, str | list[str]] = {**inputs}
        for name, texts in inputs.items():
            if system and len(texts) == 1:
                with suppress(ValidationError):  # an input that takes only lists
                    system.inputs.model_validate({name: texts[0]})
                    given[name] = texts[0]
        return settings(given, "inputs")

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        items = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            from manyheads.cli.completion import system_options

            [item, *_] = super().shell_complete(ctx, "--help")  # of Typer's own class, or of Click's
            own = system_options(ctx.params.get("configs") or [])
            items += [type(item)(option) for option in own if option.startswith(incomplete)]
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        from manyheads.systems import systems

        if (system := ctx.meta.get(SystemCommand)) is None:
            with formatter.section("Systems"):
                formatter.write_text(
                    f"{', '.join(systems())}. Each has its own options: {ctx.command_path} NAME --help"
                )
        elif system.slots:
            from manyheads.config import documented

            rows: list[tuple[str, str]] = []
            for name, slot in system.slots.items():
                text = f"{documented(system.inputs).get(name, '')}{' Repeatable.' * slot.many}"
                rows.append((f"{_option(name)} {slot.metavar}", " ".join(text.split())))
            with formatter.section(f"Options of {system.name}"):
                formatter.write_dl(rows)


def _refuse(option: str, name: str, value: str, system: "System") -> None:
    """Raises `ConfigError` for a key of the config, and for an input of another system."""
    from manyheads.systems import systems
    from manyheads.team.system import COMMON

    if name in {*system.config.key_names(), *COMMON}:
        given = value if value.strip() else "VALUE"
        hint = f"-s {name}={given}, for each key that you set"
        raise ConfigError(f"{option}: a key of the config, not an option", hint=hint)
    if takers := [other for other, each in systems().items() if name in each.slots]:
        own = ", ".join(_option(each) for each in system.slots) or "none"
        raise ConfigError(
            f"{option}: {system.name} has no such input; its inputs are {own}",
            hint=did_you_mean(
                option,
                map(_option, system.slots),
                f"leave it out, or use {' or '.join(f'manyheads run {other}' for other in takers)}",
            ),
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
