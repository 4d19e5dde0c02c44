import copy
import subprocess
import sys

import pytest
import torch
from small_problems import lenet, slopes_of, through_a_file
from torch import nn

from pamal_core import Method, WeightEnsemble, regression
from pamal_core.ensemble import _is_defined_again
from pamal_core.errors import InputError
from pamal_core.weights import flatten


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
    assert ensemble.members().shape[1] == sum(p.numel() for p in models[0].parameters())
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
    assert not [*ensemble.skeleton.buffers()] and not [*ensemble.skeleton.parameters()]
    assert all(weight.is_meta for weight in ensemble.skeleton.like.values())
    copied = WeightEnsemble([Awkward(), Awkward()]).skeleton
    kept = {n.removeprefix("model.") for n, _ in copied.named_buffers()}
    assert kept == {n for n, _ in Awkward().named_buffers()}


def test_an_ensemble_is_printed_with_the_layers_that_it_runs():
    network = lenet()
    assert repr(network).replace("\n", "\n    ") in repr(WeightEnsemble([network, lenet()]))


def test_members_are_copied_and_never_changed():
    member = lenet()
    before = [p.clone() for p in member.parameters()]
    for members, given in (([member, lenet()], {}), (member, {"num_members": 3})):
        ensemble = WeightEnsemble(members, **given)
        with torch.no_grad():
            for weight in ensemble.stacked.parameters():
                weight.zero_()
        after = [*member.parameters()]
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_one_model_becomes_equal_members_that_train_apart():
    model, x = Awkward(), torch.randn(8, 6)
    ensemble = WeightEnsemble(model, num_members=3, task_weights=[[1, 0], [0, 1], [0.5, 0.5]])
    copies = WeightEnsemble([copy.deepcopy(model) for _ in range(3)])
    assert torch.equal(ensemble.members(), copies.members()) and ensemble.num_tasks == 2
    same(ensemble.eval()(x, [0.2, 0.3, 0.5]), model.eval()(x))
    ensemble(x, [0.2, 0.8, 0.0]).sum().backward()
    assert not torch.equal(*slopes_of(ensemble)[:2]) and not slopes_of(ensemble)[2].any()


def test_shared_columns_come_first():
    ensemble = WeightEnsemble([lenet(), lenet()], shared="encoder")
    assert ensemble.skeleton.num_shared == 21_330
    assert ensemble.members().shape == (2, 21_330 + 2 * 3_060)
    member = lenet()
    ensemble = WeightEnsemble([member], task_weights=[[0.5, 0.5]], shared="heads.1")
    head = torch.cat([p.flatten() for p in member.heads[1].parameters()])  # no convolutions here
    assert torch.equal(ensemble.members()[0, : ensemble.skeleton.num_shared], head)


def test_a_prefix_of_shared_weights_ends_at_a_dot():
    members = [nn.ModuleDict({"body": nn.Linear(2, 3), "body_2": nn.Linear(3, 4)}) for _ in "ab"]
    assert WeightEnsemble(members, shared="body").skeleton.num_shared == 3 * 2 + 3


def test_members_in_evaluation_mode_are_trained_in_training_mode():
    parts = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Dropout(0.5)
    ensemble, x = WeightEnsemble(nn.Sequential(*parts).eval(), num_members=2), torch.randn(8, 6)
    ensemble.train()
    first, second = (ensemble(x, [0.5, 0.5]) for _ in range(2))
    assert not torch.equal(first, second)
    assert any(value.any() for name, value in ensemble.named_buffers() if "running_mean" in name)


def test_the_gradient_of_a_member_is_alpha_times_the_gradient_of_theta(architecture):
    make, shape = architecture
    ensemble, x = WeightEnsemble([make(), make(), make()]).eval(), torch.randn(shape)
    alpha = torch.tensor([0.2, 0.5, 0.3])
    theta = ensemble.theta(alpha)
    for weight in theta.values():
        weight.retain_grad()

    def loss(outputs):
        outputs = outputs if isinstance(outputs, list) else [outputs]
        return sum(output.square().sum() for output in outputs)

    loss(ensemble.skeleton(theta, x)).backward()
    slopes = [w.grad if w.grad is not None else torch.zeros_like(w) for w in theta.values()]
    gradient = slopes_of(ensemble, loss(ensemble(x, alpha)))
    expected = torch.outer(alpha, flatten(slopes, theta.values()))
    torch.testing.assert_close(gradient, expected)
    torch.testing.assert_close(gradient, slopes_of(ensemble), rtol=0, atol=0)


def test_member_similarity_is_the_cosine_of_the_rows():
    ensemble = WeightEnsemble([lenet() for _ in range(3)])
    unit = ensemble.members() / ensemble.members().norm(dim=1, keepdim=True)
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
        ([frozen_differently(), frozen_differently()], {}, "as copies of one module do: .* differ"),
        ([lenet()], {"task_weights": [[0.5, 0.5], [1, 0]]}, "a matrix with 1 rows"),
    ],
)
def test_members_that_do_not_fit_are_refused(members, options, message):
    with pytest.raises(InputError, match=message):
        WeightEnsemble(members, **options)


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


def test_each_weight_has_a_parameter_under_its_own_name():
    members = [Awkward(), Awkward()]
    ensemble = WeightEnsemble(members)
    found = dict(ensemble.stacked.named_parameters())
    assert {*found} == {n for n, p in members[0].named_parameters() if p.requires_grad}
    for name, stacked in found.items():
        assert torch.equal(stacked, torch.stack([m.get_parameter(name) for m in members]))
    assert {f"stacked.{name}" for name in found} <= ensemble.state_dict().keys()


FORMATS = {
    "2-D": (lambda: nn.Conv2d(3, 4, 3), torch.channels_last, (2, 3, 5, 5)),
    "2-D, 1x1": (lambda: nn.Conv2d(3, 4, 1), torch.channels_last, (2, 3, 5, 5)),
    "2-D, one channel": (lambda: nn.Conv2d(1, 4, 3), torch.channels_last, (2, 1, 5, 5)),
    "3-D": (lambda: nn.Conv3d(3, 4, 3), torch.channels_last_3d, (2, 3, 5, 5, 5)),
    "usual": (lambda: nn.Conv2d(3, 4, 3), torch.contiguous_format, (2, 3, 5, 5)),
}


@pytest.mark.parametrize("case", FORMATS)
@pytest.mark.parametrize("num_members", [1, 3])
def test_weights_keep_the_memory_format_of_the_members(case, num_members):
    make, memory_format, shape = FORMATS[case]
    members = [make().to(memory_format=memory_format) for _ in range(num_members)]
    ensemble, x = WeightEnsemble(members), torch.randn(shape)
    alpha = torch.eye(num_members)[0]
    for state in (ensemble.state_dict(), copy.deepcopy(ensemble.state_dict())):
        ensemble.load_state_dict(state)
        mixed, exported = ensemble.theta(alpha), ensemble.export(alpha)
        for name, weight in members[0].named_parameters():
            for got in (mixed[name], exported.get_parameter(name)):
                assert got.stride() == weight.stride() and torch.equal(got, weight)
    assert ensemble(x, alpha).stride() == members[0](x).stride()
    ensemble(x, alpha).sum().backward()
    for weight in ensemble.stacked.parameters():
        assert weight.grad.stride() == weight.stride()


def test_a_weight_may_be_stored_transposed():
    members = [nn.Linear(3, 4), nn.Linear(3, 4)]
    for member in members:
        member.weight.data = member.weight.data.t().contiguous().t()
    ensemble, x = WeightEnsemble(members), torch.randn(5, 3)
    assert ensemble.theta([0.5, 0.5])["weight"].stride() == members[0].weight.stride()
    same(ensemble(x, [0.0, 1.0]), members[1](x))
    (ensemble(x, [0.3, 0.7]).square().sum()).backward()
    leaf = (0.3 * members[0].weight + 0.7 * members[1].weight).detach().requires_grad_()
    bias = (0.3 * members[0].bias + 0.7 * members[1].bias).detach()
    (x @ leaf.t() + bias).square().sum().backward()
    for k, share in enumerate((0.3, 0.7)):
        torch.testing.assert_close(ensemble.stacked.weight.grad[k], share * leaf.grad)


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_sparse_gradients_are_refused_when_the_network_is_made(kind):
    make = lambda sparse: nn.Sequential(kind(5, 3, sparse=sparse))  # noqa: E731
    with pytest.raises(InputError, match=r"must be dense.* Found a sparse one at '0'"):
        WeightEnsemble([make(True), make(True)])
    WeightEnsemble([make(False), make(False)])


def test_names_of_tasks_ride_along_in_the_state(tmp_path):
    tasks = [regression("Größe"), regression("Preis, netto")]
    network = WeightEnsemble([nn.Linear(3, 2), nn.Linear(3, 2)])
    Method(network, tasks)
    other = WeightEnsemble(nn.Linear(3, 2), num_members=2)
    other.load_state_dict(through_a_file(network.state_dict(), tmp_path))
    assert other.task_names == ("Größe", "Preis, netto")
    assert torch.equal(other.members(), network.members())
    assert all(torch.is_tensor(value) for value in network.state_dict().values())
    nameless = WeightEnsemble(nn.Linear(3, 2), num_members=2)
    other.load_state_dict(nameless.state_dict())
    assert other.task_names == ()


def test_a_state_of_another_number_of_members_is_torchs_to_refuse():
    made = WeightEnsemble([lenet(), lenet()])
    other = WeightEnsemble([lenet() for _ in range(3)])
    with pytest.raises(RuntimeError, match="size mismatch for task_weights"):
        other.load_state_dict(made.state_dict())
