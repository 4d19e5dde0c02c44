"""What a network or a batch that does not fit the tasks is told."""

import pytest
import torch
from torch import nn

import pamal_core as pamal
from pamal_core.tasks import task_losses

TASKS = [pamal.classification("digit"), pamal.regression("tilt")]
OUTPUTS = torch.zeros(6, 10, requires_grad=True), torch.zeros(6, 1, requires_grad=True)
LABELS = torch.arange(6)


def test_a_loss_that_is_no_mean_is_named():
    task = pamal.Task("tilt", lambda o, t: (o.flatten() - t) ** 2, ())
    with pytest.raises(pamal.InputError, match=r"loss of task tilt must be one number.*\[6\]"):
        task_losses([task], [OUTPUTS[1]], [LABELS.float()])


def test_an_error_of_a_loss_stays_as_it_is_and_says_of_which_task():
    raised = torch.OutOfMemoryError("CUDA out of memory")

    def too_large(output, target):
        raise raised

    with pytest.raises(torch.OutOfMemoryError) as found:
        task_losses([pamal.Task("tilt", too_large, ())], [OUTPUTS[1]], [LABELS])
    assert found.value is raised
    note = "In the loss of task tilt: output [6, 1] of float32, target [6] of int64"
    note += ". A list has outputs and targets in the order of the tasks."
    assert raised.__notes__ == [note]


class AsDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 2)

    def forward(self, x):
        return {"digit": self.line(x), "lean": self.line(x)}


@pytest.mark.parametrize(
    ("model", "found"),
    [(AsDict, "a dict with keys digit, lean"), (lambda: nn.Linear(3, 2), r"one tensor \[6, 2\]")],
)
def test_a_model_that_returns_no_list_is_told_so(model, found):
    network = pamal.WeightEnsemble([model(), model()])
    batch = torch.zeros(6, 3), LABELS % 2, LABELS.float()
    message = (
        "must return a tuple or list with one tensor per task, "
        f"or a dict with the keys digit, tilt. Found {found}"
    )
    with pytest.raises(pamal.InputError, match=message):
        pamal.train(pamal.Method(network, TASKS), [batch], epochs=1, progress=False)
    with pytest.raises(pamal.InputError, match=message):
        pamal.evaluate(network, TASKS, [batch])


@pytest.mark.parametrize("wrong", [nn.Linear, ("F1", nn.Linear), lambda o, y: 1.0])
def test_what_is_no_metric_is_refused_when_the_task_is_made(wrong):
    with pytest.raises(
        pamal.InputError, match=r"^A metric of task kind must be a Metric, the name of"
    ):
        pamal.classification("kind", metrics=[wrong])
