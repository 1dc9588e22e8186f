"""Pages: templates filled in, and Markdown of strangers made safe."""

from functools import lru_cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from manyheads.base.text import printable
from manyheads.report import page as reports
from manyheads.web.security import Visitor

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
LONGEST = 8_000
"""Characters of a text that a page shows at once."""
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def render(request: Request, template: str, status: int = 200, **variables: Any) -> HTMLResponse:
    """A page from `templates/`; it may use `visitor`, `csrf`, `path`, `markdown`, `inline`, and the filters of reports."""
    return HTMLResponse(html(request, template, **variables), status)


def html(request: Request, template: str, **variables: Any) -> str:
    """The text of a page, or of a part of one."""
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    field = Markup('<input type="hidden" name="csrf" value="{}">').format(
        visitor.form_token if visitor else ""
    )
    shown = {
        "visitor": visitor,
        "csrf": field,
        "path": request.url.path,
        "markdown": markdown,
        "inline": inline,
        **variables,
    }
    return reports.render("manyheads.web", f"templates/{template}", shown)


@lru_cache(maxsize=1_000)
def markdown(text: str, most: int = LONGEST, heading: str = "h3") -> Markup:
    """Markdown of a stranger as HTML: no tags of its own, no images, no scripts, only web links, headings of one level."""
    cut = printable(text[:most])
    tokens = _MARKDOWN.parse(cut)
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = heading
    body = nh3.clean(
        _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), tags=TAGS, attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        set_tag_attribute_values={"table": {"tabindex": "0"}, "pre": {"tabindex": "0"}}, link_rel="noopener noreferrer nofollow",
    )  # fmt: skip
    return Markup(body)


def inline(text: str) -> Markup:
    """Markdown of a single line, such as a field's help."""
    return Markup(nh3.clean(_MARKDOWN.renderInline(printable(text)), tags={"code", "em", "strong"}))
