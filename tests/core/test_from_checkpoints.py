"""A front from networks that were trained before: torch's own two lines make members of files."""

import pytest
import torch
from small_problems import lenet
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

from pamal_core import Method, WeightEnsemble, classification, train

WRAPPED = {
    "plain": (lambda model: model, ""),
    "parallel": (nn.DataParallel, "module."),
    "compiled": (lambda model: torch.compile(model, backend="eager"), "_orig_mod."),
    "compiled, then parallel": (
        lambda model: nn.DataParallel(torch.compile(model, backend="eager")),
        "module._orig_mod.",
    ),
}


def member(file, prefix="", make=lenet):
    """Return a model with the weights of `file`, as a page shows it."""
    state = torch.load(file)
    consume_prefix_in_state_dict_if_present(state, prefix)
    model = make()
    model.load_state_dict(state)
    return model


@pytest.mark.parametrize("how", WRAPPED)
def test_the_ends_are_the_networks_of_the_files(how, tmp_path):
    wrap, prefix = WRAPPED[how]
    models, x = [lenet(), lenet()], torch.randn(2, 1, 28, 28)
    for k, model in enumerate(models):
        torch.save(wrap(model).state_dict(), tmp_path / f"{k}.pt")
    network = WeightEnsemble([member(tmp_path / f"{k}.pt", prefix) for k in range(2)])
    for alpha, model in zip(([1.0, 0.0], [0.0, 1.0]), models, strict=True):
        torch.testing.assert_close(network.export(alpha)(x), model(x), rtol=1e-5, atol=1e-6)
    between = dict(network.export([0.25, 0.75]).named_parameters())
    own = zip(*(model.named_parameters() for model in models), strict=True)
    for (name, first), (_, second) in own:
        torch.testing.assert_close(between[name], 0.25 * first + 0.75 * second)


class Tied(nn.Module):
    """Two layers with one weight, and a norm with statistics."""

    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(self.norm(self.one(x))).unbind(1)


def test_buffers_and_tied_weights_come_along(tmp_path):
    first, second, x = Tied(), Tied(), torch.randn(5, 3)
    first.norm.running_mean += 2.0
    for name, model in (("first", first), ("second", second)):
        torch.save(nn.DataParallel(model).state_dict(), tmp_path / name)
    members = [member(tmp_path / name, "module.", Tied) for name in ("first", "second")]
    with pytest.warns(UserWarning, match="different buffers; .* those of member 0"):
        network = WeightEnsemble(members, task_weights=[[1, 0, 0], [0, 1, 0]])
    exported = network.export([1, 0], calibration="shared")
    assert exported.two.weight is exported.one.weight
    torch.testing.assert_close(exported(x), first.eval()(x))


def test_a_network_of_files_is_trained_on(tmp_path):
    start = lenet()
    torch.save(start.state_dict(), tmp_path / "start.pt")
    network = WeightEnsemble([member(tmp_path / "start.pt") for _ in range(2)])
    tasks = [classification("left"), classification("right")]
    data = [(torch.randn(16, 1, 28, 28), *torch.randint(10, (2, 16)))]
    rows = train(Method(network, tasks), data, epochs=8, lr=1e-3, progress=False)
    assert all(rows[-1][f"{task.name}/loss"] < rows[0][f"{task.name}/loss"] for task in tasks)
