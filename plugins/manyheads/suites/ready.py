"""Whether jobs can be run: what their configs, prompts and files lack is said before the first one is paid for."""

from collections.abc import Iterable

from manyheads.config import RunConfig
from manyheads.errors import ConfigError, UserError
from manyheads.session import given_of, roles_of
from manyheads.suites.plan import Job
from manyheads.suites.suite import Suite
from manyheads.systems import SYSTEMS

SEED = {"seed": True}
GIVEN = {
    **dict.fromkeys(("topic", "subject", "background"), True), "rebuttal": {"idea"}, "ranking": {"target", "ideas"}
}  # fmt: skip
"""Config keys that no role card or prompt has to fit."""


def need_all(suite: Suite, jobs: Iterable[Job]) -> None:
    """Check all jobs; what only seeds set apart is looked at once.

    Raises:
        ConfigError: the config of one lacks what its system needs, or does not fit its roles and prompts, or names a
            text that cannot be read.
    """
    fitting, read = set[str](), set[str]()
    for job in jobs:
        config = _before(job)
        try:
            SYSTEMS[config.system].ready(job.config)
            if _first(config.model_dump_json(exclude=SEED | GIVEN), fitting):
                roles_of(config)
            if job.of != "review" and _first(config.model_dump_json(exclude=SEED), read):
                given_of(config)
        except UserError as error:
            raise ConfigError(
                f"{suite.name}: {job.label}: {error.message}",
                tried=error.tried,
                hint="set what is missing in suite.yaml or its cases, or by --set KEY=VALUE; take out what is too much",
            ) from error


def _before(job: Job) -> RunConfig:
    """A job's config but for what other jobs have yet to come to."""
    if not job.after:
        return job.config
    alone = {
        "rebuttal": job.config.rebuttal.model_copy(update={"idea": None}),
        "ranking": job.config.ranking.model_copy(update={"ideas": ()}),
    }
    return job.config.model_copy(update=alone)


def _first(text: str, seen: set[str]) -> bool:
    new = text not in seen
    seen.add(text)
    return new
