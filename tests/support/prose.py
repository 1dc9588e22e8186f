"""Sentences that a user reads: of documents, help texts, messages, pages and the comments of configs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

Sentence = tuple[str, str]
"""Where it stands, such as `docs/index.md:12`, and what it says; code, names in code and figures are `·`."""

_FENCE = re.compile(
    r"^( *)(```|~~~).*?^\1\2 *$|^---\n.*?^---$|<!--.*?-->|(?<=\n\n)(?: {4}.*\n|\n)+", re.DOTALL | re.MULTILINE
)
_CODE = re.compile(
    r"``.+?``|`[^`\n]*(?:\n[^`\n]*)?`|\$[^$\n]+\$|https?://\S+|; [a-z]+-src [a-z]+:|<[^>\n]+>|\b[\w-]+[./_=][\w./_=-]*\w"
)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^)]*\)|\[[^\]]*\])")
_BLOCK = re.compile(r"^\s*$|^\s*(?:[-*+]|\d+\.|:|#+|>|!!!.*|\|)\s*|\s*\|\s*", re.MULTILINE)
_END = re.compile(r"(?<=[.?!])[)”\"*]*\s+|(?<=[.?!][)”\"*])\s+")
_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|(\{\{.*?\}\})", re.DOTALL)
_TAG = re.compile(
    r"<(style|script|svg|code|kbd|pre)\b.*?</\1>|</?(?:a|b|em|strong|i|span|small|abbr|code)\b[^>]*>",
    re.DOTALL,
)
_SHOWN = re.compile(r'\b(?:alt|aria-label|placeholder|title|summary)="([^"]+)"')
_SAID = frozenset({"hint", "tried", "help", "epilog", "title", "description"})
"""Arguments whose text is shown to a user."""
_CALLS = re.compile(r"\w*Error|warn\w*|_wrong|CheckResult|Badparameter|echo|print|note|info|tell")


def of_markdown(path: Path, name: str) -> Iterator[Sentence]:
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
    yield from _sentences(_LINK.sub(lambda found: re.sub(r"\s", "\u00a0", found[1]), text), name)


def of_template(path: Path, name: str) -> Iterator[Sentence]:
    """The text between the tags of a page, and that of attributes which are shown or read aloud."""
    text = _JINJA.sub(
        lambda found: "`x`" if found[1] else " " + "\n" * found[0].count("\n"),
        path.read_text(encoding="utf-8"),
    )
    for found in _SHOWN.finditer(text):
        yield from _sentences(found[1], name, text.count("\n", 0, found.start()) + 1)
    text = _TAG.sub(lambda found: "\n" * found[0].count("\n"), text)
    yield from _sentences(re.sub(r"<[^>]*>", lambda found: "\n\n" + "\n" * found[0].count("\n"), text), name)


def of_comments(path: Path, name: str) -> Iterator[Sentence]:
    """The comments of a YAML file, those on lines of their own together."""
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := re.match(r"(.*?\s|)#\s(?!yaml-language-server)(.*)", line):
            yield from _sentences(found[2], name, at)


def of_code(path: Path, name: str, *, commands: bool) -> Iterator[Sentence]:
    """Messages: texts of errors, warnings, hints and help; with `commands` the docstrings of functions, which are help too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call():
                called = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                texts = [*node.args] if _CALLS.fullmatch(called) else []
                texts += [each.value for each in node.keywords if each.arg in _SAID]
                for each in texts:
                    for text in _literals(each):
                        yield from _sentences(text, name, node.lineno)
            case ast.FunctionDef() if commands and node.decorator_list and (text := ast.get_docstring(node)):
                yield from _sentences(text, name, node.lineno)
            case _:
                pass


def _literals(node: ast.expr) -> Iterator[str]:
    """The texts of an argument, a placeholder as `x`."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr():
            parts = (one.value if isinstance(one, ast.Constant) else "`x`" for one in node.values)
            yield "".join(map(str, parts))
        case ast.IfExp():
            yield from (text for each in (node.body, node.orelse) for text in _literals(each))
        case ast.BinOp():
            yield from (text for each in (node.left, node.right) for text in _literals(each))
        case _:
            pass


def _sentences(text: str, name: str, line: int = 0) -> Iterator[Sentence]:
    at, last = line or 1, 0
    text = _CODE.sub(lambda found: "·" + "\n" * found[0].count("\n"), text)
    for found in (*_BLOCK.finditer(text), None):
        block = text[last : found.start() if found else None]
        where, below = f"{name}:{at}", block.count("\n")
        for sentence in _END.split(block):
            if re.search(r"[A-Za-z]{2}", sentence):
                yield where, re.sub(r"[ \n\t]+", " ", sentence).strip()
        if found:
            at, last = at + (0 if line else below + found[0].count("\n")), found.end()
