"""Whatever a file is or becomes, it is named, nothing else is lost and none takes all memory."""

import gzip
import os
import random
import shutil
import tarfile
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from faces_on_disk import faces
from forked import finish
from packed import gzipped, put, tarred, zipped
from test_faults import COMMON, half_written
from tiny_experiment import tiny

from pamal_companion.data import census, utkface
from pamal_companion.runs.options import Options
from pamal_companion.runs.run import run
from pamal_core.errors import InputError

RANDOM = random.Random(0)


def test_weights_of_somebody_else_beside_a_run(tmp_path, times, tally):
    """In half of the tries they have a name that a run would give its own."""
    for attempt in range(times):
        place = tmp_path / str(attempt)
        own = place / RANDOM.choice(["model.safetensors", "model.checkpoint.safetensors"])
        put(place, {own.name: RANDOM.randbytes(RANDOM.choice([0, 8, 99, 5000]))})
        before = own.read_bytes()
        with pytest.raises(InputError, match=own.name.replace(".", r"\.")):
            run(tiny(), Options.create(**COMMON, out=str(place / "model.json")))
        lost = own.read_bytes() != before
        left = [path for path in place.iterdir() if path != own and path.suffix != ".lock"]
        tally("weights that are not ours", lost, len(left))
        assert not lost and not left


def read_only(place):
    os.setuid(65534)  # to root nothing is read-only
    found = run(tiny(), Options.create(**COMMON, out=str(place / "r.json")))
    assert found.network is not None


def test_a_finished_run_on_a_disk_that_is_read_only(times, tally):
    if os.getuid():
        pytest.skip("only root can become another user")
    for _ in range(times):
        place = Path(tempfile.mkdtemp())  # whose folders others may enter, as pytest's may not
        run(tiny(), Options.create(**COMMON, out=str(place / "r.json")))
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        place.chmod(0o555)
        finish(read_only, place)
        lost = {path.name: path.read_bytes() for path in place.iterdir()} != before
        tally("a read-only disk", lost, half_written(place))
        shutil.rmtree(place)
        assert not lost


def lying_zip(size):
    (packed,) = zipped({"5_0_0_2017.jpg": bytes(size)}).values()
    return {"a.zip": packed.replace(size.to_bytes(4, "little"), (99).to_bytes(4, "little"))}


def tar_of_one_header(size):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, size << 12
    return {"a.tar.gz": gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2048))}


BOMBS = {
    "gzip": lambda size: gzipped({"census-income.data": bytes(size)}),
    "gzip in gzip": lambda size: gzipped(gzipped({"census-income.data": bytes(size)})),
    "zip": lambda size: zipped({"census-income.data": bytes(size)}),
    "zip that lies": lying_zip,
    "tar": lambda size: tarred({"5_0_0_2017.jpg": bytes(size)}),
    "tar of one header": tar_of_one_header,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_would_unpack_to_more_than_can_be_used(
    name, tmp_path, times, tally, monkeypatch
):
    monkeypatch.setattr(census, "FILES", {"census-income.data": (1000, "0" * 64)})
    monkeypatch.setattr(utkface, "LARGEST", 1000)
    for attempt in range(times):
        place = tmp_path / str(attempt)
        put(place, BOMBS[name](RANDOM.randrange(1 << 24, 1 << 26)))
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        tracemalloc.start()
        for read in (census.texts, lambda folder: utkface.read(folder, 8)):
            with pytest.raises(InputError):
                read(place)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        lost = {path.name: path.read_bytes() for path in place.iterdir()} != before
        tally("a decompression bomb", lost, 0)
        assert not lost and most < 1 << 22


FACES = faces(4)
ARCHIVES = {"zip": zipped(FACES), "tar": tarred(FACES, "a.tar", "w"), "tar.gz": tarred(FACES)}


@pytest.mark.parametrize(
    ("packing", "kind"),
    [
        *((packing, "truncation") for packing in ARCHIVES),
        # A tar has no checksum of what is in it: of a flipped bit there the pixels may tell.
        *((packing, "flipped bit") for packing in ("zip", "tar.gz")),
    ],
)
def test_an_archive_of_faces_that_is_damaged(packing, kind, tmp_path, times, tally, monkeypatch):
    monkeypatch.setenv("PAMAL_CACHE", str(tmp_path / "made"))
    ((name, content),) = ARCHIVES[packing].items()
    put(tmp_path / "whole", {name: content})
    expected = utkface.read(tmp_path / "whole", 8).mark
    for _ in range(times):
        spoilt = bytearray(content)
        if kind == "truncation":
            spoilt = spoilt[: RANDOM.randrange(1, len(content))]
        else:
            spoilt[RANDOM.randrange(len(content))] ^= 1 << RANDOM.randrange(8)
        put(tmp_path / "spoilt", {name: spoilt})
        try:
            lost = utkface.read(tmp_path / "spoilt", 8).mark != expected
        except InputError as error:
            lost = name not in str(error)
        tally(f"{kind} of faces as {packing}", lost, 0)
        assert not lost
