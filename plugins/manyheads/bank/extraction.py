"""What is extracted of each paper of a corpus (SciPIP, §3.1, Eq. 1): a record a paper, and how it was made."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Basis = Literal["full text", "abstract", "title"]

LEXICAL = "lexical"
"""The maker of records that no model has written."""
MOST_ENTITIES = 5
"""Entities of a paper at most (SciPIP, Table 7)."""
ENTITY_WORDS = (2, 5)
"""Words of an entity, at least and at most (SciPIP, Table 7)."""


class Extraction(BaseModel):
    """What is kept of a paper for retrieval and for ideas.

    Attributes:
        paper: its id in the corpus.
        entities: its key phrases, the most important first.
        background: what motivates it, in a sentence or two.
        summary: its problem, and how it is addressed.
        main_ideas: what is new in it, one entry each.
        detailed_ideas: the same with their details; empty where nothing but the abstract was read.
        made_by: `lexical`, or the model's provider and name.
        recipe: a hash of what it was made with: the prompts and the model, or the rule's version. A paper is extracted once for each.
        basis: what was read of the paper.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: str
    entities: tuple[str, ...] = ()
    background: str = ""
    summary: str = ""
    main_ideas: tuple[str, ...] = ()
    detailed_ideas: tuple[str, ...] = ()
    made_by: str = LEXICAL
    recipe: str = ""
    basis: Basis = "abstract"
