"""The services as a config says, each with its pace, its address and what the environment holds for it."""

import os
from collections.abc import Mapping

from manyheads.config import LiteratureConfig, SourceName
from manyheads.literature import arxiv, openalex, semantic_scholar
from manyheads.literature.arxiv import Arxiv
from manyheads.literature.limits import ARXIV, OPENALEX, SHARED_POOL, WITH_KEY, Pace
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
    address = config.endpoints.get(name, "")

    def service(pace: Pace, key_env: str | None = None, key: str | None = None) -> Service:
        return Service(
            name=name,
            pace=(paces or {}).get(name, pace),
            retries=config.retries,
            patience=config.patience,
            address=address,
            key_env=key_env,
            has_key=key is not None,
        )

    if name == "arxiv":
        return Arxiv(service(ARXIV), address=address or arxiv.ADDRESS)
    if name == "openalex":
        key, mailto = _secret(openalex.KEY_ENV), _secret(openalex.MAILTO_ENV)
        asked = service(OPENALEX, openalex.KEY_ENV, key)
        return OpenAlex(asked, address=address or openalex.ADDRESS, key=key, mailto=mailto)
    variable = config.semantic_scholar_key_env
    key = _secret(variable)
    asked = service(WITH_KEY if key else SHARED_POOL, variable, key)
    return SemanticScholar(asked, address=address or semantic_scholar.ADDRESS, key=key)


def _secret(variable: str) -> str | None:
    return os.environ.get(variable, "").strip() or None
