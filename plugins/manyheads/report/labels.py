"""The labels of a report in a user's words, put into the finished page: texts between tags, and values of `aria-label` and `alt`.

`{1}`, `{2}`, … in a label are what changes, such as numbers and names. What people and models wrote stays: prose, code, and each text
that the run's files have. So a label that is also an idea's title stays English on that page, and so do warnings and broken lines of
drawings. Example: `in_words("<p>3 votes</p>", {"{1} votes": "{1} Stimmen"}, frozenset())`.
"""

import json
import re
from collections.abc import Callable, Mapping, Set
from html import escape, unescape
from pathlib import Path

TAG = re.compile(r'(<(?:[^<>"]|"[^"]*")*>)')
SPOKEN = re.compile(r'(?<=\baria-label=")[^"]*|(?<=\balt=")[^"]*')
WRITTEN = re.compile(r'<(style|script|code|pre|\w+(?=[^>]* class="prose))\b')
VALUE = re.compile(r"\{(\d+)\}")
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})+"')


def in_words(html: str, words: Mapping[str, str], written: Set[str]) -> str:
    """A page with its labels in words, by the English label; `written` is of `texts_of`."""
    fits = [
        (re.compile("(.+?)".join(map(re.escape, re.split(r"\{\d+\}", label)))), VALUE.findall(label), word)
        for label, word in sorted(words.items(), key=lambda each: -len(VALUE.sub("", each[0])))
        if word
    ]  # a label that says more goes first

    def worded(text: str) -> str:
        for pattern, names, word in fits if text not in written else ():
            if fit := pattern.fullmatch(text):
                values = dict(zip(names, fit.groups(), strict=True))
                return VALUE.sub(lambda at, values=values: values.get(at[1], at[0]), word)
        return text

    return _changed(html, worded)


def labels_of(html: str, written: Set[str]) -> list[str]:
    """The labels of an English page, at most 300 characters each, in its order."""
    names, labels = [text for text in written if re.search(r"[\W\d_]", text)], dict[str, None]()

    def note(text: str) -> str:
        if text not in written and len(text) <= 300:
            inside = sorted((re.escape(name) for name in names if name in text), key=len, reverse=True)
            values = "|".join([*(rf"(?<!\w){name}(?!\w)" for name in inside), r"\d[\d.,]*\d|\d"])
            numbers = iter(range(1, len(text) + 1))
            labels[re.sub(values, lambda _: f"{{{next(numbers)}}}", text)] = None
        return text

    # Lines of drawings are words that stand elsewhere, too, or pieces of titles.
    _changed(re.sub(r"<text\b[^>]*>[^<]*", "", html), note)
    return [label for label in labels if re.search(r"[^\W\d_]{2}", label)]


def _changed(html: str, change: Callable[[str], str]) -> str:
    """A page with each text changed that is not written by others; all else letter for letter."""

    def changed(raw: str) -> str:
        text = " ".join(unescape(raw).split())
        new = change(text) if text else text
        return raw if new == text else raw.replace(raw.strip(), escape(new))

    parts, end, label = TAG.split(html), "", False
    for n, part in enumerate(parts):
        if n % 2:
            label, begun = part.startswith(("<a ", '<span class="runin"')), WRITTEN.match(part)
            end = "" if part == end else end or (f"</{begun[1]}>" if begun else "")
            parts[n] = SPOKEN.sub(lambda at: changed(at[0]), part)
        elif label or not end:
            parts[n] = changed(part)
    return "".join(parts)


def texts_of(folder: Path) -> frozenset[str]:
    """What a run's files say, but the titles of stages, and words of small letters such as `guest`, which are labels."""
    files = [file.read_bytes().decode(errors="replace") for file in folder.glob("*.json*") if file.is_file()]
    lines = [line for text in files for line in text.split("\n") if '"kind": "stage"' not in line]
    texts = {" ".join(json.loads(text).split()) for line in lines for text in STRING.findall(line)}
    return frozenset(text for text in {*texts, folder.name} if len(text) > 2 and re.search(r"[^a-z]", text))
