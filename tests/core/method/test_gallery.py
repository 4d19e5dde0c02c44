"""Unlike models, each all the way: train, evaluate, choose, export, save and load again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from small_problems import through_a_file
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from pamal_core import (
    Method,
    Metric,
    MultiForward,
    Task,
    WeightEnsemble,
    classification,
    depth,
    evaluate,
    fit,
    lattice,
    regression,
    segmentation,
    train,
)
from pamal_core.skeleton import copied

N = 6
"""Examples in a batch."""


class Heads(nn.Module):
    """A body and a linear head per task: a class of three, a number."""

    def __init__(self, body: nn.Module, width: int, outputs: tuple[int, ...] = (3, 1)) -> None:
        super().__init__()
        self.body = body
        self.heads = nn.ModuleList(nn.Linear(width, n) for n in outputs)

    def forward(self, *args, **named):
        z = self.body(*args, **named)
        return [head(z) for head in self.heads]


class TiedTransformer(nn.Module):
    """The weights of the embedding are those of the output, as in language models."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.next = nn.Linear(8, 11, bias=False)
        self.next.weight = self.embed.weight
        self.mood = nn.Linear(8, 1)
        self.register_buffer("positions", torch.arange(5.0)[:, None], persistent=False)

    def forward(self, tokens):
        z = self.encoder(self.embed(tokens) + self.positions).mean(1)
        return self.next(z), self.mood(z)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.lstm = nn.Embedding(11, 4), nn.LSTM(4, 5, 2, batch_first=True)

    def forward(self, tokens):
        return self.lstm(self.embed(tokens))[0][:, -1]


class BothWays(nn.Module):
    """A GRU over packed sequences of several lengths, in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 3, 2, batch_first=True, bidirectional=True, dropout=0.2)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        return self.gru(packed)[1][-2:].transpose(0, 1).flatten(1)


class Messages(nn.Module):
    """Nodes that send messages along edges; its outputs are one for each node."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.sent = nn.Linear(4, 6), nn.Linear(4, 6, bias=False)

    def forward(self, x, edge_index):
        sender, receiver = edge_index
        z = self.own(x)
        return torch.relu(z.index_add(0, receiver, self.sent(x)[sender]))


class Lora(nn.Module):
    """A frozen layer and a trained product of two thin matrices beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(4, 8).requires_grad_(False)
        self.down, self.up = nn.Linear(4, 2, bias=False), nn.Linear(2, 8, bias=False)

    def forward(self, x):
        return torch.tanh(self.frozen(x) + self.up(self.down(x)))


BACKBONE = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh()).requires_grad_(False).eval()


class Mnist(nn.Module):
    """The network of PyTorch's first example, with a second last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(9216, 128), nn.Linear(128, 10), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1), F.log_softmax(self.fc3(x), dim=1)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.middle = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.classes, self.depth = nn.Conv2d(8, 5, 1), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        left = self.down(x)
        z = torch.cat([left, self.up(self.middle(left))], 1)
        return self.classes(z), F.softplus(self.depth(z))


class Experts(nn.Module):
    """Each example goes to one expert: in a batch most get no gradient at all."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 8)
        self.experts = nn.ModuleList(nn.Linear(4, 6) for _ in range(8))

    def forward(self, x):
        share, chosen = self.gate(x).softmax(-1).max(-1)
        z = x.new_zeros(len(x), 6)
        for k in chosen.unique().tolist():
            z[chosen == k] = self.experts[k](x[chosen == k])
        return z * share[:, None]


class Recommender(nn.Module):
    """Bags of items, flat with offsets, and features of the user."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.user = nn.EmbeddingBag(13, 5, mode="mean"), nn.Linear(4, 5)

    def forward(self, items, offsets, user):
        return self.items(items, offsets) * self.user(user)


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        self.alias = self.encoder

    def forward(self, left, right):
        return self.encoder(left) - self.alias(right)


class Parts(nn.Module):
    """Weights in a list and in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.list = nn.ParameterList([torch.randn(4, 5), torch.randn(5, 6)])
        self.dict = nn.ParameterDict({"scale": torch.ones(6), "shift": torch.zeros(6)})

    def forward(self, x):
        for weight in self.list:
            x = torch.tanh(x @ weight)
        return x * self.dict["scale"] + self.dict["shift"]


class AutoEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.LeakyReLU())
        self.decoder = nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1)
        self.kind = nn.Linear(4 * 16, 3)

    def forward(self, x):
        z = self.encoder(x)
        return self.kind(z.flatten(1)), self.decoder(z)


class ByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 6)

    def forward(self, *, left, right):
        return self.layer(torch.cat([left, right], 1)).tanh()


class Regularised(Heads):
    """Pays for its weights: the second output is their norm."""

    def __init__(self) -> None:
        super().__init__(nn.Sequential(nn.Linear(4, 6), nn.Tanh()), 6, (3,))

    def forward(self, x):
        return *super().forward(x), sum(p.square().sum() for p in self.parameters())


class Keeping(nn.Module):
    """Keeps its activations, as those do that are looked into."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)
        self.kept: list[Tensor] = []

    def forward(self, x):
        self.kept = [self.layer(x)]
        return self.kept[0].tanh()


class Running(nn.Module):
    """Counts its steps and centres its inputs at a mean of all it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.steps += 1
            self.mean = self.mean + (x.mean(0) - self.mean) / self.steps
        return self.layer(x - self.mean).tanh()


class Recomputing(nn.Module):
    """Computes its middle again in the backward pass, in the older form of checkpointing."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.middle = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.2))

    def forward(self, x):
        return checkpoint(self.middle, self.first(x), use_reentrant=True)


class Fourier(nn.Module):
    """Mixes a signal in the frequency domain, by real weights that it takes for complex ones."""

    def __init__(self) -> None:
        super().__init__()
        self.modes = nn.Parameter(torch.randn(5, 2))

    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(self.modes), n=8)


def norm_of_layers(wrap: Callable[[nn.Module], nn.Module]) -> nn.Module:
    return nn.Sequential(wrap(nn.Linear(4, 6)), nn.Tanh(), wrap(nn.Linear(6, 6)))


def vision() -> Any:
    """torchvision's models, which the core does not bring."""
    return pytest.importorskip("torchvision.models", reason="needs the `companion` extra")


def nll(name: str) -> Task:
    return Task(name, F.nll_loss, (Metric.mean("loss", F.nll_loss, maximise=False),))


def as_it_is(output: Tensor, target: Tensor) -> Tensor:
    return output


KIND, SIZE = classification("kind"), regression("size")
SMALL = Task("small", as_it_is, (Metric.mean("loss", as_it_is, maximise=False),))


def features() -> Tensor:
    return torch.randn(N, 4)


def images() -> Tensor:
    return torch.randn(N, 3, 8, 8)


def kinds(count: int = 3) -> Tensor:
    return torch.randint(count, (N,))


def numbers() -> Tensor:
    return torch.randn(N)


@dataclass
class Exhibit:
    """A model, its tasks, what draws its inputs and targets, and how the ensemble is made.

    `calibration`: its running statistics are re-estimated; `shared`: what it wrote into its buffers
    is shared by all alphas, as is said."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], Any] = features
    targets: Callable[[], tuple[Tensor, ...]] = lambda: (kinds(), numbers())
    tasks: tuple[Task, ...] = (KIND, SIZE)
    members: int = 2
    calibration: bool = False
    shared: bool = False
    options: dict[str, Any] = field(default_factory=dict)


GALLERY = {
    "transformer with tied weights": Exhibit(
        TiedTransformer, lambda: torch.randint(11, (N, 5)), lambda: (kinds(11), numbers())
    ),
    "LSTM": Exhibit(lambda: Heads(Lstm(), 5), lambda: torch.randint(11, (N, 5))),
    "bidirectional GRU": Exhibit(
        lambda: Heads(BothWays(), 6), lambda: (torch.randn(N, 5, 4), torch.randint(1, 6, (N,)))
    ),
    "graph network": Exhibit(
        lambda: Heads(Messages(), 6),
        lambda: {"x": features(), "edge_index": torch.randint(N, (2, 15))},
    ),
    "DenseNet with checkpointing": Exhibit(
        lambda: Heads(vision().DenseNet(4, (2, 2), 4, 2, 0.0, 6, memory_efficient=True), 6),
        lambda: torch.randn(N, 3, 32, 32),
        calibration=True,
    ),
    "checkpointing, reentrant": Exhibit(lambda: Heads(Recomputing(), 6)),
    "MobileNet": Exhibit(
        lambda: Heads(vision().mobilenet_v3_small(width_mult=0.1, num_classes=6), 6),
        lambda: torch.randn(N, 3, 32, 32),
        calibration=True,
    ),
    "ShuffleNet": Exhibit(
        lambda: Heads(vision().ShuffleNetV2([1, 1, 1], [4, 8, 12, 16, 20], 6), 6),
        lambda: torch.randn(N, 3, 32, 32),
        calibration=True,
    ),
    "ViT": Exhibit(
        lambda: Heads(vision().VisionTransformer(8, 4, 1, 2, 8, 16, num_classes=6), 6), images
    ),
    "LoRA": Exhibit(lambda: Heads(Lora(), 8)),
    "one frozen backbone": Exhibit(lambda: nn.Sequential(BACKBONE, Heads(nn.Tanh(), 8))),
    "PyTorch's MNIST net": Exhibit(
        Mnist,
        lambda: torch.randn(N, 1, 28, 28),
        lambda: (kinds(10), kinds(10)),
        (nll("left"), nll("right")),
    ),
    "ResNet": Exhibit(
        lambda: Heads(vision().ResNet(vision().resnet.BasicBlock, [1, 1, 1, 1], 6), 6),
        lambda: torch.randn(N, 3, 32, 32),
        calibration=True,
        options={"shared": "body"},
    ),
    "U-Net": Exhibit(
        UNet,
        images,
        lambda: (torch.randint(-1, 5, (N, 8, 8)), torch.rand(N, 1, 8, 8)),
        (segmentation("classes", 5), depth("depth")),
        calibration=True,
    ),
    "Conv1d and GroupNorm": Exhibit(
        lambda: Heads(
            nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten()), 24
        ),
        lambda: torch.randn(N, 2, 8),
    ),
    "Conv3d": Exhibit(
        lambda: Heads(
            nn.Sequential(nn.Conv3d(1, 3, 2), nn.BatchNorm3d(3), nn.PReLU(), nn.Flatten()), 81
        ),
        lambda: torch.randn(N, 1, 4, 4, 4),
        calibration=True,
    ),
    "mixture of experts": Exhibit(lambda: Heads(Experts(), 6)),
    "spectral norm": Exhibit(
        lambda: Heads(norm_of_layers(nn.utils.parametrizations.spectral_norm), 6), shared=True
    ),
    "weight norm": Exhibit(lambda: Heads(norm_of_layers(nn.utils.parametrizations.weight_norm), 6)),
    "orthogonal weights": Exhibit(
        lambda: Heads(norm_of_layers(nn.utils.parametrizations.orthogonal), 6)
    ),
    "InstanceNorm with statistics": Exhibit(
        lambda: Heads(
            nn.Sequential(
                nn.Conv2d(3, 4, 3),
                nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
                nn.AdaptiveAvgPool2d(2),
                nn.Flatten(),
            ),
            16,
        ),
        images,
        calibration=True,
    ),
    "recommender": Exhibit(
        lambda: Heads(Recommender(), 5),
        lambda: (torch.randint(13, (2 * N,)), torch.arange(0, 2 * N, 2), features()),
    ),
    "siamese": Exhibit(lambda: Heads(Siamese(), 6), lambda: (features(), features())),
    "weights in lists and dicts": Exhibit(lambda: Heads(Parts(), 6)),
    "autoencoder": Exhibit(AutoEncoder, images, lambda: (kinds(), images())),
    "float64": Exhibit(
        lambda: Heads(nn.Linear(4, 6), 6).double(),
        lambda: features().double(),
        lambda: (kinds(), numbers().double()),
    ),
    "inputs by keyword alone": Exhibit(
        lambda: Heads(ByName(), 6), lambda: {"left": features(), "right": features()}
    ),
    "penalty on its own weights": Exhibit(Regularised, tasks=(KIND, SMALL)),
    "keeps its activations": Exhibit(lambda: Heads(Keeping(), 6)),
    "buffer written in forward": Exhibit(lambda: Heads(Running(), 6), shared=True),
    "Fourier layer": Exhibit(lambda: Heads(Fourier(), 8), lambda: torch.randn(N, 8)),
    "three tasks": Exhibit(
        lambda: Heads(nn.Linear(4, 6), 6, (3, 1, 4)),
        targets=lambda: (kinds(), numbers(), kinds(4)),
        tasks=(KIND, SIZE, classification("group")),
        members=3,
    ),
    "a single task": Exhibit(
        lambda: Heads(nn.Linear(4, 6), 6, (3,)),
        targets=lambda: (kinds(),),
        tasks=(KIND,),
        options={"task_weights": [[1.0], [1.0]]},
    ),
    "three members for two tasks": Exhibit(
        lambda: Heads(nn.Linear(4, 6), 6),
        members=3,
        options={"task_weights": [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]},
    ),
}


def plain_members(exhibit: Exhibit) -> list[nn.Module]:
    """Modules that differ in what is trained alone."""
    members = [exhibit.make() for _ in range(exhibit.members)]
    same = {n: p for n, p in members[0].named_parameters() if not p.requires_grad}
    same |= dict(members[0].named_buffers())
    for member in members[1:]:
        with torch.no_grad():
            for name, value in [*member.named_parameters(), *member.named_buffers()]:
                if name in same:
                    value.copy_(same[name])
    return members


def called(model: nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # reentrant, no_grad
@pytest.mark.parametrize("name", GALLERY)
def test_a_model_goes_all_the_way_from_training_to_a_plain_network(name, tmp_path):
    exhibit = GALLERY[name]
    ensemble = WeightEnsemble(plain_members(exhibit), **exhibit.options)
    batches = [(exhibit.inputs(), *exhibit.targets()) for _ in range(2)]
    method = Method(ensemble, exhibit.tasks, penalty=MultiForward(0.5), window=2)
    before = ensemble.members()
    rows = train(method, batches, epochs=2, lr=1e-2, progress=False)
    assert ensemble.members().isfinite().all() and not torch.equal(ensemble.members(), before)
    assert torch.tensor([[*row.values()] for row in rows]).isfinite().all()

    calibration = [batches[0]] if exhibit.calibration else "shared" if exhibit.shared else None
    points = lattice(exhibit.members, 3)
    front = evaluate(ensemble, exhibit.tasks, batches, points, calibration=calibration)
    twin = copied(ensemble)  # without the graphs of activations that it keeps
    chosen = front.choose()
    alpha = chosen.alpha

    plain = ensemble.export(alpha, calibration=calibration)
    fresh = exhibit.make().eval()
    fresh.load_state_dict(through_a_file(plain.state_dict(), tmp_path))
    again = WeightEnsemble(plain_members(exhibit), **exhibit.options)
    again.load_state_dict(through_a_file(ensemble.state_dict(), tmp_path))
    losses = []
    for inputs, *targets in batches:
        with torch.no_grad():
            outputs = [*called(fresh, inputs)]
        expected = ensemble.predict(inputs, alpha, calibration=calibration)
        torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-5)
        for other in (again, twin):
            same = other.predict(inputs, alpha, calibration=calibration or "shared")
            torch.testing.assert_close(same, expected, rtol=0, atol=0)
        triples = zip(exhibit.tasks, outputs, targets, strict=True)
        losses.append([float(task.loss(output, target)) for task, output, target in triples])
    if "loss" in {metric.name for metric in exhibit.tasks[0].metrics}:
        found = [front.table[f"{task.name}/loss"].iloc[chosen.row] for task in exhibit.tasks]
        if not isinstance(fresh, UNet):  # whose batches have unlike numbers of labelled pixels
            assert found == pytest.approx(torch.tensor(losses).mean(0).tolist(), abs=1e-4)


@pytest.mark.parametrize("name", GALLERY)
def test_the_gradient_of_a_member_is_alpha_times_the_plain_ones(name):
    """dL/dTheta_k = alpha_k dL/dtheta, with the plain model's weights interpolated by hand."""
    exhibit = GALLERY[name]
    members, alpha = plain_members(exhibit), torch.full((exhibit.members,), 1 / exhibit.members)
    ensemble = WeightEnsemble(members, **exhibit.options)
    method = Method(ensemble, exhibit.tasks)
    inputs, *targets = exhibit.inputs(), *exhibit.targets()
    plain = exhibit.make()
    plain.load_state_dict(members[0].state_dict())
    with torch.no_grad():
        for n, p in plain.named_parameters():
            if p.requires_grad:
                p.copy_(torch.stack([m.get_parameter(n) for m in members]).mean(0))
    torch.manual_seed(1)
    outputs = called(plain, inputs)
    triples = zip(exhibit.tasks, outputs, targets, strict=True)
    losses = torch.stack([task.loss(output, target) for task, output, target in triples])
    weights = alpha.to(ensemble.task_weights) @ ensemble.task_weights
    (weights * losses).sum().backward()
    torch.manual_seed(1)
    ensemble.train()
    got = method.step((inputs, *targets), alpha[None].to(ensemble.task_weights))
    torch.testing.assert_close(got[0], losses.detach(), rtol=1e-4, atol=1e-5)
    slopes = {n: weight.grad for n, weight in ensemble.stacked.named_parameters()}
    for n, p in plain.named_parameters():
        if p.requires_grad:
            slope = torch.zeros_like(p) if p.grad is None else p.grad
            for k in range(exhibit.members):
                torch.testing.assert_close(
                    slopes[n][k], alpha[k] * slope, rtol=1e-3, atol=1e-5, msg=lambda m, n=n: n + m
                )


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # reentrant, no_grad
@pytest.mark.filterwarnings("ignore:At no alpha")  # of labels at random
@pytest.mark.parametrize("name", GALLERY)
def test_fit_finds_nothing_wrong_with_a_model(name):
    exhibit = GALLERY[name]
    ensemble = WeightEnsemble(plain_members(exhibit), **exhibit.options)
    batches = [(exhibit.inputs(), *exhibit.targets()) for _ in range(2)]
    given = {"epochs": 2, "calibration": "shared", "baseline": None, "progress": False}
    found = fit(ensemble, exhibit.tasks, batches, batches, **given)
    assert [note for note in found.notes if not note.startswith("At no alpha")] == []
