"""A state that is read is the state that was written, to the last bit, or is refused."""

import pytest
import torch

from pamal_companion.runs.states import load_state, save_state
from pamal_core.errors import InputError

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


def test_state_that_speaks_of_tensors_it_has_not_is_named(tmp_path):
    path = tmp_path / "s.safetensors"
    save_state(path, {"a": torch.ones(2)})
    path.write_bytes(path.read_bytes().replace(rb"\"tensor\": \"0\"", rb"\"tensor\": \"1\""))
    with pytest.raises(InputError, match=r"s\.safetensors is damaged"):
        load_state(path)
