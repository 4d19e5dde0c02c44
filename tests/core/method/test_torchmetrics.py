"""Objects with torchmetrics' interface as metrics, against torchmetrics on all labels at once."""

import copy
import math
import pickle
from itertools import pairwise

import pytest
import torch
from over_batches import gathered
from small_problems import SharedBottom
from torch import nn

import pamal_core as pamal
from pamal_core.tasks import Task

# Imported at the time of the test: it takes seconds, and nobody else here needs it.
REASON = "torchmetrics is the oracle here"
X = torch.randn(60, 4, generator=torch.Generator().manual_seed(3))
KINDS, SIZES = (X[:, 0] > 0).long() + (X[:, 1] > 0).long(), X.sum(1) + 3
HIDDEN = torch.arange(60) % 4 == 1


def network():
    heads = [[nn.Linear(4, 3), nn.Linear(4, 1)] for _ in range(2)]
    return pamal.WeightEnsemble([SharedBottom(nn.Identity(), pair) for pair in heads])


def batches(kinds=KINDS, sizes=SIZES, size=7):
    return list(zip(X.split(size), kinds.split(size), sizes.split(size), strict=True))


@pytest.fixture
def judges():
    """The name, the object and the direction of metrics of classes."""
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    return {
        "MulticlassAUROC": (kinds.MulticlassAUROC(3), True),
        "MulticlassF1Score": (kinds.MulticlassF1Score(3), True),
        "MulticlassAccuracy": (kinds.MulticlassAccuracy(3, average="micro", ignore_index=2), True),
        "MulticlassCalibrationError": (kinds.MulticlassCalibrationError(3), False),
    }


@pytest.mark.parametrize("hidden", [False, True], ids=["all labels", "some missing"])
def test_each_alpha_has_what_torchmetrics_gives_on_all_labels_at_once(judges, hidden):
    kinds = KINDS.where(~HIDDEN, -100) if hidden else KINDS
    ensemble = network()
    task = pamal.classification("kind", metrics=["accuracy", *(m for m, _ in judges.values())])
    front = pamal.evaluate(ensemble, [task, pamal.regression("size")], batches(kinds))
    for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
        logits, _ = ensemble.export(alpha)(X)
        kept = kinds != -100
        for name, (judge, _) in judges.items():
            expected = copy.deepcopy(judge)(logits[kept].detach(), kinds[kept]).item()
            assert row[f"kind/{name}"] == pytest.approx(expected, abs=1e-6)
    again = pamal.evaluate(ensemble, [task, pamal.regression("size")], batches(kinds))
    assert again.table.equals(front.table)
    assert all(judge._update_count == 0 for judge, _ in judges.values())  # those given are as new


def test_directions_are_those_of_the_object_and_names_those_of_its_class(judges):
    task = pamal.classification("kind", metrics=[m for m, _ in judges.values()])
    assert [(m.name, m.maximise) for m in task.metrics] == [
        (name, maximise) for name, (_, maximise) in judges.items()
    ]
    named = pamal.classification("kind", metrics=[("F1", judges["MulticlassF1Score"][0]), "loss"])
    assert [m.name for m in named.metrics] == ["F1", "loss"]
    front = pamal.evaluate(network(), [named, pamal.regression("size")], batches())
    assert [(o.name, o.maximise) for o in front.objectives] == [
        ("kind/F1", True),
        ("size/loss", False),
    ]
    pickle.loads(pickle.dumps(named))


def test_numbers_and_pixels_are_given_without_what_is_missing():
    regression = pytest.importorskip("torchmetrics.regression", reason=REASON)
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    output, target = torch.randn(20, 1), torch.randn(20).double()
    target[::3] = math.nan
    task, kept = pamal.regression("size", metrics=[regression.R2Score(), "R2"]), ~target.isnan()
    expected = regression.R2Score()(output[kept, 0], target[kept].float()).item()
    assert [gathered(m, output, target) for m in task.metrics] == pytest.approx([expected] * 2)
    depths = torch.rand(20, 2, 2) - 0.3
    outputs, kept = torch.rand(20, 1, 2, 2), depths > 0
    task = pamal.depth("far", metrics=[regression.MeanAbsoluteError(), "loss"])
    found = [gathered(m, outputs, depths) for m in task.metrics]
    assert found == pytest.approx([(outputs[:, 0] - depths)[kept].abs().mean().item()] * 2)
    labels, logits = torch.randint(-1, 3, (20, 2, 2)), torch.randn(20, 3, 2, 2)
    iou = kinds.MulticlassJaccardIndex(3)
    task = pamal.segmentation("what", 3, metrics=[iou, "mIoU"])
    assert gathered(task.metrics[0], logits, labels) == pytest.approx(
        gathered(task.metrics[1], logits, labels)
    )


class Largest:
    """The interface, without torchmetrics."""

    higher_is_better = False

    def __init__(self):
        self.seen = []

    def update(self, output, target):
        self.seen.append((output.flatten() - target).abs().max().item())

    def compute(self):
        return max(self.seen)

    def reset(self):
        self.seen = []


def test_an_object_of_ones_own_is_taken_by_any_task():
    judge = Largest()
    judge.update(torch.tensor([9.0]), torch.tensor([0.0]))  # what it saw before does not count
    own = Task("size", lambda o, t: (o[:, 0] - t).abs().mean(), [judge, ("worst", Largest())])
    ensemble = network()
    front = pamal.evaluate(ensemble, [pamal.classification("kind"), own], batches())
    for alpha, (_, row) in zip(front.alphas, front.table.iterrows(), strict=True):
        _, size = ensemble.export(alpha)(X)
        expected = (size[:, 0] - SIZES).abs().max().item()
        assert row["size/Largest"] == row["size/worst"] == pytest.approx(expected, rel=1e-6)
    assert judge.seen == [9.0] and front.maximise == [True, False]


def test_a_metric_over_no_label_is_nan_and_its_object_is_not_asked():
    tasks = [pamal.classification("kind"), pamal.regression("size", metrics=["loss", Largest()])]
    with pytest.warns(UserWarning, match=r"size/loss at 1 of 1 .*; size/Largest at 1 of 1"):
        pamal.evaluate(network(), tasks, batches(sizes=SIZES * math.nan), [[0.5, 0.5]])


def test_an_object_that_does_not_say_its_direction_is_refused():
    class Undecided(Largest):
        higher_is_better = None

    with pytest.raises(
        pamal.InputError, match=r"task size must .* True or False\. Found .*Undecided"
    ):
        pamal.regression("size", metrics=[Undecided()])


REFUSED = {
    "a number for each class": lambda kinds: kinds.MulticlassF1Score(3, average=None),
    "the word none": lambda kinds: kinds.MulticlassAccuracy(3, average="none"),
    "classes, from labels": lambda kinds: kinds.MulticlassAUROC(3, average=None),
    "several labels": lambda kinds: kinds.MultilabelAUROC(3, average=None),
    "thresholds": lambda kinds: kinds.MulticlassAveragePrecision(3, average=None, thresholds=5),
    "a matrix": lambda kinds: kinds.BinaryConfusionMatrix(),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_an_object_of_several_numbers_is_refused_when_the_task_is_made(make):
    judge = make(pytest.importorskip("torchmetrics.classification", reason=REASON))
    with pytest.raises(pamal.InputError, match=f"^Metric {type(judge).__name__} must be one numb"):
        pamal.classification("kind", metrics=["accuracy", judge])
    with pytest.raises(pamal.InputError, match=r"^Metric each must .* Found a tensor \[[^.]*\."):
        pamal.classification("kind", metrics=[("each", judge)])


def test_a_collection_and_a_dict_are_refused_when_the_task_is_made():
    torchmetrics = pytest.importorskip("torchmetrics", reason=REASON)
    f1 = torchmetrics.classification.MulticlassF1Score(3, average=None)
    with pytest.raises(pamal.InputError, match=r"^Metric all must .* a dict with keys Multiclass"):
        pamal.classification("kind", metrics=[("all", torchmetrics.MetricCollection([f1]))])
    with pytest.raises(pamal.InputError, match=r"^Metric ClasswiseWrapper must be one number"):
        pamal.classification("kind", metrics=[torchmetrics.ClasswiseWrapper(f1)])
    pair = torchmetrics.regression.MeanSquaredError(num_outputs=2)
    with pytest.raises(pamal.InputError, match=r"^Metric MeanSquaredError must be one number"):
        pamal.regression("size", metrics=[pair])


def test_objects_of_one_number_are_taken_whatever_else_they_say():
    """One of torchmetrics says that its average is None where it was told another."""
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    taken = [
        kinds.MulticlassLogAUC(3, average="macro"),
        kinds.MulticlassAUROC(3),
        kinds.MulticlassF1Score(3, average="weighted", ignore_index=0),
        kinds.MulticlassCalibrationError(3),
        kinds.MulticlassAccuracy(200, top_k=5),
    ]
    task = pamal.classification("kind", metrics=taken)
    assert [metric.metric for metric in task.metrics] == taken
    assert all(judge._update_count == 0 for judge in taken)


class Errors(Largest):
    """What `form` makes of the errors, and nothing before there are any."""

    def __init__(self, form):
        super().__init__()
        self.form = form

    def compute(self):
        return self.form(self.seen) if self.seen else None


@pytest.mark.parametrize("form", [torch.tensor, list, lambda seen: {"worst": max(seen)}, str])
def test_what_fit_judges_by_is_one_number_before_anything_is_trained(form, monkeypatch):
    monkeypatch.setattr("pamal_core.stages.train", lambda *args, **options: pytest.fail("trained"))
    tasks = [pamal.classification("kind"), pamal.regression("size", metrics=[Errors(form)])]

    def make():
        return SharedBottom(nn.Identity(), [nn.Linear(4, 3), nn.Linear(4, 1)])

    with pytest.raises(pamal.InputError, match=r"^Metric Errors must be one number"):
        pamal.fit(make, tasks, batches(), batches(), epochs=1, progress=False)
    with pytest.raises(pamal.InputError, match=r"^Metric Errors must be one number"):
        pamal.evaluate(network(), tasks, batches())


def test_a_metric_that_has_no_bound_has_no_reference():
    """torchmetrics plots these up to 1 and more."""
    torchmetrics = pytest.importorskip("torchmetrics", reason=REASON)
    kinds = torchmetrics.classification
    unbounded = [kinds.MulticlassHingeLoss(3), torchmetrics.regression.MeanSquaredError()]
    assert unbounded[0].plot_upper_bound == 1
    size, target = torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([2])
    assert unbounded[0](10 * size.softmax(1), target) > 1
    bounded = [
        kinds.BinaryHammingDistance(),
        kinds.MulticlassHammingDistance(3),
        kinds.MulticlassCalibrationError(3),
        kinds.MultilabelRankingLoss(3),
    ]
    task = pamal.classification("kind", metrics=[*unbounded, *bounded])
    assert [metric.reference for metric in task.metrics] == [None, None, 1, 1, 1, 1]


ONE_HOT = torch.eye(3)
PLOTTED_TO_1 = {
    "binary hinge": lambda t: (
        t.classification.BinaryHingeLoss(),
        torch.tensor([0.0, 1.0]),
        torch.tensor([1, 0]),
    ),
    "squared hinge": lambda t: (
        t.classification.MulticlassHingeLoss(3, squared=True),
        ONE_HOT,
        torch.tensor([1, 2, 0]),
    ),
    "coverage": lambda t: (
        t.classification.MultilabelCoverageError(3),
        torch.tensor([[0.1, 0.2, 0.3]]),
        torch.tensor([[1, 0, 0]]),
    ),
}
NOT_PLOTTED = {
    "mean absolute percentage": lambda t: t.regression.MeanAbsolutePercentageError(),
    "relative squares": lambda t: t.regression.RelativeSquaredError(),
    "log-cosh": lambda t: t.regression.LogCoshError(),
    "symmetric percentage": lambda t: t.regression.SymmetricMeanAbsolutePercentageError(),
}


@pytest.mark.parametrize("make", PLOTTED_TO_1.values(), ids=PLOTTED_TO_1)
def test_a_loss_that_is_plotted_to_1_has_no_bound_there(make):
    judge, output, target = make(pytest.importorskip("torchmetrics", reason=REASON))
    assert judge.plot_upper_bound == 1 and judge(output, target) > 1
    task = Task("kind", nn.functional.l1_loss, [judge])
    assert task.metrics[0].reference is None


@pytest.mark.parametrize("make", NOT_PLOTTED.values(), ids=NOT_PLOTTED)
def test_an_error_of_numbers_has_no_worst_value(make):
    judge = make(pytest.importorskip("torchmetrics", reason=REASON))
    task = pamal.regression("size", metrics=[judge])
    assert task.metrics[0].reference is None
    tasks = [pamal.classification("kind"), task]
    front = pamal.evaluate(network(), tasks, batches())
    with pytest.raises(pamal.InputError, match=r"size/\w+': None"):
        front.hypervolume()
    worst = front.values[:, 1].max() + 1
    expected = area([(x, worst - y) for x, y in front.values])
    assert front.hypervolume([0.0, worst]) == pytest.approx(expected)


def area(corners):
    """The area of the union of boxes from 0 to each of some corners."""
    xs = sorted({0.0, *(x for x, _ in corners)})
    heights = [max(y for x, y in corners if x >= right) for right in xs[1:]]
    widths = [right - left for left, right in pairwise(xs)]
    return sum(width * height for width, height in zip(widths, heights, strict=True))


BOUNDED = {
    "accuracy": lambda kinds: kinds.MulticlassAccuracy(3, average="micro"),
    "F1": lambda kinds: kinds.MulticlassF1Score(3),
    "precision": lambda kinds: kinds.MulticlassPrecision(3),
    "a share of wrong labels": lambda kinds: kinds.MulticlassHammingDistance(3),
    "calibration": lambda kinds: kinds.MulticlassCalibrationError(3),
}


@pytest.mark.parametrize("make", BOUNDED.values(), ids=BOUNDED)
def test_wrong_answers_that_are_sure_are_worth_the_reference(make):
    """No answers are worse, and others are better."""
    kinds = pytest.importorskip("torchmetrics.classification", reason=REASON)
    (metric,) = Task("kind", nn.functional.l1_loss, [make(kinds)]).metrics
    rng = torch.Generator().manual_seed(0)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    wrong = nn.functional.one_hot((labels + 1) % 3, 3).float()
    assert metric(wrong, labels) == pytest.approx(metric.reference)
    for _ in range(20):
        value = metric(torch.rand(6, 3, generator=rng).softmax(1), labels)
        assert value >= metric.reference if metric.maximise else value <= metric.reference


def test_an_object_that_says_its_lower_bound_has_it_as_reference():
    class Skill(Largest):
        higher_is_better, plot_lower_bound = True, -0.5

    assert Task("own", nn.functional.l1_loss, [Skill()]).metrics[0].reference == -0.5


class HammingDistance(Largest):
    """The number of wrong labels, which has no bound: not torchmetrics' share of them."""

    plot_upper_bound = 1.0


def test_an_object_of_ones_own_has_no_bound_by_its_name_or_its_plot():
    task = Task("own", nn.functional.l1_loss, [HammingDistance()])
    assert task.metrics[0].reference is None


def test_the_reference_is_that_of_the_kind_or_the_worse_bound(judges):
    task = pamal.classification(
        "kind", metrics=["accuracy", "loss", *(m for m, _ in judges.values())]
    )
    assert [m.reference for m in task.metrics] == [0, None, 0.5, 0, 0, 1]
    pixels, size, far = pamal.segmentation("s", 3), pamal.regression("r"), pamal.depth("d")
    assert [m.reference for m in (*pixels.metrics, *size.metrics)] == [0, 0, None, None, 0]
    assert not any(m.reference is not None for m in far.metrics)
    assert Task("own", nn.functional.l1_loss, [Largest()]).metrics[0].reference is None
    mean = pamal.Metric.mean("m", lambda o, t: o.mean(), maximise=True, reference=0.2)
    assert (mean.maximise, mean.reference) == (True, 0.2)


def test_a_front_knows_the_direction_and_the_reference_of_every_metric():
    tasks = [pamal.classification("kind"), pamal.regression("size", metrics=["R2", "loss"])]
    front = pamal.evaluate(network(), tasks, batches())
    assert front.on("loss").maximise == [False, False]
    assert front.hypervolume() == front.hypervolume([0.0, 0.0])
    with pytest.raises(pamal.InputError, match=r"Found \{'kind/loss': None, 'size/loss': None\}"):
        front.on("loss").hypervolume()
