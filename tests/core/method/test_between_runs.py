"""Find what one run of a model leaves to the next: at another alpha, in a copy, of a new batch."""

import copy
import pickle
from collections import UserDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pamal_core as pamal
from pamal_core import InputError, Method, Task, WeightEnsemble, evaluate, train
from pamal_core.metrics import Metric

ALPHAS = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
X = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
TASKS = [pamal.regression("a", metrics=["loss"]), pamal.regression("b", metrics=["loss"])]


class Two(nn.Module):
    """Two heads of what `read` makes of the inputs."""

    def __init__(self, read=lambda x: x):
        super().__init__()
        self.a, self.b, self.read = nn.Linear(4, 1), nn.Linear(4, 1), read

    def forward(self, inputs):
        x = self.read(inputs)
        return self.a(x), self.b(x)


class Sample:
    def __init__(self, x):
        self.x = x


class Graph:
    """Tensors in a store, as those of PyG."""

    def __init__(self, x):
        self.store = Sample({"x": x})


def ensemble(*given):
    torch.manual_seed(1)
    return WeightEnsemble([Two(*given), Two(*given)])


def halved(sample):
    sample["x"] = sample["x"] / 2
    return sample["x"]


def first_halved(several):
    several[0] = several[0] / 2
    return several[0]


def taken_out(sample):
    return sample.pop("x") / 2


def assigned(sample):
    sample.x = sample.x / 2
    return sample.x


def cached(sample):
    sample.half = sample.x / 2
    return sample.half


@pytest.mark.parametrize(
    ("read", "make"),
    [
        (halved, lambda: {"x": X}),
        (taken_out, lambda: {"x": X}),
        (lambda outer: halved(outer["in"]), lambda: {"in": {"x": X}}),
        (first_halved, lambda: [X, X]),
        (assigned, lambda: Sample(X)),
        (cached, lambda: Sample(X)),
    ],
    ids=["assigned", "taken out", "nested", "list", "attribute", "new attribute"],
)
def test_a_model_may_write_into_the_dicts_lists_and_objects_that_it_gets(read, make):
    """The oracle halves the inputs by hand, at each alpha alone."""

    def batch():
        return {"inputs": make()}, X[:, 0], X[:, 1]

    network = ensemble(read)
    plain = ensemble(lambda x: x / 2)
    found = evaluate(network, TASKS, [batch()], ALPHAS).table
    assert found.equals(evaluate(plain, TASKS, [(X, X[:, 0], X[:, 1])], ALPHAS).table)
    losses = Method(network, TASKS, window=3).step(batch(), ALPHAS)
    np.testing.assert_allclose(losses, found, rtol=1e-6)
    one, other = batch(), batch()
    train(Method(network, TASKS), [one], epochs=2, progress=False)
    left, given = (part[0]["inputs"] for part in (one, other))
    if isinstance(left, Sample):
        left, given = vars(left), vars(given)
    torch.testing.assert_close(left, given)


def stored(graph):
    graph.store.x["x"] = graph.store.x["x"] / 2
    return graph.store.x["x"]


@pytest.mark.parametrize(
    ("read", "make"),
    [(lambda s: s.x.mul_(0.5), Sample), (stored, Graph)],
    ids=["tensor of an attribute", "store"],
)
def test_a_model_that_writes_into_what_an_object_keeps_is_refused(read, make):
    network = ensemble(read)
    with pytest.raises(InputError, match="must not write into its inputs"):
        evaluate(network, TASKS, [(make(X.clone()), X[:, 0], X[:, 1])], ALPHAS)
    with pytest.raises(InputError, match="must not write into its inputs"):
        Method(network, TASKS).step((make(X.clone()), X[:, 0], X[:, 1]))
    reads = ensemble(lambda sample: sample.x)
    front = evaluate(reads, TASKS, [(Sample(X), X[:, 0], X[:, 1])], ALPHAS)
    assert front.table.equals(evaluate(ensemble(), TASKS, [(X, X[:, 0], X[:, 1])], ALPHAS).table)


def test_a_loss_or_a_metric_that_writes_into_an_output_is_refused():
    def into(output, target):
        return output.sub_(target[:, None]).square().mean()

    def fine(output, target):
        return (output - target[:, None]).square().mean()

    batch = X, X[:, 0], X[:, 1]
    measures = [
        Metric.mean(name, one, maximise=False) for name, one in (("one", into), ("two", fine))
    ]
    for loss, metrics in ((into, measures[1:]), (fine, measures)):
        tasks = [Task("a", loss, metrics), TASKS[1]]
        with pytest.raises(InputError, match="nor a loss or a metric into outputs"):
            if loss is into:
                Method(ensemble(), tasks).step(batch, ALPHAS[1])
            else:
                evaluate(ensemble(), tasks, [batch], ALPHAS)


def test_a_network_in_bfloat16_is_judged():
    batch = X, X[:, 0], X[:, 1]
    low = tuple(part.bfloat16() for part in batch)
    found = evaluate(ensemble().bfloat16(), TASKS, [low], ALPHAS)
    expected = evaluate(ensemble(), TASKS, [batch], ALPHAS)
    assert found.task_weights.tolist() == np.eye(2).tolist()
    np.testing.assert_allclose(found.table, expected.table, rtol=0.02)


class Answers(dict):
    pass


@pytest.mark.parametrize("kind", [dict, UserDict, Answers])
def test_under_autocast_any_mapping_has_the_dtype_of_the_weights(kind):
    class Named(Two):
        def forward(self, x):
            return kind(a=self.a(x) + 100, b=self.b(x))

    torch.manual_seed(1)
    network = WeightEnsemble([Named(), Named()])
    batch = X, 100 + X[:, 0], X[:, 1]
    with torch.autocast("cpu", torch.bfloat16):
        outputs = network.predict(X, [0.5, 0.5])
        loss = evaluate(network, TASKS, [batch], [0.5, 0.5]).values[0, 0]
        step = Method(network, TASKS).step(batch, [0.5, 0.5])[0, 0]
    assert outputs["a"].dtype == torch.float32
    expected = F.huber_loss(outputs["a"].flatten(), batch[1]).item()
    assert loss == step.item() == pytest.approx(expected, rel=1e-6)


class Attentive(nn.Module):
    """Attention by function, in a module with a buffer, in front of BatchNorm."""

    def __init__(self, by_place):
        super().__init__()
        self.register_buffer("mask", torch.ones(4, 4).tril().bool())
        self.qkv, self.norm = nn.Linear(1, 12), nn.BatchNorm1d(4)
        self.a, self.b, self.by_place = nn.Linear(4, 1), nn.Linear(4, 1), by_place

    def forward(self, x):
        parts = self.qkv(x[..., None]).chunk(3, -1)
        share = 0.5 if self.training else 0.0
        if self.by_place:
            read = F.scaled_dot_product_attention(*parts, self.mask, share)
        else:
            read = F.scaled_dot_product_attention(*parts, attn_mask=self.mask, dropout_p=share)
        features = self.norm(read.mean(1))
        return self.a(features), self.b(features)


@pytest.mark.parametrize("by_place", [True, False])
def test_no_dropout_of_attention_is_on_while_statistics_are_estimated(by_place):
    torch.manual_seed(0)
    network = WeightEnsemble([Attentive(by_place), Attentive(by_place)])
    data = [(X, X[:, 0], X[:, 1])]
    train(Method(network, TASKS), data, epochs=2, progress=False)
    found = [evaluate(network, TASKS, data, ALPHAS).table for _ in range(3)]
    assert found[0].equals(found[1]) and found[0].equals(found[2])
    answers = [network.predict(X[:3], [0.5, 0.5])[0] for _ in range(2)]
    assert torch.equal(*answers)


def test_what_a_hook_unfreezes_is_trained():
    network = ensemble()
    before = network.stacked.get_parameter("a.weight").clone()
    network.stacked.a.requires_grad_(False)
    moved = []

    def unfreeze(training):
        moved.append((network.stacked.get_parameter("a.weight") - before).abs().max().item())
        network.stacked.a.requires_grad_(training.epoch >= 2)

    data = [(X, X[:, 0], X[:, 1])]
    train(Method(network, TASKS), data, epochs=3, on_epoch=unfreeze, progress=False)
    assert moved[0] == moved[1] == 0 and moved[2] > 0


@pytest.mark.parametrize("p", [(1.0, 1.0, 1.0), (2.0, 3.0, 1.0)])
def test_a_concentration_for_each_of_other_members_is_refused_at_once(p):
    with pytest.raises(InputError, match="one for each of 2 members"):
        Method(ensemble(), TASKS, preference=pamal.Dirichlet(p))
    later = Method(ensemble(), TASKS, preference=lambda share: pamal.Dirichlet(p))
    with pytest.raises(InputError, match="one for each of 2 members"):
        later.draw(np.random.default_rng(0))
    batches = [(X, X[:, 0], X[:, 1])]
    given = {"epochs": 3, "start": 2, "averaging": None, "progress": False, "baseline": None}
    with pytest.raises(InputError, match="one for each of 2 members"):
        pamal.fit(Two, TASKS, batches, batches, preference=pamal.Dirichlet(p), **given)
    drawn = Method(ensemble(), TASKS, preference=pamal.Dirichlet((2.0, 1.0)), window=5)
    assert drawn.draw(np.random.default_rng(0)).shape == (5, 2)


class Recorder:
    """Keeps what a layer puts out."""

    def hook(self, module, inputs, output):
        self.kept = [output]


class Recorded(Two):
    def __init__(self):
        super().__init__()
        self.recorder = Recorder()
        self.a.register_forward_hook(self.recorder.hook)


def test_a_model_may_keep_activations_in_an_object_of_its_own():
    torch.manual_seed(1)
    network = WeightEnsemble([Recorded(), Recorded()])
    batch = X, X[:, 0], X[:, 1]
    train(Method(network, TASKS), [batch], epochs=2, progress=False)
    front = evaluate(network, TASKS, [batch], ALPHAS)
    module = network.export(ALPHAS[1])
    assert torch.equal(module(X)[0], network.predict(X, ALPHAS[1])[0])
    assert F.huber_loss(module(X)[0].flatten(), X[:, 0]).item() == pytest.approx(
        front.values[1, 0], rel=1e-6
    )


def test_a_copy_that_is_made_within_a_call_is_free():
    """It holds no weights, whether it is a deep copy or goes through pickle."""
    network = WeightEnsemble([nn.Linear(4, 1), nn.Linear(4, 1)])
    expected = network.predict(X, ALPHAS[1])
    with network.skeleton.holding(network.theta(ALPHAS[0])):
        copies = [copy.deepcopy(network), pickle.loads(pickle.dumps(network))]
        assert torch.equal(network.predict(X, ALPHAS[1]), expected)
    for one in copies:
        assert one.skeleton._held is None
        assert torch.equal(one(X, ALPHAS[1]).detach(), expected)
        assert torch.equal(one.predict(X, ALPHAS[1]), expected)


def test_a_loss_of_a_batch_without_labels_may_be_the_number_0():
    def labelled(output, target):
        known = target == target
        return F.mse_loss(output[known, 0], target[known]) if known.any() else 0.0

    tasks = [Task("a", labelled, TASKS[0].metrics), TASKS[1]]
    nothing = torch.full((40,), float("nan"))
    network = ensemble()
    losses = Method(network, tasks).step((X, nothing, X[:, 1]), ALPHAS[1])
    assert losses[0, 0] == 0 and losses[0, 1] > 0
    assert network.stacked.get_parameter("a.weight").grad.abs().max() == 0
    with pytest.raises(InputError, match="must be one number"):
        wrong = [Task("a", lambda o, t: 1.0, TASKS[0].metrics), TASKS[1]]
        Method(ensemble(), wrong).step((X, X[:, 0], X[:, 1]))
