"""The services as a config says, each with its pace, its address and what the environment holds for it."""

import os
from collections.abc import Mapping

from manyheads.config import LiteratureConfig, SourceName
from manyheads.limiter import Pace
from manyheads.literature import arxiv, openalex, semantic_scholar
from manyheads.literature.arxiv import Arxiv
from manyheads.literature.openalex import OpenAlex
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.literature.service import Service
from manyheads.literature.source import Source


def connect(
    name: SourceName, config: LiteratureConfig, paces: Mapping[SourceName, Pace] | None = None
) -> Source:
    """A service as a source; nothing is contacted before it is asked.

    Args:
        paces: other paces than the services ask for.
    """

    def service(address: str, pace: Pace, key_env: str | None = None, key: str | None = None) -> Service:
        return Service(
            name=name,
            pace=(paces or {}).get(name, pace),
            retries=config.retries,
            patience=config.patience,
            address=config.endpoints.get(name) or address,
            key_env=key_env,
            has_key=key is not None,
        )

    if name == "arxiv":
        return Arxiv(service(arxiv.ADDRESS, arxiv.PACE))
    if name == "openalex":
        key, mailto = _secret(openalex.KEY_ENV), _secret(openalex.MAILTO_ENV)
        return OpenAlex(
            service(openalex.ADDRESS, openalex.PACE, openalex.KEY_ENV, key), key=key, mailto=mailto
        )
    variable = config.semantic_scholar_key_env
    key = _secret(variable)
    pace = semantic_scholar.WITH_KEY if key else semantic_scholar.SHARED_POOL
    return SemanticScholar(service(semantic_scholar.ADDRESS, pace, variable, key), key=key)


def _secret(variable: str) -> str | None:
    return os.environ.get(variable, "").strip() or None
