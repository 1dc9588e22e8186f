"""What the tests of all contracts share: the names of clauses, what broke one, and the message that lists them."""

from collections.abc import Callable, Mapping


def clause_name(clause: Callable[..., object]) -> str:
    """The name of a clause, from that of its function."""
    return clause.__name__[1:].replace("_", " ")


def what_broke(error: Exception) -> str:
    """What a clause found, or the error that ended it."""
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"


def need_none(what: str, problems: Mapping[str, str]) -> None:
    """Raises `AssertionError` with a line for each broken clause."""
    if problems:
        lines = [f"{what} breaks its contract:", *(f"- {name}: {why}" for name, why in problems.items())]
        raise AssertionError("\n".join(lines))
