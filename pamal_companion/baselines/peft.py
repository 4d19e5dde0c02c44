"""Files in the format of PEFT, the library of adapters: a base, and an adapter for each member."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from pamal_core.errors import InputError

Adapter = Mapping[str, tuple[Tensor, Tensor]]
"""For the name of each weight [out, in, ...] its A [rank, in, ...] and B [out, rank]."""


def check_layers(model: nn.Module, names: Iterable[str]) -> None:
    """Raise InputError unless PEFT's files can hold an adapter of each weight in `names`."""
    if unknown := [name for name in names if _layer(model, name) is None]:
        raise InputError(
            "PEFT's files hold adapters of linear layers, transformers' Conv1D, embeddings, and "
            "convolutions without groups or dilation, padded with zeros, each with a weight of its "
            "own; a LowRankEnsemble that needs no such files is made with peft=False. Found "
            f"another kind of layer: {', '.join(unknown)}."
        )


def write_adapters(
    folder: Path, base: nn.Module, members: Sequence[Adapter], rank: int, scale: float
) -> None:
    """Write `base` and `members`, by PEFT's page "PEFT checkpoint format"; raise InputError, before
    anything is written, if PEFT's files cannot hold an adapter."""
    names = [*members[0]]
    check_layers(base, names)
    layers = {name: _layer(base, name) for name in names}
    paths = [name.removesuffix(".weight") for name in names]
    config = {
        "peft_type": "LORA",
        "r": rank,
        "lora_alpha": scale,
        # As one text it is an expression that a whole name has to match; a list would match ends.
        "target_modules": "|".join(map(re.escape, paths)),
        # One entry for the whole model: PEFT corrects it, with a warning, at each layer of the
        # other kind.
        "fan_in_fan_out": any(_is_transposed(layer) for layer in layers.values()),
        "bias": "none",
        "inference_mode": True,
        "task_type": None,
        "base_model_name_or_path": None,
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_plain(base.state_dict()), folder / "base.safetensors")
    for k, member in enumerate(members):
        tensors: dict[str, Tensor] = {}
        for path, (name, (A, B)) in zip(paths, member.items(), strict=True):
            where = f"base_model.model.{path}.lora"
            if isinstance(layers[name], nn.Embedding):
                tensors |= {f"{where}_embedding_A": B.T, f"{where}_embedding_B": A.T}
            elif _is_transposed(layers[name]):
                # For a weight [in, out] PEFT's change is the transpose of the product.
                tensors |= {f"{where}_A.weight": B.T, f"{where}_B.weight": A.T}
            else:
                kernel = B.view(*B.shape, *[1] * (A.ndim - 2))
                tensors |= {f"{where}_A.weight": A, f"{where}_B.weight": kernel}
        own = folder / f"member_{k}"
        own.mkdir(exist_ok=True)
        save_file(_plain(tensors), own / "adapter_model.safetensors", {"format": "pt"})
        (own / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def _layer(model: nn.Module, name: str) -> nn.Module | None:
    """Return the layer whose `weight` has this name, or None if PEFT's files cannot hold an adapter
    of it."""
    path, _, leaf = name.rpartition(".")
    layer = model.get_submodule(path)
    every = [weight for _, weight in model.named_parameters(remove_duplicate=False)]
    is_tied = sum(weight is layer._parameters.get(leaf) for weight in every) > 1
    # Not one derived from these: attention reads the weight of its last layer without calling it.
    known = nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding
    is_known = type(layer) in known or _is_transposed(layer)
    if leaf != "weight" or not path or is_tied or not is_known:
        return None
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        # PEFT copies the size, stride and padding alone.
        is_dilated = any(step != 1 for step in layer.dilation)
        if layer.groups > 1 or is_dilated or layer.padding_mode != "zeros":
            return None
    return layer


def _is_transposed(layer: nn.Module | None) -> bool:
    """Return whether `layer` is the Conv1D of transformers, a linear layer whose weight is
    [in, out]."""
    # By its name, because nothing else here needs transformers.
    kind = type(layer)
    return (kind.__module__, kind.__qualname__) == ("transformers.pytorch_utils", "Conv1D")


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
