"""A corpus that goes to another machine in pieces: once for all processes, whole, and unchanged."""

import asyncio
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.corpora import need_sound
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.layers import COPIES
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.transfer import UNUSED, CorpusSource, Manifest, local_copy
from support.corpora import built, copied
from support.papers import papers

pytestmark = pytest.mark.slow


class Carrier:
    """Asks a source, and notes what was asked; harms what is asked from `harm` on, or loses it."""

    def __init__(self, *, harm: int | None = None, lose: int | None = None) -> None:
        self.asked, self._source = list[tuple[str, int]](), CorpusSource()
        self._harm, self._lose = harm, lose

    async def __call__(self, path: str, start: int) -> bytes:
        self.asked.append((path, start))
        await asyncio.sleep(0)
        if self._lose is not None and len(self.asked) > self._lose:
            raise CorpusError("the driver is gone")
        piece = self._source.piece(path, start)
        return piece[:-1] + b"?" if self._harm is not None and len(self.asked) > self._harm else piece


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    folder = built(tmp_path / "mine", papers(30), BuildOptions(bound=2015))
    return Manifest.of("mine", folder)


def copies(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache" / "corpora").iterdir() if path.suffix != ".lock"]


def test_two_at_once_make_one_copy_with_the_same_files(tmp_path: Path, manifest: Manifest) -> None:
    carrier = Carrier()

    async def twice() -> list[Path]:
        return await asyncio.gather(*(local_copy(manifest, carrier) for _ in range(2)))

    one, other = asyncio.run(twice())
    assert one == other
    assert one.name == manifest.sha256 == Manifest.of("mine", one).sha256
    assert len(carrier.asked) == len({*carrier.asked})
    assert copies(tmp_path) == [manifest.sha256]
    need_sound(one, whole=True)
    assert sum(path.stat().st_blocks for path in one.rglob("*")) * 512 < 60e6  # holes stay holes


def test_jobs_that_wait_for_a_copy_leave_the_one_that_makes_it_its_threads(
    tmp_path: Path, manifest: Manifest
) -> None:
    async def many() -> list[Path]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        jobs = (local_copy(manifest, Carrier()) for _ in range(4))
        return await asyncio.wait_for(asyncio.gather(*jobs), 60)

    assert len({*asyncio.run(many())}) == 1


def test_a_copy_need_not_be_read_again(tmp_path: Path, manifest: Manifest) -> None:
    copy = asyncio.run(local_copy(manifest, Carrier()))
    assert all((copy / each.name).stat().st_mtime_ns == each.changed for each in manifest.files)
    assert manifest.is_at(copy)


def test_a_folder_with_the_same_sums_is_used_where_it_is(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    copied(tmp_path / "mine", elsewhere / "mine")
    monkeypatch.chdir(elsewhere)
    assert asyncio.run(local_copy(manifest, carrier := Carrier())) == Path("mine")
    assert not carrier.asked


def test_pieces_with_another_sum_are_refused_and_a_later_try_asks_only_for_what_is_missing(
    tmp_path: Path, manifest: Manifest
) -> None:
    harmful = Carrier(harm=5)
    with pytest.raises(CorpusError, match="sha256"):
        asyncio.run(local_copy(manifest, harmful))
    assert manifest.sha256 not in copies(tmp_path)
    asyncio.run(local_copy(manifest, whole := Carrier()))
    assert not {*harmful.asked[:4]} & {*whole.asked}


def test_a_copy_that_was_cut_short_goes_on_and_a_damaged_one_is_made_again(
    tmp_path: Path, manifest: Manifest
) -> None:
    cut = Carrier(lose=20)
    with pytest.raises(CorpusError, match="gone"):
        asyncio.run(local_copy(manifest, cut))
    copy = asyncio.run(local_copy(manifest, rest := Carrier()))
    assert not {*cut.asked[:10]} & {*rest.asked}
    (copy / "scientists.json").write_text("[]")
    asyncio.run(local_copy(manifest, Carrier()))
    assert Manifest.of("mine", copy).sha256 == manifest.sha256


def test_a_copy_that_was_not_used_for_long_is_removed_unless_it_is_open(
    tmp_path: Path, manifest: Manifest
) -> None:
    copy = asyncio.run(local_copy(manifest, Carrier()))
    for name in (held := "a" * 64, unused := "b" * 64, built := "sample-0123456789ab-lexical"):
        shutil.copytree(copy, copy.with_name(name))
        (lock := copy.with_name(f"{name}.lock")).touch()
        os.utime(lock, (long_ago := lock.stat().st_mtime - UNUSED - 1, long_ago))
    copy.with_name(f"{unused}.part").mkdir()
    with Ecosystem.open(copy.with_name(held)):
        assert asyncio.run(local_copy(manifest, Carrier())) == copy
    assert {*copies(tmp_path)} == {copy.name, held, built}
    asyncio.run(local_copy(manifest, Carrier()))
    assert {*copies(tmp_path)} == {copy.name, built}


def test_a_copy_that_a_worker_knows_already_counts_as_used(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = asyncio.run(local_copy(manifest, Carrier()))
    monkeypatch.setitem(COPIES, manifest.corpus, copy)
    os.utime(lock := copy.with_name(f"{copy.name}.lock"), (0, 0))
    assert asyncio.run(local_copy(manifest, Carrier())) == copy
    assert lock.stat().st_mtime > 0
