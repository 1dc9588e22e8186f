"""A PDF that is cut off is read as far as it goes; one that would take gigabytes is refused before it is opened."""

import base64
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from manyheads.base.errors import DocumentError
from manyheads.documents import Document, pdfium, picture, read_apart, read_document, render

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>"
BOX = b"/MediaBox[0 0 612 792]"
FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]"
PATH = b"0 0 m 10 10 l S "
NAMES = ("Owls", "Mice", "Snow", "Wind", "Fields", "Barns")


def stream(data: bytes, words: bytes = b"", filters: bytes = b"/Filter/FlateDecode") -> bytes:
    data = zlib.compress(data) if filters else data
    return b"<<%s%s/Length %d>>\nstream\n%s\nendstream" % (words, filters, len(data), data)


def text(name: str = "Owls") -> bytes:
    line = b"(%s are seen in a line of words that everyone can read.) Tj 0 -12 Td " % name.encode()
    return b"BT /F 10 Tf 72 700 Td " + line * 8 + b"ET "


def table_pdf(*objects: bytes) -> bytes:
    """Objects from 1, the catalogue first, and a table of them."""
    whole, places = b"%PDF-1.5\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(places) + 1
    return whole + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (
        size, rows, size, len(whole),
    )  # fmt: skip


def page(contents: bytes, more: bytes = b"") -> bytes:
    return b"<</Type/Page/Parent 2 0 R%s/Contents %s/Resources<</Font<</F 4 0 R>>%s>>>>" % (
        BOX,
        contents,
        more,
    )


def plain() -> tuple[bytes, list[int]]:
    """A paper whose pages are objects of the file, each before its content, and the end of each; the catalogue is the last."""
    whole, ends = b"%%PDF-1.4\n4 0 obj\n%s\nendobj\n" % FONT, list[int]()
    for number, name in enumerate(NAMES):
        own = 10 + 2 * number
        whole += b"%d 0 obj\n%s\nendobj\n" % (own, page(b"%d 0 R" % (own + 1)))
        whole += b"%d 0 obj\n%s\nendobj\n" % (own + 1, stream(text(name)))
        ends.append(len(whole))
    kids = b" ".join(b"%d 0 R" % (10 + 2 * number) for number in range(len(NAMES)))
    whole += b"2 0 obj\n<</Type/Pages/Kids[%s]/Count %d>>\nendobj\n" % (kids, len(NAMES))
    whole += b"1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\ntrailer<</Root 1 0 R/Size 99>>\n%%EOF"
    return whole, ends


def packed() -> tuple[bytes, list[int]]:
    """The same with its pages in object streams, each behind its content, as TeX writes them; the fonts are the last."""
    whole, places, ends = b"%PDF-1.5\n", dict[int, bytes](), list[int]()

    def put(number: int, data: bytes) -> None:
        nonlocal whole
        places[number] = b"\x01" + len(whole).to_bytes(4, "big") + b"\0"
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, data)

    def pack(number: int, objects: dict[int, bytes]) -> None:
        head, inner = b"", b""
        for index, (own, data) in enumerate(objects.items()):
            places[own] = b"\x02" + number.to_bytes(4, "big") + bytes([index])
            head, inner = head + b"%d %d " % (own, len(inner)), inner + data + b" "
        put(number, stream(head + inner, b"/Type/ObjStm/N %d/First %d" % (len(objects), len(head))))

    for number, name in enumerate(NAMES):
        own = 10 + 3 * number
        put(own, stream(text(name)))
        pack(own + 2, {own + 1: page(b"5%d 0 R" % number), 50 + number: b"[%d 0 R]" % own})
        ends.append(len(whole))
    kids = b" ".join(b"%d 0 R" % (11 + 3 * number) for number in range(len(NAMES)))
    tree = b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(NAMES))
    pack(3, {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: tree, 4: FONT})
    start, size = len(whole), 61
    places[60] = b"\x01" + start.to_bytes(4, "big") + b"\0"
    rows = b"".join(places.get(number, b"\0" * 6) for number in range(size))
    put(60, stream(rows, b"/Type/XRef/W[1 4 1]/Root 1 0 R/Size %d" % size))
    return whole + b"startxref\n%d\n%%%%EOF" % start, ends


def read(folder: Path, data: bytes) -> Document:
    (folder / "paper.pdf").write_bytes(data)
    return read_document(folder / "paper.pdf")


def seen(document: Document) -> list[str]:
    return [
        name for name in NAMES if f"{name} are seen" in document.text() + document.abstract + document.title
    ]


@pytest.mark.parametrize("make", [plain, packed])
@pytest.mark.parametrize(
    ("after", "more", "pages"),
    [
        pytest.param(0, 0, 1, id="right after the first page"),
        pytest.param(2, 40, 3, id="within the fourth page"),
        pytest.param(5, 30, 6, id="within the catalogue"),
        pytest.param(5, 10**6, 6, id="nowhere"),
    ],
)
def test_pages_that_are_whole_are_read(
    make: Callable[[], tuple[bytes, list[int]]], after: int, more: int, pages: int, tmp_path: Path
) -> None:
    """The rest is not made up: the document has so many pages, and says that it is cut off."""
    whole, ends = make()
    document = read(tmp_path, whole[: ends[after] + more])
    assert document.pages == pages
    assert seen(document) == [*NAMES[:pages]]
    told = [fault for fault in document.faults if "cut off" in fault and "font" in fault]
    assert (not told) if more > len(whole) else (f"{pages} whole page" in told[0])
    assert render(tmp_path / "paper.pdf", pages).startswith(b"\x89PNG")


@pytest.mark.parametrize("make", [plain, packed])
@pytest.mark.parametrize("length", [9, 200])
def test_without_a_whole_page_it_is_refused(
    make: Callable[[], tuple[bytes, list[int]]], length: int, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError, match=r"paper\.pdf is broken: no page") as caught:
        read(tmp_path, make()[0][:length])
    assert caught.value.hint


def test_file_that_opens_though_it_is_cut_off_says_so(tmp_path: Path) -> None:
    """As one whose table of objects is at its beginning."""
    whole, ends = plain()
    root = (
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\ntrailer<</Root 1 0 R/Size 99>>\n%%EOF\n"
    )
    tree = whole[ends[-1] : whole.index(b"1 0 obj", ends[-1])]
    document = read(tmp_path, root + tree + whole[9 : ends[1] + 50])
    assert seen(document) == [*NAMES[:2]]
    assert any("cut off" in fault and "2 whole pages" in fault for fault in document.faults)
    assert any("page 3 cannot be read" in fault for fault in document.faults)


def of_one_page(contents: bytes, *more: bytes, kids: int = 1) -> bytes:
    """A page that draws a stream, which may draw the object after it, `I`."""
    one = page(b"5 0 R", b"/XObject<</I 6 0 R>>")
    tree = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" 3 0 R" * kids, kids)
    return table_pdf(b"<</Type/Catalog/Pages 2 0 R>>", tree, one, FONT, contents, *more)


def drawing(size: int) -> bytes:
    return text() + PATH * (size // len(PATH))


# Each takes the most bytes of a stream, and has more.


def one_stream(most: int) -> bytes:
    return of_one_page(stream(b" " * (most + 9)))


def as_letters(most: int) -> bytes:
    data = base64.a85encode(zlib.compress(b" " * (most + 9))) + b"~>"
    words = b"/Filter[/ASCII85Decode/FlateDecode]"
    return of_one_page(b"<<%s/Length %d>>\nstream\n%s\nendstream" % (words, len(data), data))


def font(most: int) -> bytes:
    data = of_one_page(stream(text()), stream(b" " * (most + 9)))
    return data.replace(FONT, FONT[:-2] + b"/ToUnicode 6 0 R>>")


def picture_in_picture(most: int) -> bytes:
    inner = zlib.compress(b"\0" * (most + 9))
    words = b"/Type/XObject/Subtype/Image/Width 99/Height 99/ColorSpace/DeviceGray/BitsPerComponent 8"
    return of_one_page(stream(text() + b"/I Do"), stream(inner, words, b"/Filter[/FlateDecode/FlateDecode]"))


def many_streams(most: int) -> bytes:
    return of_one_page(stream(text()), *[stream(b" " * most)] * 7)


def forms(_: int) -> bytes:
    """Nine forms draw the next ten times each."""
    chain = [
        stream(b"/I Do " * 10, FORM + b"/Resources<</XObject<</I %d 0 R>>>>" % number, b"")
        for number in range(7, 16)
    ]
    return of_one_page(stream(text() + b"/I Do"), *chain, stream(PATH, FORM))


def wide_forms(most: int, *more: bytes) -> bytes:
    return of_one_page(stream(text() + b"/I Do " * (most // 9000)), stream(drawing(9900), FORM), *more)


def forms_elsewhere(most: int) -> bytes:
    """The page's forms are named in an object of their own, and its resources in its parent's."""
    data = wide_forms(most, b"<</I 6 0 R>>")
    own = b"/Resources<</Font<</F 4 0 R>>/XObject<</I 6 0 R>>>>"
    return data.replace(own, b"").replace(
        b"/Count 1", b"/Count 1/Resources<</Font<</F 4 0 R>>/XObject 7 0 R>>"
    )


def one_stream_many_times(most: int) -> bytes:
    data = of_one_page(stream(drawing(most // 9)))
    return data.replace(b"/Contents 5 0 R", b"/Contents[%s]" % (b"5 0 R " * 10))


def pages_over_one_stream(most: int) -> bytes:
    pages = [page(b"5 0 R") for _ in range(70)]
    tree = b"<</Type/Pages/Kids[%s]/Count 70>>" % b"".join(b"%d 0 R " % (6 + n) for n in range(70))
    content = stream(drawing(most // 10))
    return table_pdf(b"<</Type/Catalog/Pages 2 0 R>>", tree, b"null", FONT, content, *pages)


def objects(most: int) -> bytes:
    total = most // 80 + 1
    head = b"".join(b"%d 0 " % number for number in range(total))
    packed = stream(head, b"/Type/ObjStm/N %d/First %d" % (total, len(head)))
    return of_one_page(stream(text()), packed)


BOMBS: dict[Callable[[int], bytes], str] = {
    one_stream: "bytes in a stream",
    as_letters: "bytes in a stream",
    font: "bytes in a stream",
    picture_in_picture: "bytes in a stream",
    many_streams: "bytes in its streams",
    forms: "bytes on a page",
    wide_forms: "bytes on a page",
    forms_elsewhere: "bytes on a page",
    one_stream_many_times: "bytes on a page",
    pages_over_one_stream: "bytes on its pages",
    objects: "objects",
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """The most bytes of a stream: limits are a hundredth of what they are."""
    for name in ("STREAM", "ALL", "OBJECTS"):
        monkeypatch.setattr(pdfium, name, getattr(pdfium, name) // 100)
    return pdfium.STREAM


@pytest.mark.parametrize(("make", "why"), BOMBS.items(), ids=[make.__name__ for make in BOMBS])
def test_bomb_is_refused_before_it_is_opened(
    make: Callable[[int], bytes], why: str, small: int, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError, match=rf"paper\.pdf.*{why}") as caught:
        read(tmp_path, make(small))
    assert caught.value.hint
    with pytest.raises(DocumentError, match=why):
        render(tmp_path / "paper.pdf", 1)


@pytest.mark.slow
@pytest.mark.parametrize("make", [one_stream, objects])
def test_bomb_of_full_size_takes_little_memory(make: Callable[[int], bytes], tmp_path: Path) -> None:
    """The process that reads is not stopped."""
    path = tmp_path / "bomb.pdf"
    path.write_bytes(make(pdfium.STREAM))
    with pytest.raises(DocumentError, match=BOMBS[make]):
        read_apart(path)


def test_page_of_a_kilometre_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"no page of .*paper\.pdf") as caught:
        read(tmp_path, of_one_page(stream(text())).replace(BOX, b"/MediaBox[0 0 1000000 1000000]"))
    assert "1,000,000 points" in (caught.value.tried or "")


def image(wide: int, high: int, data: bytes = b"\0" * 10_000, words: bytes = b"") -> bytes:
    size = b"/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8" % (wide, high)
    return stream(data, b"/Type/XObject/Subtype/Image" + size + words)


SHOWN = text() + b"BT /F 10 Tf 72 150 Td (Figure 1: A picture.) Tj ET q 300 0 0 100 72 200 cm /I Do Q"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["/SMask 7 0 R", "/Mask 7 0 R", ""])
def test_mask_of_thousands_of_millions_of_pixels_is_not_drawn(place: str, tmp_path: Path) -> None:
    side = 100 if place else 60_000
    path = tmp_path / "mask.pdf"
    path.write_bytes(
        of_one_page(stream(SHOWN), image(side, side, words=place.encode()), image(60_000, 60_000))
    )
    document = read_apart(path)
    assert seen(document) == ["Owls"]
    assert any("60,000 × 60,000 pixels" in fault for fault in document.faults) == (not place)


@pytest.mark.parametrize("side", [0, 20_000, 1])
def test_pictures_of_any_size(side: int, tmp_path: Path) -> None:
    document = read(tmp_path, of_one_page(stream(SHOWN), image(side, side, b"\0" * 100)))
    (one,) = document.figures
    assert any("20,000 × 20,000 pixels" in fault for fault in document.faults) == (side > 1)
    assert (one.box is None) == (side != 1)
    assert picture(tmp_path / "paper.pdf", one).startswith(b"\x89PNG")
    assert seen(document) == ["Owls"]


def test_large_drawing_is_read(tmp_path: Path) -> None:
    """Some plots have ten thousand points."""
    assert seen(read(tmp_path, of_one_page(stream(drawing(200_000))))) == ["Owls"]


def test_attached_files_may_be_large(small: int, tmp_path: Path) -> None:
    attached = stream(b" " * (small + 9), b"/Type/EmbeddedFile")
    assert seen(read(tmp_path, of_one_page(stream(text()), attached))) == ["Owls"]
