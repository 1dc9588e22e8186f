"""By what the measures of runs are scaled where nobody says (VirSci 2024 and 2025, §4.1)."""

from pathlib import Path

import pytest

from manyheads.base.errors import MeasureError
from manyheads.base.resources import shipped
from manyheads.measures.corpus import normalisation


def runs(folder: Path, *configs: str) -> list[Path]:
    made = [folder / str(number) for number in range(len(configs))]
    for path, config in zip(made, configs, strict=True):
        path.mkdir()
        (path / "config.yaml").write_text(config, encoding="utf-8")
    return made


def shipped_config(name: str) -> str:
    return (shipped() / "configs" / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("config", "by"), [("virsci", "year"), ("virsci-2024", "database")])
def test_a_run_is_measured_in_the_way_of_its_paper(tmp_path: Path, config: str, by: str) -> None:
    assert normalisation(runs(tmp_path, shipped_config(config))) == by


def test_texts_are_measured_by_the_year(tmp_path: Path) -> None:
    assert normalisation([tmp_path / "abstract.txt"]) == "year"


def test_runs_of_different_ways_are_not_measured_together(tmp_path: Path) -> None:
    both = runs(tmp_path, shipped_config("virsci"), shipped_config("virsci-2024"))
    with pytest.raises(MeasureError, match="database, year") as caught:
        normalisation(both)
    assert "--normalise" in (caught.value.hint or "")
