"""Kinds of work that people do with `fit`, each as a script of at most 20 lines, on small data.

Between the two lines of dashes is what a user writes. Each program is right, so that `fit` must
say nothing of it: warnings are errors here, and a result without notes is expected.
"""

import copy
import inspect
import io
import re
import warnings

import numpy as np
import pytest
import torch
from small_problems import SharedBottom
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal

pytestmark = [
    pytest.mark.filterwarnings("error"),
    # torch's advice to those who have Python 3.13.0.
    pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning"),
]


class Heads(SharedBottom):
    """A trunk, and a head of so many outputs for each task."""

    def __init__(self, inputs=6, outputs=(1, 2)):
        trunk = nn.Sequential(nn.Linear(inputs, 16), nn.ReLU())
        super().__init__(trunk, [nn.Linear(16, size) for size in outputs])


def houses(num=600, seed=0):
    """Houses: a price, and whether one was sold."""
    x = torch.randn(num, 6, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x[:, 0] + x[:, 1], (x[:, 2] + x[:, 0] > 0).long())


HOUSES = [pamal.regression("price"), pamal.classification("sold")]


@pytest.mark.parametrize("attack", ["noise", "slope"])
def test_noisy_and_adversarial_inputs_are_a_task_beside_clean_ones(attack):
    rng = torch.Generator().manual_seed(0)
    label = torch.randint(3, (600,), generator=rng)
    clean = torch.randn(600, 8, generator=rng) + 2 * nn.functional.one_hot(label, 8)

    class Classifier(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    torch.manual_seed(0)
    victim = nn.Linear(8, 3)
    given = clean.clone().requires_grad_()
    nn.functional.cross_entropy(victim(given), label).backward()
    hard = clean + 0.7 * given.grad.sign()
    if attack == "noise":
        hard = clean + torch.randn(600, 8, generator=rng)

    # ----
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Classifier()

        def forward(self, clean, hard):
            return {"clean": self.net(clean), "hard": self.net(hard)}

    parts = (part.split(50) for part in (clean, hard, label))
    data = [((a, b), y, y) for a, b, y in zip(*parts, strict=True)]
    tasks = [pamal.classification("clean"), pamal.classification("hard")]
    fitted = pamal.fit(Both, tasks, data, data, epochs=6, progress=False)
    model = fitted.export(best="hard", at_least={"clean": 0.6}).net
    # ----
    assert not fitted.notes
    point = fitted.front.choose(best="hard", at_least={"clean": 0.6})
    share = (model(hard).argmax(1) == label).double().mean().item()
    assert share == pytest.approx(point.metrics["hard/accuracy"]) and type(model) is Classifier


@pytest.mark.parametrize("sizes", [(600, 240), (120, 600), (300, 300)])
def test_a_loader_for_each_task(sizes):
    rng, weight = torch.Generator().manual_seed(0), torch.randn(6, 2)
    x = [torch.randn(size, 6, generator=rng) for size in sizes]
    group, age = (x[0] @ weight[:, 0] > 0).long(), x[1] @ weight[:, 1]
    # ----
    groups = DataLoader(TensorDataset(x[0], group), batch_size=30, shuffle=True)
    ages = DataLoader(TensorDataset(x[1], age), batch_size=30, shuffle=True)
    tasks = [pamal.classification("group"), pamal.regression("age")]
    loaders = {"group": groups, "age": ages}
    given = {"epochs": 8, "lr": 0.01, "progress": False}
    fitted = pamal.fit(lambda: Heads(outputs=(2, 1)), tasks, loaders, loaders, **given)
    point = fitted.front.choose(best="age", at_least={"group": 0.8})
    # ----
    assert not fitted.notes
    answers = fitted.predict(x[0], point.alpha)[0].argmax(1)
    assert point.metrics["group/accuracy"] == pytest.approx(
        (answers == group).double().mean().item()
    )
    assert len(fitted.baselines["LS"]) == 1


def test_a_recommender_of_eight_thousand_ids():
    rng = torch.Generator().manual_seed(0)
    user, item = (torch.randint(8000, (1500,), generator=rng) for _ in range(2))
    taste = torch.randn(8000, generator=rng)
    click, stars = (taste[user] + taste[item] > 0).float(), 0.5 * (taste[user] - taste[item])

    # ----
    class Recommender(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.items = nn.Embedding(8000, 8), nn.Embedding(8000, 8)
            self.click, self.stars = nn.Linear(16, 1), nn.Linear(16, 1)

        def forward(self, user, item):
            both = torch.cat([self.users(user), self.items(item)], 1)
            return {"click": self.click(both), "stars": self.stars(both)}

    batches = zip(*(part.split(100) for part in (user, item, click, stars)), strict=True)
    data = [({"user": u, "item": i}, c, s) for u, i, c, s in batches]
    tasks = [pamal.binary("click"), pamal.regression("stars")]
    fitted = pamal.fit(Recommender, tasks, data, data, epochs=5, lr=0.02, progress=False)
    model = fitted.export(best="click", at_most={"stars": 0.5})
    # ----
    assert not fitted.notes
    there = (model(user, item)["click"].squeeze(1) > 0).float()
    point = fitted.front.choose(best="click", at_most={"stars": 0.5})
    assert point.metrics["click/accuracy"] == pytest.approx((there == click).double().mean().item())


def test_adapters_of_peft_are_the_members():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        peft = pytest.importorskip("peft", reason="needs the `test` extra")
    x, price, sold = houses().tensors
    loader = DataLoader(houses(), batch_size=60)
    finished = Heads()
    # ----
    lora = peft.LoraConfig(r=4, target_modules=["encoder.0", "heads.0", "heads.1"])
    members = [peft.get_peft_model(copy_of(finished), lora) for _ in range(2)]
    network = pamal.WeightEnsemble(members)
    given = {"epochs": 8, "lr": 0.02, "progress": False}
    fitted = pamal.fit(network, HOUSES, loader, loader, **given)
    model = fitted.export(best="price", at_least={"sold": 0.8})
    # ----
    assert not fitted.notes and fitted.network is network
    assert all(torch.equal(a, b) for a, b in zip(finished.parameters(), base(model), strict=True))
    answers = model(x)[1].argmax(1)
    point = fitted.front.choose(best="price", at_least={"sold": 0.8})
    share = (answers == sold).double().mean().item()
    assert share == pytest.approx(point.metrics["sold/accuracy"]) and len(price) == 600


def copy_of(model):
    copy = type(model)()
    copy.load_state_dict(model.state_dict())
    return copy


def base(model):
    return [w for name, w in model.named_parameters() if "lora_" not in name]


@pytest.mark.parametrize("ahead", [(1, 2, 4), (1, 6, 12)])
def test_three_horizons_of_a_series(ahead):
    rng = torch.Generator().manual_seed(0)
    series = torch.sin(torch.arange(700) / 3) + 0.1 * torch.randn(700, generator=rng)
    # ----
    past = series.unfold(0, 24, 1)[: -max(ahead)]
    later = [series[24 + k - 1 :][: len(past)] for k in ahead]
    training = DataLoader(TensorDataset(past[:500], *(y[:500] for y in later)), 50, shuffle=True)
    validation = DataLoader(TensorDataset(past[500:], *(y[500:] for y in later)), 100)
    tasks = [pamal.regression(f"{k} ahead") for k in ahead]
    given = {"epochs": 5, "lr": 0.01, "progress": False}
    fitted = pamal.fit(lambda: Heads(24, (1, 1, 1)), tasks, training, validation, **given)
    model = fitted.export(best=f"{ahead[-1]} ahead")
    # ----
    assert not fitted.notes and len(fitted.front) == 66
    best = fitted.front.ideal_point()[fitted.front.objectives[-1].name]
    loss = tasks[-1].loss(model(past[500:])[2], later[2][500:])
    assert loss.item() == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_fit_that_was_stopped_goes_on(stopped):
    loader = DataLoader(houses(), batch_size=60, shuffle=True)
    file = io.BytesIO()
    # ----

    def keep(training):
        if training.epoch == stopped:
            torch.save(training.state_dict(), file)

    given = {"epochs": 4, "lr": 0.01, "baseline": None, "progress": False}
    whole = pamal.fit(Heads, HOUSES, loader, loader, on_epoch=keep, **given)
    file.seek(0)
    state = torch.load(file, weights_only=False)
    again = pamal.fit(Heads, HOUSES, loader, loader, resume=state, **given)
    # ----
    assert not whole.notes and not again.notes
    assert torch.equal(whole.network.members(), again.network.members())
    assert whole.front.table.equals(again.front.table)


@pytest.fixture
def replayed(monkeypatch):
    """Records the steps of a framework; takes them again in plain torch, from equal members."""
    batches, alphas, step, draw = [], [], pamal.Method.step, pamal.Method.draw

    def drawn(self, *arguments):
        alphas.append(draw(self, *arguments))
        return alphas[-1]

    def stepped(self, batch, *arguments):
        parts = batch.values() if isinstance(batch, dict) else batch
        batches.append([part.detach().clone() for part in parts])
        return step(self, batch, *arguments)

    monkeypatch.setattr(pamal.Method, "draw", drawn)
    monkeypatch.setattr(pamal.Method, "step", stepped)

    def replay(network):
        """Return the weights by name after the steps, and their number."""
        members = {n: w.detach().clone() for n, w in network.stacked.named_parameters()}
        optimizer = torch.optim.Adam([w.requires_grad_() for w in members.values()], lr=0.01)
        for (x, price, sold), (alpha,) in zip(batches, alphas, strict=True):
            shares = torch.as_tensor(alpha, dtype=torch.float32)
            theta = {name: torch.tensordot(shares, both, 1) for name, both in members.items()}
            of_price, of_sold = torch.func.functional_call(Heads(), theta, x)
            losses = [
                nn.functional.huber_loss(of_price[:, 0], price),
                nn.functional.cross_entropy(of_sold, sold),
            ]
            optimizer.zero_grad()
            (shares @ torch.stack(losses)).backward()
            optimizer.step()
        return members, len(batches)

    return replay


def imported(name):
    """A framework, or a skip. Its warnings, until the test ends, are its own."""
    warnings.simplefilter("ignore")
    return pytest.importorskip(name, reason="needs the `test` extra")


def assert_replayed(network, expected):
    for name, weight in network.stacked.named_parameters():
        torch.testing.assert_close(weight.detach(), expected[name].detach(), rtol=0, atol=1e-5)


def test_lightning_runs_the_loop(replayed, tmp_path):
    lightning = imported("lightning")
    loader = DataLoader(houses(), batch_size=60, shuffle=True)
    network = pamal.WeightEnsemble([Heads(), Heads()])
    before = copy.deepcopy(network)

    # ----
    class Loop(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization, self.network = False, network
            self.method = pamal.Method(network, HOUSES)

        def training_step(self, batch, index):
            optimizer = self.optimizers()
            optimizer.zero_grad()
            losses = self.method.step(batch).mean(0)
            optimizer.step()
            self.log_dict(dict(zip(self.method.names, losses, strict=True)))

        def configure_optimizers(self):
            return torch.optim.Adam(self.method.parameters(), lr=0.01)

    options = {"max_epochs": 6, "accelerator": "cpu", "default_root_dir": tmp_path}
    lightning.Trainer(**options, logger=False, enable_progress_bar=False).fit(Loop(), loader)
    front = pamal.evaluate(network, HOUSES, loader)
    # ----
    expected, number = replayed(before)
    assert number == 60 and front.table["sold/accuracy"].max() > 0.9
    assert_replayed(network, expected)


def test_the_trainer_of_hugging_face_runs_the_loop(replayed, tmp_path):
    transformers = imported("transformers")
    network = pamal.WeightEnsemble([Heads(), Heads()])
    before = copy.deepcopy(network)
    # ----
    method = pamal.Method(network, HOUSES)

    class FrontTrainer(transformers.Trainer):
        def training_step(self, model, inputs, num_items_in_batch=None):
            return method.step(self._prepare_inputs(inputs)).mean()

    rows = [{"x": x, "price": price, "sold": sold} for x, price, sold in houses()]
    given = {"num_train_epochs": 6, "per_device_train_batch_size": 60, "use_cpu": True}
    given |= {"remove_unused_columns": False, "report_to": "none", "disable_tqdm": True}
    given |= {"lr_scheduler_type": "constant", "max_grad_norm": 0.0, "save_strategy": "no"}
    arguments = transformers.TrainingArguments(str(tmp_path), **given)
    adam = torch.optim.Adam(method.parameters(), lr=0.01)
    FrontTrainer(network, arguments, train_dataset=rows, optimizers=(adam, None)).train()
    front = pamal.evaluate(network, HOUSES, DataLoader(houses(), batch_size=60))
    # ----
    expected, number = replayed(before)
    assert number == 60 and front.table["sold/accuracy"].max() > 0.9
    assert_replayed(network, expected)


def test_accelerate_runs_the_loop(replayed):
    accelerate = imported("accelerate")
    loader = DataLoader(houses(), batch_size=60, shuffle=True)
    network = pamal.WeightEnsemble([Heads(), Heads()])
    before = copy.deepcopy(network)
    # ----
    accelerator = accelerate.Accelerator(cpu=True)
    method = pamal.Method(network.to(accelerator.device), HOUSES)
    adam = torch.optim.Adam(method.parameters(), lr=0.01)
    optimizer, batches = accelerator.prepare(adam, loader)
    rng = np.random.default_rng(0)
    for _ in range(6):
        for batch in batches:
            optimizer.zero_grad()
            alphas = method.draw(rng)
            with accelerator.autocast():
                losses = method.step(batch, alphas)
            optimizer.step()
    front = pamal.evaluate(network, HOUSES, loader)
    # ----
    expected, number = replayed(before)
    assert number == 60 and losses.isfinite().all()
    assert front.table["sold/accuracy"].max() > 0.9
    assert_replayed(network, expected)


class Recomputing(Heads):
    def forward(self, x):
        features = checkpoint(self.encoder, x, use_reentrant=False)
        return [head(features) for head in self.heads]


@pytest.mark.parametrize("model", [Heads, Recomputing])
@pytest.mark.parametrize("dtype", [torch.bfloat16, None])
def test_bfloat16_and_checkpointing(model, dtype):
    x, _, sold = houses().tensors
    loader = DataLoader(houses(), batch_size=60)
    # ----
    with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
        fitted = pamal.fit(model, HOUSES, loader, loader, epochs=6, lr=0.01, progress=False)
        point = fitted.front.choose(best="sold")
        answers = fitted.predict(x, point.alpha)[1].argmax(1)
    # ----
    assert not fitted.notes
    share = (answers == sold).double().mean().item()
    assert share == pytest.approx(point.metrics["sold/accuracy"]) and share > 0.9


def test_what_is_exported_compiles_and_is_traced():
    x, loader = houses().tensors[0], DataLoader(houses(), batch_size=60)
    # ----
    fitted = pamal.fit(Heads, HOUSES, loader, loader, epochs=4, lr=0.01, progress=False)
    model = fitted.export(best="sold")
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    written = torch.export.export(model, (x[:2],), dynamic_shapes=({0: torch.export.Dim("n")},))
    # ----
    assert not fitted.notes
    for ours, *others in zip(model(x), compiled(x), written.module()(x), strict=True):
        for other in others:
            torch.testing.assert_close(ours, other)


def test_what_is_exported_is_written_as_onnx(tmp_path):
    pytest.importorskip("onnxscript", reason="needs the `test` extra")
    runtime = pytest.importorskip("onnxruntime", reason="needs the `test` extra")
    x, loader = houses().tensors[0], DataLoader(houses(), batch_size=60)
    # ----
    fitted = pamal.fit(Heads, HOUSES, loader, loader, epochs=4, lr=0.01, progress=False)
    model = fitted.export(best="sold")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the writer
        shapes = ({0: torch.export.Dim("n")},)
        written = torch.onnx.export(model, (x[:5],), dynamo=True, dynamic_shapes=shapes)
        written.save(tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    answers = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    # ----
    assert not fitted.notes
    for ours, theirs in zip(model(x), answers, strict=True):
        assert theirs.shape == ours.shape and len(theirs) == 600
        np.testing.assert_allclose(ours.detach(), theirs, rtol=1e-4, atol=1e-5)


def test_286_trade_offs_of_four_tasks():
    pytest.importorskip("matplotlib")
    x = torch.randn(600, 6, generator=torch.Generator().manual_seed(0))
    # ----
    labels = [(x[:, k] + x[:, k + 1] > 0).long() for k in range(4)]
    loader = DataLoader(TensorDataset(x, *labels), batch_size=60)
    names = ["north", "east", "south", "west"]
    tasks = [pamal.classification(name) for name in names]
    given = {"epochs": 4, "lr": 0.01, "progress": False}
    fitted = pamal.fit(lambda: Heads(outputs=[2] * 4), tasks, loader, loader, **given)
    point = fitted.front.choose(best="west", at_least={"north": 0.8})
    figure = fitted.plot().figure
    # ----
    assert not fitted.notes and len(fitted.front) == 286
    assert len(repr(fitted).splitlines()) < 25 and len(figure.axes) >= 6
    table = fitted.front.table
    kept = table["north/accuracy"] >= 0.8
    assert point.metrics["west/accuracy"] == table["west/accuracy"][kept].max()


def test_each_script_has_at_most_twenty_lines():
    source = inspect.getsource(inspect.getmodule(Heads))
    scripts = re.findall(r"    # -{4}\n(.*?)    # -{4}\n", source, re.DOTALL)
    lines = [[line for line in script.splitlines() if line.strip()] for script in scripts]
    assert len(scripts) == 13 and max(map(len, lines)) <= 20
