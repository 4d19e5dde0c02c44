"""Small problems that many tests share."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pamal_core.networks.models import SharedBottom
from pamal_core.tasks import Task, classification, regression

pytest_plugins = ["browser", "built_book", "one_kernel"]


@pytest.fixture(autouse=True)
def _same_random_numbers_in_every_test() -> None:
    torch.manual_seed(0)


@pytest.fixture
def make_mlp() -> Callable[[], SharedBottom]:
    """Makes a small shared-bottom network: 4 inputs, heads with 1 and 3 outputs."""

    def make() -> SharedBottom:
        encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        return SharedBottom(encoder, [nn.Linear(8, 1), nn.Linear(8, 3)])

    return make


@pytest.fixture
def tasks() -> list[Task]:
    return [regression("height"), classification("kind")]


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Inputs [32, 4] with a real and a class target that depend on them."""
    x = torch.randn(32, 4)
    return x, x[:, 0] - x[:, 1] ** 2, (x[:, 2] > 0).long() + (x[:, 3] > 0).long()


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The learning rate of each step that Adam makes from now on."""
    found: list[float] = []
    step = torch.optim.Adam.step

    def watched(self: torch.optim.Adam, *args: object) -> object:
        found.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    return found
