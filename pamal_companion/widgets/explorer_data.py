"""Tell the explorer of a trained ensemble about it, in plain values."""

import base64
import io
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torchvision.transforms.functional import to_pil_image

from pamal_companion.experiments.models import SharedBottom
from pamal_core.errors import InputError, is_number
from pamal_core.front import Front
from pamal_core.inputs import Inputs, num_examples
from pamal_core.network import Network
from pamal_core.tasks import Task


def points(front: Front) -> dict[str, Any]:
    """Return the alphas [P][M] of `front`, its columns by name and its objectives; without the
    points and columns that are not finite, which JSON has no word for."""
    front = front.finite()
    table = front.table.loc[:, np.isfinite(front.table).all()].round(6)
    objectives = [{"name": o.name, "maximise": o.maximise} for o in front.objectives]
    columns = table.to_dict("list")
    return {"alphas": front.alphas.tolist(), "columns": columns, "objectives": objectives}


def beside(front: Front, others: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what other networks achieve as a page has it. Raise InputError for names that are no
    columns of `front`, and for values that are not finite."""
    for name, values in others.items():
        if unknown := values.keys() - set(front.table):
            raise InputError(
                f"`beside` must have columns of `front`: {', '.join(front.table)}. Found "
                f"{', '.join(sorted(unknown))} of {name}."
            )
        if endless := [f"{n}={v!r}" for n, v in values.items() if not is_number(v)]:
            raise InputError(
                f"`beside` must have finite numbers; leave out what was not measured. Found "
                f"{', '.join(endless)} of {name}."
            )
    return [
        {"label": name, "values": {column: float(value) for column, value in row.items()}}
        for name, row in others.items()
    ]


def gram(network: Network) -> list[list[float]]:
    """Return the inner products [M][M] of the members' weights, from which every distance
    follows."""
    stacked = network.members().detach().double().cpu()
    return (stacked @ stacked.T).tolist()


def pictures(inputs: Inputs) -> list[str]:
    """Return each of `inputs` as a PNG in a data URI: an image [1 or 3, H, W], its range stretched
    to that from black to white. Empty strings for inputs that are no images."""
    if not isinstance(inputs, Tensor) or inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
        return [""] * num_examples(inputs)
    found = []
    for image in inputs.detach().float().cpu():
        low, high = image.aminmax()
        grey = ((image - low) / (high - low).clamp(min=1e-6) * 255).round().to(torch.uint8)
        found.append(as_png(grey))
    return found


def as_png(image: UInt8[Tensor, "_ H W"] | UInt8[np.ndarray, "H W 3"]) -> str:
    """Return an image as a PNG in a data URI."""
    file = io.BytesIO()
    to_pil_image(image).save(file, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def named(targets: Sequence[Tensor], i: int) -> str:
    """Return what input `i` is: its targets where they are single numbers, else its place."""
    shown = [f"{round(target[i].item(), 3):g}" for target in targets if target.ndim == 1]
    return " and ".join(shown) or f"input {i + 1}"


def predictions(
    tasks: Sequence[Task], outputs: Sequence[Float[Tensor, "n ..."]], targets: Sequence[Tensor]
) -> list[list[dict[str, Any]]]:
    """Return what a page shows of each input and task: for logits [n, classes] the class, its
    share, and with targets [n] whether it is right; for one logit of a label the same of 0 and 1,
    for several those that hold; for one number its value; else, as for several numbers, the mean of
    the output; of outputs that are not finite "nan"."""
    known: Sequence[Tensor | None] = targets or [None] * len(outputs)
    return [
        [
            _shown(task, output[i], None if target is None else target[i])
            for task, output, target in zip(tasks, outputs, known, strict=True)
        ]
        for i in range(len(outputs[0]))
    ]


def _shown(task: Task, output: Tensor, target: Tensor | None) -> dict[str, Any]:
    """Return what a page shows of one input and task."""
    output = output.detach().cpu()
    if task.chances is not None and output.ndim < 2:
        shares = task.chances(output.view(1, -1))[0]
    elif output.ndim == 1 and len(output) > 1 and not _are_numbers(task, target):
        shares = output.softmax(-1)
    else:
        return {"text": f"{output.mean().item():.3g}"}
    if shares.isnan().any():
        return {"text": "nan"}
    if task.chances is None:
        k = int(shares.argmax())
        row = {"text": str(k), "share": shares[k].item()}
        # A label that is missing is not wrong; probabilities are neither.
        if target is not None and target.ndim == 0 and task.count(target[None]):
            row["right"] = bool(target == k)
        return row
    held = shares > 0.5
    if len(shares) == 1:
        share = shares.item()
        row = {"text": str(int(held)), "share": share if held else 1 - share}
    else:
        row = {"text": ", ".join(map(str, held.nonzero()[:, 0].tolist())) or "none"}
    if target is not None:
        labels = target.cpu().view(-1)
        there = (labels == 0) | (labels == 1)
        if there.any():
            row["right"] = bool((held == labels)[there].all())
    return row


def _are_numbers(task: Task, target: Tensor | None) -> bool:
    """Return whether several outputs for an example are numbers, and not the logits of classes: if
    R2 judges them, or their target is floats that are no probabilities."""
    if "R2" in (metric.name for metric in task.metrics):
        return True
    if target is None or target.ndim == 0 or not target.is_floating_point():
        return False
    return bool((target < 0).any() or abs(target.sum().item() - 1) > 1e-3)


def network(ensemble: Network) -> dict[str, Any]:
    """Return the members' weights, base64 of float32 [M * N], and the layers that a page needs to
    run the ensemble itself.

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
    flat = [torch.cat([p.detach().cpu().flatten() for p in m.parameters()]) for m in members]
    stacked = torch.stack(flat)
    text = base64.b64encode(stacked.numpy().astype("<f4").tobytes()).decode()
    return {"stacked": text, "layers": {"encoder": encoder, "heads": heads}}


def _layer(layer: nn.Module, starts: Mapping[Any, int]) -> dict[str, Any]:
    """Return a layer as a page runs it; a weight is where it begins among all of the network's."""
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
