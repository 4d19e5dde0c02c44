"""The adapters that are written, loaded and mixed by PEFT itself."""

import json
import warnings

import pytest
import torch
from safetensors.torch import load_file, load_model
from torch import nn

from pamal_core import LowRankEnsemble
from pamal_core.errors import InputError

NUM = 40


class Words(nn.Module):
    """An embedding, a kernel of one axis, one of two, a norm and a matrix; two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.conv = nn.Conv1d(8, 6, 3, padding=1)
        self.image = nn.Conv2d(1, 4, 3, stride=2, bias=False)
        self.norm, self.head = nn.LayerNorm(4), nn.Linear(4, 6)

    def forward(self, words):
        features = self.conv(self.embed(words).transpose(1, 2)).relu()
        image = self.image(features[:, None]).relu().mean((2, 3))
        return self.head(self.norm(image)).split(3, 1)


def adapted(model, rank=3):
    network = LowRankEnsemble(model, 2, rank=rank, scale=5.0)
    with torch.no_grad():
        for adapter in (*network.A.values(), *network.B.values()):
            adapter.normal_(0, 0.3)
    return network


def test_peft_loads_base_and_members_and_has_the_same_outputs(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        peft = pytest.importorskip("peft", reason="needs the `test` extra")
    model = Words().eval()
    network, words = adapted(model), torch.randint(9, (5, NUM))
    network.export_adapters(tmp_path)
    base = Words().eval()
    load_model(base, tmp_path / "base.safetensors")
    names = ["member_0", "member_1"]
    loaded = peft.PeftModel.from_pretrained(base, tmp_path / names[0], adapter_name=names[0])
    loaded.load_adapter(tmp_path / names[1], adapter_name=names[1])
    corners = [network.export(alpha, calibration="shared")(words) for alpha in ([1, 0], [0, 1])]
    for name, expected in zip(names, corners, strict=True):
        loaded.set_adapter(name)
        torch.testing.assert_close(loaded(words), expected, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(corners[0][0], corners[1][0], atol=0.1)
    for share in (0.1, 0.3, 0.5, 0.75, 0.9):
        name = f"at {share}".replace(".", " ")
        weights = [share, 1 - share]
        loaded.add_weighted_adapter(names, weights, name, combination_type="cat")
        loaded.set_adapter(name)
        expected = network.export(weights, calibration="shared")(words)
        torch.testing.assert_close(loaded(words), expected, rtol=1e-4, atol=1e-5)


def test_the_files_have_the_format_and_their_product_changes_a_member(tmp_path):
    model = Words()
    network = adapted(model)
    network.export_adapters(tmp_path / "deep" / "folder")
    own = tmp_path / "deep" / "folder" / "member_1"
    config = json.loads((own / "adapter_config.json").read_text())
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 3, 5.0)
    tensors = load_file(own / "adapter_model.safetensors")
    found = network.export([0, 1], calibration="shared").state_dict()
    where = "base_model.model."
    for name, value in model.state_dict().items():
        path = where + name.removesuffix(".weight")
        if f"{path}.lora_A.weight" in tensors:
            A, B = (tensors[f"{path}.lora_{part}.weight"].flatten(1) for part in "AB")
            change = (5.0 / 3 * B @ A).view(value.shape)
        elif f"{path}.lora_embedding_A" in tensors:
            A, B = (tensors[f"{path}.lora_embedding_{part}"] for part in "AB")
            change = 5.0 / 3 * (B @ A).T
        else:
            change = torch.zeros_like(value)
        torch.testing.assert_close(found[name], value + change)
    assert len(tensors) == 2 * len(network.matrices) == 8
    base = load_file(tmp_path / "deep" / "folder" / "base.safetensors")
    assert all(torch.equal(base[name], value) for name, value in model.state_dict().items())


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)
        self.out = nn.Linear(4, 4)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
        self.two.weight = self.one.weight


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Attention(), "attention.in_proj_weight, attention.out_proj.weight"),
        (nn.LSTM(4, 4), "weight_ih_l0, weight_hh_l0"),
        (nn.Sequential(nn.Conv1d(4, 4, 3, groups=2)), "0.weight"),
        (nn.Sequential(nn.Conv1d(4, 4, 3, dilation=2)), "0.weight"),
        (nn.Sequential(nn.Conv2d(4, 4, 3, padding_mode="circular")), "0.weight"),
        (nn.Sequential(nn.ConvTranspose2d(4, 4, 3)), "0.weight"),
        (Tied(), "one.weight"),
    ],
)
def test_layers_without_an_adapter_in_peft_are_named_before_any_file(tmp_path, model, name):
    with pytest.raises(InputError, match=f"another kind of layer: {name}\\."):
        adapted(model, rank=2).export_adapters(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
