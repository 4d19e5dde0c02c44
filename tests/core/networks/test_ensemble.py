import copy
import subprocess
import sys

import pytest
import torch
from small_problems import lenet, through_a_file
from torch import nn

from pamal_core.errors import InputError
from pamal_core.ensemble import WeightEnsemble, _is_defined_again


class Awkward(nn.Module):
    """What makes swapping weights hard: tied and frozen weights, buffers, dropout, norms."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 6)
        self.frozen = nn.Linear(6, 6)
        self.frozen.weight.data = torch.eye(6) * 2
        self.frozen.bias.data.zero_()
        self.frozen.requires_grad_(False)
        self.norms = nn.Sequential(nn.BatchNorm1d(6), nn.LayerNorm(6), nn.Dropout(0.5))
        self.out = nn.Linear(6, 6)
        self.out.weight = self.embed.weight
        self.register_buffer("offset", torch.ones(6))

    def forward(self, x):
        return self.out(self.norms(self.frozen(self.embed(x)))) + self.offset


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        x, _ = self.lstm(x)
        return self.attention(x, x, x, need_weights=False)[0]


ARCHITECTURES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2)), (4, 6)),
    "awkward": (Awkward, (4, 6)),
    "recurrent": (Recurrent, (4, 5, 3)),
    "lenet": (lenet, (2, 1, 28, 28)),
}


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    return ARCHITECTURES[request.param]


def same(a, b):
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_members", [1, 2, 3])
def test_at_a_corner_the_ensemble_equals_the_member(architecture, num_members):
    make, shape = architecture
    members, x = [make().eval() for _ in range(num_members)], torch.randn(shape)
    ensemble = WeightEnsemble(members).eval()
    for alpha, member in zip(torch.eye(num_members), members, strict=True):
        same(ensemble(x, alpha), member(x))


def test_between_corners_every_weight_is_interpolated(architecture):
    make, shape = architecture
    members, x = [make().eval() for _ in range(2)], torch.randn(shape)
    ensemble, middle = WeightEnsemble(members).eval(), make().eval()
    one, other = (member.state_dict() for member in members)
    middle.load_state_dict({name: 0.3 * one[name] + 0.7 * other[name] for name in one})
    same(ensemble(x, [0.3, 0.7]), middle(x))


def test_the_exported_network_is_a_plain_module_with_the_same_outputs(architecture):
    make, shape = architecture
    ensemble, x = WeightEnsemble([make(), make()]).eval(), torch.randn(shape)
    model = ensemble.export([0.4, 0.6], calibration="shared")
    assert type(model) is type(make())
    assert list(model.state_dict()) == list(make().state_dict())
    assert [n for n, _ in model.named_parameters()] == [n for n, _ in make().named_parameters()]
    same(model(x), ensemble(x, [0.4, 0.6]))


@pytest.mark.parametrize(("channels", "is_last"), [(15, False), (16, True)])
def test_a_narrow_strided_1x1_convolution_keeps_the_network_contiguous(channels, is_last):
    def make():
        return nn.Sequential(nn.Conv2d(3, channels, 3), nn.Conv2d(channels, 4, 1, stride=2))

    members = [make(), make()]
    ensemble, x = WeightEnsemble(members), torch.randn(2, 3, 9, 9)
    theta = ensemble.weights(torch.tensor([1.0, 0.0]))
    weight = ensemble.skeleton.views(theta)["0.weight"]
    assert weight.is_contiguous(memory_format=torch.channels_last) == is_last
    same(members[0](x), ensemble.skeleton(theta, x))


def test_exporting_leaves_the_ensemble_independent_of_the_network():
    ensemble = WeightEnsemble([Awkward(), Awkward()])
    before = {n: t.clone() for n, t in ensemble.state_dict().items()}
    model = ensemble.export([0.5, 0.5], calibration="shared")
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            tensor.add_(1)
    for name, tensor in ensemble.state_dict().items():
        torch.testing.assert_close(tensor, before[name])


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_the_exported_network_runs_as_torchscript_without_this_package(tmp_path):
    model = WeightEnsemble([lenet(), lenet()]).export([0.4, 0.6], calibration="shared")
    path, x = tmp_path / "lenet.pt", torch.full((1, 1, 28, 28), 0.5)
    torch.jit.script(model).save(path)
    code = (
        "import sys, torch; sys.modules['pamal_core'] = None;"
        f"print(torch.jit.load({str(path)!r})(torch.full((1, 1, 28, 28), 0.5))[0].tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    same(torch.tensor(eval(run.stdout)), model(x)[0])


class TwoNames(nn.Module):
    """A module that is reached under two names, and a weight whose first name is in a head."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
        self.features = nn.Sequential(*self.net[:2])
        self.encoder = nn.Linear(4, 4)
        self.encoder.weight = self.net[2].weight

    def forward(self, x):
        return self.net[2](self.encoder(self.features(x)))


def test_a_module_under_two_names_is_one_and_a_tied_weight_has_any_name(tmp_path):
    x, models = torch.randn(5, 4), [TwoNames().eval(), TwoNames().eval()]
    ensemble = WeightEnsemble(models, shared="encoder").eval()
    assert ensemble.stacked.shape[1] == sum(p.numel() for p in models[0].parameters())
    assert ensemble.skeleton.num_shared == 4 * 4 + 4
    by_alias = WeightEnsemble(models, shared="features")
    assert by_alias.skeleton.num_shared == 4 * 4 + 4 + 2 * 4
    same(ensemble(x, [0, 1]), models[1](x))
    exported = ensemble.export([1, 0], calibration="shared")
    same(exported(x), models[0](x))
    assert exported.features[0] is exported.net[0]
    assert exported.encoder.weight is exported.net[2].weight
    kept = through_a_file(ensemble.state_dict(), tmp_path)
    assert all(torch.equal(kept[name], value) for name, value in ensemble.state_dict().items())


def test_an_exported_recurrent_layer_has_the_weights_that_it_runs_with():
    model = WeightEnsemble([Recurrent(), Recurrent()]).export([0.5, 0.5], calibration="shared")
    assert {*map(id, model.lstm._flat_weights)} == {*map(id, model.lstm.parameters())}


def test_no_weight_is_kept_twice():
    """A placeholder as large as its weight would be cloned by evaluation and moved to devices."""
    ensemble = WeightEnsemble([lenet(), lenet()])
    layout = 32  # bytes
    assert [b.numel() for b in ensemble.skeleton.buffers()] == [layout]
    copied = WeightEnsemble([Awkward(), Awkward()]).skeleton
    kept = {n.removeprefix("model.") for n, _ in copied.named_buffers()}
    assert kept == {"layout", *(n for n, _ in Awkward().named_buffers())}


def test_an_ensemble_is_printed_with_the_layers_that_it_runs():
    network = lenet()
    assert repr(network).replace("\n", "\n    ") in repr(WeightEnsemble([network, lenet()]))


def test_members_are_copied_and_never_changed():
    member = lenet()
    before = [p.clone() for p in member.parameters()]
    for members, given in (([member, lenet()], {}), (member, {"num_members": 3})):
        ensemble = WeightEnsemble(members, **given)
        with torch.no_grad():
            ensemble.stacked.zero_()
        after = [*member.parameters()]
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_one_model_becomes_equal_members_that_train_apart():
    model, x = Awkward(), torch.randn(8, 6)
    ensemble = WeightEnsemble(model, num_members=3, task_weights=[[1, 0], [0, 1], [0.5, 0.5]])
    copies = WeightEnsemble([copy.deepcopy(model) for _ in range(3)])
    assert torch.equal(ensemble.stacked, copies.stacked) and ensemble.num_tasks == 2
    same(ensemble.eval()(x, [0.2, 0.3, 0.5]), model.eval()(x))
    ensemble(x, [0.2, 0.8, 0.0]).sum().backward()
    assert not torch.equal(*ensemble.stacked.grad[:2]) and not ensemble.stacked.grad[2].any()


def test_shared_columns_come_first():
    ensemble = WeightEnsemble([lenet(), lenet()], shared="encoder")
    assert ensemble.skeleton.num_shared == 21_330
    assert ensemble.stacked.shape == (2, 21_330 + 2 * 3_060)
    member = lenet()
    ensemble = WeightEnsemble([member], task_weights=[[0.5, 0.5]], shared="heads.1")
    head = torch.cat([p.flatten() for p in member.heads[1].parameters()])  # no convolutions here
    assert torch.equal(ensemble.stacked[0, : ensemble.skeleton.num_shared], head)


def test_the_gradient_of_a_member_is_alpha_times_the_gradient_of_theta(architecture):
    make, shape = architecture
    ensemble, x = WeightEnsemble([make(), make(), make()]).eval(), torch.randn(shape)
    alpha = torch.tensor([0.2, 0.5, 0.3])
    theta = ensemble.weights(alpha)
    theta.retain_grad()

    def loss(outputs):
        outputs = outputs if isinstance(outputs, list) else [outputs]
        return sum(output.square().sum() for output in outputs)

    loss(ensemble.skeleton(theta, x)).backward()
    (gradient,) = torch.autograd.grad(loss(ensemble(x, alpha)), ensemble.stacked)
    torch.testing.assert_close(gradient, torch.outer(alpha, theta.grad))
    assert torch.equal(gradient, ensemble.stacked.grad)


def test_all_alphas_are_interpolated_at_once():
    ensemble, alphas = WeightEnsemble([lenet(), lenet()]), torch.rand(5, 2)
    each = torch.stack([ensemble.weights(a) for a in alphas])
    torch.testing.assert_close(ensemble.weights(alphas), each)


class HeadsFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head, self.backbone = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.backbone(x))


def test_weights_in_another_order_are_refused_before_any_is_taken():
    kept = WeightEnsemble([HeadsFirst(), HeadsFirst()], shared="backbone").state_dict()
    other = WeightEnsemble([HeadsFirst(), HeadsFirst()])
    before = other.stacked.detach().clone()
    with pytest.raises(InputError, match="with the same `shared`"):
        other.load_state_dict(kept)
    assert torch.equal(other.stacked, before)
    WeightEnsemble([HeadsFirst(), HeadsFirst()], shared="backbone").load_state_dict(kept)


def test_member_similarity_is_the_cosine_of_the_rows():
    ensemble = WeightEnsemble([lenet() for _ in range(3)])
    unit = ensemble.stacked / ensemble.stacked.norm(dim=1, keepdim=True)
    torch.testing.assert_close(ensemble.member_similarity(), unit @ unit.T)


def frozen_differently():
    return nn.Sequential(nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 1))


def chain(*layers):
    return nn.Sequential(nn.Linear(2, 2), *layers)


def strided(stride):
    return nn.Sequential(nn.Conv1d(2, 2, 3, stride=stride))


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [
        ([lenet()], {"num_members": 2}, "copied `num_members` times. Found a list of SharedBottom"),
        (lenet(), {"num_members": 0}, "`num_members` must be a whole number >= 1"),
        ([nn.Linear(2, 2), nn.Linear(2, 3)], {}, r"differ in out_features: \[2\] and \[3\]"),
        ([nn.Linear(2, 2), nn.Linear(2, 2, bias=False)], {}, "differ in bias: .* and missing"),
        ([nn.Linear(2, 2), nn.Linear(2, 2).double()], {}, "float32.*float64"),
        ([chain(nn.ReLU()), chain(nn.Tanh())], {}, "the part '1': ReLU and Tanh"),
        ([strided(1), strided(2)], {}, r"0.stride: \[1\] and \[2\]"),
        ([chain(), chain(nn.Tanh())], {}, "the part '1': missing and Tanh"),
        ([chain(nn.Linear(2, 2).double())], {"task_weights": [[1.0]]}, "one real dtype"),
        ([nn.ReLU()], {}, "no trainable weight"),
        ([frozen_differently(), frozen_differently()], {}, "Frozen parameters are shared"),
        ([lenet()], {"task_weights": [[0.5, 0.5], [1, 0]]}, "a matrix with 1 rows"),
    ],
)
def test_members_that_do_not_fit_are_refused(members, options, message):
    with pytest.raises(InputError, match=message):
        WeightEnsemble(members, **options)


@pytest.mark.parametrize(
    "rows", [[[0.5, 0.5], [0.2, 0.8]], [[1, 0], [0, 1], [0, 1]], [[1, 0, 0], [0, 1, 0]]]
)
def test_weights_of_members_that_weigh_tasks_otherwise_are_refused(rows):
    made = WeightEnsemble([lenet(), lenet()])
    other = WeightEnsemble([lenet() for _ in rows], task_weights=rows)
    with pytest.raises(InputError, match="Found another task_weights"):
        other.load_state_dict(made.state_dict())


class Chosen(nn.Module):
    def __init__(self, activation, sizes) -> None:
        super().__init__()
        self.activation, self.sizes, self.layer = activation, sizes, nn.Linear(3, 2)

    def forward(self, x):
        return self.activation(self.layer(x))


@pytest.mark.parametrize(
    ("sizes", "other", "name"),
    [
        ((1, 2), (torch.tanh, (1, 2)), "activation"),
        ((1, 2), (torch.relu, (1, 3)), "sizes"),
        (1, (torch.relu, 2), "sizes"),
        (torch.ones(3), (torch.relu, torch.zeros(3)), "sizes"),
    ],
    ids=["functions", "tuples", "numbers", "tensors"],
)
def test_what_members_keep_beside_weights_and_differ_in_is_told(sizes, other, name, recwarn):
    WeightEnsemble([Chosen(torch.relu, sizes), Chosen(torch.relu, sizes)])
    assert not recwarn.list
    with pytest.warns(UserWarning, match=f"different {name}; the ensemble runs as member 0"):
        WeightEnsemble([Chosen(torch.relu, sizes), Chosen(*other)])


CELLS = {
    "the model": ("class Net(nn.Linear): pass", lambda net: net),
    "its own forward": (
        "class Net(nn.Linear):\n def forward(self, x): return super().forward(x)",
        lambda net: net,
    ),
    "a part": ("class Net(nn.Linear): pass", lambda net: nn.Sequential(nn.ReLU(), net)),
    "a part of a part": (
        "class Net(nn.Linear): scale = 2",
        lambda net: nn.ModuleDict({"a": nn.Sequential(net)}),
    ),
}


@pytest.mark.parametrize(("cell", "around"), CELLS.values(), ids=CELLS)
def test_members_of_a_class_that_was_defined_again_are_refused(cell, around):
    namespace = {"nn": nn, "__name__": "__main__"}

    def member():
        return around(namespace["Net"](3, 2))

    exec(cell, namespace)
    first = member()
    WeightEnsemble([first, member()])
    exec(cell, namespace)  # as a notebook's cell that runs twice
    found = r"^Net has been defined again since one of the members 0 and {} was made: make all "
    for members, k in (([first, member()], 1), ([member(), member(), first], 2)):
        with pytest.raises(InputError, match=found.format(k) + "members from the class as it is"):
            WeightEnsemble(members)
    WeightEnsemble([member(), member()])


def test_classes_that_a_function_or_torch_makes_anew_are_no_others():
    def made():
        class Own(nn.Linear):
            pass

        return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), Own(3, 3))

    for kinds in zip(*(map(type, made()) for _ in "ab"), strict=True):
        assert len({*kinds}) == 2 and not _is_defined_again(*kinds)
