"""Papers in the layouts of many fields and scripts, and what a person reads in each: title, authors, abstract, sections,
number of references."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import Flowable, PageBreak, Paragraph, Spacer

from manyheads.documents import Document
from support.pdfs import AUTHORS, BODY, CENTRED, ENTRY, FILLING, HEADING, TITLE, body, heading, typeset

SMALL = ParagraphStyle("small", parent=BODY, fontSize=8, leading=9.5)
NARROW = ParagraphStyle("narrow", parent=SMALL, leftIndent=36, rightIndent=36)
LEFT = ParagraphStyle("left", parent=HEADING, fontSize=16, leading=20)
LARGE = ParagraphStyle("large", parent=TITLE, fontSize=24, leading=30)
PLAIN_TITLE = ParagraphStyle("plain title", parent=CENTRED, fontSize=13, leading=16)
ROMAN = ParagraphStyle("roman", parent=CENTRED, leading=12)
BOLD = ParagraphStyle("bold", parent=CENTRED, fontName="Times-Bold", spaceBefore=0, spaceAfter=0)
ITALIC = ParagraphStyle("italic", parent=CENTRED, fontName="Times-Italic")
SAYS = "This paper asks whether readers agree on what they read. "
ENTRIES = (
    "Berg, Ada, and Bo Lee. 2019. “Committees of Quiet Readers.” <i>Journal of Reading</i> 12 (3): 45–67.",
    "Moreno, Cleo. 2018. <i>Long Manuscripts and Their Readers</i>. Oxford: Reader Press.",
    "Petrov, Gleb. 2016. “Blind Ratings at the Turn of the Century.” <i>Texts</i> 9 (1): 1–29.",
    "Quist, Hanna. 2020. “A Survey of Worth.” <i>Journal of Judgement</i> 4 (2): 100–130.",
)


@dataclass(frozen=True)
class Layout:
    """A paper, and what it says."""

    make: Callable[[Path], Path]
    title: str
    authors: tuple[str, ...] = ("Ada Berg", "Bo Lee")
    abstract: str = SAYS
    """Its beginning; empty if it has none."""
    sections: Sequence[str] = ()
    references: int = len(ENTRIES)

    def parts(self, document: Document) -> Mapping[str, tuple[object, object]]:
        """What was read and what is written, by part."""
        abstract = document.abstract[: len(self.abstract) or None]
        return {
            "title": (document.title, self.title),
            "authors": (document.authors, self.authors),
            "abstract": (abstract, self.abstract),
            "sections": ([one.name for one in document.sections if one.name], [*self.sections]),
            "references": (len(document.references), self.references),
        }


def small_capitals(text: str) -> str:
    parts = ((one[:1], one[1:]) if one[0].isupper() else ("", one) for one in text.split())
    return " ".join(f'{first}<font size="8">{rest.upper()}</font>' for first, rest in parts)


def text(times: int = 7) -> Paragraph:
    return body("Some words.", times)


def footnoted(times: int = 4) -> Paragraph:
    return body("Some words.<super>3</super> Others disagree.<super>4</super>", times)


def under(
    names: Sequence[str], style: ParagraphStyle = HEADING, each: Callable[[], Flowable] = text
) -> list[Flowable]:
    """Headings, each with a text."""
    return [part for name in names for part in (Paragraph(name, style), each())]


def listed(title: str = "References", style: ParagraphStyle = HEADING) -> list[Flowable]:
    return [Paragraph(title, style), *(Paragraph(one, ENTRY) for one in ENTRIES)]


def economics(path: Path) -> Path:
    """A working paper: date, an abstract without a heading, codes, then numbered sections."""
    front = [
        Paragraph("Readers and the Price of Agreement<super>*</super>", TITLE),
        Paragraph("Ada Berg<super>†</super> &nbsp; &nbsp; &nbsp; Bo Lee<super>‡</super>", AUTHORS),
        Paragraph("November 2021", AUTHORS),
        Spacer(1, 12),
        Paragraph(SAYS + FILLING, NARROW),
        Paragraph("<i>JEL codes</i>: D71, D83. <i>Keywords</i>: reading, committees.", NARROW),
    ]
    story = [
        *under(["1 Introduction", "2 A Model of Reading", "3 Data", "4 Conclusion"], each=footnoted),
        *listed(),
    ]
    return typeset(path, front, story, high=190)


def american(path: Path) -> Path:
    """An abstract in italics without a heading, Roman sections centred at the size of the text."""
    by = ParagraphStyle("by", parent=AUTHORS, fontSize=10)
    front = [
        Paragraph("Reading Alone and Reading Together", LEFT),
        Paragraph(
            "By A<font size='8'>DA</font> B<font size='8'>ERG AND</font> B<font size='8'>O</font> L<font size='8'>EE</font>*",
            by,
        ),
        Paragraph(
            f"<i>{SAYS}{FILLING}(JEL D71)</i>",
            ParagraphStyle("i", parent=BODY, leftIndent=24, rightIndent=24),
        ),
    ]
    story = [
        body("Committees are old. Their worth is disputed.", 9),
        *under(["I. A Model of Reading", "II. Evidence", "III. Discussion"], BOLD, footnoted),
        *listed("REFERENCES", ROMAN),
    ]
    return typeset(path, front, story, high=130, head="THE READING REVIEW")


def econometric(path: Path) -> Path:
    """Title, authors and centred headings in small capitals at the size of the text; the abstract small, no heading."""
    front = [
        Paragraph("TARGETING READERS<br/>IN COMMITTEES", BOLD),
        Paragraph(f"{small_capitals('Ada Berg')} and {small_capitals('Bo Lee')}", ROMAN),
        Paragraph("<i>Department of Reading, University of Somewhere</i>", ROMAN),
        Paragraph(SAYS + FILLING, NARROW),
        Paragraph(f"{small_capitals('Keywords')}: Committees, reading, targets.", NARROW),
    ]
    names = ["1. Introduction", "2. The Model", "3. What Follows"]
    story = [*under([small_capitals(one) for one in names], ROMAN), *listed("REFERENCES", ROMAN)]
    return typeset(path, front, story, high=170, head="A. BERG AND B. LEE")


def humanities(path: Path) -> Path:
    """No abstract, no numbers, headings in italics, citations in footnotes, a bibliography."""
    front = [
        Paragraph("The Silence of Readers: Marginalia in the Age of Print", PLAIN_TITLE),
        Paragraph(small_capitals("Ada Berg"), ROMAN),
    ]
    story = [
        footnoted(9),
        *under(["The Margins of the Page", "Readers Who Wrote", "A Silence Explained"], ITALIC, footnoted),
        *listed("Bibliography", ITALIC),
    ]
    return typeset(path, front, story, high=80)


def history(path: Path) -> Path:
    """A journal's name above the title, sections that are bare Roman numbers, endnotes."""
    front = [
        Paragraph("The Historical Reader, 54, 2 (2011), pp. 301–330", SMALL),
        Paragraph("THE LAST READERS OF THE OLD LIBRARY*", PLAIN_TITLE),
        Paragraph("ADA BERG", ROMAN),
        Paragraph("<i>University of Somewhere</i>", ROMAN),
        Paragraph(f"A<font size='7'>BSTRACT</font>. {SAYS}{FILLING}", NARROW),
    ]
    story = [*under(["I", "II", "III"], ROMAN, footnoted), *listed("BIBLIOGRAPHY", ROMAN)]
    return typeset(path, front, story, high=150)


def law(path: Path) -> Path:
    """Headings in capitals and small capitals with Roman numbers, an abstract in letter-spaced capitals."""
    front = [
        Paragraph("THE LAW OF READING", LARGE),
        Paragraph("<i>Ada Berg</i><super>*</super>", AUTHORS),
    ]
    story = [
        Paragraph("A B S T R A C T", ROMAN),
        body(SAYS, 2),
        Paragraph("INTRODUCTION", ROMAN),
        footnoted(),
        *under(
            [
                f"{n}. {small_capitals(one)}"
                for n, one in (("I", "Readers and Rules"), ("II", "Courts That Read"))
            ],
            ROMAN,
            footnoted,
        ),
        Paragraph("CONCLUSION", ROMAN),
        text(4),
    ]
    return typeset(path, front, story, high=90, head="READING LAW REVIEW")


def neural(path: Path) -> Path:
    """A label and communicating editor above the title; formulas such as X Nk at the beginning of lines, in larger letters."""
    large = ParagraphStyle("formula", parent=BODY, fontSize=12, leading=15)
    front = [
        Paragraph("<b>ARTICLE</b> &nbsp; &nbsp; &nbsp; Communicated by Cleo Moreno", SMALL),
        Paragraph("Cortical Areas That Read", LEFT),
        Paragraph("<b>Ada Berg</b>", BODY),
        Paragraph("<i>ada@example.org</i>", SMALL),
        Paragraph("<b>Bo Lee</b>", BODY),
        Paragraph("<i>Institute of Reading, Somewhere</i>", SMALL),
        Paragraph(f"<b>{SAYS}</b>{FILLING}", SMALL),
    ]
    names = [f"{n} Areas and Words" for n in range(1, 11)]
    story = under(names[:7])
    story += [
        Paragraph("X Nk nD", large),
        text(3),
        Paragraph("I K (x)", large),
        text(3),
        *under(names[7:]),
        *listed(),
    ]
    return typeset(path, front, story, high=180)


def elsevier(path: Path) -> Path:
    """The journal's name large above the title, letter-spaced headings of the abstract."""
    front = [
        Paragraph("Journal of Reading Studies", ParagraphStyle("journal", parent=LARGE, fontSize=20)),
        Paragraph("journal homepage: www.example.org/reading", SMALL),
        Paragraph("Agreement of readers in small committees", LEFT),
        Paragraph(
            "Ada Berg<super>a,*</super>, Bo Lee<super>b</super>",
            ParagraphStyle("a", parent=BODY, fontSize=12),
        ),
        Paragraph("<i><super>a</super> University of Somewhere</i>", SMALL),
    ]
    story = [
        Paragraph("a b s t r a c t", BODY),
        body(SAYS, 2),
        *under(["1. Introduction", "2. Methods", "3. Results"]),
        *listed(),
    ]
    return typeset(path, front, story, high=150, head="A. Berg, B. Lee / Journal of Reading Studies")


def german(path: Path) -> Path:
    front = [Paragraph("Über die Einigkeit der Leser", TITLE), Paragraph("Ada Berg und Bo Lee", AUTHORS)]
    story = [
        heading("Zusammenfassung"),
        body(SAYS, 2),
        *under(["1 Einleitung", "2 Verfahren", "3 Ergebnisse"]),
        *listed("Literaturverzeichnis"),
    ]
    return typeset(path, front, story, high=60)


def french(path: Path) -> Path:
    front = [Paragraph("L’accord des lecteurs", TITLE), Paragraph("Ada Berg et Bo Lee", AUTHORS)]
    story = [
        body(f"<b>Résumé</b> : {SAYS}", 2),
        *under(["1. Introduction", "2. Méthodes", "3. Résultats"]),
        *listed("Bibliographie"),
    ]
    return typeset(path, front, story, high=60)


def cover(path: Path) -> Path:
    """APA: the title alone on a page with the authors, again on top of the text."""
    front = [
        Spacer(1, 150),
        Paragraph("How Readers Read", BOLD),
        Spacer(1, 20),
        Paragraph("Ada Berg and Bo Lee", CENTRED),
    ]
    story = [
        PageBreak(),
        Paragraph("Abstract", BOLD),
        body(SAYS, 2),
        PageBreak(),
        Paragraph("How Readers Read", BOLD),
        text(9),
        *under(["Method", "Participants", "General Discussion"], BOLD),
        *listed("References", BOLD),
    ]
    return typeset(path, front, story, high=400)


def letter(path: Path) -> Path:
    """A summary in bold without a heading, unnumbered sections, numbered references."""
    front = [
        Paragraph("Readers agree at night", LARGE),
        Paragraph("Ada Berg<super>1</super> & Bo Lee<super>2</super>", AUTHORS),
    ]
    story = [
        body(f"<b>{SAYS}{FILLING}</b>"),
        text(9),
        *under(["Agreement of readers", "Methods"]),
        heading("References"),
        *(Paragraph(f"{n}. {one}", ENTRY) for n, one in enumerate(ENTRIES, 1)),
    ]
    return typeset(path, front, story, columns=2, high=80)


@dataclass(frozen=True)
class Script:
    """A paper in one of the scripts of East Asia."""

    font: str
    title: str
    names: str
    label: str
    headings: Sequence[str]
    listed: str
    filling: str
    entries: Sequence[str]
    wrap: str | None = "CJK"
    authors: tuple[str, ...] = ()
    run_in: bool = False
    columns: int = 1
    read: Sequence[str] = ()
    """The headings, where a number or letters apart are read as plain ones."""

    def __call__(self, path: Path) -> Path:
        register(self.font)
        made: dict[str, ParagraphStyle] = {
            one.name: ParagraphStyle(self.font + one.name, parent=one, fontName=self.font, wordWrap=self.wrap)
            for one in (TITLE, AUTHORS, HEADING, BODY, ENTRY)
        }
        indented = ParagraphStyle("indented" + self.font, parent=made["body"], firstLineIndent=20)
        label = [] if self.run_in else [Paragraph(self.label, made["heading"])]
        story = [
            *label, Paragraph((self.label if self.run_in else "") + self.filling * 2, made["body"]),
            *(
                part for name in self.headings
                for part in (Paragraph(name, made["heading"]), *(Paragraph(f"[1] {self.filling}" * 4, indented) for _ in range(2)))
            ),
            Paragraph(self.listed, made["heading"]), *(Paragraph(one, made["entry"]) for one in self.entries),
        ]  # fmt: skip
        front = [Paragraph(self.title, made["title"]), Paragraph(self.names, made["authors"])]
        return typeset(path, front, story, columns=self.columns, high=80)

    @property
    def layout(self) -> Layout:
        names = [re.sub("[.、]", "", one.replace("、", " ")) for one in self.headings]
        return Layout(
            self, self.title, self.authors, self.filling.strip(), self.read or names, len(self.entries)
        )


@cache
def register(font: str) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont(font))


CHINESE: dict[str, Any] = {
    "font": "STSong-Light", "title": "读者委员会如何达成一致", "names": "张伟，李娜，王小芳", "authors": ("张伟", "李娜", "王小芳"),
    "filling": "我们研究读者小组在每个人独自阅读时如何对稿件的价值达成一致。随着读者人数的增加，一致性上升；随着文本长度的增加，一致性下降。",
    "entries": (
        "[1] 张伟, 李娜. 安静读者的委员会[J]. 阅读学报, 2019, 12(3): 45-67.",
        "[2] 王小芳. 长稿件与其读者[M]. 北京: 阅读出版社, 2018.",
        "[3] Berg, A. and Lee, B. Committees of quiet readers. Journal of Reading, 2020.",
    ),
}  # fmt: skip
JAPANESE: dict[str, Any] = {
    "font": "HeiseiMin-W3", "title": "静かな読者の合意について", "names": "山田太郎，鈴木花子", "authors": ("山田太郎", "鈴木花子"),
    "filling": "本研究では、読者がそれぞれ独りで読むとき、原稿の価値についてどのように合意するかを調べる。読者の数が増えると一致度は上がり、文章が長くなると下がる。",
    "entries": (
        "[1] 山田太郎, 鈴木花子. 静かな読者の委員会. 読書学会論文誌, Vol. 12, No. 3, pp. 45-67, 2019.",
        "[2] 佐藤一郎. 長い原稿とその読者. 読書出版, 2018.",
        "[3] Berg, A. and Lee, B. Committees of quiet readers. Journal of Reading, 2020.",
    ),
}  # fmt: skip
KOREAN: dict[str, Any] = {
    "font": "HYSMyeongJo-Medium", "title": "조용한 독자들의 합의에 관한 연구", "names": "김철수, 이영희", "authors": ("김철수", "이영희"),
    "filling": "우리는 독자들이 각자 혼자 읽을 때 원고의 가치에 대하여 어떻게 합의하는지 연구한다. 독자의 수가 늘어나면 일치도가 올라가고 글이 길어지면 내려간다. ",
    "entries": (
        "[1] 김철수, 이영희. 조용한 독자들의 위원회. 독서학회지, 12(3), 45-67, 2019.",
        "[2] 박민수. 긴 원고와 그 독자. 독서출판사, 2018.",
        "[3] Berg, A. and Lee, B. Committees of quiet readers. Journal of Reading, 2020.",
    ),
    "wrap": None,
}  # fmt: skip
SCRIPTS = {
    "Chinese": Script(**CHINESE, label="摘要", headings=("1 引言", "2 相关工作", "3 方法", "4 实验", "5 结论"), listed="参考文献"),
    "Chinese, two columns": Script(
        **CHINESE, label="摘　要：", headings=("一、引言", "二、研究方法", "三、结论"), listed="参考文献：", run_in=True, columns=2
    ),
    "Japanese": Script(**JAPANESE, label="概要", headings=("1 はじめに", "2 関連研究", "3 提案手法", "4 結論"), listed="参考文献"),
    "Japanese, two columns": Script(
        **JAPANESE, label="あらまし　", headings=("1. まえがき", "2. 提案手法", "3. むすび"), listed="文　　献", run_in=True, columns=2
    ),
    "Korean": Script(**KOREAN, label="초록", headings=("1 서론", "2 관련 연구", "3 제안 방법", "4 결론"), listed="참고문헌"),
    "Korean, two columns": Script(
        **KOREAN, label="요 약", headings=("Ⅰ. 서 론", "Ⅱ. 연구 방법", "Ⅲ. 결 론"), read=("I 서론", "II 연구 방법", "III 결론"), listed="참 고 문 헌", columns=2
    ),
}  # fmt: skip
ALONE = ("Ada Berg",)
LAYOUTS = {
    "economics": Layout(economics, "Readers and the Price of Agreement", sections=["1 Introduction", "2 A Model of Reading", "3 Data", "4 Conclusion"]),
    "American economics": Layout(american, "Reading Alone and Reading Together", sections=["I A Model of Reading", "II Evidence", "III Discussion"]),
    "econometrics": Layout(econometric, "TARGETING READERS IN COMMITTEES", sections=["1 Introduction", "2 The Model", "3 What Follows"]),
    "humanities": Layout(humanities, "The Silence of Readers: Marginalia in the Age of Print", ALONE, "", ["The Margins of the Page", "Readers Who Wrote", "A Silence Explained"]),
    "history": Layout(history, "THE LAST READERS OF THE OLD LIBRARY", ("ADA BERG",), sections=["I", "II", "III"]),
    "law": Layout(law, "THE LAW OF READING", ALONE, sections=["INTRODUCTION", "I Readers and Rules", "II Courts That Read", "CONCLUSION"], references=0),
    "neural computation": Layout(neural, "Cortical Areas That Read", sections=[f"{n} Areas and Words" for n in range(1, 11)]),
    "Elsevier": Layout(elsevier, "Agreement of readers in small committees", sections=["1 Introduction", "2 Methods", "3 Results"]),
    "German": Layout(german, "Über die Einigkeit der Leser", sections=["1 Einleitung", "2 Verfahren", "3 Ergebnisse"]),
    "French": Layout(french, "L’accord des lecteurs", sections=["1 Introduction", "2 Méthodes", "3 Résultats"]),
    "APA, with a cover": Layout(cover, "How Readers Read", sections=["How Readers Read", "Method", "Participants", "General Discussion"]),
    "letter": Layout(letter, "Readers agree at night", sections=["Agreement of readers", "Methods"]),
}  # fmt: skip
