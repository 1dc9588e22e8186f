"""Axioms of novelty measures: each with a measure that keeps it and one that breaks it, and the papers of each case."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from manyheads.base.papers import Paper
from manyheads.core.texts import Subject
from manyheads.corpus.building import build_corpus
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.phrases import LexicalEmbedder, stems
from manyheads.measures.axioms import AXIOMS, AxiomShare, Measures, axiom_shares, paraphrase, verdict
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.packages import GROUP
from manyheads.measures.statistics import mean_of
from support.command import manyheads_command
from support.entry_points import brought
from support.papers import paper, write_corpus

FIRST, LAST = (
    ("gra", "ten", "mol", "vis", "hap", "lor", "pim", "zed"),
    ("bor", "kel", "sum", "dit", "vap", "rin", "tog", "lux"),
)
WORDS = [f"{first}{last}" for first in FIRST for last in LAST]
Papers = Sequence[Paper]


def abstract(rng: random.Random, field: int) -> str:
    own = WORDS[field * 16 : field * 16 + 16]
    sentences = (" ".join(rng.choices([*own, *own, *own, *WORDS], k=9)) for _ in range(6))
    return " ".join(f"We use the {each}." for each in sentences)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, rng = tmp_path_factory.mktemp("axioms"), random.Random(3)
    records = [
        paper(
            n,
            title=f"Study {n}",
            abstract=abstract(rng, n % 4),
            year=2006 + n % 12,
            citations=rng.randint(1, 30),
        )
        for n in range(180)
    ]
    build_corpus(
        write_corpus(place / "papers.jsonl", records),
        place / "mine",
        BuildOptions(bound=2014),
        LexicalEmbedder(),
    ).close()
    few = [paper(n, abstract=abstract(rng, n), year=2012 + n) for n in range(4)]
    corpus = write_corpus(place / "few.jsonl", few)
    build_corpus(corpus, place / "few", BuildOptions(bound=2014), LexicalEmbedder()).close()
    return place


@cache
def words(text: str) -> frozenset[str]:
    return frozenset(stems(text))


def common(text: Subject, one: Paper) -> float:
    own, their = words(text.text), words(one.abstract)
    return len(own & their) / len(their)


def closeness(text: Subject, papers: Papers = ()) -> float:
    return sum(common(text, one) for one in papers)


def remoteness(text: Subject, papers: Papers = ()) -> float:
    return -closeness(text, papers)


def wording(text: Subject, papers: Papers = ()) -> float:
    """New unless the very words are there."""
    return -float(any(one.abstract == text.text for one in papers))


def twin(text: Subject, papers: Papers = ()) -> float:
    """New unless a single paper has nearly all its words, and few others."""
    own = {*stems(text.text)}
    return -float(
        any(len(own & (their := {*stems(one.abstract)})) >= 0.8 * len(own | their) for one in papers)
    )


def age(text: Subject, papers: Papers = ()) -> float:
    return -fmean(one.year or 0 for one in papers)


def youth(text: Subject, papers: Papers = ()) -> float:
    return -age(text, papers)


def blind(text: Subject, papers: Papers = ()) -> float:
    return float(len(text.text))


def silent(text: Subject, papers: Papers = ()) -> float | None:
    return None


def length(text: Subject) -> float:
    return float(len(text.text))


@pytest.fixture(scope="module")
def shares(folder: Path) -> dict[tuple[str, str], AxiomShare]:
    extra = {
        each.__name__: each for each in (closeness, remoteness, wording, twin, age, youth, blind, silent)
    }
    corpus = MeasuringCorpus.open(folder / "mine", LexicalEmbedder())
    found = axiom_shares(corpus, Measures(extra=extra, rnd=(8, 4), normalise="none"), cases=36)
    return {(one.measure, one.axiom): one for one in found}


@pytest.mark.parametrize(
    ("axiom", "keeper", "breaker"),
    [
        ("copy", "wording", "closeness"), ("paraphrase", "remoteness", "wording"), ("parts", "remoteness", "twin"),
        ("unrelated", "remoteness", "closeness"), ("older", "age", "youth"), ("newer", "age", "youth"),
    ],
)  # fmt: skip
def test_each_axiom_is_kept_by_one_measure_and_broken_by_another(
    shares: dict[tuple[str, str], AxiomShare], axiom: str, keeper: str, breaker: str
) -> None:
    kept, broken = shares[keeper, axiom], shares[breaker, axiom]
    assert (kept.verdict, broken.verdict) == ("kept", "broken"), (kept, broken)
    assert (kept.cases, kept.drawn) == (36, 36)


def test_a_measure_that_never_changes_breaks_all_and_one_without_values_none(
    shares: dict[tuple[str, str], AxiomShare],
) -> None:
    for axiom in AXIOMS:
        assert (shares["blind", axiom.name].verdict, shares["blind", axiom.name].share) == ("broken", 0)
        assert (shares["silent", axiom.name].verdict, shares["silent", axiom.name].share) == ("unknown", None)
        assert shares["silent", axiom.name].cases == 0


def test_distances_fall_with_a_copy_but_not_all_of_our_measures_do(
    shares: dict[tuple[str, str], AxiomShare],
) -> None:
    assert shares["hd", "copy"].share == shares["cd", "copy"].share == 1
    assert shares["on", "copy"].share != 1  # CD, its divisor, falls too
    assert 0 <= (shares["rnd", "copy"].share or 0) <= 1


def test_the_papers_of_a_case(folder: Path) -> None:
    pools = defaultdict[str, list[Papers]](list)

    def recorded(text: Subject, papers: Papers = ()) -> float:
        pools[text.source].append(papers)
        return 0.0

    corpus = MeasuringCorpus.open(folder / "mine", LexicalEmbedder())
    axiom_shares(corpus, Measures(extra={"recorded": recorded}), cases=5)
    years = {**dict(zip(corpus.past.ids, corpus.past.years, strict=True))}
    assert len(pools) == 5
    for source, (base, copy, rephrased, parts, unrelated, older, newer) in pools.items():
        texts = {one.id: one for one in copy}
        text = texts.pop(f"{source} copy")
        assert [*texts] == [one.id for one in base]
        for pool in (base, unrelated, older, newer):
            assert (
                len(pool)
                == len({one.id for one in pool})
                == len(corpus.past) // 4 + len(corpus.contemporary) // 4
            )
            assert source not in {one.id for one in pool}
        assert {one.abstract for one in rephrased} - {one.abstract for one in base} == {
            paraphrase(text.abstract)
        }
        added = [one.abstract for one in parts if one.id.startswith(f"{source} part")]
        assert len(added) == 4
        assert all(any(each in one for one in added) for each in text.abstract.split(". "))
        past = [[years[one.id] for one in pool if one.id in years] for pool in (older, base, newer)]
        assert max(past[0]) <= min(past[2])
        assert fmean(past[0]) < fmean(past[1]) < fmean(past[2])
        subject = Subject(source, text.title, text.abstract)
        assert fmean(common(subject, one) for one in unrelated) < fmean(common(subject, one) for one in base)


def test_a_small_value_changes_by_a_share_of_itself() -> None:
    falls, rises = AXIOMS[0], AXIOMS[3]
    for before, after, fell in ((1e-9, 5e-10, 1), (1e-9, 0, 1), (0, 0, 0), (1, 1 - 1e-9, 0), (0, -1e-9, 1)):
        assert [*falls.holds(before, after)] == [fell]
        assert [*rises.holds(after, before)] == [fell]


def test_the_same_seed_gives_the_same_shares(folder: Path) -> None:
    corpus = MeasuringCorpus.open(folder / "mine", LexicalEmbedder())
    first, again, other = (axiom_shares(corpus, cases=8, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_paraphrase_has_other_words_in_another_order() -> None:
    text = "We propose a new method. But it shows few results."
    assert paraphrase(text) == "however it demonstrates few findings. the authors suggest a novel approach."


@pytest.mark.parametrize(
    ("yes", "no", "expected"), [(40, 0, "kept"), (34, 0, "unknown"), (30, 10, "broken"), (9, 1, "unknown")]
)
def test_a_verdict_needs_the_whole_interval(yes: int, no: int, expected: str) -> None:
    assert verdict(mean_of([1.0] * yes + [0.0] * no, share=True)) == expected
    assert verdict(None) == "unknown"


def test_the_command_prints_a_table_and_json(folder: Path) -> None:
    with brought(GROUP, {name: f"{__name__}:{name}" for name in ("age", "length")}):
        how = ("measure", "--axioms", "--corpus", "mine", "--cases", "9", "--measure")
        done = manyheads_command(*how, "age", "-o", "axioms.jsonl", cwd=folder)
        assert done.code == 0, done.err
        assert all(f"{axiom.number} " in done.out for axiom in AXIOMS)
        assert "AGE" in done.out
        lines = (folder / "axioms.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["measure"] for line in lines[::6]] == ["hd", "cd", "on", "age"]
        again = manyheads_command(*how, "age", "--json", cwd=folder)
        assert again.out.splitlines() == lines
        refused = manyheads_command(*how, "length", cwd=folder)
        assert (refused.code, "length" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--axioms", "idea.md"), ["--axioms", "texts"]), ((), ["text"]),
        (("--axioms", "--corpus", "mine", "--rnd"), ["RND", "100", "a quarter of the corpus has 30", "--rnd-papers 10"]),
        (("--axioms", "--corpus", "mine", "--neighbours", "16"), ["16 neighbours", "a quarter of the corpus has 15", "--neighbours 15"]),
        (("--axioms", "--corpus", "few"), ["5 neighbours", "a quarter of the corpus has 0 past papers", "larger corpus"]),
        (("--axioms", "--rnd-density", "abstract", "--exclude-same-title", "--show-neighbours"),
         ["--rnd-density", "--exclude-same-title", "--show-neighbours", "without --axioms"]),
        (("idea.md", "--cases", "9", "--seed", "1"), ["--cases", "--seed", "with --axioms"]),
        (("--axioms", "--corpus", "mine", "--against", "services"), ["--against services"]),
    ],
)  # fmt: skip
def test_what_cannot_be_tested_is_said(folder: Path, arguments: tuple[str, ...], named: list[str]) -> None:
    done = manyheads_command("measure", *arguments, cwd=folder)
    assert done.code == 2, done.out
    assert all(name in " ".join(done.err.split()) for name in named), done.err
