"""A front from networks that are trained: modules, state dicts and files."""

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from small_problems import SharedBottom, batches, lenet
from torch import nn
from torch.optim.swa_utils import AveragedModel

from pamal_core import (
    Front,
    LowRankEnsemble,
    Method,
    WeightEnsemble,
    classification,
    evaluate,
    train,
)
from pamal_core.errors import InputError
from pamal_core.front import Objective


class Tied(nn.Module):
    """Two layers with one weight, and a norm with buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(self.norm(self.one(x))).unbind(1)


@pytest.mark.parametrize("kind", ["modules", "state dicts", "files", "one of each"])
def test_the_ends_are_the_checkpoints_whatever_they_are_in(kind, tmp_path):
    models, x = [lenet(), lenet(), lenet()], torch.randn(2, 1, 28, 28)
    states = [model.state_dict() for model in models]
    files = [tmp_path / f"{k}.safetensors" for k in range(3)]
    for file, state in zip(files, states, strict=True):
        save_file(state, file)
    mixed = [models[0], states[1], str(files[2])]
    given = {"modules": models, "state dicts": states, "files": files, "one of each": mixed}[kind]
    architecture = lenet()
    before = {name: value.clone() for name, value in architecture.state_dict().items()}
    network = WeightEnsemble(given, architecture=architecture, task_weights=[[0.5, 0.5]] * 3)
    for k, model in enumerate(models):
        exported = network.export(np.eye(3)[k])
        torch.testing.assert_close(exported(x), model(x), rtol=1e-5, atol=1e-6)
    for name, value in architecture.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_tied_weight_may_be_in_a_file_once_and_buffers_come_along(tmp_path):
    one, two = Tied(), Tied()
    one.norm.running_mean += 2.0
    state = one.state_dict()
    del state["two.weight"]  # as safetensors asks for
    save_file(state, tmp_path / "one.safetensors")
    with pytest.warns(UserWarning, match="keeps those of member 0"):
        network = WeightEnsemble([tmp_path / "one.safetensors", two], architecture=Tied())
    x = torch.randn(5, 3)
    exported = network.export([1, 0], calibration="shared")
    torch.testing.assert_close(exported(x), one.eval()(x))


def changed(**values):
    state = lenet().state_dict() | values
    return {name: value for name, value in state.items() if value is not None}


HEAD = "heads.0.0.weight"


def under(prefix, state=None, **beside):
    """The state of a LeNet with `prefix` before each name, and what is beside it."""
    state = lenet().state_dict() if state is None else state
    return {f"{prefix}{name}": value for name, value in state.items()} | beside


def lightning(state, **beside):
    """What a checkpoint of Lightning's has beside the state."""
    hyper = {"lr": 0.1, "class_weight": torch.ones(3)}
    optimizer = {"state": {0: {"exp_avg": torch.ones(2)}}, "param_groups": [{"params": [0]}]}
    return {"epoch": 3, "pytorch-lightning_version": "2.5", "state_dict": state,
            "callbacks": {"EarlyStopping": {"best": torch.ones(())}}, "loops": {}, "lr": {0: 0.1},
            "optimizer_states": [optimizer], "hyper_parameters": hyper, **beside}  # fmt: skip


def averaged(model):
    average = AveragedModel(model)
    average.update_parameters(model)
    return average


class Lit(nn.Module):
    """The shape of a LightningModule, with a loss that has nothing to keep."""

    def __init__(self, model):
        super().__init__()
        self.net, self.loss = model, nn.CrossEntropyLoss()


def compiled(model):
    return torch.compile(model, backend="eager")


def half_compiled(model):
    model.encoder = compiled(model.encoder)
    model.heads[1][0] = compiled(model.heads[1][0])
    return model


WRAPPED = {
    "averaged": averaged,
    "parallel": nn.DataParallel,
    "compiled": compiled,
    "in Lightning": Lit,
    "parts compiled": half_compiled,
    "averaged, of compiled": lambda m: averaged(compiled(m)),
    "compiled, of averaged": lambda m: compiled(averaged(m)),
    "parallel, of parts compiled": lambda m: nn.DataParallel(half_compiled(m)),
    "in Lightning, averaged, of parallel": lambda m: Lit(averaged(nn.DataParallel(m))),
    "twice parallel": lambda m: nn.DataParallel(nn.DataParallel(compiled(m))),
}


@pytest.mark.parametrize("form", ["state", "lightning", "file"])
@pytest.mark.parametrize("how", WRAPPED)
def test_what_wrapped_a_model_is_left_out_of_its_checkpoint(how, form, tmp_path):
    model, x = lenet(), torch.randn(2, 1, 28, 28)
    expected = [out.detach() for out in model(x)]
    state = WRAPPED[how](model).state_dict()
    assert state.keys() != lenet().state_dict().keys()
    if form == "file":
        member = tmp_path / "a.safetensors"
        save_file({name: value.clone() for name, value in state.items()}, member)
    else:
        member = lightning(state) if form == "lightning" else state
    before = [*member] if isinstance(member, dict) else None
    network = WeightEnsemble([lenet(), member], architecture=lenet())
    torch.testing.assert_close(network.export([0, 1])(x), expected, rtol=1e-5, atol=1e-6)
    assert before is None or [*member] == before


def test_a_tied_weight_is_found_under_a_prefix_with_either_name():
    for gone in ("one.weight", "two.weight"):
        model = Tied()
        state = under("module.", model.state_dict(), n_averaged=torch.tensor(3))
        del state[f"module.{gone}"]
        network = WeightEnsemble([state], architecture=Tied(), task_weights=[[1, 0, 0]])
        x = torch.randn(5, 3)
        found = network.export([1.0], calibration="shared")(x)
        torch.testing.assert_close(found, model.eval()(x))


def test_a_name_that_ends_as_another_is_no_prefix():
    """`weight` is the end of `inner.weight`, and both are of the architecture."""

    class Outer(nn.Linear):
        def __init__(self):
            super().__init__(3, 3)
            self.inner = nn.Linear(3, 3)

        def forward(self, x):
            return self.inner(super().forward(x)).unbind(1)

    model, x = Outer(), torch.randn(2, 3)
    for prefix in ("", "module.", "inner.", "a.b."):
        state = under(prefix, model.state_dict())
        network = WeightEnsemble([state], architecture=Outer(), task_weights=[[1, 0, 0]])
        torch.testing.assert_close(network.export([1.0])(x), model(x))


def test_an_architecture_may_have_such_names_of_its_own():
    model, x = averaged(lenet()), torch.randn(2, 1, 28, 28)
    model.n_averaged += 4
    network = WeightEnsemble([model.state_dict()], architecture=averaged(lenet()),
                             task_weights=[[0.5, 0.5]])  # fmt: skip
    found = network.export([1.0])
    assert found.n_averaged == model.n_averaged
    torch.testing.assert_close(found(x), model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (changed(**{HEAD: None}), f"member 1 is not: {HEAD} is missing"),
        (changed(extra=torch.ones(2)), "extra is not in the architecture"),
        (changed(**{HEAD: torch.ones(50, 49)}), rf"{HEAD} is \[50, 49\] of torch.float32 in"),
        (changed(**{HEAD: torch.ones(50, 50).long()}), rf"{HEAD} is \[50, 50\] of torch.int64"),
        (nn.Linear(2, 2).state_dict(), "is missing; .* and 1. more"),
        (under("", **under("ema.")), r"is not: ema\.\S+ is not in the architecture"),
        (under("model.", **{"loss.weight": torch.ones(3)}), "loss.weight beside 'model.' is not"),
        (under("module.", changed(**{HEAD: None})), f"is not: {HEAD} is missing"),
        (under("net.", changed(extra=torch.ones(2))), "is not: extra is not in the architecture"),
        (under("net.", changed(**{HEAD: torch.ones(50, 49)})), rf"{HEAD} is \[50, 49\] of"),
        (under("a.") | under("b."), r"is not: b\.\S+ beside 'a.' is not in .* and 1. more"),
        (
            under("model.") | under("ema.module.", n_averaged=1),
            r"ema\.mod\S+ beside 'model.' is not",
        ),
        (lightning(under("model.") | under("ema.")), r"is not: ema\.\S+ beside 'model.' is not in"),
        ({"epoch": 2, "model": changed(), "optimizer": {}}, "the weights, of model, optimizer."),
        (under("a.", **{HEAD: torch.ones(50, 50)}), f"{HEAD} beside 'a.' is not in the arch"),
        (lightning(nn.Linear(2, 2).state_dict()), "is missing; .* and 1. more"),
        ({}, "is missing; .* and 1. more"),
    ],
)
def test_what_does_not_fit_of_a_checkpoint_is_named_in_one_sentence(state, message):
    with pytest.raises(InputError, match=message):
        WeightEnsemble([lenet(), state], architecture=lenet())


def test_a_file_that_cannot_be_read_has_the_error_of_its_reader(tmp_path):
    damaged = tmp_path / "a.safetensors"
    damaged.write_bytes(b"no weights")
    for file, error in ((damaged, SafetensorError), (tmp_path / "b", FileNotFoundError)):
        with pytest.raises(error):
            WeightEnsemble([file], architecture=lenet())


def test_numbers_of_fewer_digits_take_the_dtype_of_the_architecture():
    state = {name: value.half() for name, value in lenet().state_dict().items()}
    network = WeightEnsemble([state, lenet().state_dict()], architecture=lenet())
    assert network.stacked.dtype == torch.float32
    found = network.export([1, 0]).state_dict()
    assert all(torch.equal(found[name], value.float()) for name, value in state.items())


def test_one_weight_with_two_values_is_refused():
    state = {name: value.clone() for name, value in Tied().state_dict().items()}
    state["two.weight"] += 1.0
    with pytest.raises(InputError, match=r"one.weight and two.weight are one weight and differ\."):
        WeightEnsemble([state], architecture=Tied())


@pytest.mark.parametrize("architecture", [None, lenet])
def test_a_state_dict_needs_the_architecture_as_a_module(architecture, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as a user has it
    with pytest.raises(InputError, match="`architecture` must be of type Module"):
        WeightEnsemble([lenet().state_dict()], architecture=architecture)


class Normed(nn.Module):
    """A norm, a frozen layer, a kernel, and two inputs by name."""

    def __init__(self, width=6) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.kept = nn.Linear(64, width).requires_grad_(False)
        for weight in self.kept.parameters():
            nn.init.constant_(weight, 0.1)
        self.head, self.other = nn.Linear(width, 3), nn.Linear(width, 3)

    def forward(self, image, scale):
        z = self.kept(self.norm(self.conv(image)).flatten(1)) * scale
        return self.head(z), self.other(z)


NAMED = [classification("kind"), classification("colour")]
ROWS = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]
KINDS = {
    "members": lambda **given: WeightEnsemble([Normed(), Normed()], shared="conv", **given),
    "copies": lambda: WeightEnsemble(Normed(), num_members=3, task_weights=ROWS),
    "contiguous": lambda: KINDS["members"](channels_last=False),
    "adapters": lambda: LowRankEnsemble(Normed(), 2, rank=2, scale=3.0, shared=["conv", "norm"]),
    "base": lambda: LowRankEnsemble(Normed(), 3, rank=1, train_base=True, task_weights=ROWS),
}


def saved(kind, folder, **given):
    """A network that was trained and saved, and its data."""
    network, labels = KINDS[kind](), torch.randint(3, (2, 32))
    data = [({"image": torch.randn(32, 1, 6, 6), "scale": torch.rand(32, 1)}, *labels)]
    train(Method(network, NAMED), data, epochs=2, lr=0.01, progress=False)
    network.save(folder, **given)
    return network, data


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_network_is_loaded_with_the_same_bits(kind, tmp_path):
    network, data = saved(kind, tmp_path / "new" / "folder")
    loaded = type(network).load(tmp_path / "new" / "folder", architecture=Normed())
    own, theirs = network.state_dict(), loaded.state_dict()
    assert own.keys() == theirs.keys() and loaded.task_names == ("kind", "colour")
    assert all(torch.equal(value, theirs[name]) for name, value in own.items())
    trained = [
        {n for n, p in one.named_parameters() if p.requires_grad} for one in (network, loaded)
    ]
    assert trained[0] == trained[1] and loaded.skeleton.num_shared == network.skeleton.num_shared
    alpha = np.eye(network.num_members)[0]
    expected = network.predict(data[0][0], alpha)  # with the kept calibration
    torch.testing.assert_close(loaded.predict(data[0][0], alpha), expected, rtol=0, atol=0)
    assert evaluate(loaded, NAMED, data).table.equals(evaluate(network, NAMED, data).table)


def test_without_its_examples_a_loaded_network_has_the_shared_statistics(tmp_path):
    network, data = saved("members", tmp_path, calibration=False)
    loaded = WeightEnsemble.load(tmp_path, Normed())
    assert loaded.calibration is None
    with pytest.warns(UserWarning, match="All alphas share the running statistics"):
        got = loaded.predict(data[0][0], {"kind": 0.4, "colour": 0.6})
    expected = network.predict(data[0][0], [0.4, 0.6], calibration="shared")
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def test_a_folder_that_has_no_such_network_is_refused_in_one_sentence(tmp_path):
    saved("members", tmp_path / "members")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    save_file(lenet().state_dict(), tmp_path / "foreign" / "network.safetensors")
    for kind, folder, architecture, found in (
        (WeightEnsemble, "empty", Normed(), r"Expected a file written by .*No such file"),
        (WeightEnsemble, "foreign", Normed(), "is damaged or another"),
        (WeightEnsemble, "members", Normed(5), "another kept.out_features: .5., not .6."),
        (WeightEnsemble, "members", lenet(), "'conv'; the model has: encoder, heads"),
    ):
        with pytest.raises(InputError, match=found):
            kind.load(tmp_path / folder, architecture)


def test_inputs_that_no_file_takes_are_refused_and_can_be_left_out(tmp_path):
    class Worded(nn.Linear):
        def forward(self, words):
            return super().forward(words.numbers).unbind(1)

    class Words:
        numbers = torch.ones(4, 3)

    network = WeightEnsemble(Worded(3, 2), num_members=2)
    network.calibration = [(Words(),)]
    with pytest.raises(TypeError, match="Words is not JSON serializable"):
        network.save(tmp_path)
    assert not [*tmp_path.iterdir()]
    network.save(tmp_path, calibration=False)
    assert WeightEnsemble.load(tmp_path, Worded(3, 2)).calibration is None


def front(alphas, accuracy, loss):
    table = pd.DataFrame({"a/accuracy": accuracy, "b/loss": loss})
    objectives = Objective("a/accuracy", True), Objective("b/loss", False)
    return Front(np.array(alphas), table, objectives)


PAIR = [[1, 0], [0.5, 0.5], [0, 1]]


def test_a_barrier_is_how_far_the_middle_is_worse_than_the_line():
    found = front(PAIR, [0.9, 0.8, 0.8], [0.5, 0.45, 0.3]).barrier()
    assert found == pytest.approx({"a/accuracy": 0.05, "b/loss": 0.05})
    better = front(PAIR, [0.9, 0.95, 0.8], [0.5, 0.1, 0.3]).barrier()
    assert better == pytest.approx({"a/accuracy": -0.1, "b/loss": -0.3})


def test_of_three_members_the_line_is_a_plane_at_the_alpha_in_the_middle():
    alphas = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.3, 0.3], [0.5, 0.5, 0]]
    found = front(alphas, [0.9, 0.6, 0.6, 0.7, 0.1], [0.1, 0.2, 0.3, 0.2, 9.0]).barrier()
    assert found == pytest.approx({"a/accuracy": 0.02, "b/loss": 0.2 - 0.19})


@pytest.mark.parametrize("middle", [(0.1, 0.4), (0.85, 2.0), (0.1, 2.0)])
def test_members_that_do_not_belong_together_are_named_in_one_sentence(middle):
    wrong = [f"{name} is {value} in the middle" for name, value, is_wrong in (
        ("a/accuracy", middle[0], middle[0] < 0.5), ("b/loss", f"{middle[1]:.3g}", middle[1] > 1)
    ) if is_wrong]  # fmt: skip
    with pytest.warns(UserWarning, match="The members do not belong together") as found:
        front(PAIR, [0.9, middle[0], 0.8], [0.5, middle[1], 0.3]).barrier()
    text = str(found[0].message)
    assert text.count(" in the middle") == len(wrong) and all(one in text for one in wrong)


def test_networks_that_started_apart_fall_to_chance_and_copies_do_not():
    datasets = pytest.importorskip("sklearn.datasets", reason="needs the `companion` extra")
    digits = datasets.load_digits()
    x = torch.as_tensor(digits.data, dtype=torch.float32) / 16
    y = torch.as_tensor(digits.target)
    task = [classification("digit")]

    def net():
        layers = nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        return SharedBottom(nn.Sequential(*layers), [nn.Linear(64, 10)])

    def trained(model, seed, epochs):
        torch.manual_seed(seed)
        network, data = WeightEnsemble([model]), batches((x, y), 128, shuffle=True)
        train(Method(network, task), data, epochs=epochs, lr=1e-2, progress=False)
        return network.export([1.0])

    start = trained(net(), 0, 4)
    related = [trained(start, seed, 3) for seed in (1, 2)]
    apart = [trained(net(), seed, 7) for seed in (3, 4)]
    rows = [[1.0], [1.0]]
    fronts = [
        evaluate(WeightEnsemble(pair, task_weights=rows), task, [(x, y)])
        for pair in (related, apart)
    ]
    assert fronts[0].barrier()["digit/accuracy"] < 0.02
    with pytest.warns(UserWarning, match="digit/accuracy is 0"):
        assert fronts[1].barrier()["digit/accuracy"] > 0.2


@pytest.mark.parametrize("alphas", [[[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]], [[1.0], [1.0]]])
def test_a_barrier_needs_both_ends_and_a_point_between_them(alphas):
    values = [0.5] * len(alphas)
    with pytest.raises(InputError, match="every corner of the simplex and a point between"):
        front(alphas, values, values).barrier()
