"""Research interests of authors, by a model, for the author knowledge bank (VirSci 2025, App. C.2.2)."""

from collections.abc import Mapping, Sequence

from manyheads.engine.survey import Survey, SurveyItem
from manyheads.systems.virsci.replies import Interests


class Librarian(Survey):
    """A `corpus.scientists.Condense`: asks a model once about each author, several at a time."""

    role, step, things, gives = "librarian", "condensing interests", "authors", "interests"
    memory = "interests.sqlite"

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Interests of each author from keywords or titles, most frequent first. Runs an event loop.

        Raises:
            UserError: the model failed for an author, or the budget is spent; earlier answers are kept.
        """
        interests: dict[str, tuple[str, ...]] = {}

        async def condense(item: SurveyItem, own: Sequence[str]) -> None:
            reply = await item.ask(item.turn("interests", {"terms": list(own)}, Interests))
            phrases: dict[str, str] = {}  # without duplicates, first spelling
            for phrase in (" ".join(one.split()) for one in reply.interests):
                phrases.setdefault(phrase.casefold(), phrase)
            interests[item.name] = tuple(phrases.values())

        self.ask_all(terms.items(), len(terms), condense)
        return {author: interests[author] for author in terms}
