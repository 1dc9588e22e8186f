"""Texts to add to an arena, from run folders, files and suites, without hints at their makers."""

import csv
import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from manyheads.arena.blinding import ArenaConfig, nameless, names_of
from manyheads.arena.items import Case, NewText
from manyheads.base.errors import ArenaError
from manyheads.base.files import inside, read_text
from manyheads.base.folders import CONFIG
from manyheads.config import RunConfig
from manyheads.core.results import RESULT
from manyheads.core.texts import Subject, read_subject, read_subjects
from manyheads.measures.ranking import JUDGED, RankedSet, fingerprint, read_ranked_set
from manyheads.systems.loading import reopen
from manyheads.systems.results import load, prose
from manyheads.team.system import system_of

MakerBy: TypeAlias = Literal["system", "config"]
PLAIN = (".md", ".markdown", ".txt")
LARGEST_CONTEXT = 200_000
"""Maximum bytes of a text file that is shown as the case's background."""
ALL = "all"
"""The case of texts without a paper or a background."""
SUITE = ("cases.jsonl", "key.csv")
"""Files of the folder `arena` that a suite writes."""


@dataclass
class Source:
    """How texts are named and anonymised.

    Attributes:
        maker: of all texts; None for the system or the config of each run.
        case: of all texts; None for the name of the paper's file, or of the text's.
        papers: a folder with a file for each case, named after it, or by a run.
        abstracts: whether title and abstract of a run are its text, as on rating forms, instead of all that it wrote.
        warnings: receives hints at makers that are left in the texts.
    """

    maker: str | None = None
    by: MakerBy = "system"
    case: str | None = None
    papers: Path | None = None
    blinding: ArenaConfig = field(default_factory=ArenaConfig)
    abstracts: bool = False
    warnings: list[str] = field(default_factory=list[str])

    def texts(self, paths: Sequence[Path]) -> list[NewText]:
        """The texts of run folders, files, and `arena` folders of suites.

        Raises:
            UserError: one of them cannot be read, or its maker is not known.
        """
        if self.papers is not None and not self.papers.is_dir():
            raise ArenaError(
                f"--papers {self.papers}: no such folder", hint="name a folder with a file for each case"
            )
        found = list[NewText]()
        for path in paths:
            if path.is_dir() and all((path / name).is_file() for name in SUITE):
                found += self._suite(path)
            elif path.is_dir():
                found.append(self._run(path))
            else:
                found += [self._file(each) for each in read_subjects(path)]
        for each in found:
            if len(each.maker) > 3 and re.search(
                rf"(?<!\w){re.escape(each.maker)}(?!\w)", each.body, re.IGNORECASE
            ):
                self.warnings.append(
                    f"{each.source}: the text names its maker, {each.maker!r}; remove it by --hide WORD"
                )
        return found

    def _run(self, folder: Path) -> NewText:
        if not (folder / RESULT).is_file() and not (folder / CONFIG).is_file():
            raise ArenaError(
                f"{folder}: neither a run folder nor the folder `arena` of a suite",
                hint="name run folders, such as runs/*, text files, or OUT/arena",
            )
        run, config = load(folder, unfinished=False), reopen(folder)
        maker = self.maker or (config.name if self.by == "config" else None) or config.system
        names = (*self.blinding.names, *names_of(config, ()))
        title = str(getattr(run.result, "title", "") or "")
        case, paper = self._case_of_run(folder, config, title)
        if self.abstracts:
            subject = read_subject(folder)
            text, hints = nameless(subject.text, names, self.blinding)
            details = {"sha256": subject.sha256}
            return NewText(case, maker, subject.title, text, hints, str(folder.resolve()), paper, details)
        text, hints = nameless("\n\n".join(prose(run)), names, self.blinding)
        return NewText(case, maker, "", text, hints, str(folder), paper)

    def _case_of_run(self, folder: Path, config: RunConfig, title: str) -> tuple[Case, Path | None]:
        """The paper of a run, or the text it was given; the case `all` if it was given none."""
        for name, slot in system_of(config).slots.items():
            value: Any = getattr(config.inputs, name)
            if not isinstance(value, str) or not value.strip():
                continue
            try:
                path = Path(value) if Path(value).exists() else None
            except (OSError, ValueError):  # not a possible file name
                path = None
            if path and path.is_file():
                return self._paper_of_run(folder, Case(self.case or path.stem, title), path.absolute())
            words = (
                " " in value.strip() and not Path(value).is_absolute()
            )  # rather than the name of a lost file
            if path is None and (words or not slot.file):
                digest = hashlib.sha256(value.encode()).hexdigest()[:8]
                return self._with_paper(Case(self.case or f"{name}-{digest}", title, value), None)
        return self._with_paper(Case(self.case or ALL, ""), None)

    def _paper_of_run(self, folder: Path, case: Case, path: Path) -> tuple[Case, Path | None]:
        """A case with the paper that a run names; a run of others may name any file, so only the run's and `papers` are shown."""
        own = next(
            (file for home in (folder, self.papers) if home and (file := inside(home, str(path)))), None
        )
        case, paper = self._with_paper(case, own)
        if own is None and not paper and not case.context:
            hint = f"if raters may read it: --papers {shlex.quote(str(path.parent))}"
            self.warnings.append(
                f"{folder}: its paper, {path}, is not in its folder and is not shown; {hint}"
            )
        return case, paper

    def _file(self, subject: Subject) -> NewText:
        if self.maker is None:
            raise ArenaError(
                f"{subject.source}: whose text is it?", hint="name the maker of these files: --maker NAME"
            )
        path = Path(subject.source)
        name = re.sub(r"\.jsonl:(\d+)$", r"-\1", path.name) if ".jsonl:" in path.name else path.stem
        text, hints = nameless(subject.text, ("manyheads", *self.blinding.names), self.blinding)
        case, paper = self._with_paper(Case(self.case or name), None)
        source, details = str(path.resolve()), {"sha256": subject.sha256}
        return NewText(case, self.maker, subject.title, text, hints, source, paper, details)

    def _with_paper(self, case: Case, paper: Path | None) -> tuple[Case, Path | None]:
        """A case with its paper, from the folder of papers if there is one; a text file becomes its background."""
        if paper is None and self.papers is not None:
            files = sorted(each for each in self.papers.iterdir() if each.stem == case.id and each.is_file())
            paper = files[0] if files else None
        if paper and paper.suffix.lower() in PLAIN and paper.stat().st_size <= LARGEST_CONTEXT:
            try:
                return Case(case.id, case.title, read_text(paper, encoding="utf-8-sig")), None
            except UnicodeDecodeError:
                return case, paper
        return case, paper

    def _suite(self, folder: Path) -> Iterator[NewText]:
        """The texts that a suite has laid out, which are anonymous already."""
        try:
            cases = {
                case["id"]: case
                for line in read_text(folder / SUITE[0]).splitlines()
                if (case := json.loads(line))
            }
            with (folder / SUITE[1]).open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    known = cases[row["case"]]
                    file_of = _file_of(folder, known["paper"]) if known.get("paper") else None
                    case, paper = self._with_paper(
                        Case(self.case or row["case"], known.get("title") or ""), file_of
                    )
                    text = read_text(_file_of(folder, f"texts/{row['id']}.md")).strip()
                    yield NewText(
                        case, self.maker or row["maker"], "", text, int(row["changed"]), row["run"], paper
                    )
        except (KeyError, TypeError, ValueError, csv.Error, AttributeError) as error:
            raise ArenaError(
                f"{folder}: not an arena folder of a suite: {error!r}", hint="run the suite again"
            ) from error


def _file_of(folder: Path, name: str) -> Path:
    """A file that the table of a suite names; raises ValueError if it is not in the suite's folder."""
    if (path := inside(folder, name)) is None:
        raise ValueError(f"{name}: no such file in it")
    return path


def sets_of(folders: Sequence[Path]) -> list[NewText]:
    """The sets of ideas that runs have ranked, for people to rank: a case each, with the judge's ranks in the details.

    Raises:
        RatingError: a folder is no finished ranking.
    """
    if files := [path for path in folders if not path.is_dir()]:
        raise ArenaError(f"{files[0]}: not a run folder", hint=f"name folders of {JUDGED}")
    return [text for folder in folders for text in _set(read_ranked_set(folder))]


def _set(ranked: RankedSet) -> Iterator[NewText]:
    case = Case(
        f"{ranked.indicator}-{ranked.sha256[:8]}", ranked.indicator, f"In {ranked.area}.\n\n{ranked.traits}"
    )
    for number, text in enumerate(ranked.texts):
        details: Mapping[str, str] = {
            "quality": ranked.indicator, "number": str(number), "target": ranked.target, "run": ranked.run,
            "judge_ranks": " ".join(map(str, ranked.judge_ranks[number])), "sha256": fingerprint(text),
        }  # fmt: skip
        source = ranked.sources[number]
        yield NewText(case, source or f"idea {number}", "", text, 0, source, None, details)
