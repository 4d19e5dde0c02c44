"""`fit` with a function, a model or a network; what it passes on to `train`; its baselines."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, StepLR

import pamal_core as pamal
from pamal_core import InputError, Method, UnitNorm, WeightEnsemble

TASKS = [pamal.regression("price"), pamal.classification("sold")]
RNG = torch.Generator().manual_seed(0)
X = torch.randn(32, 3, generator=RNG, dtype=torch.float64)
PRICE, SOLD = X[:, 0] + X[:, 1], X.argmax(1)
BATCHES = [(X[i : i + 8], PRICE[i : i + 8], SOLD[i : i + 8]) for i in range(0, 32, 8)]
LR = 0.02


class Net(nn.Module):
    def __init__(self, norm=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5) if norm else nn.Tanh())
        self.price, self.sold = nn.Linear(5, 1), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        z = self.body(x)
        return self.price(z), self.sold(z)


def fitted(model=Net, batches=BATCHES, **options):
    given = {"epochs": 4, "averaging": None, "baseline": None, "progress": False}
    given |= {} if "optimizer" in options else {"lr": LR}
    return pamal.fit(model, TASKS, batches, [(X, PRICE, SOLD)], **(given | options))


def seeded(seed, **options):
    torch.manual_seed(seed)
    return Net(**options)


def trained(model, weights, epochs, make=lambda parameters: Adam(parameters, LR), steps=None):
    """Train a plain module on the sum of its weighted losses."""
    optimizer = make(model.parameters())
    for x, price, sold in (BATCHES * epochs)[:steps]:
        optimizer.zero_grad()
        outputs = model(x)
        losses = F.huber_loss(outputs[0][:, 0], price), F.cross_entropy(outputs[1], sold)
        (weights[0] * losses[0] + weights[1] * losses[1]).backward()
        optimizer.step()
    return model


def judged(models):
    """The two losses of each module."""
    with torch.no_grad():
        outputs = [model(X) for model in models]
    pairs = [(F.huber_loss(a[:, 0], PRICE), F.cross_entropy(b, SOLD)) for a, b, *_ in outputs]
    return torch.tensor(pairs)


def losses_of(front):
    return torch.tensor(front.table[["price/loss", "sold/loss"]].to_numpy())


def mixture(models, alpha):
    """A module whose weights are the mean of those of `models`, weighed by alpha."""
    mixed = copy.deepcopy(models[0])
    with torch.no_grad():
        for name, weight in mixed.named_parameters():
            parts = [a * model.get_parameter(name) for a, model in zip(alpha, models, strict=True)]
            weight.copy_(sum(parts))
    return mixed


# What is trained


@pytest.mark.filterwarnings("ignore:At no alpha")
def test_a_model_is_what_all_members_and_ls_begin_as():
    model = seeded(3)
    before = copy.deepcopy(model.state_dict())
    begun = []

    def look(training):
        if training.step == 1:
            begun.append(training.network.members())

    given = {"lr": 1e-9, "baseline": "ls", "on_step": look}
    found = fitted(model, **given)
    assert torch.allclose(*begun[0], atol=1e-7)
    expected = judged([model])
    torch.testing.assert_close(losses_of(found.front), expected.expand(11, 2), rtol=0, atol=1e-6)
    torch.testing.assert_close(losses_of(found.baselines["LS"]), expected, rtol=0, atol=1e-6)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_ls_of_a_model_is_plain_torch_that_begins_with_it():
    model = seeded(3)
    expected = judged([trained(copy.deepcopy(model), [0.5, 0.5], 4)])
    found = losses_of(fitted(model, baseline="ls").baselines["LS"])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rows", [None, [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]])
def test_a_network_is_trained_in_place_and_ls_begins_as_its_first_member(rows):
    members = [seeded(seed) for seed in range(2 if rows is None else 3)]
    network = WeightEnsemble(copy.deepcopy(members), task_weights=rows)
    twin = copy.deepcopy(network)
    found = fitted(network, baseline="ls")
    assert found.network is network
    pamal.train(Method(twin, TASKS), BATCHES, epochs=4, lr=LR, progress=False)
    assert torch.equal(network.members(), twin.members())
    expected = judged([trained(members[0], [0.5, 0.5], 4)])
    of_ls = losses_of(found.baselines["LS"])
    torch.testing.assert_close(of_ls, expected, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:At no alpha")
def test_a_start_begins_as_the_first_member_of_a_network():
    members = [seeded(seed) for seed in range(2)]
    found = fitted(WeightEnsemble(copy.deepcopy(members)), start=3, lr=1e-12, epochs=4)
    for member in found.network.members():
        weights = torch.cat([p.flatten() for p in members[0].parameters()])
        torch.testing.assert_close(member, weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"start": 2}, {"start": 2, "soup": True}])
def test_a_function_that_copies_one_model_does_as_the_model(options):
    model = seeded(5)
    one, other = fitted(model, **options), fitted(lambda: copy.deepcopy(model), **options)
    assert torch.equal(one.network.members(), other.network.members())


def test_the_first_member_keeps_its_statistics():
    model = seeded(1, norm=True)
    trained(model, [0.5, 0.5], 3)
    assert model.body[1].running_mean.abs().max() > 0.01
    found = fitted(model, lr=1e-9, epochs=1, calibration="shared", baseline="ls")
    tracked = found.network.skeleton.get_buffer("model.body.1.num_batches_tracked")
    assert int(tracked) == 3 * 4 + 4


def test_a_network_with_a_start_keeps_its_own_model_with_what_is_compiled():
    network = WeightEnsemble([seeded(seed, norm=True) for seed in range(2)])
    network.compile(backend="eager")
    skeleton, calls = network.skeleton, []
    skeleton.model.register_forward_hook(lambda *_: calls.append(1))
    found = fitted(network, start=3, calibration="shared")
    assert found.network.skeleton is skeleton and len(calls) >= 4 * 4
    assert skeleton.model._compiled_call_impl is not None
    assert int(skeleton.get_buffer("model.body.1.num_batches_tracked")) == 4 * 4


# What is passed on


def test_an_optimiser_and_a_schedule_are_made_for_each_training():
    made = []

    def optimizer(parameters):
        made.append((sum(p.numel() for p in parameters), len(parameters)))
        return SGD(parameters, lr=0.3)

    options = {"optimizer": optimizer, "scheduler": lambda o: StepLR(o, 1, gamma=0.5)}
    rates = []
    found = fitted(
        **options,
        start=2,
        baseline="both",
        on_epoch=lambda t: rates.append(t.optimizer.param_groups[0]["lr"]),
    )
    size = sum(p.numel() for p in Net().parameters())
    # Each once before anything is trained, and again for members that begin as a trained network.
    assert [number // size for number, _ in made] == [2, 1, 1, 2, 1, 2, 2]
    assert rates == pytest.approx([0.15, 0.075])  # after the start
    assert found.lr is None and "rate" not in repr(found)


def test_ls_has_the_optimiser_and_the_schedule_of_plain_torch():
    options = {"optimizer": lambda parameters: SGD(parameters, lr=0.3, momentum=0.5)}
    found = fitted(Net, baseline="ls", **options)
    expected = judged([trained(seeded(0), [0.5, 0.5], 4, options["optimizer"])])
    of_ls = losses_of(found.baselines["LS"])
    torch.testing.assert_close(of_ls, expected, rtol=0, atol=1e-6)


def test_a_schedule_may_be_stepped_after_each_step():
    rates = []
    options = {"scheduler": lambda o: CosineAnnealingLR(o, 16), "scheduler_interval": "step"}
    fitted(on_step=lambda t: rates.append(t.optimizer.param_groups[0]["lr"]), **options)
    assert len(rates) == 16 and rates[7] == pytest.approx(LR / 2) and rates[15] < 1e-9


@pytest.mark.parametrize("start", [0, 2])
def test_hooks_are_called_for_the_network_after_its_start(start):
    steps, epochs = [], []
    found = fitted(
        start=start,
        baseline="both",
        on_step=lambda training: steps.append(training.method.network),
        on_epoch=lambda training: epochs.append((training.epoch, training.method.network)),
    )
    assert len(steps) == (4 - start) * 4 and {*steps} == {found.network}
    assert epochs == [(k + 1, found.network) for k in range(4 - start)]


def test_a_hook_may_stop_the_training_and_add_to_its_history():
    def stop(training):
        training.history[-1]["mine"] = training.epoch
        training.stop = training.epoch == 2

    found = fitted(on_epoch=stop, baseline="ls")
    assert [row["mine"] for row in found.history] == [1, 2]


class StoppedError(Exception):
    """Ends a training, as a signal does."""


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("averaging", [None, 0.5])
@pytest.mark.parametrize("is_network", [False, True])
def test_a_training_that_was_stopped_goes_on_with_the_same_bits(start, averaging, is_network):
    def model():
        return WeightEnsemble([seeded(k) for k in range(2)]) if is_network else Net

    options = {"start": start, "averaging": averaging, "epochs": 6, "baseline": "ls"}
    options["scheduler"] = lambda o: StepLR(o, 1, gamma=0.9)
    options["optimizer"] = lambda parameters: Adam(parameters, LR)
    whole = fitted(model(), **options)
    states = []

    def interrupt(training):
        states.append(training.state_dict())
        if len(states) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        fitted(model(), on_epoch=interrupt, **options)
    torch.manual_seed(99)
    again = fitted(model(), resume=states[-1], **options)
    assert torch.equal(again.network.members(), whole.network.members())
    assert again.history == whole.history
    assert again.front.table.equals(whole.front.table)
    assert again.baselines["LS"].table.equals(whole.baselines["LS"].table)


# Baselines


@pytest.mark.parametrize("options", [{}, {"window": 2}, {"start": 2}, {"epochs": 7}])
def test_a_soup_beside_is_plain_torch_for_as_many_passes(options):
    found = fitted(baseline="both", **options)
    epochs, start = options.get("epochs", 4), options.get("start", 0)
    passes = start + (epochs - start) * options.get("window", 1)
    apart = (passes + 2) // 4  # the nearest number
    one = trained(seeded(0), [0.5, 0.5], passes - 2 * apart)
    rows = [0.9, 0.1], [0.1, 0.9]
    members = [trained(copy.deepcopy(one), row, apart) for row in rows]
    soup = found.baselines["soup"]
    expected = judged([mixture(members, alpha) for alpha in soup.alphas])
    torch.testing.assert_close(losses_of(soup), expected, rtol=0, atol=1e-6)
    of_ls = judged([trained(seeded(0), [0.5, 0.5], passes)])
    torch.testing.assert_close(losses_of(found.baselines["LS"]), of_ls, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"window": 2}, {"start": 2}, {"epochs": 7}, {"epochs": 10, "window": 3}]
)
@pytest.mark.parametrize("step", [3, 5, 8])
@pytest.mark.filterwarnings("ignore")  # that a task is not learnt
def test_baselines_make_as_many_steps_as_a_network_that_a_hook_stops(options, step):
    """Within an epoch or after it. A step counts W times, and a soup keeps its shares."""
    epochs, start = options.get("epochs", 4), options.get("start", 0)
    window, made = options.get("window", 1), []

    def stop(training):
        made.append(training.step)
        training.stop = training.step == step

    found = fitted(baseline="both", on_step=stop, **options)
    assert made == [*range(1, step + 1)]
    passes = start + (epochs - start) * window
    steps = start * len(BATCHES) + step * window
    apart = -(-steps * ((passes + 2) // 4) // passes)
    of_ls = judged([trained(seeded(0), [0.5, 0.5], passes, steps=steps)])
    torch.testing.assert_close(losses_of(found.baselines["LS"]), of_ls, rtol=0, atol=1e-6)
    one = trained(seeded(0), [0.5, 0.5], passes, steps=steps - 2 * apart)
    rows = [0.9, 0.1], [0.1, 0.9]
    members = [trained(copy.deepcopy(one), row, passes, steps=apart) for row in rows]
    soup = found.baselines["soup"]
    expected = judged([mixture(members, alpha) for alpha in soup.alphas])
    torch.testing.assert_close(losses_of(soup), expected, rtol=0, atol=1e-6)


class NoLength:
    def __iter__(self):
        return iter(BATCHES)


@pytest.mark.filterwarnings("ignore")  # that a task is not learnt
def test_a_resumed_training_that_is_stopped_counts_the_passes_of_its_start():
    options = {"start": 3, "epochs": 6, "baseline": "ls"}
    states = []
    fitted(on_epoch=lambda training: states.append(training.state_dict()), **options)

    def stop(training):
        training.stop = training.epoch == 2

    of_ls = judged([trained(seeded(0), [0.5, 0.5], 5)])
    for loader in (BATCHES, NoLength()):
        found = fitted(Net, loader, resume=states[0], on_epoch=stop, **options)
        torch.testing.assert_close(losses_of(found.baselines["LS"]), of_ls, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_hook_that_ends_each_epoch_early_shortens_the_baselines():
    def end(training):
        training.stop = training.step % 2 == 0

    def go_on(training):
        training.stop = False

    found = fitted(on_step=end, on_epoch=go_on, baseline="ls")
    of_ls = judged([trained(seeded(0), [0.5, 0.5], 4, steps=8)])
    assert len(found.history) == 4
    torch.testing.assert_close(losses_of(found.baselines["LS"]), of_ls, rtol=0, atol=1e-6)


@pytest.mark.parametrize("steps", range(3, 9))
@pytest.mark.filterwarnings("ignore")
def test_a_soup_is_trained_for_any_number_of_steps_above_that_of_tasks(steps):
    def stop(training):
        training.stop = training.step == steps

    found = fitted(baseline="soup", epochs=3, on_step=stop)
    one = trained(seeded(0), [0.5, 0.5], 3, steps=(shared := 1 + (steps - 1) % 2))
    rows, apart = ([0.9, 0.1], [0.1, 0.9]), (steps - shared) // 2
    members = [trained(copy.deepcopy(one), row, 3, steps=apart) for row in rows]
    expected = judged([mixture(members, alpha) for alpha in found.baselines["soup"].alphas])
    torch.testing.assert_close(losses_of(found.baselines["soup"]), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("baseline", ["ls", "both"])
def test_baselines_of_a_network_leave_out_the_task_that_it_leaves_out(baseline):
    class Three(Net):
        def forward(self, x):
            price, sold = super().forward(x)
            return price, sold, price**2

    def network():
        members = [copy.deepcopy(model), copy.deepcopy(model)]
        return WeightEnsemble(members, task_weights=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])

    torch.manual_seed(0)
    model = Three()
    tasks = [*TASKS, pamal.regression("unused")]
    batches = [(x, price, sold, x[:, 1]) for x, price, sold in BATCHES]
    options = {"epochs": 4, "averaging": None, "lr": LR, "progress": False, "baseline": baseline}
    found = pamal.fit(network(), tasks, batches, batches, **options)
    of_two = trained(copy.deepcopy(model), [0.5, 0.5], 4)
    front = found.baselines["LS"]
    expected = judged([of_two])
    torch.testing.assert_close(losses_of(front), expected, rtol=0, atol=1e-6)
    assert "unused" not in repr(found) and found._repr_html_()
    assert front.objectives == found.front.objectives


def test_an_error_of_a_baseline_leaves_the_front():
    """Here of a schedule with a rate for each epoch of the network, which is shorter."""
    rates = [1.0, 0.5, 0.2, 0.1, 0.1]
    options = {"window": 2, "scheduler": lambda o: LambdaLR(o, lambda k: rates[k])}
    with pytest.warns(UserWarning, match="LS: IndexError: list index out of range"):
        found = fitted(baseline="ls", **options)
    assert not found.baselines
    assert found.front.table.equals(fitted(**options).front.table)
    assert "LS: IndexError: list index out of range" in found.notes


def test_an_interrupt_of_a_baseline_leaves_the_front_and_what_was_compared():
    """A schedule is made for the network, LS, and the last and the first training of the soup."""
    made = []

    def scheduler(optimizer):
        made.append(optimizer)
        number = len(made)

        def factor(epoch):
            if number == 4 and epoch == 1:
                raise KeyboardInterrupt
            return 1.0

        return LambdaLR(optimizer, factor)

    with pytest.warns(UserWarning, match="soup: interrupted, so that nothing is compared with it"):
        found = fitted(baseline="both", scheduler=scheduler)
    assert [*found.baselines] == ["LS"] and len(made) == 4
    assert found.front.table.equals(fitted().front.table)


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_after_the_training_has_the_network(kind):
    trainings = []

    def error_of(output, target):
        if trainings:
            raise kind
        return (output[:, 0] - target).abs().mean()

    metric = pamal.Metric.mean("error", error_of, maximise=False)
    tasks = [pamal.regression("price", metrics=[metric]), TASKS[1]]
    given = {"epochs": 4, "averaging": None, "baseline": None, "progress": False, "lr": LR}
    data = [(X, PRICE, SOLD)]
    with pytest.raises(kind) as found:
        pamal.fit(Net, tasks, BATCHES, data, **given, on_epoch=trainings.append)
    assert len(trainings) == 4
    expected = fitted().network
    assert torch.equal(found.value.network.members(), expected.members())
    assert "attribute `network` of this error" in found.value.__notes__[-1]


def test_an_interrupt_of_the_network_is_one():
    def stop(training):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(baseline="ls", on_epoch=stop)


@pytest.mark.parametrize(
    ("baseline", "names"),
    [("ls", ["LS"]), ("soup", ["soup"]), ("both", ["LS", "soup"]), (None, [])],
)
def test_each_baseline_is_printed_by_its_name(baseline, names):
    found = fitted(baseline=baseline)
    assert [*found.baselines] == names
    lines = [line for line in repr(found).splitlines() if "as many passes" in line]
    assert [line.split(" (")[0] for line in lines] == names
    assert [len(front) for front in found.baselines.values()] == [
        {"LS": 1}.get(n, 11) for n in names
    ]


def test_a_print_does_not_warn_of_points_that_are_not_finite():
    found = fitted(baseline="ls")
    table = found.front.table.copy()
    table.iloc[3] = float("nan")
    left = replace(found, front=replace(found.front, table=table))
    assert "LS dominates" in repr(left) and left._repr_html_()  # a warning is an error here


def test_ls_is_trained_without_the_balancer_of_the_network():
    plain, balanced = (fitted(baseline="ls", balancer=rule) for rule in (None, UnitNorm()))
    assert plain.baselines["LS"].table.equals(balanced.baselines["LS"].table)
    assert not torch.equal(plain.network.members(), balanced.network.members())
    started = fitted(baseline="ls", balancer=UnitNorm(), start=2)
    assert "one network with UnitNorm in the first 2 of 4 epochs" in started.recipe


def test_a_baseline_has_the_averaging_of_the_network():
    found = fitted(baseline="ls", averaging=0.5)
    torch.manual_seed(0)
    alone = WeightEnsemble([Net()], task_weights=[[0.5, 0.5]])
    given = {"lr": LR, "ema": 1 - 1 / 8, "progress": False}
    pamal.train(Method(alone, TASKS), BATCHES, epochs=4, **given)
    table = pamal.evaluate(alone, TASKS, [(X, PRICE, SOLD)], progress=False).table
    assert table.equals(found.baselines["LS"].table)


# Refusals


class Untouched(nn.Module):
    """Cannot be run: nothing is trained before arguments are checked."""

    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        pytest.fail("it was run")


def ensemble(**options):
    return WeightEnsemble([Untouched(), Untouched()], **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"model": [Untouched()]}, "`model` must make a new model at each call"),
        ({"model": "Net"}, "`model` must make a new model at each call"),
        ({"model": lambda width: Untouched(width)}, "without arguments.*missing a required"),
        ({"model": ensemble(shared="layer"), "shared": "layer"}, "`shared` must be left out"),
        ({"model": ensemble(), "soup": True, "start": 1}, "`soup` makes its own members"),
        ({"epoch": 3}, "of those of `train` optimizer, .*on_epoch. Found `epoch`"),
        ({"ema": 0.9}, "`averaging` is the argument of `fit`"),
        ({"baseline": "LS"}, "`baseline` must be one of ls, soup, both. Found 'LS'"),
        ({"baseline": False}, "`baseline` must be one of ls, soup, both. Found False"),
        ({"baseline": "soup", "soup": True, "start": 1}, "another recipe than the soup"),
        ({"baseline": "soup", "epochs": 2}, "more passes than tasks. Found 2 tasks and 2 passes"),
        ({"optimizer": Adam, "lr": 0.1}, "`lr` is for a training without `optimizer`"),
        ({"optimizer": "adam"}, "`optimizer` must be a function. Found 'adam'"),
        ({"scheduler": "cosine"}, "`scheduler` must be a function. Found 'cosine'"),
        ({"on_step": 3}, "`on_step` must be a function. Found 3"),
        ({"on_epoch": "print"}, "`on_epoch` must be a function. Found 'print'"),
        ({"scheduler_interval": "batch"}, "`scheduler_interval` must be one of epoch, step"),
        ({"optimizer": Adam([torch.zeros(1)])}, "`optimizer` must be a function that makes one"),
        ({"start": 4}, "`start` must be below `epochs`, 4. Found start=4"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(options, text):
    options = {"epochs": 4, "progress": False} | options
    with pytest.raises(InputError, match=text):
        pamal.fit(options.pop("model", Untouched), TASKS, BATCHES, BATCHES, **options)


@pytest.mark.parametrize("state", ["run.pt", Net().state_dict(), {"epoch": 1}])
def test_a_state_of_something_else_is_not_resumed(state):
    with pytest.raises(InputError, match=r"`resume` must be what `Training.state_dict` returned"):
        fitted(resume=state)


def test_an_optimiser_that_is_made_already_is_for_one_training():
    network = WeightEnsemble([Net(), Net()])
    optimizer = SGD(network.parameters(), lr=0.1)
    before = network.members()
    assert fitted(network, optimizer=optimizer).network is network
    assert not torch.equal(network.members(), before)
    with pytest.raises(InputError, match="because each training has its own"):
        fitted(network, optimizer=optimizer, start=1)


def test_a_seed_is_any_whole_number():
    first, same, other = (fitted(seed=s).front.table for s in (3, np.int64(3), 2**70))
    assert first.equals(same) and not first.equals(other)
