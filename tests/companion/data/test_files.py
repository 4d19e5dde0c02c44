"""A data file is used only if it is whole and right, and a failed download leaves no trace."""

import errno
import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pamal_companion.data import census
from pamal_companion.data.files import complete, data_root, fetch
from pamal_core.errors import InputError

CONTENT = b"ten digits"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
RIGHT = len(CONTENT), SHA256
KNOWN = {"digits": RIGHT}
GONE = "http://127.0.0.1:1/gone"
ADVICE = "Fetch it from https://example.org."


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """The address of a local server that has `digits.gz`, and `wrong.gz` of other content."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "digits.gz").write_bytes(CONTENT)
    (tmp_path / "www" / "wrong.gz").write_bytes(CONTENT[:5])
    handler = partial(QuietHandler, directory=tmp_path / "www")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "MNIST" / "raw" / "digits.gz"


def put(path, content):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_the_folder_given_comes_before_the_environment_and_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # who runs the tests may have none
    monkeypatch.setenv("PAMAL_DATA", str(tmp_path))
    assert data_root("~/x") == tmp_path / "home" / "x"
    assert data_root() == data_root("") == tmp_path
    monkeypatch.delenv("PAMAL_DATA")
    assert data_root() == tmp_path / "home" / ".cache" / "pamal"


def test_a_root_that_is_no_folder_warns_and_the_sample_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("PAMAL_DATA", str(tmp_path / "typo"))
    for given in (None, tmp_path / "another"):
        with pytest.warns(UserWarning, match=r"Found no folder .*(typo|another) of data"):
            assert census.load(data="auto", root=given).is_sample
    assert data_root(tmp_path / "new") == tmp_path / "new"  # which a download may make


def test_a_right_file_is_used_and_nothing_is_asked_of_a_network(path):
    put(path, CONTENT)
    assert complete(path.parent, KNOWN, ADVICE, get=pytest.fail) == [CONTENT]


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT[:-1] + b"S", CONTENT + b"!"])
def test_a_wrong_file_is_named_and_kept(path, content):
    put(path, content)
    with pytest.raises(InputError) as caught:
        complete(path.parent, KNOWN, ADVICE, lambda _: fetch(GONE, *RIGHT, path))
    for part in (str(path.parent), path.name, "another file", "Remove that first", ADVICE):
        assert part in str(caught.value)
    assert path.read_bytes() == content


def test_a_missing_file_says_where_it_is_expected_and_how_to_get_it(path):
    with pytest.raises(
        InputError, match=r"digits in .*raw, .* Found nothing\. Fetch it from https"
    ):
        complete(path.parent, KNOWN, ADVICE)
    assert not path.parent.exists()


def test_a_missing_file_is_downloaded_once(path, server):
    fetch(f"{server}/digits.gz", *RIGHT, path)
    fetch(GONE, *RIGHT, path)
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["wrong.gz", "none.gz", "no network"])
def test_a_download_that_fails_is_one_error_and_leaves_no_file(path, server, name):
    url = "http://127.0.0.1:1/digits.gz" if name == "no network" else f"{server}/{name}"
    with pytest.raises(InputError, match=f"Could not fetch {url}"):
        fetch(url, *RIGHT, path)
    assert not path.parent.exists() or list(path.parent.iterdir()) == []


def test_no_more_is_downloaded_than_the_file_has(path, server, tmp_path):
    (tmp_path / "www" / "digits.gz").write_bytes(CONTENT * 10_000)
    with pytest.raises(InputError, match="more than the 10 bytes that are expected"):
        fetch(f"{server}/digits.gz", *RIGHT, path)
    assert list(path.parent.iterdir()) == []


def test_a_file_where_a_folder_is_needed_is_one_error(tmp_path, server):
    (tmp_path / "home").write_bytes(b"")
    path = tmp_path / "home" / "digits.gz"
    with pytest.raises(InputError, match=r"Could not fetch .*home"):
        fetch(f"{server}/digits.gz", *RIGHT, path)
    assert (tmp_path / "home").read_bytes() == b""


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_disk_that_takes_no_file_is_one_error(path, server, monkeypatch, code):
    def refuse(*_, **__):
        raise OSError(code, "the disk says no")

    monkeypatch.setattr("shutil.move", refuse)
    with pytest.raises(InputError, match="the disk says no"):
        fetch(f"{server}/digits.gz", *RIGHT, path)
    assert list(path.parent.iterdir()) == []
