"""What is refused before a weight is moved."""

import pytest
import torch
from torch.optim.lr_scheduler import StepLR

from pamal_core.balancing import UncertaintyWeighting
from pamal_core.ensemble import WeightEnsemble
from pamal_core.errors import InputError
from pamal_core.method import Method
from pamal_core.metrics import Metric
from pamal_core.recipe import fit
from pamal_core.tasks import Task
from pamal_core.training import train


def sgd(method, lr=0.1, **settings):
    return torch.optim.SGD(method.parameters(), lr=lr, **settings)


def refused(message, method, loader, **arguments):
    """`train` refuses, and leaves all weights as they were."""
    before = [p.detach().clone() for p in method.network.parameters()]
    with pytest.raises(InputError, match=message):
        train(method, loader, **{"epochs": 1, "progress": False} | arguments)
    assert all(map(torch.equal, method.network.parameters(), before))


def test_a_generator_is_refused_for_two_epochs_and_taken_for_one(make_plain_method, batch):
    method, seen = make_plain_method(), []

    def generator():
        for number in range(3):
            seen.append(number)
            yield batch

    refused("each time that it is read, .* Found generator", method, generator(), epochs=2)
    assert not seen
    once, listed = generator(), [batch] * 3
    rows = train(method, once, epochs=1, progress=False)
    assert seen == [0, 1, 2] and rows == train(
        make_plain_method(), listed, epochs=1, progress=False
    )
    refused("at least one batch .* a generator has its batches once. Found none", method, once)


def test_an_optimiser_must_train_what_the_method_has(make_plain_method, make_mlp, batch):
    method, other = make_plain_method(balancer=UncertaintyWeighting(2)), make_mlp()
    ours = [*method.network.parameters()]
    stacked = r"stacked\S*( and \d+ more)?"  # however many parameters a network has
    found = {
        "entry 0 of the balancer missing and 0": ours,
        f"{stacked} missing and 0": method.balancer.parameters(),
        "nothing missing and 6": [*method.parameters(), *other.parameters()],
        rf"stacked\S* and {len(ours)} more missing and 6": other.parameters(),
        r"stacked\S* missing and 1": [
            ours[0].detach().clone(),
            *ours[1:],
            *method.balancer.parameters(),
        ],
    }
    for message, parameters in found.items():
        wrong = torch.optim.Adam(parameters)
        refused(f"{message} tensors", method, [batch], optimizer=wrong)


def test_a_scheduler_must_be_that_of_the_optimiser(make_plain_method, batch):
    method = make_plain_method()
    own, other = sgd(method), sgd(method)
    for given in ({"optimizer": other}, {}):
        refused("Found one of another", method, [batch], scheduler=StepLR(own, 1), **given)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_few_digits_are_refused_with_what_to_do_instead(make_mlp, tasks, batch, dtype):
    network = WeightEnsemble([make_mlp().to(dtype), make_mlp().to(dtype)])
    refused(
        rf"Found {dtype} in stacked\S*\. For speed train under", Method(network, tasks), [batch]
    )


class SAM(torch.optim.Optimizer):
    """Its interface: a step of its own needs a closure, whatever the signature says."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def first_step(self):
        raise NotImplementedError

    def step(self, closure=None):
        assert closure is not None, "it requires closure"


class Descent(torch.optim.SGD):
    """Gradient descent, whose step the classes below write otherwise."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1)


class QuietSAM(Descent):
    """Would step along the plain gradient, without a word."""

    def first_step(self):
        raise NotImplementedError


class ByName(Descent):
    def step(self, *, closure):
        super().step(closure)


class PolyakStep(Descent):
    """Its rate follows from the loss."""

    def step(self, loss):
        super().step()


class Asserting(Descent):
    def step(self, closure=None):
        assert closure is not None
        super().step(closure)


class Calling(Descent):
    def step(self, closure=None):
        loss = closure()
        super().step()
        return loss


class Saying(Descent):
    def step(self, closure=None, loss=None):
        if closure is None and loss is None:
            raise ValueError("specify either a closure or a loss")
        super().step()


class NoSuchError(Exception):
    """An error of a package's own."""


class Raising(Descent):
    def step(self, closure=None):
        if closure is None:
            raise NoSuchError("[-] Raising requires closure")
        super().step()


def line_search(parameters):
    return torch.optim.LBFGS(parameters, lr=1, line_search_fn="strong_wolfe")


CLOSURES = {
    torch.optim.LBFGS: "LBFGS, which needs a closure",
    line_search: "LBFGS, which needs a closure",
    SAM: "SAM, which needs a closure",
    QuietSAM: "QuietSAM, which needs a closure",
    ByName: "ByName, which needs a closure",
    PolyakStep: "PolyakStep, which needs a loss",
    Asserting: "Asserting, which needs a closure",
    Calling: "Calling, which needs a closure",
    Saying: "Saying, which needs a closure",
    Raising: "Raising, which needs a closure",
}


@pytest.mark.parametrize("kind", CLOSURES)
def test_an_optimiser_that_needs_a_closure_is_refused(make_plain_method, batch, kind):
    method = make_plain_method()
    message = f"`optimizer` must step along .* Found {CLOSURES[kind]}"
    for given in (kind, kind(method.network.parameters())):
        refused(message, method, [batch], optimizer=given)


@pytest.mark.parametrize("kind", CLOSURES)
@pytest.mark.parametrize("start", [0, 1])
def test_fit_refuses_an_optimiser_that_needs_a_closure(make_mlp, tasks, batch, kind, start):
    options = {"epochs": 2, "start": start, "optimizer": kind, "progress": False}
    network = WeightEnsemble([make_mlp(), make_mlp()])
    before = network.members().detach().clone()
    with pytest.raises(InputError, match=f"Found {CLOSURES[kind]}"):
        fit(network, tasks, [batch], [batch], **options)
    assert torch.equal(network.members(), before)


class Optional(Descent):
    def step(self, closure=None, *more, **others):
        return super().step(closure)


class Positional(torch.optim.SGD):
    def step(self, *arguments):
        return super().step(*arguments)


@pytest.mark.parametrize("kind", [Optional, Positional])
def test_an_optimiser_that_may_have_a_closure_steps_without(make_plain_method, batch, kind):
    methods = make_plain_method(), make_plain_method()
    kinds = kind, Descent if kind is Optional else torch.optim.SGD
    for method, make in zip(methods, kinds, strict=True):
        train(method, [batch], epochs=2, optimizer=make, progress=False)
    assert torch.equal(*(method.network.members() for method in methods))


class Flat(Descent):
    """Takes matrices alone, as some of the optimisers for whole weights do."""

    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                assert weight.ndim == 2
        super().step()


class Broken(Descent):
    def step(self, closure=None):
        raise RuntimeError("out of memory")


@pytest.mark.parametrize(("kind", "error"), [(Flat, AssertionError), (Broken, RuntimeError)])
def test_another_error_of_an_optimiser_stays_as_it_is(make_plain_method, batch, kind, error):
    with pytest.raises(error) as found:
        train(make_plain_method(), [batch], epochs=1, optimizer=kind, progress=False)
    assert "closure" not in str(found.value)


def test_a_state_from_the_midst_of_an_epoch_is_refused(make_plain_method, batch):
    method, states = make_plain_method(), []
    keep = lambda training: states.append(training.state_dict())  # noqa: E731
    train(method, [batch] * 3, epochs=1, on_step=keep, on_epoch=keep, progress=False)
    for state in states[:3]:
        message = "after a whole epoch: .* Found one taken during epoch 1"
        refused(message, method, [batch] * 3, epochs=2, resume=state)
    train(method, [batch] * 3, epochs=2, resume=states[3], progress=False)


@pytest.mark.parametrize(
    ("loss", "is_refused"),
    [
        (lambda o, y: ((o - y) ** 2).mean(), True),
        (lambda o, y: (o - y).abs().mean(), True),
        (lambda o, y: ((o.squeeze(-1) - y) ** 2).mean(), False),
        (lambda o, y: ((o - y[:, None]) ** 2).mean(), False),
        (lambda o, y: ((o.flatten() - y.flatten()) ** 2).mean(), False),
        (lambda o, y: (o**2).mean(), False),  # one that needs no target, as of an energy
    ],
)
def test_a_loss_of_n_by_n_pairs_is_refused_before_a_step(make_mlp, tasks, batch, loss, is_refused):
    own = Task("height", loss, (Metric.mean("loss", loss, maximise=False),))
    method = Method(WeightEnsemble([make_mlp(), make_mlp()]), [own, tasks[1]])
    if is_refused:
        refused(r"outputs \[32, 1\] with all targets \[32\]", method, [batch])
    else:
        train(method, [batch], epochs=1, progress=False)


def of_labelled(output, target):
    has_label = target.isnan().logical_not()
    return ((output[has_label] - target[has_label]) ** 2).mean()


def of_sorted(output, target):
    has_label = target.isnan().logical_not()
    ours, theirs = output[has_label].squeeze(1).sort()[0], target[has_label].sort()[0]
    return (ours - theirs).abs().mean()


def of_kernels(output, target):
    """The maximum mean discrepancy of two sets."""
    has_label = target.isnan().logical_not()
    ours, theirs = output[has_label], target[has_label].view(-1, 1)

    def mean(one, other):
        return (-torch.cdist(one, other)).exp().mean()

    return mean(ours, ours) + mean(theirs, theirs) - 2 * mean(ours, theirs)


@pytest.mark.parametrize("loss", [of_sorted, of_kernels])
@pytest.mark.parametrize("change", ["some_missing", "zeros_like", "ones_like"])
def test_losses_of_two_sets_are_none_of_pairs(make_mlp, tasks, batch, loss, change):
    x, height, kind = batch
    changed = some_missing(height) if change == "some_missing" else getattr(torch, change)(height)
    method = Method(WeightEnsemble([make_mlp(), make_mlp()]), [Task("height", loss, ()), tasks[1]])
    train(method, [(x, changed, kind)], epochs=1, progress=False)


def some_missing(height):
    height[::3] = torch.nan
    return height


@pytest.mark.parametrize(
    ("loss", "change"),
    [
        (of_labelled, some_missing),
        (lambda o, y: ((o - y) ** 2).mean(), torch.zeros_like),
        (lambda o, y: ((o - y) ** 2).mean(), torch.ones_like),
        (lambda o, y: ((o - y) ** 2).mean(), lambda height: torch.full_like(height, 7.5)),
    ],
)
def test_pairs_are_seen_where_labels_are_missing_or_alike(make_mlp, tasks, batch, loss, change):
    """In the first batch of a rare class all labels may be the same."""
    x, height, kind = batch
    given = [(x, change(height), kind)]
    for function, is_of_pairs in ((loss, True), (lambda o, y: loss(o.squeeze(-1), y), False)):
        method = Method(
            WeightEnsemble([make_mlp(), make_mlp()]), [Task("height", function, ()), tasks[1]]
        )
        if is_of_pairs:
            refused("must compare each output with its own target", method, given)
        else:
            train(method, given, epochs=1, progress=False)
