"""Nothing is lost and nothing half-written is left, whatever happens to the disk."""

import errno
import os

import pytest

from pamal_companion.data.atomic import write_atomic
from pamal_core.errors import InputError


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call):
    path = tmp_path / "r.json"
    write_atomic(path, b"old")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(call, full)
    with pytest.raises(InputError, match=r"No space left on device. Nothing was changed"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_stops_half_way_leaves_the_old_file_and_no_other(tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no limits on file sizes")
    path, limits = tmp_path / "r.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    write_atomic(path, b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"r\.json: File too large"):
            write_atomic(path, b"new" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_what_they_may_read_of_any_new_file(tmp_path):
    write_atomic(tmp_path / "ours", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"Could not write .*file/r\.json"):
        write_atomic(tmp_path / "file" / "r.json", b"")
