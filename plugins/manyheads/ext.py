"""All that a package for manyheads may import, in one place.

A package brings, by entry points of these groups:

- `manyheads.packs`: roles, prompts, configs and suites, as files; the name is the one before the dot in role cards.
- `manyheads.systems`: a `System`.
- `manyheads.readers`: a `DocumentReader`.
- `manyheads.formats`: a package with YAML files, formats of corpora.
- `manyheads.sources`: a class of `Source`, or of `HttpService`.
- `manyheads.measures`: a function of a `Subject`, which gives a number, true or false, or None; one of novelty also takes papers.
- `manyheads.hosts`: a module with `make_host`.

Names here keep their meaning; all others, but those of `manyheads` itself, may change from one version to the next. A module
with nothing but reply types takes them from `manyheads.replies`, which imports less. Tests: `manyheads.testing`.
"""

# ruff: noqa: F401
# pyright: reportUnusedImport=false

from manyheads.asking.replies import Choice, Percent, PlainText, ReplyModel, Score, Text, reply_type
from manyheads.base.errors import (
    BudgetError,
    ConfigError,
    CorpusError,
    DocumentError,
    LiteratureError,
    ModelError,
    ReplyError,
    SubjectError,
    UserError,
)
from manyheads.base.http import Pace
from manyheads.base.papers import Hit, Literature, Paper, Scientist, Window
from manyheads.config import Inputs, LiteratureConfig, ModelConfig, RunConfig, Section, Slot
from manyheads.core import (
    Image,
    ManagedHost,
    Message,
    Place,
    Raw,
    Recall,
    Reply,
    Speaker,
    Tool,
    ToolCall,
    Turn,
    Usage,
    recall_nothing,
)
from manyheads.core.events import Event, Judged, Person, Said, Searched, Stage, Voted, Waiting, Warned
from manyheads.core.results import Abstract, Evidence, Idea, Part, RunResult, ScoredIdea, Topic
from manyheads.core.texts import FileOrText, Subject, subject_of
from manyheads.documents import Division, Document, DocumentReader, Draft, Figure, Limits, Table
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.literature.source import HttpService, LackingError, Request, Source
from manyheads.team.run import DiscussionSettings, Question, Run, TeamConfig, TurnsConfig, need_one
from manyheads.team.steering import Steer, steer
from manyheads.team.system import Judge, Needs, Number, Reviews, Revisions, Service, System
from manyheads.team.team import Member, Team

__all__ = sorted(name for name in globals() if not name.startswith("_"))  # pyright: ignore[reportUnsupportedDunderAll]
