"""A quality indicator, and by what it is known (Review and Rebuttal, App. A.1)."""

from collections.abc import Sequence

from manyheads.roles import Roles

INDICATORS, ENDING = "partials/indicators/", ".md.j2"


def listed(indicator: str, traits: Sequence[str], roles: Roles) -> str:
    """The traits that are given, or those of the indicator's partial, as a list in Markdown; empty without any."""
    if traits:
        return "\n".join(f"- {' '.join(trait.split())}" for trait in traits)
    name = f"{INDICATORS}{indicator}{ENDING}"
    return roles.prompts.render(name, {}).strip() if roles.resources.find("prompts", name) else ""


def unknown(section: str, indicator: str, roles: Roles) -> str:
    """What to do about an indicator of a section of the config that has no traits, in a line."""
    named = [name.removeprefix(INDICATORS) for name in roles.resources.names("prompts", ENDING)]
    there = sorted(name.removesuffix(ENDING) for name in named if "/" not in name)
    own = f"prompts/{INDICATORS}{indicator}{ENDING} in a folder of your own (--path)"
    return (
        f"{section}.indicator {indicator!r}: nothing tells its traits; there are {', '.join(there)}; give "
        f"it traits: --set '{section}.traits=[…, …]', or write {own}"
    )
