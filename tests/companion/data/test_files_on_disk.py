"""Nothing is lost and nothing half-written is left, whatever happens to the disk."""

import errno
import os

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pamal_core.errors import InputError
from pamal_core.files import write_atomic
from pamal_core.states import load_state, save_state

STATE = {
    "key": "abc",
    "tensors": {"a": torch.rand(3, 2), "half": torch.ones(2, dtype=torch.bfloat16)},
    "optimizer": {0: {"step": torch.tensor(3.0), "betas": (0.9, 0.999)}},
    "history": [[0.1, 0.2], []],
    "none": None,
}


def test_state_is_restored_exactly(tmp_path):
    save_state(tmp_path / "s", STATE)
    got = load_state(tmp_path / "s")
    assert got["history"] == STATE["history"] and got["none"] is None and got["key"] == "abc"
    assert list(got["optimizer"]) == [0] and got["optimizer"][0]["betas"] == [0.9, 0.999]
    for name, tensor in STATE["tensors"].items():
        assert torch.equal(got["tensors"][name], tensor)
        assert got["tensors"][name].dtype == tensor.dtype


@pytest.mark.parametrize("keep", [0, 4, 100, -3])
def test_truncated_state_is_named(tmp_path, keep):
    path = tmp_path / "s.safetensors"
    save_state(path, STATE)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"s\.safetensors is damaged"):
        load_state(path)


def test_state_that_speaks_of_tensors_it_has_not_is_named(tmp_path):
    path = tmp_path / "s.safetensors"
    save_state(path, {"a": torch.ones(2)})
    path.write_bytes(path.read_bytes().replace(rb"\"tensor\": \"0\"", rb"\"tensor\": \"1\""))
    with pytest.raises(InputError, match=r"s\.safetensors is damaged"):
        load_state(path)


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_flipped_bit_in_a_state_is_read_as_another_state(tmp_path, data):
    path = tmp_path / "s"
    save_state(path, STATE)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged or another"):
        load_state(path)
