"""Texts to add to an arena, from run folders and files, without hints at their makers."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from manyheads.arena.items import Case, NewText
from manyheads.base.errors import ArenaError, RatingError, SubjectError
from manyheads.base.files import inside, read_text
from manyheads.base.folders import CONFIG
from manyheads.base.text import hash_of
from manyheads.config import RunConfig
from manyheads.core.results import RESULT
from manyheads.core.texts import Subject, read_subject, read_subjects
from manyheads.judges.blinding import ArenaConfig, nameless, names_of
from manyheads.measures.ranking import ranks_of
from manyheads.measures.ratings import judged_run
from manyheads.systems.ideas import as_ranked
from manyheads.systems.loading import reopen
from manyheads.systems.ranking.result import RankingResult
from manyheads.systems.results import load, prose
from manyheads.team.system import system_of

MakerBy: TypeAlias = Literal["system", "config"]
PLAIN = (".md", ".markdown", ".txt")
LARGEST_CONTEXT = 200_000
"""Maximum bytes of a text file that is shown as the case's background."""
JUDGED = "manyheads ranking judge IDEA… --target …"
"""The command that ranks sets of ideas."""
ALL = "all"
"""The case of texts without a paper or a background."""


@dataclass
class TextSource:
    """How texts are named and anonymised.

    Attributes:
        maker: of all texts; None for the system or the config of each run.
        case: of all texts; None for the name of the paper's file, or of the text's.
        papers: a folder with a file for each case, named after it, or by a run.
        abstracts: whether title and abstract of a run are its text, as raters rate them, instead of all that it wrote.
        warnings: receives hints at makers that are left in the texts.
        own: whether the runs are the user's, so that the papers that they name are shown wherever they lie.
    """

    maker: str | None = None
    by: MakerBy = "system"
    case: str | None = None
    papers: Path | None = None
    blinding: ArenaConfig = field(default_factory=ArenaConfig)
    abstracts: bool = False
    warnings: list[str] = field(default_factory=list[str])
    own: bool = False

    def texts(self, paths: Sequence[Path]) -> list[NewText]:
        """The texts of run folders and files.

        Raises:
            UserError: one of them cannot be read, or its maker is not known.
        """
        if self.papers is not None and not self.papers.is_dir():
            hint = "name a folder with a file for each case"
            raise ArenaError(f"--papers {self.papers}: no such folder", hint=hint)
        found = list[NewText]()
        for path in paths:
            if path.is_dir():
                try:
                    found.append(self._run(path))
                except SubjectError as error:
                    if not self.abstracts or len(paths) == 1:
                        raise
                    self.warnings.append(f"left out: {error.message}")
            else:
                found += [self._file(each) for each in read_subjects(path)]
        for each in found:
            named = rf"(?<!\w){re.escape(each.maker)}(?!\w)"
            if len(each.maker) > 3 and re.search(named, each.body, re.IGNORECASE):
                why = f"the text names its maker, {each.maker!r}; remove it by --hide WORD"
                self.warnings.append(f"{each.source}: {why}")
        return found

    def _run(self, folder: Path) -> NewText:
        if not (folder / RESULT).is_file() and not (folder / CONFIG).is_file():
            hint = "name run folders, such as runs/*, or text files; a suite's folder `arena` is an arena"
            raise ArenaError(f"{folder}: not a run folder", hint=hint)
        run, config = load(folder, unfinished=False), reopen(folder)
        maker = self.maker or (config.name if self.by == "config" else None) or config.system
        names = (*self.blinding.names, *names_of(config, ()))
        title, record = str(getattr(run.result, "title", "") or ""), run.model_dump_json()
        case, paper = self._case_of_run(folder, config, title)
        if self.abstracts:
            subject = read_subject(folder)
            text, hints = nameless(subject.text, names, self.blinding, record)
            details = {"sha256": subject.sha256}
            return NewText(case, maker, subject.title, text, hints, str(folder.resolve()), paper, details)
        text, hints = nameless("\n\n".join(prose(run)), names, self.blinding, record)
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
            # rather than the name of a lost file
            words = " " in value.strip() and not Path(value).is_absolute()
            if path is None and (words or not slot.file):
                return self._with_paper(Case(self.case or f"{name}-{hash_of(value)[:8]}", title, value), None)
        return self._with_paper(Case(self.case or ALL, ""), None)

    def _paper_of_run(self, folder: Path, case: Case, path: Path) -> tuple[Case, Path | None]:
        """A case with the paper that a run names; a run of others may name any file, so only the run's and `papers` are shown."""
        inner = (inside(home, str(path)) for home in (folder, self.papers) if home)
        shown = path if self.own else next(filter(None, inner), None)
        case, paper = self._with_paper(case, shown)
        if shown is None and not paper and not case.context:
            hint = f"if raters may read it: --papers {shlex.quote(str(path.parent))}"
            self.warnings.append(
                f"{folder}: its paper, {path}, is not in its folder and is not shown; {hint}"
            )
        return case, paper

    def _file(self, subject: Subject) -> NewText:
        path = Path(subject.source)
        maker = self.maker or (path.name.partition(".jsonl:")[0] if self.abstracts else None)
        if maker is None:
            hint = "name the maker of these files: --maker NAME"
            raise ArenaError(f"{subject.source}: whose text is it?", hint=hint)
        name = re.sub(r"\.jsonl:(\d+)$", r"-\1", path.name) if ".jsonl:" in path.name else path.stem
        text, hints = nameless(subject.text, ("manyheads", *self.blinding.names), self.blinding)
        case, paper = self._with_paper(Case(self.case or name), None)
        source, details = str(path.resolve()), {"sha256": subject.sha256}
        return NewText(case, maker, subject.title, text, hints, source, paper, details)

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


def sets_of(folders: Sequence[Path]) -> list[NewText]:
    """The sets of ideas that runs have ranked, as their judge saw them: a case each, with the judge's ranks in the details.

    Raises:
        RatingError: a folder is no finished ranking.
    """
    if files := [path for path in folders if not path.is_dir()]:
        raise ArenaError(f"{files[0]}: not a run folder", hint=f"name folders of {JUDGED}")
    return [text for folder in folders for text in _set(folder)]


def _set(folder: Path) -> Iterator[NewText]:
    run = judged_run(folder, RankingResult, {"target", "orders"}, "a ranking", JUDGED)
    ranked = [order.ranked for order in run.orders if order.ranked is not None]
    quality, every = run.indicator, [*range(len(run.items))]
    if not ranked or quality is None or run.target is None or any(sorted(each) != every for each in ranked):
        whole = "a ranking of ideas and a target must have its quality, and each idea once"
        why = whole if ranked else "no order has a ranking"
        raise RatingError(f"{folder}: {why}", hint=f"run it again: {JUDGED}")
    ranks = [*map(ranks_of, ranked)]
    texts = [as_ranked(each.title, each.text or "", each.fields, run.shown_fields) for each in run.items]
    question = hash_of("\0".join((quality, texts[0], *sorted(texts[1:]))))
    case = Case(f"{quality}-{question[:8]}", quality, f"In {run.area}.\n\n{run.traits}")
    for number, (item, text) in enumerate(zip(run.items, texts, strict=True)):
        details = {
            "quality": quality, "number": str(number), "target": run.target.sha256 or hash_of(texts[0]),
            "run": str(folder.resolve()), "judge_ranks": " ".join(str(rank[number] + 1) for rank in ranks),
        }  # fmt: skip
        yield NewText(case, item.source or f"idea {number}", "", text, 0, item.source, None, details)
