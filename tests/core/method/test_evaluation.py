import math

import numpy as np
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from tqdm.auto import tqdm

from pamal_core.classes import classification
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.evaluation import evaluate
from pamal_core.method import Method
from pamal_core.simplex import sampled


def split(batch, size):
    """The same data in batches of `size`."""
    return list(zip(*(part.split(size) for part in batch), strict=True))


def network(make_mlp, members=2, **options):
    return WeightEnsemble([make_mlp() for _ in range(members)], shared="encoder", **options)


def test_each_point_has_the_metrics_of_the_exported_network(make_mlp, tasks, batch):
    ensemble, (x, heights, kinds) = network(make_mlp), batch
    front = evaluate(ensemble, tasks, split(batch, 7))
    assert front.alphas.shape == (11, 2)
    for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
        height, logits = ensemble.export(alpha, calibration="shared")(x)
        loss = torch.nn.functional.huber_loss(height.flatten(), heights)
        assert row["height/loss"] == pytest.approx(loss.item(), rel=1e-5)
        assert row["kind/accuracy"] == pytest.approx((logits.argmax(1) == kinds).double().mean())
        entropy = torch.nn.functional.cross_entropy(logits, kinds)
        assert row["kind/loss"] == pytest.approx(entropy.item(), rel=1e-5)


class Counting(list):
    reads = 0

    def __iter__(self):
        self.reads += 1
        return super().__iter__()


@pytest.mark.parametrize("kept", [0, 2**26], ids=["mixed for each batch", "kept"])
def test_the_loader_is_read_once_and_each_alpha_has_what_it_has_alone(
    tasks, batch, kept, monkeypatch
):
    """BatchNorm is re-estimated, and `Cached` keeps weights of the alpha it was last run at."""
    monkeypatch.setattr("pamal_core.evaluation.MAX_KEPT_WEIGHTS", kept)
    ensemble = WeightEnsemble([Cached(), Cached()], shared="encoder").train()
    loader, calibration = Counting(split(batch, 5)), Counting(split(batch, 16))
    before = {name: value.clone() for name, value in ensemble.state_dict().items()}
    front = evaluate(ensemble, tasks, loader, calibration=calibration)
    assert loader.reads == 1 and calibration.reads == 11
    assert all(torch.equal(value, before[name]) for name, value in ensemble.state_dict().items())
    assert all(module.training for module in ensemble.modules())
    for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
        model = ensemble.export(alpha, calibration=calibration)
        for t, (task, output) in enumerate(zip(tasks, model(batch[0]), strict=True)):
            expected = [metric(output, batch[t + 1]) for metric in task.metrics]
            found = [row[f"{task.name}/{metric.name}"] for metric in task.metrics]
            assert found == pytest.approx(expected, rel=1e-5)


def test_a_generator_is_read_once(make_mlp, tasks, batch):
    ensemble, parts = network(make_mlp), split(batch, 5)
    front = evaluate(ensemble, tasks, (part for part in parts))
    assert front.table.equals(evaluate(ensemble, tasks, parts).table)


class Cached(SharedBottom):
    """Keeps the weights of its encoder while it is in evaluation mode."""

    kept = None

    def __init__(self):
        encoder = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
        super().__init__(encoder, [nn.Linear(6, 1), nn.Linear(6, 3)])

    def train(self, mode=True):
        self.kept = None
        return super().train(mode)

    def forward(self, x):
        if self.kept is None or self.training:
            self.kept = self.encoder[0].weight.T
        x = self.encoder[1](x @ self.kept + self.encoder[0].bias)
        return [head(x) for head in self.heads]


def test_a_task_nobody_is_trained_on_is_left_out(make_mlp, tasks, batch):
    single = network(make_mlp, 1, task_weights=[[0.0, 1.0]])
    front = evaluate(single, tasks, [batch])
    assert list(front.table) == ["kind/accuracy", "kind/loss"]
    assert front.task_weights.tolist() == [[1.0]]


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("shape", [(20, 3), (20, 3, 5)], ids=["examples", "tokens"])
def test_answers_that_are_no_numbers_have_no_accuracy(value, shape):
    logits = torch.randn(shape)
    labels = torch.zeros(shape[:1] + shape[2:], dtype=torch.long)
    whole = (logits[2:].argmax(1) == 0).double().mean().item()
    logits[:2, 1] = value
    (accuracy,) = (m for m in classification("kind").metrics if m.name == "accuracy")
    assert math.isnan(accuracy(logits, labels))
    labels[:2] = -100  # those count no more
    assert accuracy(logits, labels) == pytest.approx(whole)


def test_classes_that_are_ruled_out_are_no_fault():
    logits = torch.tensor([[0.1, -torch.inf, 0.2], [0.3, 0.2, -torch.inf]])
    accuracy = classification("kind").metrics[0]
    assert accuracy(logits, torch.tensor([2, 1])) == 0.5


def test_no_network_wins_by_answers_that_are_no_numbers():
    """All labels are class 0, which is where the largest of logits that are NaN is found."""

    class Kinds(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds, self.scale = nn.Linear(4, 3), nn.Parameter(torch.tensor(0.0))

        def forward(self, x):
            return [self.kinds(x) * (0.05 - self.scale).sqrt()] * 2

    ensemble = WeightEnsemble([Kinds(), Kinds()])
    ensemble.stacked.scale.data[1] = 1.0  # of which alpha_2 = 0.1 is too much
    kinds = [classification("first"), classification("second")]
    labels = torch.zeros(30, dtype=torch.long)
    with pytest.warns(UserWarning, match="first/accuracy at 10 of 11 alphas, first \\[0.9, 0.1"):
        front = evaluate(ensemble, kinds, [(torch.randn(30, 4), labels, labels)])
    with pytest.warns(UserWarning, match="10 of 11 points of the front are left out"):
        assert front.choose().alpha.tolist() == [1.0, 0.0]
    assert front.is_finite.tolist() == [True] + [False] * 10


def test_the_front_of_a_network_without_batch_norm_needs_no_calibration(make_mlp, tasks, batch):
    assert len(evaluate(network(make_mlp), tasks, [batch], calibration=[])) == 11


def test_a_regression_takes_numbers_of_any_type(make_mlp, tasks, batch):
    whole = batch[1].round()
    fronts = [
        evaluate(network(make_mlp), tasks, [(batch[0], target, batch[2])], [[1.0, 0.0]])
        for target in (whole, whole.double(), whole.long())
    ]
    assert len({front.table["height/loss"].dtype for front in fronts}) == 1
    method = Method(network(make_mlp), tasks)
    losses = [
        method.step((batch[0], target, batch[2]), torch.tensor([[1.0, 0.0]]))
        for target in (whole, whole.double(), whole.long())
    ]
    assert torch.equal(losses[0], losses[1]) and torch.equal(losses[0], losses[2])


def test_a_metric_that_is_not_finite_is_named_with_its_task_and_alpha(tasks, batch):
    class Fragile(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.kind, self.scale = nn.Linear(4, 3), nn.Parameter(torch.tensor(scale))

        def forward(self, x):
            return self.scale.log() * x[:, :1], self.kind(x)

    ensemble = WeightEnsemble([Fragile(1.0), Fragile(-1.0)])
    with pytest.warns(UserWarning) as found:
        front = evaluate(ensemble, tasks, [batch])
    assert [str(w.message) for w in found if "not finite" in str(w.message)] == [
        "Metrics that are not finite: height/loss at 6 of 11 alphas, first [0.5, 0.5]; "
        "height/R2 at 6 of 11 alphas, first [0.5, 0.5]."
    ]
    assert front.is_finite.tolist() == [True] * 5 + [False] * 6
    with pytest.warns(UserWarning, match="height/loss at 1 of 1 alphas"):
        alone = evaluate(ensemble, tasks, [batch], [[0.0, 1.0]])
    with pytest.raises(InputError, match="point where height/loss, kind/accuracy are finite"):
        alone.choose()


def test_members_of_float16_that_overflow_are_told_so(make_mlp, tasks, batch):
    ensemble = WeightEnsemble([make_mlp().half() for _ in range(2)])
    with torch.no_grad():
        for weight in ensemble.stacked.parameters():
            weight.fill_(6e4)
    with pytest.warns(UserWarning, match=r"height/loss .* float16, .*: use float32 or bfloat16"):
        evaluate(ensemble, tasks, [(batch[0].half(), batch[1].half(), batch[2])])


def test_many_members_have_sampled_alphas_and_few_the_lattice(make_mlp, tasks, batch):
    mixed = [[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 2
    many = network(make_mlp, 5, task_weights=mixed)
    alphas = evaluate(many, tasks, [batch]).alphas
    np.testing.assert_array_equal(alphas, sampled(5))
    four = network(make_mlp, 4, task_weights=mixed[1:])
    assert evaluate(four, tasks, [batch]).alphas.shape == (286, 4)


def test_a_bar_is_shown_for_what_takes_long_unless_it_is_not_wanted(
    make_mlp, tasks, batch, capsys, monkeypatch
):
    evaluate(network(make_mlp), tasks, [batch])
    assert capsys.readouterr().err == ""
    at_once = lambda points, delay, **options: tqdm(points, **options)  # noqa: E731
    monkeypatch.setattr("pamal_core.evaluation.tqdm", at_once)
    evaluate(network(make_mlp), tasks, [batch])
    assert "1/1" in capsys.readouterr().err
    evaluate(network(make_mlp), tasks, [batch], progress=False)
    assert capsys.readouterr().err == ""
