"""`python -m pamal_companion data`: what is ready, and what to do about the rest."""

import functools
import gzip
import hashlib
import http.server
import os
import threading

import pytest
from commands_on_disk import ask, ask_json
from packed import gzipped, known, named, put

from pamal_companion.data import census, inventory, multimnist

FULL = os.environ.get("PAMAL_DATA", "")


def states(root, *arguments):
    code, document, _ = ask_json("data", "--root", root, *arguments)
    return code, {one["name"]: one for one in document["data"]}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Small files in place of the originals, with a server that has those of MNIST."""
    digits = {
        name: b"\0\0\x08\x01\0\0\0\x03" + bytes([k] * 3) for k, name in enumerate(multimnist.FILES)
    }
    contents = {name: gzip.compress(content) for name, content in digits.items()}
    sums = {n: (len(c), hashlib.sha256(c).hexdigest()) for n, c in contents.items()}
    texts = {name: name.encode() for name in census.FILES}
    monkeypatch.setattr(multimnist, "PACKED", sums)
    monkeypatch.setattr(multimnist, "FILES", known(digits))
    monkeypatch.setattr(census, "FILES", known(texts))
    folder = tmp_path / "www"
    put(folder, named(contents, "{}-ubyte.gz".format) | gzipped(texts))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(multimnist, "MIRROR", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()


def test_where_there_is_nothing_each_has_a_line_of_advice(tmp_path):
    code, found = states(tmp_path)
    assert code == 1 and list(found) == ["mnist", "census", "utkface", "cityscapes"]
    assert {one["state"] for one in found.values()} == {"missing"}
    assert all(one["advice"] and one["bytes"] == 0 for one in found.values())
    code, out, _ = ask("data", "--root", tmp_path)
    assert code == 1 and out.count("missing") == 4
    for name, one in found.items():
        assert f"{name}: nothing there. {one['advice']}" in out.replace("\n    ", " ")
        assert one["place"].startswith(str(tmp_path))


def test_what_can_be_downloaded_is_and_then_it_is_ready(tmp_path, small):
    root = tmp_path / "data"
    code, found = states(root, "--get", "mnist")
    assert (code, list(found), found["mnist"]["state"]) == (0, ["mnist"], "ready")
    assert found["mnist"]["bytes"] == sum(p.stat().st_size for p in small.glob("*ubyte.gz"))
    assert sorted(p.name for p in (root / "MNIST" / "raw").iterdir()) == sorted(
        f"{name}-ubyte.gz" for name in multimnist.FILES
    )


def test_a_damaged_file_is_named_and_never_replaced(tmp_path, small):
    raw = [f"{name}-ubyte.gz" for name in multimnist.FILES]
    put(tmp_path / "MNIST/raw", {name: (small / name).read_bytes() for name in raw})
    people = [f"{name}.gz" for name in census.FILES]
    put(tmp_path / "census", {name: (small / name).read_bytes() for name in people})
    assert [states(tmp_path)[1][name]["state"] for name in ("mnist", "census")] == ["ready"] * 2
    whole = tmp_path / "census/census-income.test.gz"
    whole.rename(tmp_path / "aside")
    found = states(tmp_path)[1]["census"]
    assert found["state"] == "damaged" and whole.stem in found["what"]
    (tmp_path / "aside").rename(whole)
    for name, path in (
        ("mnist", f"MNIST/raw/{raw[2]}"),
        ("census", "census/census-income.test.gz"),
    ):
        content = bytearray((tmp_path / path).read_bytes())
        content[-9] ^= 1
        (tmp_path / path).write_bytes(content)
        code, found = states(tmp_path, "--get", name)
        assert (code, found[name]["state"]) == (1, "damaged")
        assert os.path.basename(path) in found[name]["what"]
        assert (tmp_path / path).read_bytes() == content


def test_what_cannot_be_downloaded_says_how_it_is_had(tmp_path):
    for name in ("census", "utkface", "cityscapes"):
        code, out, err = ask("data", "--root", tmp_path, "--get", name)
        assert (code, err) == (1, "") and "https://" in out.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", ["mtan", "official"])
def test_streets_are_counted_in_either_layout(tmp_path, layout):
    from test_cityscapes import write_mtan, write_official

    write_official(tmp_path / "official", scenes={"train": [("aachen", 3)], "val": [("ulm", 2)]})
    if layout == "mtan":
        write_mtan(tmp_path / "mtan", tmp_path / "official")
    (tmp_path / layout).rename(tmp_path / "cityscapes")
    found = states(tmp_path)[1]["cityscapes"]
    words = {"mtan": "MTAN's arrays", "official": "the official files"}[layout]
    assert found["what"] == f"{words}, 3 scenes for training and 2 for test"
    next((tmp_path / "cityscapes").rglob("*.npy" if layout == "mtan" else "*Ids.png")).unlink()
    found = states(tmp_path)[1]["cityscapes"]
    assert found["state"] == "damaged" and "Unpack the data again" in found["what"]


def test_a_file_where_a_folder_ought_to_be_is_damage_and_no_traceback(tmp_path):
    for data in inventory.DATA_SETS.values():
        place = tmp_path / data.home.folder
        place.parent.mkdir(exist_ok=True)
        place.write_text("")
    code, found = states(tmp_path)
    assert code == 1 and {one["state"] for one in found.values()} == {"damaged"}


@pytest.mark.skipif(not os.path.isdir(f"{FULL}/MNIST"), reason="needs the data in PAMAL_DATA")
def test_the_real_files_are_ready():
    for name, folder in (("mnist", "MNIST"), ("utkface", "utkface")):
        if os.path.isdir(f"{FULL}/{folder}"):
            assert states(FULL, "--get", name)[0] == 0
