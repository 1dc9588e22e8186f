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


def indicators(roles: Roles) -> list[str]:
    """The indicators whose partials tell traits, in order."""
    files = (name.removeprefix(INDICATORS) for name in roles.resources.names("prompts", ENDING))
    return sorted(
        name for file in files if "/" not in file and listed(name := file.removesuffix(ENDING), (), roles)
    )


def unknown(section: str, indicator: str, roles: Roles) -> str:
    """What to do about an indicator of a section of the config that has no traits, in a line."""
    name = f"{INDICATORS}{indicator}{ENDING}"
    empty = roles.resources.find("prompts", name)
    own = f"fill {empty}" if empty else f"write prompts/{name} in a folder of your own (--path)"
    return (
        f"{section}.indicator {indicator!r}: nothing tells its traits; there are {', '.join(indicators(roles)) or 'none'}; give "
        f"it traits: --set '{section}.traits=[…, …]', or {own}"
    )
