"""What the explorer of a trained ensemble is told about it, as plain values."""

import base64
import io
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector
from torchvision.transforms.functional import to_pil_image

from pamal_companion.experiments.models import SharedBottom
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.inputs import Inputs, num_examples
from pamal_core.networks.base import Network
from pamal_core.tasks import Task


def points(front: Front) -> dict[str, Any]:
    """The alphas [P][M] of `front`, its columns by name and its objectives; without the points and
    columns that are not finite, which JSON has no word for."""
    front = front.finite()
    table = front.table.loc[:, np.isfinite(front.table).all()].round(6)
    objectives = [{"name": o.name, "maximise": o.maximise} for o in front.objectives]
    columns = table.to_dict("list")
    return {"alphas": front.alphas.tolist(), "columns": columns, "objectives": objectives}


def gram(network: Network) -> list[list[float]]:
    """The inner products [M][M] of the members' weights, from which every distance follows."""
    stacked = network.members().detach().double().cpu()
    return (stacked @ stacked.T).tolist()


def pictures(inputs: Inputs) -> list[str]:
    """Each of `inputs` as a PNG in a data URI: an image [1 or 3, H, W], its range stretched to that
    from black to white. Empty strings for inputs that are no images."""
    if not isinstance(inputs, Tensor) or inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
        return [""] * num_examples(inputs)
    found = []
    for image in inputs.detach().float().cpu():
        low, high = image.aminmax()
        grey = ((image - low) / (high - low).clamp(min=1e-6) * 255).round().to(torch.uint8)
        file = io.BytesIO()
        to_pil_image(grey).save(file, "png")
        found.append(f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}")
    return found


def named(targets: Sequence[Tensor], i: int) -> str:
    """What input `i` is: its targets where they are single numbers, else its place."""
    shown = [f"{target[i].item():g}" for target in targets if target.ndim == 1]
    return " and ".join(shown) or f"input {i + 1}"


def predictions(
    tasks: Sequence[Task], outputs: Sequence[Float[Tensor, "n ..."]], targets: Sequence[Tensor]
) -> list[list[dict[str, Any]]]:
    """What a page shows of each input and task: for logits [n, classes] the class, its share, and
    with targets [n] whether it is right; for one logit of a label the same of 0 and 1, for several
    those that hold; for one number its value; else the mean of the output; of outputs that are not
    finite "nan"."""
    known: Sequence[Tensor | None] = targets or [None] * len(outputs)
    by_task = [_of_task(*of_task) for of_task in zip(tasks, outputs, known, strict=True)]
    return [list(of_input) for of_input in zip(*by_task, strict=True)]


def _of_task(task: Task, output: Tensor, target: Tensor | None) -> list[dict[str, Any]]:
    output = output.detach().cpu()
    if task.chances is not None and output.ndim < 3:
        return _of_labels(task.chances(output.view(len(output), -1)), target)
    if output.ndim != 2 or output.shape[1] == 1:
        return [{"text": f"{value:.3g}"} for value in output.flatten(1).mean(1).tolist()]
    shares, classes = output.softmax(-1).max(-1)
    rows: list[dict[str, Any]] = []
    for i, (share, k) in enumerate(zip(shares.tolist(), classes.tolist(), strict=True)):
        if share != share:
            rows.append({"text": "nan"})
            continue
        rows.append({"text": str(k), "share": share})
        # A label that is missing is not wrong; probabilities are neither.
        if target is not None and target.ndim == 1 and task.count(target[i : i + 1]):
            rows[-1]["right"] = bool(target[i] == k)
    return rows


def _of_labels(chances: Float[Tensor, "n L"], target: Tensor | None) -> list[dict[str, Any]]:
    """Rows of labels that hold or not, right where all are that an input has."""
    rows: list[dict[str, Any]] = []
    for i, (chance, answer) in enumerate(zip(chances, chances > 0.5, strict=True)):
        if chance.isnan().any():
            rows.append({"text": "nan"})
            continue
        if len(chance) == 1:
            held, share = int(answer), chance.item()
            row = {"text": str(held), "share": share if held else 1 - share}
        else:
            row = {"text": ", ".join(map(str, answer.nonzero()[:, 0].tolist())) or "none"}
        if target is not None:
            labels = target[i].cpu().view(-1)
            there = (labels == 0) | (labels == 1)
            if there.any():
                row["right"] = bool((answer == labels)[there].all())
        rows.append(row)
    return rows


def network(ensemble: Network) -> dict[str, Any]:
    """The members' weights, base64 of float32 [M * N], and the layers that a page needs to run the
    ensemble itself.

    InputError unless the members are a `SharedBottom` of plain layers.
    """
    members = [ensemble.export(corner) for corner in torch.eye(ensemble.num_members)]
    model = members[0]
    if not isinstance(model, SharedBottom):
        raise InputError(f"A page can run a SharedBottom. Found a {type(model).__name__}.")
    parameters = [*model.parameters()]
    ends = accumulate(parameter.numel() for parameter in parameters)
    starts: dict[Any, int] = dict(zip(parameters, (0, *ends), strict=False))
    encoder, *heads = (
        [_layer(m, starts) for m in part.modules() if not isinstance(m, nn.Sequential | nn.Flatten)]
        for part in (model.encoder, *model.heads)
    )
    stacked = torch.stack([parameters_to_vector(m.parameters()).detach().cpu() for m in members])
    text = base64.b64encode(stacked.numpy().astype("<f4").tobytes()).decode()
    return {"stacked": text, "layers": {"encoder": encoder, "heads": heads}}


def _layer(layer: nn.Module, starts: Mapping[Any, int]) -> dict[str, Any]:
    """A layer as a page runs it; a weight is where it begins among all of the network's."""
    match layer:
        case nn.ReLU():
            return {"kind": "relu"}
        case nn.MaxPool2d(kernel_size=size, padding=0, dilation=1) if layer.stride == size:
            return {"kind": "pool", "size": size}
        case nn.Conv2d(stride=(1, 1), padding=(0, 0), groups=1, dilation=(1, 1)):
            kind = "conv"
        case nn.Linear():
            kind = "linear"
        case _:
            raise InputError(f"A page can run LeNet's layers. Found {layer}.")
    where = {"weight": starts[layer.weight], "bias": starts[layer.bias]}
    return {"kind": kind, "shape": list(layer.weight.shape), **where}
