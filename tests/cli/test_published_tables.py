"""Tables of people's answers in the shapes in which papers published them, read by the command line; the data are made up."""

import csv
import json
import random
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import kendalltau, spearmanr, ttest_ind

from manyheads.measures.pairwise import Likelihood, comparisons
from manyheads.measures.votes import ANSWERS, Answer, PairVote
from support.command import manyheads_command

MAKERS = {"human_reviewer": -1.0, "barebones": -0.3, "liang_etal": -0.8, "multi_agent_without_knowledge": 0.7,
          "multi_agent_with_knowledge": 1.2}  # fmt: skip
QUESTIONS = ("technical_quality", "constructiveness", "clarity", "overall_quality")
SAID: dict[Answer, str] = {
    "left": "👈  A is better", "right": "👉  B is better", "tie": "🤝  Tie", "poor": "👎  Both are poor",
}  # fmt: skip


def run(*arguments: str, cwd: Path) -> str:
    done = manyheads_command("arena", *arguments, cwd=cwd)
    assert done.code == 0, done.err
    return done.out + done.err * ("--json" not in arguments)


def refused(*arguments: str, cwd: Path) -> str:
    return manyheads_command("arena", *arguments, cwd=cwd).message


# MAMORX: a row a vote, with the answers as on the page, both reviews, and sessions that vote again.


def arena_votes(path: Path, number: int = 140, again: int = 44) -> list[PairVote]:
    rng, votes, rows = random.Random(7), list[PairVote](), list[list[str]]()
    while len(votes) < number:
        seen = [vote for vote in votes if vote.rater]
        left, right = rng.sample([*MAKERS], 2)
        session, case = f"session{len(votes)}", f"acl_2024_s{rng.randint(1, 60)}"
        if len(votes) >= number - again:
            former = seen[len(votes) - number + again]
            left, right, session, case = former.right, former.left, former.rater, former.case
        weights = [3 + MAKERS[left], 3 + MAKERS[right], 1, 0.5]
        answers: dict[str, Answer] = {name: rng.choices(ANSWERS, weights)[0] for name in QUESTIONS}
        votes.append(PairVote(left, right, answers, session, case))
        said = [SAID[answers[name]] for name in QUESTIONS]
        texts = [
            f'A "critical"\nreview, {len(each)}.' + "\n- one" * rng.randint(1, 9) for each in (left, right)
        ]
        rows.append([str(len(rows)), session, case, left, right, *said, *texts, "2024-09-08"])
    about = ("", "session_id", "paper_id", "reviewer_a", "reviewer_b")
    header = [*about, *QUESTIONS, "review_a", "review_b", "vote_time"]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return votes


def test_votes_of_mamorx(tmp_path: Path) -> None:
    votes = arena_votes(tmp_path / "arena_votes.csv")
    short = {"overall": "overall_quality", **{name: name for name in QUESTIONS[:3]}}
    columns = ",".join(f"{name}={column}" for name, column in {
        "left": "reviewer_a", "right": "reviewer_b", "rater": "session_id", "case": "paper_id", **short}.items())  # fmt: skip
    how = ("rate", "arena_votes.csv", "--columns", columns, "--resamples", "10")
    said = run(*how, cwd=tmp_path)
    assert "44 repeated votes of a rater on the same makers and case: kept" in said.splitlines()[0]
    for repeats, counted in (("keep", 140), ("first", 96)):
        data = json.loads(run(*how, "--repeats", repeats, "--json", cwd=tmp_path))
        assert (data["notes"], "44 repeated votes" in data["repeated"]) == ([], True)
        for found in data["people"]:
            fit = Likelihood(comparisons(votes, short[found["question"]])).fit()
            assert fit
            assert found["votes"] + found["poor"] == counted
            rated = {each["maker"]: each["rated"]["rating"] for each in found["makers"]}
            if repeats == "keep":
                assert rated == pytest.approx(dict(zip(fit.makers, fit.ratings.tolist(), strict=True)))
    sides = ("rate", "arena_votes.csv", "--columns", "left=reviewer_a,right=reviewer_b", "--resamples", "2")
    plain = json.loads(run(*sides, "--json", cwd=tmp_path))
    assert {each["question"] for each in plain["people"]} == {*QUESTIONS}
    assert (
        "5 columns left out: few of its cells are answers (session_id, paper_id, review_a and 2 more)"
        in plain["notes"]
    )
    run("new", "arena", cwd=tmp_path)
    imported = run("import", "arena", "arena_votes.csv", cwd=tmp_path)
    assert "140 votes added, of 140" in imported
    assert "44 repeated votes" in imported
    assert "0 votes added" in run("import", "arena", "arena_votes.csv", cwd=tmp_path)


def test_votes_of_mamorx_are_known_by_their_columns(tmp_path: Path) -> None:
    votes = arena_votes(tmp_path / "arena_votes.csv")
    how = ("rate", "arena_votes.csv", "--resamples", "10")
    data = json.loads(run(*how, "--json", cwd=tmp_path))
    fit = Likelihood(comparisons(votes, "overall_quality")).fit()
    assert fit
    ours = {each["name"]: each["ours"][0] for each in data["published"] if each["ours"]}
    assert len(ours) == len(data["published"]) == 35
    for maker, rating in zip(fit.makers, fit.ratings.tolist(), strict=True):
        assert ours[f"overall, {maker}"] == pytest.approx(rating)
    one, other = (ours[f"overall, {maker}"] for maker in ("multi_agent_with_knowledge", "barebones"))
    won = 1 / (1 + 10 ** ((other - one) / 400))
    assert ours["multi_agent_with_knowledge over barebones"] == pytest.approx(won)
    assert {each["sign"] for each in data["people"][0]["effects"]} <= {"words", "lines", "headings", "lists"}
    assert data["people"][0]["effects"], "of the reviews in the table"
    said = run(*how, cwd=tmp_path)
    assert "Recognised  MAMORX" in said
    assert f"1,889  {one:,.0f} (" in said
    other = json.loads(run(*how, "--question", "clarity", "--json", cwd=tmp_path))["published"]
    shown = {each["name"]: each["ours"] and each["ours"][0] for each in other}
    assert shown["multi_agent_with_knowledge over barebones"] == pytest.approx(won), "not of clarity"
    assert shown["adjusted, barebones"] is None, "only clarity is adjusted"
    named = ("--columns", "left=reviewer_a,right=reviewer_b,overall=overall_quality")
    assert "published" not in json.loads(run(*how, *named, "--json", cwd=tmp_path))


# The AI Scientist: a row a paper, a column a reviewer, a decision in words; and a model's reviews in other tables.

RATED = {
    "a": (8, 6, 7), "b": (6, 5), "c": (3, 5, 3), "d": (1, 3), "e": (6, 8), "f": (5, 3), "g": (8, 8, 6), "h": (3, 1),
}  # fmt: skip
MODEL = {"a": 7, "b": 7, "c": 4, "d": 3, "e": 8, "f": 3, "g": 9}


@pytest.mark.slow
def test_ratings_of_the_ai_scientist(tmp_path: Path) -> None:
    lines = ["paper_id\t0\t1\t2\tdecision"]
    for paper, some in RATED.items():
        words = (
            "Reject" if fmean(some) < 5 else "Accept (Spotlight)" if fmean(some) > 7 else "Accept (Poster)"
        )
        lines.append("\t".join([paper, *map(str, some), *[""] * (3 - len(some)), words]))
    (tmp_path / "rated.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f'{paper},"In short, a paper",{score},Reject' for paper, score in [*MODEL.items(), ("a", 8)]]
    (tmp_path / "llm.csv").write_text(
        "\n".join(["paper_id,Summary,Overall,Decision", *rows, "h,lost,,"]) + "\n"
    )
    columns = "id=paper_id,score=[0-9],accepted=decision"
    how = ("agreement", "rated.tsv", "--columns", columns, "--scores", "llm.csv", "--by", "Overall")
    data = json.loads(run(*how, "--threshold", "6", "--json", cwd=tmp_path))
    figures = data["calibration"]["scores"]["figures"]
    one, other = [*{**MODEL, "a": 7.5}.values()], [fmean(RATED[paper]) for paper in MODEL]
    for name, statistic in (("spearman", spearmanr), ("kendall", kendalltau)):
        expected: Any = statistic(one, other)
        assert figures[name]["estimate"] == pytest.approx(expected.statistic)
    assert figures["auroc"]["estimate"] == 1
    assert (data["per_text"], data["ratings"], data["raters"]) == ([2, 3], 19, 0)
    assert (len(data["calibration"]["unscored"]), data["pairs"]["repeated"]) == (1, 1)
    said = run(*how, cwd=tmp_path)
    for words in (
        "raters without names",
        "1 of 8 rated texts",
        "1 text with several scores",
        "no threshold says",
    ):
        assert words in said
    assert "no column 'nobody' (rater)" in refused(*how[:3], "id=paper_id,score=0,rater=nobody", cwd=tmp_path)
    (tmp_path / "names.csv").write_text("title_of_paper,Overall\nOwls,3\n")
    assert "names.csv:2: no text is named" in refused(*how[:5], "names.csv", *how[6:], cwd=tmp_path)
    (tmp_path / "rated.tsv").write_text("\n".join(lines).replace("Reject", "Perhaps", 1))
    assert "accepted is 'Perhaps': begin with one of" in refused(*how, cwd=tmp_path)


BEST = "gpt-4o-2024-05-13_temp_0_1_fewshot_1_reflect_5_ensemble_5_pages_all"
SONNET = "claude-3-5-sonnet-20240620_temp_0_1_reflect_5_ensemble_5_pages_all"


@pytest.mark.slow
def test_reviewers_of_the_ai_scientist_are_compared_by_themselves(tmp_path: Path) -> None:
    lines = ["\t".join(["paper_id", *map(str, range(7)), "decision"])]
    for paper, some in RATED.items():
        cells = [f"{each:.1f}" for each in some] + [""] * (7 - len(some))
        lines.append("\t".join([paper, *cells, "Reject" if fmean(some) < 5 else "Accept (Poster)"]))
    (tmp_path / "ratings_subset.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "llm_reviews").mkdir()
    for name, more in ((BEST, 0), (SONNET, 2), ("mine", 0)):
        rows = [
            f'{paper},"In short, a paper",{min(10, score + more)},Reject' for paper, score in MODEL.items()
        ]
        (tmp_path / "llm_reviews" / f"{name}.csv").write_text(
            "\n".join(["paper_id,Summary,Overall,Decision", *rows]) + "\n"
        )
    how = ("agreement", "ratings_subset.tsv", "--scores", "llm_reviews")
    data = json.loads(run(*how, "--json", cwd=tmp_path))
    assert {*data["scorers"]} == {"GPT-4o (1-shot)", "Sonnet 3.5", "mine"}
    good = {paper: fmean(some) >= 5 for paper, some in RATED.items() if paper in MODEL}
    called = [MODEL[paper] >= 6 for paper in good]
    rates = [fmean(said == want for said, is_good in zip(called, good.values(), strict=True) if is_good is want)
             for want in (True, False)]  # fmt: skip
    shown = {each["name"]: each["ours"] and each["ours"][0] for each in data["published"]}
    for name in ("GPT-4o (1-shot)", "Sonnet 3.5"):  # two points more, and a threshold two points higher
        assert shown[f"{name}, Balanced accuracy"] == pytest.approx(fmean(rates))
    assert (shown["texts"], shown["GPT-4o-mini, Balanced accuracy"]) == (8, None)
    by_on = (*how[:3], f"llm_reviews/{SONNET}.csv", "--by", "on")
    assert "no 'on'" in refused(*by_on, cwd=tmp_path)
    alone = json.loads(run(*by_on[:4], "--json", cwd=tmp_path))
    shown = {each["name"]: each["ours"] and each["ours"][0] for each in alone["published"]}
    assert shown["Sonnet 3.5, Balanced accuracy"] == pytest.approx(fmean(rates))
    assert alone["calibration"] == data["scorers"]["Sonnet 3.5"]["calibration"]
    said = run(*how, cwd=tmp_path)
    assert "not in this file" in said
    assert "\nmine\n" in said
    assert "--plot" in refused(*how, "--plot", "a.png", cwd=tmp_path)


# Si et al.: an object of columns, a review each, of ideas by people, by a model, and by a model but picked by people.


def reviews_of_ideas(path: Path) -> list[dict[str, Any]]:
    rng, reviews = random.Random(11), list[dict[str, Any]]()
    for condition, level in {"Human": 4.6, "AI": 5.6, "AI_Rerank": 5.7}.items():
        for number in range(49):
            quality = rng.gauss(level, 1)
            for _ in range(rng.randint(2, 4)):
                scores = {name: min(10, max(1, round(rng.gauss(quality - less, 1)))) for name, less in {
                    "overall_score": 0.5, "novelty_score": 0, "feasibility_score": 2 * quality - 12,
                    "excitement_score": 0.2, "effectiveness_score": 0.4}.items()}  # fmt: skip
                reviews.append({"idea_id": f"{condition}_{number}", "condition": condition, **scores,
                                "reviewer_id": f"R{rng.randint(1, 79)}", "topic": "Bias"})  # fmt: skip
    columns = {name: [each[name] for each in reviews] for name in reviews[0]}
    path.write_text(json.dumps(columns, indent=4), encoding="utf-8")
    return reviews


CRITERIA = {"overall": "overall_score", "novelty": "novelty_score", "feasibility": "feasibility_score"}


@pytest.mark.slow
def test_conditions_of_si_et_al(tmp_path: Path) -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    reviews = reviews_of_ideas(tmp_path / "points.json")
    columns = ",".join(f"{name}={column}" for name, column in {"id": "idea_id", **CRITERIA}.items())
    grouped = ("--group", "condition", "--scale", "1-10,novelty=0-12")
    how = ("agreement", "points.json", "--columns", columns, *grouped)
    data = json.loads(run(*how, "--json", cwd=tmp_path))
    assert [data["criteria"][name]["scale"] for name in ("overall", "novelty")] == [[1, 10], [0, 12]]

    def means(group: str, column: str) -> list[float]:
        ideas = dict.fromkeys(each["idea_id"] for each in reviews if each["condition"] == group)
        return [fmean(each[column] for each in reviews if each["idea_id"] == idea) for idea in ideas]

    differences = data["groups"]["differences"]
    assert len(differences) == 9
    for each in differences:
        one, other = (means(each[side], CRITERIA[each["criterion"]]) for side in ("one", "other"))
        assert each["difference"] == pytest.approx(fmean(one) - fmean(other))
        welch: Any = ttest_ind(one, other, equal_var=False)
        assert each["p"] == pytest.approx(welch.pvalue)
        assert each["low"] < each["difference"] < each["high"]
    p = [each["p"] for each in differences]
    for name, method in (("holm", "holm"), ("bh", "fdr_bh")):
        assert [each[name] for each in differences] == pytest.approx(multipletests(p, method=method)[1])
    found = {(each["criterion"], each["group"]): each for each in data["groups"]["means"]}
    assert found["novelty", "AI"]["texts"] == 49
    assert found["novelty", "AI"]["ratings"] == sum(each["condition"] == "AI" for each in reviews)
    assert data["groups"]["over"] == "texts"
    said = run(*how, cwd=tmp_path)
    assert "AI − Human: +" in said
    assert "corrected for 9 tests" in said


@pytest.mark.slow
def test_conditions_of_si_et_al_are_known_by_their_columns(tmp_path: Path) -> None:
    reviews = reviews_of_ideas(tmp_path / "ideation.json")
    columns = json.loads((tmp_path / "ideation.json").read_text(encoding="utf-8"))
    data = json.loads(run("agreement", "ideation.json", "--json", cwd=tmp_path))
    assert {*data["criteria"]} == {"novelty", "excitement", "feasibility", "effectiveness", "overall"}
    assert data["criteria"]["novelty"]["scale"] == [1, 10]
    pairs = {(each["one"], each["other"]) for each in data["groups"]["differences"]}
    assert pairs == {("AI", "Human"), ("AI_Rerank", "Human")}
    for pair in pairs:  # as the authors do: over the criteria of a pair
        tests = [each for each in data["groups"]["differences"] if (each["one"], each["other"]) == pair]
        assert [each["bonferroni"] for each in tests] == pytest.approx(
            [min(1, 5 * each["p"]) for each in tests]
        )
    shown = {each["name"]: each["ours"][0] for each in data["published"]}
    [test] = [each for each in data["groups"]["differences"]
              if (each["criterion"], each["one"], each["other"]) == ("novelty", "AI", "Human")]  # fmt: skip
    assert shown["novelty, AI − Human, p Bonferroni"] == test["bonferroni"]
    assert len(shown) == len(data["published"]) == 10

    # The same ideas once they were carried out: AI's lose one point, or three.
    executed = [
        each for each in reviews if each["condition"] != "AI_Rerank" and each["idea_id"][-1] in "02468"
    ]
    lost = {
        each["idea_id"]: (1 if each["idea_id"][-1] in "26" else 3) * (each["condition"] == "AI")
        for each in executed
    }
    scores = [name for name in columns if name.endswith("_score") and name != "feasibility_score"]
    after = {name: [each[name] for each in executed] for name in ("idea_id", "condition")}
    after |= {name: [each[name] - lost[each["idea_id"]] for each in executed] for name in scores}
    after["soundness_score"] = after["novelty_score"]
    (tmp_path / "execution.json").write_text(json.dumps(after), encoding="utf-8")
    how = ("agreement", "execution.json", "--before", "ideation.json")
    refusal = refused(*how, cwd=tmp_path)
    assert "is not a number from 1 to 10" in refusal
    how = (*how, "--scale", "-9-10")
    changed = json.loads(run(*how, "--json", cwd=tmp_path))["changes"]
    assert len(changed["unmatched"]) == data["texts"] - len(lost)
    means = {(each["criterion"], each["group"]): each["mean"] for each in changed["means"]}
    assert means["novelty change", "AI"] == pytest.approx(-fmean(filter(None, lost.values())))
    assert means["overall change", "Human"] == pytest.approx(0)
    assert {criterion for criterion, _ in means} == {
        f"{name} change" for name in ("novelty", "excitement", "effectiveness", "overall")
    }


def test_a_published_table_of_another_shape_is_refused(tmp_path: Path) -> None:
    reviews_of_ideas(tmp_path / "ideation.json")
    columns = json.loads((tmp_path / "ideation.json").read_text(encoding="utf-8"))
    del columns["excitement_score"]
    (tmp_path / "ideation.json").write_text(json.dumps(columns), encoding="utf-8")
    said = refused("agreement", "ideation.json", cwd=tmp_path)
    assert "2409.04109" in said
    assert "without its column excitement_score" in said
    other = {**columns, "idea_id": [f"other {each}" for each in columns["idea_id"]]}
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    how = ("--columns", "id=idea_id,novelty=novelty_score", "--group", "condition", "--before", "other.json")
    assert "no text is rated in both tables" in refused("agreement", "ideation.json", *how, cwd=tmp_path)


def test_changes_of_texts_that_are_in_one_table_only_are_counted(tmp_path: Path) -> None:
    rows = [f"t{text},{'AI' if text % 2 else 'Human'},{text}" for text in range(8)]
    (tmp_path / "after.csv").write_text("\n".join(["id,condition,score", *rows]))
    before = ["id,score", *(f"t{text},3" for text in range(2, 9))]  # without the groups
    (tmp_path / "before.csv").write_text("\n".join(before))
    how = ("agreement", "after.csv", "--group", "condition", "--before", "before.csv")
    assert json.loads(run(*how, "--json", cwd=tmp_path))["changes"]["unmatched"] == ["t0", "t1", "t8"]
    assert "3 texts without ratings in both tables, left out: t0, t1, t8" in run(*how, cwd=tmp_path)
    named = (*how[:2], "--columns", "id=id,group=condition,score=score", *how[4:])
    assert "3 texts without ratings in both tables" in run(*named, cwd=tmp_path)


# PeerRead: a file a paper, with comments among the reviews, and reviews that are there twice.


def test_reviews_of_peerread(tmp_path: Path) -> None:
    scores, names = {"1": (9, 7, 8), "2": (3, 4), "3": (6, 5, 5)}, list[str]()
    for paper, some in scores.items():
        reviews: list[dict[str, Any]] = [{"IS_META_REVIEW": True, "comments": "In all, a paper."}]
        for number, score in enumerate(some):
            reviews += [
                {"RECOMMENDATION": score, "TITLE": "Good", "comments": f"{number}", "IS_META_REVIEW": False, "IS_ANNOTATED": True},
                {"TITLE": "Question", "comments": "?", "CLARITY": 5, "IS_META_REVIEW": False, "IS_ANNOTATED": True},
            ]  # fmt: skip
        around = {"conference": "ICLR 2017", "title": "Owls", "abstract": "…", "histories": [], "id": paper}
        data = {**around, "reviews": reviews * 2, "accepted": fmean(some) > 5}
        names.append(f"{paper}.json")
        (tmp_path / names[-1]).write_text(json.dumps(data), encoding="utf-8")
    data = json.loads(run("agreement", *names, "--json", cwd=tmp_path))
    found = data["criteria"]["recommendation"]
    assert (found["texts"], found["ratings"], found["missing"], data["unnamed"]) == (3, 8, 0, 8)
    assert data["equal"] == 8
    assert "8 answers, equal to another on the same text" in run("agreement", *names, cwd=tmp_path)
    assert found["mean"] == pytest.approx(fmean(map(fmean, scores.values())))
    shown = {each["name"]: each["ours"][0] for each in data["published"]}
    assert shown == {"texts": 3, "ratings": 8, "accepted": pytest.approx(2 / 3)}


def test_a_list_of_answers_loses_none(tmp_path: Path) -> None:
    def ratings(data: Any, *columns: str) -> Any:
        (tmp_path / "own.json").write_text(json.dumps(data), encoding="utf-8")
        return json.loads(run("agreement", "own.json", *columns, "--json", cwd=tmp_path))["criteria"]

    equal = [{"id": "p1", "reviews": [{"score": each} for each in (5, 5, 5, 1)]}]
    for columns in ((), ("--columns", "id=id,score=sc*")):
        found = ratings(equal, *columns)["score"]
        assert (found["ratings"], found["mean"]) == (4, 4)
    noted = [
        {"id": "p1", "rater": "ann", "novelty": 3, "notes": [{"a": 1}, {"id": "n1"}]},
        {"id": "p2", "novelty": 5},
    ]
    for columns in ((), ("--columns", "id=id,novelty=novelty")):
        found = ratings(noted, *columns)["novelty"]
        assert (found["texts"], found["ratings"], found["mean"]) == (2, 2, 4)


# SciPIP: a line a background.


@pytest.mark.slow
def test_backgrounds_of_scipip_are_cases(tmp_path: Path) -> None:
    rows = [{"hash_id": 286720000462099611 + number, "entities": ["cloth"], "background": f"1. Cloth {number} must be folded."}
            for number in range(2)]  # fmt: skip
    (tmp_path / "test_acl_2024.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    how = ("eval", "scipip-ideas", "--cases", "test_acl_2024.json", "--repeats", "1", "-o", "out")
    done = manyheads_command(*how, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "idea-comparison.rivals" in done.err, "the file has no ideas to compare with"
    cells = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert {each["case"] for each in cells} == {str(row["hash_id"]) for row in rows}
    assert all(each["values"]["idea-match.score"] is not None for each in cells)
    assert not any(name.startswith("idea-comparison") for each in cells for name in each["values"])
    (tmp_path / "test_acl_2024.json").write_text(json.dumps({"hash_id": 1, "entities": []}), encoding="utf-8")
    assert "id is missing" in manyheads_command(*how, cwd=tmp_path).message


def test_raters_with_names_are_resampled_and_two_groups_are_refused_a_text(tmp_path: Path) -> None:
    rng = random.Random(1)
    kind = {f"R{rater}": rng.gauss(0, 3) for rater in range(8)}
    rows = [f"t{text},R{rater},{'AI' if text % 2 else 'Human'},{50 + kind[f'R{rater}'] + rng.gauss(0, 1):.2f}"
            for text in range(40) for rater in rng.sample(range(8), 2)]  # fmt: skip
    (tmp_path / "r.csv").write_text("\n".join(["id,rater,condition,score", *rows]))
    named = json.loads(run("agreement", "r.csv", "--group", "condition", "--json", cwd=tmp_path))["groups"]
    assert named["over"] == "texts and raters"
    nameless = "\n".join(
        ["id,condition,score", *(",".join(row.split(",")[::2] + row.split(",")[3:]) for row in rows)]
    )
    (tmp_path / "n.csv").write_text(nameless)
    found = json.loads(run("agreement", "n.csv", "--group", "condition", "--json", cwd=tmp_path))["groups"]
    width, narrow = (each["means"][0]["high"] - each["means"][0]["low"] for each in (named, found))
    assert named["means"][0]["mean"] == pytest.approx(found["means"][0]["mean"])
    assert width > narrow * 1.3, "severe and mild raters are drawn, too"
    (tmp_path / "r.csv").write_text("\n".join(["id,rater,condition,score", *rows, "t1,R99,Human,50"]))
    said = refused("agreement", "r.csv", "--group", "condition", cwd=tmp_path)
    assert "t1 is in group AI in one row and in Human in another" in said
    (tmp_path / "n.csv").write_text(nameless.replace("Human", "AI"))
    assert "no groups to compare" in refused("agreement", "n.csv", "--group", "condition", cwd=tmp_path)
