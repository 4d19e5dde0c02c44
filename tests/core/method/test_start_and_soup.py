"""`fit` from a shared start: PaMaL whose members begin as one network, and a rewarded soup."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core.balancing import Linear
from pamal_core.training import train

pytestmark = pytest.mark.filterwarnings("ignore:.*At no alpha")
TASKS = [pamal.regression("price"), pamal.classification("sold")]
LR = 0.01
STARTS = {"PaMaL": {"start": 2}, "soup": {"start": 2, "soup": True}}


class Net(nn.Module):
    """Two heads on three features, in float64; BatchNorm where it is asked for."""

    def __init__(self, norm=False):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5) if norm else nn.Tanh())
        self.price, self.sold = nn.Linear(5, 1), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        features = self.trunk(x)
        return self.price(features), self.sold(features)


def normed():
    return Net(norm=True)


class Loader:
    """Four batches in a new order each time, and the batches of each time."""

    def __init__(self):
        rng = torch.Generator().manual_seed(0)
        x = torch.randn(32, 3, generator=rng, dtype=torch.float64)
        data = TensorDataset(x, x[:, 0] + x[:, 1] ** 2, torch.randint(3, (32,), generator=rng))
        self.loader, self.read = DataLoader(data, batch_size=8, shuffle=True), []

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self.read.append([*self.loader])
        return iter(self.read[-1])


@pytest.fixture
def loader():
    return Loader()


def fitted(loader, make=Net, **options):
    given = {"epochs": 5, "lr": LR, "averaging": None, "baseline": None, "progress": False}
    validation = [next(iter(DataLoader(loader.loader.dataset, batch_size=32)))]
    found = pamal.fit(make, TASKS, loader, validation, **(given | options))
    del loader.read[0]  # which is for the diagnosis
    return found


def losses(outputs, batch):
    _, price, sold = batch
    return torch.stack([F.huber_loss(outputs[0][:, 0], price), F.cross_entropy(outputs[1], sold)])


def trained_alone(model, weights, epochs):
    """Train a plain module by Adam on the sum of its weighted losses."""
    optimizer = torch.optim.Adam(model.parameters(), LR)
    for batch in (batch for epoch in epochs for batch in epoch):
        optimizer.zero_grad()
        (torch.tensor(weights, dtype=torch.float64) @ losses(model(batch[0]), batch)).backward()
        optimizer.step()
    return model


def assert_members(network, models):
    """The members of the network are these modules."""
    for name, weights in network.stacked.named_parameters():
        expected = torch.stack([model.get_parameter(name) for model in models])
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-6)


def first_network(seed=0):
    torch.manual_seed(seed)
    return Net()


def test_a_soup_is_one_network_and_then_copies_that_are_trained_alone(loader):
    found = fitted(loader, start=2, soup=True)
    one = trained_alone(first_network(), [0.5, 0.5], loader.read[:2])
    rows = [0.9, 0.1], [0.1, 0.9]
    members = [trained_alone(copy.deepcopy(one), row, loader.read[2:]) for row in rows]
    assert_members(found.network, members)
    assert not torch.allclose(members[0].price.weight, members[1].price.weight, atol=1e-3)


def test_three_tasks_share_a_tenth_of_the_weight_of_a_soups_member(monkeypatch):
    rows = []

    def watched(method, *arguments, **options):
        rows.append(method.network.task_weights)
        return train(method, *arguments, **options)

    monkeypatch.setattr("pamal_core.stages.train", watched)
    x = torch.randn(8, 4)
    tasks = [pamal.regression(name) for name in "abc"]
    data = [(x, x[:, 0], x[:, 1], x[:, 2])]
    given = {"epochs": 2, "start": 1, "soup": True, "progress": False}
    pamal.fit(lambda: Split(nn.Linear(4, 3)), tasks, data, data, **given)
    alone, soup, ls = rows
    assert torch.equal(alone, ls) and ls.tolist() == [pytest.approx([1 / 3] * 3)]
    expected = torch.tensor([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    torch.testing.assert_close(soup, expected)


class Split(nn.Module):
    """One output for each column."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x).split(1, dim=1)


DRAWS = []


class Noted(pamal.Dirichlet):
    """Notes what it draws."""

    def sample(self, *arguments):
        DRAWS.append(super().sample(*arguments))
        return DRAWS[-1]


def test_members_from_a_start_are_copies_that_are_trained_as_mixtures(loader):
    DRAWS.clear()
    found = fitted(loader, start=2, preference=Noted(1.0))
    one = trained_alone(first_network(), [0.5, 0.5], loader.read[:2])
    members = [one, copy.deepcopy(one)]
    optimizer = torch.optim.Adam([p for member in members for p in member.parameters()], LR)
    batches = [batch for epoch in loader.read[2:] for batch in epoch]
    for batch, (alpha,) in zip(batches, DRAWS, strict=True):
        pairs = zip(*(member.named_parameters() for member in members), strict=True)
        theta = {name: alpha[0] * p + alpha[1] * q for (name, p), (_, q) in pairs}
        optimizer.zero_grad()
        outputs = functional_call(one, theta, (batch[0],))
        (torch.tensor(alpha) @ losses(outputs, batch)).backward()
        optimizer.step()
    assert_members(found.network, members)
    assert not torch.allclose(members[0].price.weight, members[1].price.weight, atol=1e-3)


def test_without_a_start_it_is_a_training_of_the_ensemble_to_the_last_bit(loader):
    found = fitted(loader, averaging=0.5, baseline="ls")
    for rows, network, front, passes in (
        ([[1, 0], [0, 1]], found.network, found.front, 5),
        ([[0.5, 0.5]], None, found.baselines["LS"], 5),
    ):
        torch.manual_seed(0)
        ours = pamal.WeightEnsemble([Net() for _ in rows], task_weights=rows)
        given = {"lr": LR, "ema": 1 - 1 / (0.5 * passes * 4), "progress": False}
        history = train(pamal.Method(ours, TASKS), Loader(), epochs=passes, **given)
        validation = [next(iter(DataLoader(loader.loader.dataset, batch_size=32)))]
        assert pamal.evaluate(ours, TASKS, validation, progress=False).table.equals(front.table)
        if network is not None:
            assert torch.equal(ours.members(), network.members()) and found.history == history
    assert found.recipe == ""


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, 5),
        ({"window": 3}, 15),
        ({"start": 2}, 5),
        ({"start": 4, "window": 3}, 7),
        ({"start": 2, "soup": True}, 8),
        ({"start": 4, "soup": True}, 6),
    ],
)
def test_passes_are_those_of_the_docstring_and_ls_makes_as_many(loader, options, passes):
    drawn = []

    class Counting(Linear):
        def reweigh(self, losses, weights):
            drawn.append(weights)
            return super().reweigh(losses, weights)

    alone = fitted(loader, balancer=Counting(), **options)
    assert len(loader.read) == 5 and len(drawn) == 4 * passes
    assert [row["epoch"] for row in alone.history] == [1, 2, 3, 4, 5]
    both = fitted(loader, balancer=Counting(), baseline="ls", **options)
    assert len(loader.read) == 5 + 5 + passes and len(drawn) == 2 * 4 * passes  # LS has none
    assert both.history == alone.history
    assert torch.equal(both.network.members(), alone.network.members())


def test_no_order_of_batches_comes_again_after_a_start(loader):
    fitted(loader, start=2, baseline="ls")
    orders = [torch.cat([batch[1] for batch in epoch]) for epoch in loader.read]
    ours, of_ls = orders[:5], orders[5:]
    assert all(torch.equal(*pair) for pair in zip(ours, of_ls, strict=True))
    assert len({tuple(order.tolist()) for order in ours}) == 5


@pytest.fixture
def trainings(monkeypatch):
    """The trainings of `fit`: members, epochs, decay, and a copy of the network that begins."""
    found = []

    def watched(method, *arguments, epochs, ema, **options):
        network = method.network
        found.append((network.num_members, epochs, ema, copy.deepcopy(network)))
        return train(method, *arguments, epochs=epochs, ema=ema, **options)

    monkeypatch.setattr("pamal_core.stages.train", watched)
    return found


@pytest.mark.parametrize(
    ("options", "passes", "decay"),
    [
        (STARTS["PaMaL"], 5, 1 - 1 / 10),
        (STARTS["PaMaL"] | {"window": 2}, 8, 1 - 1 / 16),
        (STARTS["soup"], 8, 1 - 1 / 16),
    ],
)
def test_a_start_is_not_averaged(loader, trainings, options, passes, decay):
    """Of the twelve steps after the start, half are averaged; of those of LS, too."""
    fitted(loader, averaging=0.5, baseline="ls", **options)
    expected = [(1, 2, None), (2, 3, pytest.approx(1 - 1 / 6)), (1, passes, pytest.approx(decay))]
    assert [found[:3] for found in trainings] == expected


@pytest.mark.parametrize("options", STARTS.values(), ids=STARTS)
def test_statistics_of_batchnorm_go_on_from_the_start(loader, trainings, options):
    found = fitted(loader, make=normed, **options)
    (*_, begun), (*_, copies) = trainings
    norm = copies.skeleton.get_buffer("model.trunk.1.num_batches_tracked")
    assert int(norm) == 2 * 4 and not begun.skeleton.model.trunk[1].num_batches_tracked
    assert torch.equal(*copies.members())
    draws = 2 if "soup" in options else 1
    after = found.network.skeleton.get_buffer("model.trunk.1.num_batches_tracked")
    assert int(after) == 2 * 4 + 3 * 4 * draws
    x, _, sold = (torch.cat(parts) for parts in zip(*loader.read[0], strict=True))
    point = found.front[3]
    with torch.no_grad():
        output = found.export(point.alpha)(x)[1]
    share = (output.argmax(1) == sold).double().mean().item()
    assert point.metrics["sold/accuracy"] == pytest.approx(share)


def test_a_frozen_part_keeps_its_mode_after_a_start(loader):
    class Frozen(Net):
        """Two frozen norms, of which one goes on to estimate its statistics."""

        def __init__(self):
            super().__init__()
            self.still, self.moving = (nn.BatchNorm1d(3).double() for _ in range(2))
            self.still.requires_grad_(False).eval()
            self.moving.requires_grad_(False)

        def forward(self, x):
            return super().forward(self.moving(self.still(x)))

    model = fitted(loader, make=Frozen, start=2).network.skeleton.model
    assert not model.still.num_batches_tracked and model.moving.num_batches_tracked == 5 * 4


@pytest.mark.parametrize("options", STARTS.values(), ids=STARTS)
def test_a_seed_gives_the_same_members_again(options):
    same, again, other = (
        fitted(Loader(), seed=seed, averaging=0.1, **options) for seed in (3, 3, 4)
    )
    assert torch.equal(same.network.members(), again.network.members())
    assert same.front.table.equals(again.front.table) and same.history == again.history
    assert not torch.allclose(same.network.members(), other.network.members(), atol=1e-2)


def test_what_is_printed_names_what_was_trained(loader):
    pamal_text, soup_text = (repr(fitted(loader, **options)) for options in STARTS.values())
    assert "PaMaL: one LS in the first 2 of 5 epochs, then mixtures of its copies." in pamal_text
    said = "Rewarded soup: one LS in the first 2 of 5 epochs, then each of its copies alone."
    assert said in soup_text and "PaMaL" not in soup_text
    both = fitted(loader, baseline="ls", **STARTS["soup"])
    assert repr(both).index(said) < repr(both).index("LS (rate 0.01, as many passes)")
    assert said in both._repr_html_()
