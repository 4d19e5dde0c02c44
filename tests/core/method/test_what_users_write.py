"""Twelve scripts as users wrote them before they had read the package, on small data.

Between the two lines of dashes is what a user writes, at most 15 lines.
"""

import inspect
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from small_problems import slopes_of
from torch import nn
from torch.nn.functional import one_hot
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core import InputError


class Heads(nn.Module):
    """Two layers, and a head of so many outputs for each task."""

    def __init__(self, inputs=6, outputs=(1, 2), norm=True):
        super().__init__()
        middle = nn.BatchNorm1d(16) if norm else nn.Identity()
        self.trunk = nn.Sequential(nn.Linear(inputs, 16), middle, nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(16, size) for size in outputs])

    def forward(self, x):
        features = self.trunk(x)
        return [head(features) for head in self.heads]


def houses(num=600, seed=0):
    """Houses: a price, and whether one was sold."""
    x = torch.randn(num, 6, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x[:, 0] + x[:, 1] ** 2, (x[:, 2] + x[:, 0] > 0).long())


def test_a_table_of_pandas_with_missing_labels():
    x, price, sold = houses().tensors
    table = pd.DataFrame(x.numpy(), columns=[*"abcdef"])
    table["price"], table["sold"] = price.numpy(), sold.numpy()
    rng = np.random.default_rng(0)
    table.loc[rng.random(600) < 0.3, "price"] = np.nan
    table.loc[rng.random(600) < 0.3, "sold"] = np.nan  # which makes floats of them
    # ----
    tensors = [torch.tensor(table[[*"abcdef"]].values)]
    tensors += [torch.tensor(table[name].values, dtype=torch.float32) for name in ("price", "sold")]
    data = DataLoader(TensorDataset(*tensors), batch_size=60)
    tasks = [pamal.regression("price"), pamal.classification("sold")]
    fitted = pamal.fit(Heads, tasks, data, data, epochs=10, lr=0.01, progress=False)
    point = fitted.front.choose(best="price", at_least={"sold": 0.8})
    # ----
    answers = fitted.predict(x, best="price", at_least={"sold": 0.8})[1].argmax(1)
    there = torch.tensor(table["sold"].notna().values)
    assert point.metrics["sold/accuracy"] == pytest.approx(
        (answers == sold)[there].double().mean().item()
    )
    assert (answers == sold)[~there].double().mean() > 0.7  # those that nobody labelled
    assert all(math.isfinite(row["sold/loss"]) for row in fitted.history)


class Block(nn.Module):
    """A basic block of a ResNet."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        short = nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Sequential(*short) if stride > 1 else nn.Identity()

    def forward(self, x):
        return (self.body(x) + self.short(x)).relu()


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        stem = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        blocks = Block(16, 16, 1), Block(16, 32, 2)
        self.trunk = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.hue, self.side = nn.Linear(32, 3), nn.Linear(32, 2)

    def forward(self, x):
        features = self.trunk(x)
        return self.hue(features), self.side(features)


def test_a_resnet_with_batchnorm_needs_no_word_about_it():
    rng = torch.Generator().manual_seed(0)
    hue, side = torch.randint(3, (192,), generator=rng), torch.randint(2, (192,), generator=rng)
    images = 0.3 * torch.randn(192, 3, 8, 8, generator=rng)
    images += one_hot(hue, 3)[:, :, None, None]
    images[:, :, 2:6, 2:6] += 2.0 * side[:, None, None, None]
    loader = DataLoader(TensorDataset(images, hue, side), batch_size=32)
    # ----
    tasks = [pamal.classification("hue"), pamal.classification("side")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = pamal.fit(ResNet, tasks, loader, loader, epochs=4, progress=False)
        model = fitted.export(best="hue", at_least={"side": 0.7})
    # ----
    point = fitted.front.choose(best="hue", at_least={"side": 0.7})
    with torch.no_grad():
        pairs = zip(model(images), (hue, side), strict=True)
        shares = [(output.argmax(1) == label).double().mean() for output, label in pairs]
    assert shares == pytest.approx([point.metrics["hue/accuracy"], point.metrics["side/accuracy"]])
    assert type(model) is ResNet


class Text(nn.Module):
    """A transformer that is called by the names that a tokeniser gives."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.topic, self.stars = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(self.words(input_ids), src_key_padding_mask=attention_mask == 0)
        mean = (x * attention_mask[..., None]).sum(1) / attention_mask.sum(1, keepdim=True)
        return {"topic": self.topic(mean), "stars": self.stars(mean)}


def test_a_transformer_with_batches_that_are_one_dict():
    rng = torch.Generator().manual_seed(0)
    ids = torch.randint(30, (256, 8), generator=rng)
    mask = (torch.arange(8) < torch.randint(2, 9, (256, 1), generator=rng)).long()
    rows = [
        {"input_ids": i, "attention_mask": m, "topic": i[0] // 10, "stars": i[1] / 30.0}
        for i, m in zip(ids, mask, strict=True)
    ]
    # ----
    loader = DataLoader(rows, batch_size=32)
    tasks = [pamal.classification("topic"), pamal.regression("stars")]
    network = pamal.WeightEnsemble([Text(), Text()])
    method = pamal.Method(network, tasks)
    history = pamal.train(method, loader, epochs=8, lr=0.01, progress=False)
    front = pamal.evaluate(network, tasks, loader)
    outputs = network.predict({"input_ids": ids, "attention_mask": mask}, {"topic": 1.0})
    # ----
    assert history[-1]["topic/loss"] < history[0]["topic/loss"]
    share = (outputs["topic"].argmax(1) == ids[:, 0] // 10).double().mean().item()
    assert front[0].metrics["topic/accuracy"] == pytest.approx(share)
    assert share > 0.6


class F1:
    """The F1 score of class 1, with torchmetrics' interface."""

    higher_is_better, plot_lower_bound = True, 0.0

    def __init__(self):
        self.reset()

    def reset(self):
        self.hits, self.both = 0, 0

    def update(self, output, target):
        answer = output.argmax(1)
        self.hits += 2 * int((answer * target).sum())
        self.both += int(answer.sum() + target.sum())

    def compute(self):
        return self.hits / max(self.both, 1)


def test_rare_classes_are_weighed_and_judged_by_f1():
    x, price, _ = houses(1500).tensors
    rare = (x[:, 2] + 0.5 * x[:, 3] > 1.9).long()
    loader = DataLoader(TensorDataset(x, price, rare), batch_size=100)
    made, plain = {}, pamal.classification("fraud", metrics=[("F1", F1()), "accuracy"])
    # ----
    fraud = pamal.classification("fraud", class_weight=[1, 15], metrics=[("F1", F1()), "accuracy"])
    for name, task in {"weighed": fraud, "plain": plain}.items():
        tasks = [pamal.regression("price", metrics=["R2"]), task]
        given = {"epochs": 8, "lr": 0.005, "progress": False}
        made[name] = pamal.fit(Heads, tasks, loader, loader, baseline=None, **given)
    chosen = made["weighed"].front.choose(best="fraud")
    # ----
    found = [(fitted.predict(x, [0.0, 1.0])[1].argmax(1) * rare).sum() for fitted in made.values()]
    assert 0 < rare.float().mean() < 0.1 and found[0] > found[1]  # more of the rare ones are found
    assert chosen.metrics["fraud/F1"] > 0.4
    assert made["weighed"].front.hypervolume() > 0  # needs no reference


def test_a_loop_of_ones_own_accumulates_gradients_and_has_a_schedule():
    torch.manual_seed(0)
    loader = DataLoader(houses(), batch_size=50, shuffle=True)
    tasks = [pamal.regression("price"), pamal.classification("sold")]
    network = pamal.WeightEnsemble([Heads(norm=False), Heads(norm=False)])
    method = pamal.Method(network, tasks, balancer=pamal.UnitNorm())
    # ----
    optimizer = torch.optim.AdamW(method.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
    for _ in range(10):
        for number, batch in enumerate(loader, start=1):
            losses = method.step(batch)  # two batches a step
            if number % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
    front = pamal.evaluate(network, tasks, loader)
    # ----
    assert losses.shape == (1, 2) and schedule.get_last_lr()[0] < 1e-4
    assert front.ideal_point()["sold/accuracy"] > 0.8
    batch = next(iter(loader))
    optimizer.zero_grad()
    method.step(batch, {"price": 0.4, "sold": 0.6})
    once = slopes_of(network)
    method.step(batch, [0.4, 0.6])
    torch.testing.assert_close(slopes_of(network), 2 * once)


def test_three_tasks_with_bounds():
    x, price, sold = houses().tensors
    loader = DataLoader(TensorDataset(x, price, sold, (x[:, 3] > x[:, 4]).long()), batch_size=60)
    # ----
    tasks = [pamal.regression("price"), pamal.classification("sold"), pamal.classification("new")]
    network = pamal.WeightEnsemble([Heads(outputs=(1, 2, 2)) for _ in tasks])
    pamal.train(pamal.Method(network, tasks), loader, epochs=12, lr=0.01, progress=False)
    front = pamal.evaluate(network, tasks, loader)
    point = front.choose(best="new", at_least={"sold": 0.75}, at_most={"price": 1.0})
    model = network.export(point.alpha)
    # ----
    assert len(front) == 66 and front.alphas.shape[1] == 3
    table = front.table
    met = (table["sold/accuracy"] >= 0.75) & (table["price/loss"] <= 1.0)
    assert point.metrics["new/accuracy"] == table["new/accuracy"][met].max()
    assert len(model(x)) == 3


def test_a_warm_start_from_a_model_that_is_trained():
    loader = DataLoader(houses(), batch_size=60)
    torch.manual_seed(0)
    tasks = [pamal.regression("price"), pamal.classification("sold")]
    one = pamal.WeightEnsemble([Heads(norm=False)], task_weights=[[0.5, 0.5]])
    pamal.train(pamal.Method(one, tasks), loader, epochs=10, lr=0.01, progress=False)
    finished = one.export([1.0])
    # ----
    network = pamal.WeightEnsemble(finished, num_members=2)
    before = pamal.evaluate(network, tasks, loader)
    pamal.train(pamal.Method(network, tasks), loader, epochs=3, ema=0.7, progress=False)
    front = pamal.evaluate(network, tasks, loader)
    # ----
    assert np.ptp(before.values, axis=0).max() < 1e-6  # all points are the finished network
    assert front.ideal_point()["price/loss"] < before.ideal_point()["price/loss"]
    assert all(p.grad is None for p in finished.parameters())


def test_linear_scalarisation_is_said_to_be_better_where_it_is():
    torch.manual_seed(0)
    training, validation = (
        DataLoader(houses(900), 64, shuffle=True),
        DataLoader(houses(500, 1), 500),
    )
    # ----
    tasks = [pamal.regression("price"), pamal.classification("sold")]
    fitted = pamal.fit(Heads, tasks, training, validation, epochs=10, progress=False)
    print(fitted)
    # ----
    (ls,), points = fitted.baselines["LS"].better, fitted.front.pareto.better
    beaten = int((ls >= points).all(1).sum())
    assert f"Of the {len(points)} non-dominated points LS dominates {beaten}." in repr(fitted)
    assert beaten >= 1  # these tasks do not compete, and that is said
    assert fitted.lr == 2e-3


def test_what_is_saved_is_served_with_a_trade_off_of_the_request(tmp_path):
    x, loader = houses().tensors[0], DataLoader(houses(), batch_size=64, shuffle=True)
    # ----
    tasks = [pamal.regression("price"), pamal.classification("sold")]
    fitted = pamal.fit(Heads, tasks, loader, loader, epochs=2, baseline=None, progress=False)
    torch.save(fitted.network.state_dict(), tmp_path / "network.pt")
    torch.save(fitted.network.calibration, tmp_path / "examples.pt")
    fitted.front.to_frame().to_csv(tmp_path / "front.csv", index=False)

    network = pamal.WeightEnsemble(Heads(), num_members=2)
    network.load_state_dict(torch.load(tmp_path / "network.pt"))
    network.calibration = torch.load(tmp_path / "examples.pt")
    front = pd.read_csv(tmp_path / "front.csv")
    answer = network.predict(x[:5], {"price": 0.3, "sold": 0.7})
    cheapest = front.loc[front["price/loss"].idxmin(), ["alpha/price", "alpha/sold"]]
    model = network.export(cheapest)
    # ----
    for ours, theirs in zip(answer, fitted.predict(x[:5], [0.3, 0.7]), strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(model(x[:5]), fitted.export(best="price")(x[:5]), strict=True):
        assert torch.equal(ours, theirs)


class Trial:
    """What a library of searches gives: a place to report to, and when to stop."""

    def __init__(self, best):
        self.reported, self.best = [], best

    def report(self, value, step):
        self.reported.append((step, value))

    def should_prune(self):
        return len(self.reported) >= 2 and self.reported[-1][1] < self.best


def test_a_search_prunes_by_the_hypervolume_of_each_epoch():
    loader = DataLoader(houses(), batch_size=60)
    tasks = [pamal.regression("price", metrics=["R2"]), pamal.classification("sold")]
    trials = [(1e-2, Trial(-math.inf)), (1e-5, Trial(0.6))]
    lengths = []
    # ----
    for lr, trial in trials:
        method = pamal.Method(pamal.WeightEnsemble([Heads(), Heads()]), tasks)

        def judge(training, trial=trial):
            front = pamal.evaluate(training.network, tasks, loader, progress=False)
            trial.report(front.hypervolume(), training.epoch)
            training.stop = trial.should_prune()

        given = {"epochs": 5, "lr": lr, "ema": 0.8, "on_epoch": judge, "progress": False}
        lengths.append(len(pamal.train(method, loader, **given)))
    # ----
    assert lengths == [5, 2]
    assert [step for step, _ in trials[0][1].reported] == [1, 2, 3, 4, 5]
    assert trials[0][1].reported[-1][1] > trials[1][1].reported[-1][1]


def test_eight_tasks():
    x = torch.randn(200, 6, generator=torch.Generator().manual_seed(0))
    labels = [
        (x @ torch.randn(6, generator=torch.Generator().manual_seed(t)) > 0).long()
        for t in range(8)
    ]
    loader = DataLoader(TensorDataset(x, *labels), batch_size=50)
    # ----
    tasks = [pamal.classification(f"task {t}") for t in range(8)]
    fitted = pamal.fit(
        lambda: Heads(outputs=[2] * 8), tasks, loader, loader, epochs=4, progress=False
    )
    point = fitted.front.choose(at_least={"task 3": 0.7})
    model = fitted.export(point.alpha)
    # ----
    assert fitted.lr == pytest.approx(8e-3) and len(fitted.front) > 200
    assert point.metrics["task 3/accuracy"] >= 0.7 and len(model(x)) == 8
    assert len(repr(fitted).splitlines()) < 30
    assert 0 < fitted.front.hypervolume() < 1


@pytest.mark.filterwarnings("default:At no alpha")
def test_what_was_silent_is_said():
    x, price, _ = houses().tensors
    coin = torch.randint(2, (600,), generator=torch.Generator().manual_seed(0))
    coin[:400] = 1
    loader = DataLoader(TensorDataset(x, price, coin[torch.randperm(600)]), batch_size=60)
    tasks = [
        pamal.regression("price", metrics=["loss"]),
        pamal.classification("coin", metrics=["accuracy"]),
    ]
    # ----
    with pytest.warns(UserWarning, match="At no alpha is task coin better than a constant"):
        fitted = pamal.fit(Heads, tasks, loader, loader, epochs=1, progress=False)
    # ----
    assert "At no alpha is task coin better" in repr(fitted)
    with pytest.raises(InputError, match="must make a new model at each call, such as Net, or be"):
        pamal.fit("Heads", tasks, loader, loader, epochs=1)


def test_each_script_has_at_most_fifteen_lines():
    scripts = re.findall(
        r"    # -{4}\n(.*?)    # -{4}\n", inspect.getsource(inspect.getmodule(Heads)), re.DOTALL
    )
    lines = [[line for line in script.splitlines() if line.strip()] for script in scripts]
    assert len(scripts) == 12 and max(map(len, lines)) <= 15
