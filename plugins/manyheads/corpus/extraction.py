"""Records extracted from the papers of a corpus (SciPIP, §3.1, Eq. 1), and how they were made."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Basis = Literal["full text", "abstract", "title"]

LEXICAL = "lexical"
"""`made_by` of records without a model."""
MOST_ENTITIES = 5
"""Maximum entities of a paper (SciPIP, Table 7)."""
ENTITY_WORDS = (2, 5)
"""Minimum and maximum words of an entity (SciPIP, Table 7)."""


class Extraction(BaseModel):
    """A paper's record for retrieval and ideas.

    Attributes:
        paper: its id in the corpus.
        entities: its key phrases, most important first.
        background: its motivation, in a sentence or two.
        summary: its problem and approach.
        main_ideas: its contributions, one entry each.
        detailed_ideas: the same with details; empty if only the abstract was read.
        made_by: `lexical`, or the model's provider and name.
        recipe: a hash of prompts and model, or of the rules' version. A paper has at most one record per recipe.
        basis: the text that was read.
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
