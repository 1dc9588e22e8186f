"""MAMORX: a committee reviews a real paper, with its figures, its references and related published work."""

from manyheads.systems.mamorx import config, report
from manyheads.systems.mamorx.committee import mamorx
from manyheads.systems.mamorx.forms import ReviewForm, check, form_names
from manyheads.systems.mamorx.paper import read_paper
from manyheads.systems.mamorx.result import MamorxResult
from manyheads.systems.mamorx.services import SERVICES
from manyheads.team.system import Reviews, System

__all__ = ["MAMORX"]

MAMORX = System(
    name="mamorx",
    title="MAMORX",
    class_name="MAMORX",
    about="A committee that reviews a paper from its file; each point names its source in the paper.",
    config=config.MamorxConfig,
    inputs=config.MamorxInputs,
    result=MamorxResult,
    run=mamorx,
    essence=report.essence,
    details=report.details,
    work=report.work,
    table=lambda result: result.review.claims if result.review else (),
    report=report.report,
    needs=config.needs,
    corpus=config.uses_corpus,
    searches=config.searches,
    check=check,
    read=read_paper,
    reviews=Reviews(
        "paper",
        "papers",
        lambda resources: {form: {"form": form} for form in form_names(resources)},
        report.scores,
    ),
    services=SERVICES,
    steers=config.STEERS,
    extras=("papers",),
    files={"prompts/review_leader/form.schema.json": ReviewForm},
)
