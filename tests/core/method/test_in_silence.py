"""What would be wrong in silence: shared inputs, the order of tasks, odd statistics, states."""

import math
from collections import namedtuple

import pytest
import torch
from torch import nn

import pamal_core as pamal
from pamal_core.errors import InputError
from pamal_core.metrics import Metric

TASKS = [pamal.classification("left"), pamal.classification("right")]
INPUTS, LEFT, RIGHT = torch.randn(24, 4), torch.arange(24) % 2, torch.arange(24) % 3
BATCH = INPUTS, LEFT, RIGHT


class Net(nn.Module):
    def __init__(self, *before, after=()):
        super().__init__()
        self.before = nn.Sequential(*before)
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *after)
        self.left, self.right = nn.Linear(8, 2), nn.Linear(8, 3)

    def forward(self, inputs):
        features = self.trunk(self.before(inputs))
        return self.left(features), self.right(features)


def ensemble(make=Net):
    torch.manual_seed(0)
    return pamal.WeightEnsemble([make(), make()])


def batch():
    return [part.clone() for part in BATCH]


@pytest.mark.parametrize("window", [1, 3])
def test_a_model_that_writes_into_its_inputs_is_refused(window):
    network = ensemble(lambda: Net(nn.ReLU(inplace=True)))
    with pytest.raises(InputError, match="must not write into its inputs"):
        pamal.evaluate(network, TASKS, [batch()])
    with pytest.raises(InputError, match="must not write into its inputs"):
        pamal.Method(network, TASKS, window=window).step(batch())
    with torch.inference_mode():  # whose tensors count no writes
        assert len(pamal.evaluate(ensemble(), TASKS, [batch()])) == 11


def test_a_loss_and_a_metric_that_write_into_targets_are_refused():
    def loss(output, target):
        return nn.functional.cross_entropy(output, target.clamp_(max=1))

    written = [pamal.Task("left", loss, [Metric.mean("loss", loss, maximise=False)]), TASKS[1]]
    with pytest.raises(InputError, match="nor a loss or a metric into outputs or targets"):
        pamal.Method(ensemble(), written).step(batch())
    with pytest.raises(InputError, match="nor a loss or a metric into outputs or targets"):
        pamal.evaluate(ensemble(), written, [batch()])


@pytest.mark.parametrize("names", [("left", "right"), ("right", "left")])
def test_tasks_are_judged_in_the_order_of_the_training(names):
    network, tasks = ensemble(), [pamal.classification(name) for name in names]
    pamal.Method(network, tasks)
    message = f"in the order of the training, {', '.join(names)}"
    with pytest.raises(InputError, match=message):
        pamal.evaluate(network, tasks[::-1], [batch()])
    average = torch.optim.swa_utils.AveragedModel(network)
    with pytest.raises(InputError, match=message):
        pamal.evaluate(average, tasks[::-1], [batch()])
    with pytest.raises(InputError, match=message):  # else its members would be named anew
        pamal.Method(network, tasks[::-1])
    assert network.task_names == names
    others = [pamal.classification("a"), pamal.classification("b")]
    assert [o.task for o in pamal.evaluate(network, others, [batch()]).objectives] == ["a", "b"]


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_statistic_that_is_not_added_up_is_refused(kind):
    counted = lambda output, target: kind((output.argmax(1) == target).sum(0, True))  # noqa: E731
    task = pamal.Task("left", TASKS[0].loss, [Metric("share", True, counted)])
    with pytest.raises(
        InputError, match=f"metric share must be a tensor.* Found a {kind.__name__}"
    ):
        pamal.evaluate(ensemble(), [task, TASKS[1]], [batch()])


def test_a_weight_that_is_not_a_number_is_no_write_into_weights():
    network = ensemble()
    with torch.no_grad():
        next(network.stacked.parameters())[0, 0] = math.nan
    with pytest.raises(pamal.NonFiniteError, match="epoch 1, step 1"):
        pamal.train(pamal.Method(network, TASKS), [batch()], epochs=1, progress=False)


def test_members_with_a_spectral_norm_are_of_one_architecture():
    for norm in (nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm):
        with pytest.warns(UserWarning, match="different buffers"):
            ensemble(lambda norm=norm: Net(norm(nn.Linear(4, 4))))


@pytest.mark.parametrize(
    ("tasks", "validation", "said"),
    [
        ([pamal.classification("left", metrics=[]), TASKS[1]], [BATCH], "must have a metric"),
        (TASKS, [], "`validation` must yield at least one batch"),
        (TASKS, [BATCH[:2]], "Found 2 outputs and 1 targets"),
        (TASKS, iter([BATCH]), "`validation` must yield its batches each time"),
        (TASKS, [(INPUTS, LEFT, None)], "must have labels of each task. Found none of right"),
        (TASKS, [BATCH, (INPUTS, LEFT, torch.full((24,), 9))], "must be 0 to 2, the classes"),
    ],
)
def test_what_cannot_be_judged_is_not_trained(tasks, validation, said, monkeypatch):
    monkeypatch.setattr("pamal_core.stages.train", lambda *_, **__: pytest.fail("it was trained"))
    with pytest.raises(InputError, match=said):
        pamal.fit(Net, tasks, [BATCH], validation, epochs=1, progress=False)


class Domains(nn.Module):
    """The norm of its domain, twice for the second one, and dropout by hand."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.BatchNorm1d(4) for _ in range(3)])
        self.left, self.right = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, inputs, domain):
        features = self.norms[domain](inputs)
        if domain == 1:
            self.norms[1](inputs + 2)
        features = nn.functional.dropout(features, 0.5, self.training)
        return self.left(features), self.right(features)


def test_statistics_are_means_over_the_calls_of_each_layer():
    torch.manual_seed(0)
    one, two, three = (torch.randn(16, 4) + shift for shift in (0, 3, 6))
    network = ensemble(Domains)
    for norm in network.skeleton.model.norms:
        norm.running_mean.fill_(7)
    batches = [((one, 0),), ((two, 1),), ((three, 0),)]
    norms = network.export([0.5, 0.5], calibration=batches).norms
    torch.testing.assert_close(norms[0].running_mean, (one.mean(0) + three.mean(0)) / 2)
    torch.testing.assert_close(norms[0].running_var, (one.var(0) + three.var(0)) / 2)
    torch.testing.assert_close(norms[1].running_mean, two.mean(0) + 1)
    assert (norms[2].running_mean == 7).all()  # no batch reached it


class Late(Domains):
    """Dropout by hand before a norm."""

    def forward(self, inputs):
        hidden = nn.functional.dropout(inputs, 0.5, self.training)
        features = self.norms[0](hidden)
        return self.left(features), self.right(features)


def as_a_module():
    return Net(after=[nn.Dropout(0.5), nn.BatchNorm1d(8)])


@pytest.mark.parametrize("make", [Late, as_a_module])
def test_dropout_is_off_in_statistics_however_a_model_writes_it(make):
    """So that `predict`, the front and an exported network are one and the same."""
    network = ensemble(make)
    network.calibration = [(INPUTS,)]
    before = torch.get_rng_state()
    found = [network.predict(INPUTS, [0.5, 0.5])[0] for _ in range(2)]
    assert torch.equal(*found) and torch.equal(before, torch.get_rng_state())
    torch.testing.assert_close(network.export([0.5, 0.5])(INPUTS)[0], found[0])


@pytest.mark.parametrize("wrong", [-1, 2, 255])
@pytest.mark.parametrize(
    "task",
    [
        pamal.classification("left", metrics=["accuracy"]),
        pamal.segmentation("left", 2, ignore_index=-7, metrics=["mIoU"]),
        pamal.segmentation("left", 2, ignore_index=-7, metrics=["pixel accuracy"]),
    ],
)
def test_a_label_that_is_no_class_is_no_wrong_answer(task, wrong):
    logits, labels = torch.randn(4, 2, 3, 3), torch.full((4, 3, 3), wrong)
    with pytest.raises(InputError, match=f"must be 0 to 1, the classes .* Found {wrong}"):
        task.metrics[0].statistic(logits, labels)


@pytest.mark.filterwarnings("ignore:At no alpha")
@pytest.mark.filterwarnings("ignore:LS")
def test_fit_reads_a_calibration_that_can_be_read_once():
    options = {"epochs": 2, "progress": False, "calibration": iter([(INPUTS,)])}
    found = pamal.fit(lambda: Net(nn.BatchNorm1d(4)), TASKS, [BATCH], [BATCH], **options)
    assert len(found.front) == 11 and [*found.baselines] == ["LS"]


def test_fit_refuses_a_loader_that_ls_would_find_empty():
    with pytest.raises(InputError, match="`loader` must yield its batches each time"):
        pamal.fit(Net, TASKS, iter([BATCH]), [BATCH], epochs=1, progress=False)


@pytest.mark.filterwarnings("ignore:At no alpha")
def test_a_front_is_not_lost_with_ls(monkeypatch):
    train, error = pamal.train, pamal.NonFiniteError("The loss of task left is nan.")

    def failing(method, *arguments, **options):
        if method.network.num_members == 1:
            raise error
        return train(method, *arguments, **options)

    monkeypatch.setattr("pamal_core.stages.train", failing)
    with pytest.warns(UserWarning, match="LS: The loss of task left is nan"):
        found = pamal.fit(Net, TASKS, [BATCH], [BATCH], epochs=2, progress=False)
    assert len(found.front) == 11 and not found.baselines
    assert "LS: The loss of task left is nan." in repr(found)


def test_a_metric_with_a_slash_in_its_name_is_refused():
    metric = Metric.mean("F1/macro", nn.functional.cross_entropy, maximise=False)
    tasks = [pamal.classification("left", metrics=[metric]), TASKS[1]]
    with pytest.raises(InputError, match=r"one without a slash\. Found left/F1/macro"):
        pamal.evaluate(ensemble(), tasks, [batch()])


def test_a_target_for_a_whole_batch_has_no_axis():
    class Whole(nn.Linear):
        def forward(self, inputs):
            return (super().forward(inputs).mean(0),) * 2

    def loss(output, target):
        return (output - target).square().mean()

    tasks = [pamal.Task(name, loss, [Metric.mean("loss", loss, maximise=False)], count=torch.numel)
             for name in ("one", "two")]  # fmt: skip
    method = pamal.Method(pamal.WeightEnsemble([Whole(4, 1), Whole(4, 1)]), tasks)
    whole = (torch.randn(8, 4), torch.tensor(0.5), torch.tensor(0.2))
    history = pamal.train(method, [whole], epochs=2, progress=False)
    assert len(history) == 2


def test_a_training_that_is_refused_leaves_the_statistics_of_the_last():
    network = ensemble(lambda: Net(after=[nn.BatchNorm1d(8)]))
    method = pamal.Method(network, TASKS)
    pamal.train(method, [batch()], epochs=2, progress=False)
    before = network.predict(INPUTS, [1, 0])[0]
    with pytest.raises(InputError, match="a target of the batch for each of 2 tasks"):
        pamal.train(method, [(INPUTS[:4] + 3, LEFT[:4])], epochs=1, progress=False)
    assert torch.equal(network.predict(INPUTS, [1, 0])[0], before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_network_of_another_dtype_has_statistics_of_it(dtype):
    network = ensemble(lambda: Net(after=[nn.BatchNorm1d(8)]))
    pamal.train(pamal.Method(network, TASKS), [batch()], epochs=1, progress=False)
    before = network.predict(INPUTS, [0.3, 0.7])[0]
    after = network.to(dtype).predict(INPUTS.to(dtype), [0.3, 0.7])[0]
    assert after.dtype == dtype
    torch.testing.assert_close(after.float(), before, rtol=0.05, atol=0.05)
    network.export([0.3, 0.7])(INPUTS.to(dtype))


def test_outputs_with_names_are_predicted_by_name():
    names = namedtuple("names", "right left")

    class Named(Net):
        def forward(self, inputs):
            left, right = super().forward(inputs)
            return names(right, left)

    found = ensemble(Named).predict(INPUTS, [0.3, 0.7])
    assert {name: len(output.T) for name, output in found.items()} == {"right": 3, "left": 2}


@pytest.mark.filterwarnings("ignore:.*At no alpha")
@pytest.mark.parametrize("shared", ["trunk", ["trunk"], iter(["trunk"])])
def test_fit_reads_what_is_shared_for_both_networks(shared):
    found = pamal.fit(Net, TASKS, [batch()], [batch()], epochs=1, shared=shared, progress=False)
    assert [*found.baselines] == ["LS"]
    assert found.network.skeleton.num_shared == 40
