"""The adapters that are written, loaded and mixed by PEFT itself."""

import json
import warnings

import pytest
import torch
from safetensors.torch import load_file, load_model
from torch import nn

from pamal_companion.baselines.low_rank import LowRankEnsemble
from pamal_core import Method, classification
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
        for adapter in network.adapters.parameters():
            adapter.normal_(0, 0.3)
    return network


@pytest.fixture
def peft():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        return pytest.importorskip("peft", reason="needs the `test` extra")


@pytest.fixture
def small_gpt(peft):
    """A transformer of OpenAI's kind, whose linear layers are Conv1D, and two heads."""
    from transformers import GPT2Config, GPT2Model

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = {"vocab_size": 9, "n_positions": NUM, "n_embd": 8, "n_layer": 2, "n_head": 2}
            self.body = GPT2Model(GPT2Config(**sizes))
            self.one, self.two = nn.Linear(8, 3), nn.Linear(8, 2)

        def forward(self, words):
            features = self.body(input_ids=words).last_hidden_state.mean(1)
            return self.one(features), self.two(features)

    return Language


def check_by_peft(peft, make, folder):
    """Check that PEFT loads base and members of what `make` makes, and mixes them as alpha does."""
    network, words = adapted(make().eval()), torch.randint(9, (5, NUM))
    network.export_adapters(folder)
    base = make().eval()
    load_model(base, folder / "base.safetensors")
    names = ["member_0", "member_1"]
    loaded = peft.PeftModel.from_pretrained(base, folder / names[0], adapter_name=names[0])
    loaded.load_adapter(folder / names[1], adapter_name=names[1])
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


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_peft_loads_base_and_members_and_has_the_same_outputs(peft, tmp_path, layout):
    check_by_peft(peft, lambda: Words().to(memory_format=layout), tmp_path)


# There is one entry for the layers of both kinds, and PEFT says so at each change of the kind.
@pytest.mark.filterwarnings("ignore:fan_in_fan_out is set to")
def test_peft_loads_layers_whose_weights_are_transposed(peft, small_gpt, tmp_path):
    check_by_peft(peft, small_gpt, tmp_path)


def test_peft_warns_of_no_layer_if_all_weights_are_transposed(peft, small_gpt, tmp_path):
    model = nn.Sequential(small_gpt().body)
    adapted(model).export_adapters(tmp_path)
    loaded = peft.PeftModel.from_pretrained(model, tmp_path / "member_0")
    assert loaded.peft_config["default"].fan_in_fan_out


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


class Conv1D(nn.Module):
    """The layer of transformers by its name, its place and its layout: y = x W + b, W [in, out]."""

    __module__ = "transformers.pytorch_utils"

    def __init__(self, num_outputs: int, num_inputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_inputs, num_outputs))
        self.bias = nn.Parameter(torch.zeros(num_outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


def test_the_change_of_a_transposed_weight_is_the_transpose_of_the_product(tmp_path):
    model = nn.Sequential(Conv1D(6, 4), nn.Linear(6, 5))
    network = adapted(model, rank=2)
    network.export_adapters(tmp_path)
    tensors = load_file(tmp_path / "member_1" / "adapter_model.safetensors")
    shapes = {name.removeprefix("base_model.model."): t.shape for name, t in tensors.items()}
    assert shapes == {
        "0.lora_A.weight": (2, 4),
        "0.lora_B.weight": (6, 2),
        "1.lora_A.weight": (2, 6),
        "1.lora_B.weight": (5, 2),
    }
    member = network.export([0, 1])
    for path, layer in (("0", model[0]), ("1", model[1])):
        A, B = (tensors[f"base_model.model.{path}.lora_{part}.weight"] for part in "AB")
        change = 5.0 / 2 * B @ A
        expected = layer.weight + (change.T if path == "0" else change)
        torch.testing.assert_close(member.get_parameter(f"{path}.weight"), expected)


@pytest.mark.parametrize(
    ("model", "is_transposed"),
    [
        (nn.Sequential(Conv1D(6, 4)), True),
        (nn.Sequential(Conv1D(6, 4), nn.Linear(6, 5)), True),
        (nn.Sequential(nn.Linear(6, 5)), False),
    ],
)
def test_the_configuration_says_that_weights_are_transposed(tmp_path, model, is_transposed):
    adapted(model).export_adapters(tmp_path)
    config = json.loads((tmp_path / "member_0" / "adapter_config.json").read_text())
    assert config["fan_in_fan_out"] is is_transposed


def test_a_class_of_that_name_from_elsewhere_is_unknown():
    other = type("Conv1D", (Conv1D,), {"__module__": "elsewhere"})
    with pytest.raises(InputError, match=r"another kind of layer: 0\.weight"):
        LowRankEnsemble(nn.Sequential(other(6, 4)), 2)


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 5, (2, 3)), nn.ReLU(), nn.Flatten())
        self.one, self.two = nn.Linear(5 * 7 * 6, 1), nn.Linear(5 * 7 * 6, 1)

    def forward(self, x):
        features = self.body(x)
        return self.one(features), self.two(features)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_adapter_of_a_convolution_of_colours_adds_up_to_its_member(tmp_path, layout):
    network = LowRankEnsemble(Pictures().to(memory_format=layout), 2, rank=2)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    network.export_adapters(tmp_path)
    base = load_file(tmp_path / "base.safetensors")["body.0.weight"]
    config = json.loads((tmp_path / "member_1" / "adapter_config.json").read_text())
    adapter = load_file(tmp_path / "member_1" / "adapter_model.safetensors")
    a, b = (adapter[f"base_model.model.body.0.lora_{name}.weight"] for name in "AB")
    assert a.shape == (2, 3, 2, 3) and b.shape == (5, 2, 1, 1)
    change = torch.einsum("or,rihw->oihw", b[:, :, 0, 0], a) * config["lora_alpha"] / config["r"]
    member = network.export([0.0, 1.0]).body[0].weight
    torch.testing.assert_close(base + change, member, rtol=1e-4, atol=1e-5)


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


UNKNOWN = [
    (Attention(), "attention.in_proj_weight, attention.out_proj.weight"),
    (nn.LSTM(4, 4), "weight_ih_l0, weight_hh_l0"),
    (nn.Sequential(nn.Conv1d(4, 4, 3, groups=2)), "0.weight"),
    (nn.Sequential(nn.Conv1d(4, 4, 3, dilation=2)), "0.weight"),
    (nn.Sequential(nn.Conv2d(4, 4, 3, padding_mode="circular")), "0.weight"),
    (nn.Sequential(nn.ConvTranspose2d(4, 4, 3)), "0.weight"),
    (Tied(), "one.weight"),
    (nn.Linear(4, 4), "weight"),
]


@pytest.mark.parametrize(("model", "name"), UNKNOWN)
def test_layers_without_an_adapter_in_peft_are_named_before_any_training(model, name):
    with pytest.raises(InputError, match=rf"peft=False\. Found another kind of layer: {name}\."):
        LowRankEnsemble(model, 2, rank=2)


@pytest.mark.parametrize(("model", "name"), UNKNOWN)
def test_without_files_of_peft_they_have_adapters_and_no_file_is_written(tmp_path, model, name):
    network = LowRankEnsemble(model, 2, rank=2, peft=False)
    assert {*name.split(", ")} <= {*network.matrices}
    with pytest.raises(InputError, match=f"another kind of layer: {name}\\."):
        network.export_adapters(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.one, self.two = nn.LSTM(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)

    def forward(self, x):
        features = self.body(x)[0][:, -1]
        return self.one(features), self.two(features)


def test_without_files_of_peft_a_recurrent_model_is_trained():
    network = LowRankEnsemble(Recurrent(), 2, rank=2, peft=False)
    method = Method(network, [classification("one"), classification("two")])
    method.step((torch.randn(6, 5, 4), torch.randint(3, (6,)), torch.randint(2, (6,))))
    for name in network.matrices:
        _, B = network.adapter(name)
        assert B.grad.abs().sum() > 0, name
