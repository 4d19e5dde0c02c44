"""Models with several inputs: in training, evaluation and BatchNorm."""

from collections import UserDict, namedtuple

import jaxtyping
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence
from torch.utils.data import DataLoader

import pamal_core as pamal
from pamal_core.inputs import arguments, num_examples, to_device

TASKS = [pamal.classification("topic"), pamal.regression("length")]
GENERATOR = torch.Generator().manual_seed(0)
IDS = torch.randint(9, (40, 5), generator=GENERATOR)
MASK = (torch.rand(40, 5, generator=GENERATOR) < 0.8).float()
TOPIC, LENGTH = IDS[:, 0] % 2, MASK.sum(1)
TENSORS = IDS, MASK, TOPIC, LENGTH


class Text(nn.Module):
    """Masked words, of which `mask` says which ones are there."""

    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(9, 6), nn.BatchNorm1d(6)
        self.topic, self.length = nn.Linear(6, 2), nn.Linear(6, 1)

    def forward(self, ids, mask):
        features = self.norm((self.words(ids) * mask[..., None]).sum(1))
        return self.topic(features), self.length(features)


class Joined(Text):
    """The same, of one tensor [n, 10]."""

    def forward(self, both):
        return super().forward(both[:, :5].long(), both[:, 5:])


FORMS = {
    "tuple": (Text, (IDS, MASK)),
    "list": (Text, [IDS, MASK]),
    "dict": (Text, {"mask": MASK, "ids": IDS}),
    "mapping": (Text, UserDict(ids=IDS, mask=MASK)),
    "tensor": (Joined, torch.cat([IDS.float(), MASK], 1)),
}


def trained(model, inputs):
    """A front and the outputs at its middle, after three epochs of two batches."""
    torch.manual_seed(0)
    network = pamal.WeightEnsemble([model(), model()], shared="words")
    batch = (inputs, TOPIC, LENGTH)
    method = pamal.Method(network, TASKS, penalty=pamal.MultiForward(1.0), window=2)
    pamal.train(method, [batch, batch], epochs=3, progress=False)
    front = pamal.evaluate(network, TASKS, [batch], calibration=[(inputs,)])
    outputs = network.predict(inputs, [0.5, 0.5], calibration=[batch])
    return front, outputs


@pytest.mark.parametrize("form", ["tuple", "list", "dict", "mapping"])
def test_several_inputs_give_the_front_of_one_tensor_with_all_of_them(form):
    front, outputs = trained(*FORMS[form])
    expected_front, expected = trained(*FORMS["tensor"])
    assert front.table.equals(expected_front.table)
    assert all(torch.equal(a, b) for a, b in zip(outputs, expected, strict=True))


def test_a_loader_of_torch_makes_such_batches_of_such_examples():
    examples = [({"ids": i, "mask": m}, t, n) for i, m, t, n in zip(*TENSORS, strict=True)]
    network = pamal.WeightEnsemble([Text(), Text()])
    loader = DataLoader(examples, batch_size=10)
    rows = pamal.train(pamal.Method(network, TASKS), loader, epochs=1, progress=False)
    assert len(rows) == 1
    front = pamal.evaluate(network, TASKS, loader, calibration=loader)
    whole = [({"ids": IDS, "mask": MASK}, TOPIC, LENGTH)]
    same = pamal.evaluate(network, TASKS, whole, calibration=loader)
    assert (front.table - same.table).abs().to_numpy().max() < 1e-6


def test_batch_norm_is_re_estimated_on_several_inputs_as_by_hand():
    network = pamal.WeightEnsemble([Text(), Text()])
    model = network.export([0.3, 0.7], calibration="shared")
    model.norm.momentum = None  # the mean over the batches
    model.train()
    halves = slice(9), slice(9, 18)  # alike in size, as a batch counts by it
    for half in halves:
        model(IDS[half], MASK[half])
    data = [((IDS[half], MASK[half]), TOPIC[half]) for half in halves]
    found = network.export([0.3, 0.7], calibration=data).norm.state_dict()
    torch.testing.assert_close(found, model.norm.state_dict())


def test_a_batch_of_one_dict_is_that_of_inputs_and_targets():
    """As Hugging Face's loaders make it: what has the name of a task is its target."""
    names = ("ids", "mask", "topic", "length")
    examples = [dict(zip(names, row, strict=True)) for row in zip(*TENSORS, strict=True)]
    forms = {
        "dicts": [*DataLoader(examples, batch_size=20)],
        "tuples": [({"ids": i, "mask": m}, t, n) for i, m, t, n in zip(*parts(), strict=True)],
    }
    found = []
    for loader in forms.values():
        torch.manual_seed(0)
        network = pamal.WeightEnsemble(Text(), num_members=2)
        rows = pamal.train(pamal.Method(network, TASKS), loader, epochs=2, progress=False)
        (first,) = network.calibration[0]
        assert {*first} == {"ids", "mask"}
        given = network.predict(first, [0.5, 0.5], calibration=loader)
        found.append((rows, pamal.evaluate(network, TASKS, loader).table, given))
    assert found[0][0] == found[1][0] and found[0][1].equals(found[1][1])
    torch.testing.assert_close(found[0][2], found[1][2], rtol=0, atol=0)


@pytest.mark.parametrize(
    "names", ["x length topic", "x topic length", "x first second", "x topic second"]
)
def test_a_named_tuple_is_read_by_the_names_of_tasks(names):
    """Take the order of names that no task has, as in a tuple."""
    kind, values = namedtuple("Kind", names), {"topic": TOPIC, "length": LENGTH}
    _, *targets = names.split()
    inputs = {"ids": IDS, "mask": MASK}
    in_order = [values.get(n, v) for n, v in zip(targets, values.values(), strict=True)]
    batch = kind(inputs, *in_order)
    method = pamal.Method(pamal.WeightEnsemble(Text(), num_members=2), TASKS)
    expected = method.step((inputs, TOPIC, LENGTH), [0.5, 0.5])
    torch.testing.assert_close(method.step(batch, [0.5, 0.5]), expected, rtol=0, atol=0)


def test_the_name_of_a_task_in_the_place_of_another_one_is_refused():
    batch = namedtuple("Kind", "x length other")({"ids": IDS, "mask": MASK}, LENGTH, TOPIC)
    method = pamal.Method(pamal.WeightEnsemble(Text(), num_members=2), TASKS)
    with pytest.raises(
        pamal.InputError, match=r"of the tasks, topic, length\. Found length, other"
    ):
        method.step(batch, [0.5, 0.5])


def test_a_named_tuple_of_inputs_and_a_dict_of_targets_is_one():
    method = pamal.Method(pamal.WeightEnsemble(Text(), num_members=2), TASKS)
    inputs, targets = {"ids": IDS, "mask": MASK}, {"length": LENGTH, "topic": TOPIC}
    batch = namedtuple("Kind", "x topic")(inputs, targets)
    losses = method.step(batch, [0.5, 0.5])
    assert torch.equal(losses, method.step((inputs, TOPIC, LENGTH), [0.5, 0.5]))


def parts():
    return [tensor.split(20) for tensor in TENSORS]


def test_a_dict_without_the_target_of_a_task_adds_nothing_to_it():
    method = pamal.Method(pamal.WeightEnsemble(Text(), num_members=2), TASKS)
    losses = method.step({"ids": IDS, "mask": MASK, "length": LENGTH}, [0.5, 0.5])
    assert losses[0, 0] == 0 and losses[0, 1] > 0


@pytest.mark.parametrize("form", FORMS)
def test_examples_are_counted_whatever_holds_the_inputs(form):
    assert num_examples(FORMS[form][1]) == 40


def test_a_packed_sequence_is_one_input():
    packed = pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])
    (given,), named = arguments(to_device([packed], torch.device("cpu"))[0])
    assert isinstance(given, PackedSequence) and named == {}


@pytest.mark.parametrize(
    ("batch", "found"),
    [
        (IDS, r"one tensor \[40, 5\] of int64"),
        ((IDS, (TOPIC, LENGTH)), "a tuple of Tensor, tuple"),
        ([IDS, "topic"], "a list of Tensor, str"),
        (7, "int"),
    ],
)
def test_a_batch_of_another_form_is_told_what_is_expected(batch, found, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # our own check is asked
    network = pamal.WeightEnsemble([nn.Linear(5, 2), nn.Linear(5, 2)])
    message = rf"A batch must be a tuple or list \(inputs, target_1.*Found {found}\."
    with pytest.raises(pamal.InputError, match=message):
        pamal.train(pamal.Method(network, TASKS), [batch], epochs=1, progress=False)
    with pytest.raises(pamal.InputError, match=message):
        pamal.evaluate(network, TASKS, [batch])
