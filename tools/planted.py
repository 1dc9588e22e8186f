"""A made-up corpus with known answers: the references that each retrieval path can find, and those that none can.

`python tools/planted.py` writes it to configs/corpora/planted.jsonl.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from manyheads.base.resources import shipped

NEAR, HOLDING, FAR, UNTOLD = 4, 2, 4, 2
"""References of a paper under test, by the way that can find them: by similar backgrounds; by an entity that they hold; by what
others cite them together with; by nothing but the paper's own list of references."""
TESTS = 2
"""Papers under test of each subject, all contemporary."""
TIMES = 2
"""Papers that cite a near paper together with its far one."""
PAST, PRESENT = 2015, 2020


class Field(NamedTuple):
    """A subject of papers: its name, and words that no other subject has."""

    name: str
    words: tuple[str, str, str, str]

    def order(self, n: int) -> tuple[str, ...]:
        """Its words, each first in turn."""
        return self.words[n % 4 :] + self.words[: n % 4]


class Group(NamedTuple):
    """The references of the papers under test of one subject.

    Attributes:
        near: their own subject.
        entity: a term of theirs that papers of `holding` hold.
        far: the subject of papers that others cite together with near ones.
        untold: the subject of papers that nobody else cites.
    """

    near: Field
    entity: str
    holding: Field
    far: Field
    untold: Field


GROUPS = (
    Group(Field("tactile grasping", ("fingertip", "friction", "gripper", "slippage")), "marble calculus",
          Field("sourdough baking", ("yeast", "crumb", "oven", "flour")), Field("medieval palaeography", ("monk", "parchment", "scribe", "vellum")),
          Field("alpine botany", ("gentian", "meadow", "petal", "moraine"))),
    Group(Field("coral acoustics", ("reef", "hydrophone", "shrimp", "lagoon")), "lantern ordering",
          Field("tramway scheduling", ("tram", "timetable", "depot", "junction")), Field("violin varnishing", ("resin", "luthier", "spruce", "lacquer")),
          Field("desert meteorology", ("dune", "sandstorm", "oasis", "mirage"))),
    Group(Field("hospital triage", ("nurse", "sepsis", "ward", "ambulance")), "ribbon topology",
          Field("cheese ripening", ("rind", "brine", "cellar", "curd")), Field("satellite docking", ("orbit", "thruster", "capsule", "airlock")),
          Field("falconry history", ("falcon", "jesses", "glove", "heron"))),
    Group(Field("vineyard irrigation", ("grape", "drip", "trellis", "terroir")), "anchor geometry",
          Field("chess endgames", ("rook", "pawn", "bishop", "zugzwang")), Field("submarine cabling", ("cable", "seabed", "repeater", "trawler")),
          Field("glacier drilling", ("borehole", "firn", "icecap", "auger"))),
    Group(Field("bicycle aerodynamics", ("cyclist", "drag", "helmet", "peloton")), "compass grammar",
          Field("opera staging", ("soprano", "curtain", "libretto", "orchestra")), Field("earthworm ecology", ("soil", "burrow", "humus", "compost")),
          Field("banknote forgery", ("watermark", "engraver", "counterfeit", "intaglio"))),
    Group(Field("volcano tomography", ("magma", "seismometer", "crater", "tremor")), "thimble logic",
          Field("puppet theatre", ("marionette", "string", "booth", "jester")), Field("wheat genetics", ("kernel", "allele", "harvest", "rust")),
          Field("lighthouse optics", ("lens", "prism", "keeper", "headland"))),
)  # fmt: skip


def planted() -> Iterator[dict[str, Any]]:
    """The papers, as lines of a dataset; those under test are `test-G-N` for subject G."""
    for number, group in enumerate(GROUPS):
        near = [f"near-{number}-{n}" for n in range(NEAR)]
        holding = [f"holding-{number}-{n}" for n in range(HOLDING)]
        far = [f"far-{number}-{n}" for n in range(FAR)]
        for n, paper in enumerate(near):
            yield _paper(paper, *_plain(group.near, n), PAST)
        for n, paper in enumerate(holding):
            yield _paper(paper, *_holding(group.holding, group.entity, n), PAST)
        for n, paper in enumerate(far):
            yield _paper(paper, *_plain(group.far, n), PAST)
        for n, paper in enumerate(near):
            for time in range(TIMES):
                title, text = (
                    f"Minutes {number}{n}{time}",
                    f"Minutes of the assembly, sheet {number}{n}{time}. Nothing was voted on.",
                )
                yield _paper(f"citing-{number}-{n}-{time}", title, text, PAST, [paper, far[n % FAR]])
        for test in range(TESTS):
            untold = [f"untold-{number}-{test}-{n}" for n in range(UNTOLD)]
            for n, paper in enumerate(untold):
                yield _paper(paper, *_plain(group.untold, 2 * test + n), PAST)
            yield _paper(
                f"test-{number}-{test}", *_tested(group, test), PRESENT, [*near, *holding, *far, *untold]
            )


def _paper(paper: str, title: str, text: str, year: int, cites: list[str] | None = None) -> dict[str, Any]:
    cites = cites or []
    return {
        "id": paper, "title": title, "abstract": text, "authors": [f"Author of {paper}"], "year": year, "citations": 0,
        "references": cites, "core_references": cites,
    }  # fmt: skip


def _plain(field: Field, n: int) -> tuple[str, str]:
    one, two, three, four = field.order(n)
    text = f"The {one} and the {two} make {field.name} difficult. We present a study of the {three} beside the {four}."
    return f"{field.name.capitalize()} by {one} and {two}", text


def _holding(field: Field, entity: str, n: int) -> tuple[str, str]:
    one, two, three, four = field.order(n)
    text = f"The {one} and the {two} call for {entity}. We present {entity} of the {three} and the {four}."
    return f"{entity.capitalize()} for the {one}", text


def _tested(group: Group, test: int) -> tuple[str, str]:
    one, two, three, four = group.near.order(test)
    title = f"{group.near.name.capitalize()} beyond the {one}"
    return (
        title,
        f"The {one}, the {two} and the {three} make {group.near.name} difficult, and no {group.entity} of it is known. "
        f"We present a way with {group.entity} for the {four}.",
    )


def main() -> None:
    """Write the corpus that ships."""
    lines = "".join(json.dumps(paper) + "\n" for paper in planted())
    (shipped() / "configs/corpora/planted.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
