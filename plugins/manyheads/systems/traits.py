"""The traits of a quality that ideas are judged by: given in the config, or those of its indicator's partial."""

from collections.abc import Sequence

from manyheads.asking.roles import Roles
from manyheads.core.results import Part

INDICATORS, ENDING = "partials/indicators/", ".md.j2"


class Quality(Part):
    """Criteria for judging ideas; `traits` is a Markdown list."""

    area: str | None = None
    indicator: str | None = None
    traits: str | None = None

    @property
    def points(self) -> list[str]:
        """The traits as a list."""
        return [line.removeprefix("- ") for line in (self.traits or "").splitlines() if line.strip()]


def traits_of(indicator: str, traits: Sequence[str], roles: Roles) -> str:
    """The traits of the config, or else of the indicator's partial, as a Markdown list; empty if there are none."""
    if traits:
        return "\n".join(f"- {' '.join(trait.split())}" for trait in traits)
    name = f"{INDICATORS}{indicator}{ENDING}"
    return roles.prompts.render(name, {}).strip() if roles.resources.find("prompts", name) else ""


def unknown(section: str, indicator: str, roles: Roles) -> str:
    """The problem of an indicator without traits and its remedy, in a line."""
    files = (name.removeprefix(INDICATORS) for name in roles.resources.names("prompts", ENDING, INDICATORS))
    names = (name.removesuffix(ENDING) for name in files if "/" not in name)
    others = ", ".join(sorted(name for name in names if traits_of(name, (), roles))) or "none"
    name = f"{INDICATORS}{indicator}{ENDING}"
    empty = roles.resources.find("prompts", name)
    own = f"fill {empty}" if empty else f"write prompts/{name} in a folder of your own (--path)"
    return (
        f"{section}.indicator {indicator!r} has no traits; known indicators: {others}; give "
        f"it traits: --set '{section}.traits=[…, …]', or {own}"
    )
