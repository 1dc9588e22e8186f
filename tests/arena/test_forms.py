"""Forms of arenas: those that ship, and files of one's own."""

from pathlib import Path

import pytest

from manyheads.arena.items import form_names, read_form
from manyheads.base.errors import ArenaError
from manyheads.base.resources import Resources


def test_the_shipped_forms() -> None:
    names = form_names(Resources.of())
    assert names == ["idea", "ranking", "rating", "review"]
    forms = {name: read_form(name) for name in names}
    assert forms["review"].names == ("technical", "constructiveness", "clarity", "overall")
    assert forms["idea"].names == forms["rating"].names == ("novelty", "feasibility", "effectiveness")
    assert {name: form.kind for name, form in forms.items()} == {
        "review": "pairs", "idea": "pairs", "rating": "ratings", "ranking": "ranking",
    }  # fmt: skip
    assert forms["review"].first == "overall"
    assert {name: form.writer for name, form in forms.items()} == {
        "review": "the reviewer", "idea": "the author", "rating": "the author", "ranking": "the author",
    }  # fmt: skip
    assert [*forms["rating"].ratings] == [*range(1, 11)]


def test_a_form_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "title: Which is shorter?\nquestions: [{id: length, text: Length}]\nanswers: [left, right]\n"
    )
    assert read_form(str(own)).answers == ("left", "right")
    own.write_text("title: Which?\nquestions: [{id: Length!, text: Length}]\n")
    with pytest.raises(ArenaError, match="id"):
        read_form(str(own))


def test_a_misspelt_form_has_a_hint() -> None:
    with pytest.raises(ArenaError) as caught:
        read_form("reveiw")
    assert caught.value.hint
    assert "review" in caught.value.hint
