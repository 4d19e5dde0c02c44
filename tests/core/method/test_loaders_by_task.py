"""A loader for each task: a batch of every one in each step, and each read once in evaluation."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_core import InputError, Method, WeightEnsemble
from pamal_core.loaders import ReadInTurn, ReadTogether

TASKS = [pamal.regression("age"), pamal.classification("group")]
RNG = torch.Generator().manual_seed(0)
X = torch.randn(60, 3, generator=RNG, dtype=torch.float64)
AGES, GROUPS = X[:, 0] - X[:, 1], X.argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.age, self.group = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        z = self.body(x).tanh()
        return self.age(z), self.group(z)


def loaders(ages=48, groups=12):
    """Loaders of batches of 6: of the first `ages` examples, and of the last `groups`."""
    of_ages = TensorDataset(X[:ages], AGES[:ages])
    of_groups = TensorDataset(X[-groups:], GROUPS[-groups:])
    return {"age": DataLoader(of_ages, 6), "group": DataLoader(of_groups, 6)}


class Counting:
    """Batches, and how often they were begun and read."""

    def __init__(self, *batches):
        self.batches, self.begun, self.read = batches, 0, 0

    def __iter__(self):
        self.begun += 1
        for batch in self.batches:
            self.read += 1
            yield batch


@pytest.mark.parametrize(
    ("first", "second", "steps"),
    [
        ("abcd", "xy", ["ax", "by", "cx", "dy"]),
        ("ab", "wxyz", ["aw", "bx", "ay", "bz"]),
        ("abc", "xyz", ["ax", "by", "cz"]),
        ("abc", "xy", ["ax", "by", "cx"]),
        ("a", "xyz", ["ax", "ay", "az"]),
        ("", "", []),
    ],
)
def test_an_epoch_is_the_longest_and_the_others_begin_again(first, second, steps):
    both = {"age": Counting(*first), "group": Counting(*second)}
    together = ReadTogether(both)
    assert [batch["age"] + batch["group"] for batch in together] == steps
    longest = max(both.values(), key=lambda loader: len(loader.batches))
    assert longest.begun == 1 and longest.read == len(steps)
    assert [batch["age"] + batch["group"] for batch in together] == steps
    lists = ReadTogether({"age": [*first], "group": [*second]})
    assert len(lists) == len(steps)


def test_loaders_that_end_together_are_begun_once_an_epoch():
    both = {"age": Counting("a", "b"), "group": Counting("x", "y")}
    assert len([*ReadTogether(both)]) == 2
    assert [loader.begun for loader in both.values()] == [1, 1]


def test_in_evaluation_each_loader_is_read_once():
    both = {"age": Counting("a", "b", "c"), "group": Counting("x")}
    found = [*ReadInTurn(both)]
    assert found == [{"age": "a"}, {"age": "b"}, {"age": "c"}, {"group": "x"}]
    assert len(ReadInTurn(loaders())) == 8 + 2


@pytest.mark.parametrize(("ages", "groups"), [(48, 12), (12, 48), (30, 24), (18, 18)])
def test_a_step_is_a_batch_of_each_as_in_plain_torch(ages, groups):
    torch.manual_seed(0)
    network = WeightEnsemble([Net()], task_weights=[[0.5, 0.5]])
    torch.manual_seed(0)
    plain = Net()
    given = {"epochs": 3, "lr": 0.01, "progress": False}
    rows = pamal.train(Method(network, TASKS), loaders(ages, groups), **given)
    optimizer = torch.optim.Adam(plain.parameters(), 0.01)
    for epoch in range(3):
        total = torch.zeros(2)
        parts = {name: [*loader] for name, loader in loaders(ages, groups).items()}
        steps = max(map(len, parts.values()))
        for step in range(steps):
            (x, age), (z, group) = (batches[step % len(batches)] for batches in parts.values())
            optimizer.zero_grad()
            losses = F.huber_loss(plain(x)[0][:, 0], age), F.cross_entropy(plain(z)[1], group)
            (sum(losses) / 2).backward()
            optimizer.step()
            total += torch.stack(losses).detach()
        expected = (total / steps).tolist()
        assert [*rows[epoch].values()][1:] == pytest.approx(expected, abs=1e-6)
    for name, weight in network.stacked.named_parameters():
        torch.testing.assert_close(weight[0], plain.get_parameter(name), rtol=0, atol=1e-6)


def test_a_front_is_that_of_each_tasks_own_examples():
    network = WeightEnsemble([Net(), Net()])
    front = pamal.evaluate(network, TASKS, loaders(), progress=False)
    alone = {
        name: pamal.evaluate(network, TASKS, [(x, age, group)], progress=False).table
        for name, x, age, group in (
            ("age", X[:48], AGES[:48], GROUPS[:48]),
            ("group", X[-12:], AGES[-12:], GROUPS[-12:]),
        )
    }
    for column in front.table:
        expected = alone[column.split("/")[0]][column]
        assert front.table[column].tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_fit_takes_loaders_by_task_for_all_that_it_trains():
    given = {"epochs": 6, "start": 2, "baseline": "both", "lr": 0.03, "progress": False}
    fitted = pamal.fit(Net, TASKS, loaders(), loaders(), **given)
    assert [*fitted.baselines] == ["LS", "soup"] and len(fitted.history) == 6
    assert fitted.notes == ()
    again = pamal.evaluate(fitted.network, TASKS, loaders(), progress=False)
    assert again.table.equals(fitted.front.table)


def test_one_may_judge_by_examples_that_have_all_labels():
    both = [(X, AGES, GROUPS)]
    fitted = pamal.fit(Net, TASKS, loaders(), both, epochs=4, lr=0.03, progress=False)
    again = pamal.evaluate(fitted.network, TASKS, both, progress=False)
    assert again.table.equals(fitted.front.table)


def generator():
    return ((X, AGES) for _ in range(2))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"group": None}, "must yield its batches each time that it is read"),
        ({"group": generator()}, "must yield its batches each time that it is read"),
        ({"group": []}, "The loader of task group must yield a batch. Found none."),
        ({"kind": [(X, GROUPS)]}, "one for each of age, group. Found age, group, kind."),
        ({"group": [(X, AGES, GROUPS)]}, "of task group alone must be \\(inputs, target\\)"),
        ({"group": [(X, GROUPS[:-1])]}, "Task group must have one target per example"),
        (
            {"group": (X, GROUPS), "age": (X, AGES)},
            "A batch must be .* a dict with keys age, group",
        ),
        ({"group": [(X, GROUPS), None, (X, GROUPS)]}, "A batch must be .* keys age, group"),
        ({"group": [(X,)]}, "of task group alone must be .* Found a tuple of Tensor"),
        ({"group": TensorDataset(X, GROUPS)}, "must yield its batches .* Found TensorDataset"),
        ({TASKS[1]: [(X, GROUPS)]}, r"one for each of age, group. Found age, group, a Task\."),
        (
            {"group": [(X, {"group": GROUPS, "age": AGES})]},
            r"task age must have targets in one batch\. Found them in several\.",
        ),
        (
            {"group": [({"x": X, "group": GROUPS, "age": AGES})]},
            r"task age must have targets in one batch\. Found them in several\.",
        ),
        ({None: [(X, GROUPS)]}, "one for each of age, group. Found age, group, None."),
    ],
)
def test_loaders_that_do_not_fit_the_tasks_are_refused(wrong, text):
    given = {"epochs": 2, "baseline": None, "progress": False}
    with pytest.raises(InputError, match=text):
        pamal.fit(Net, TASKS, loaders() | wrong, loaders(), **given)
    with pytest.raises(InputError, match=text):
        pamal.train(Method(WeightEnsemble([Net(), Net()]), TASKS), loaders() | wrong, epochs=2)


@pytest.mark.parametrize("form", ["in a dict of targets", "in one dict"])
def test_no_target_of_another_task_is_as_good_as_none(form):
    def batch(name, target):
        targets = {"age": None, "group": None, name: target}
        return (X, targets) if form == "in a dict of targets" else {"x": X, **targets}

    method = Method(WeightEnsemble([Net(), Net()]), TASKS)
    losses = [
        method.step({"age": age, "group": group}, [0.5, 0.5])
        for age, group in (
            ((X, AGES), (X, GROUPS)),
            (batch("age", AGES), batch("group", GROUPS)),
        )
    ]
    assert torch.equal(*losses) and (losses[0] > 0).all()


def test_a_task_without_a_loader_is_refused():
    (age, _) = loaders().items()
    for call in (
        lambda: pamal.fit(Net, TASKS, dict([age]), loaders(), epochs=1),
        lambda: pamal.fit(Net, TASKS, loaders(), dict([age]), epochs=1),
        lambda: pamal.evaluate(WeightEnsemble([Net(), Net()]), TASKS, dict([age])),
    ):
        with pytest.raises(InputError, match=r"one for each of age, group\. Found age\."):
            call()
