"""Files in the format of PEFT, the library of adapters: a base, and an adapter for each member."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from pamal_core.errors import InputError

Adapter = Mapping[str, tuple[Tensor, Tensor]]
"""For the name of each weight A, with the axes of `rank` rows of it, and B [out, rank]."""


def write_adapters(
    folder: Path, base: nn.Module, members: Sequence[Adapter], rank: int, scale: float
) -> None:
    """Write `base` and `members`, by PEFT's page "PEFT checkpoint format"; InputError where a
    weight is that of a layer for which PEFT has no adapter of this form."""
    names = [*members[0]]
    layers = {name: _layer(base, name) for name in names}
    if unknown := [name for name, layer in layers.items() if layer is None]:
        raise InputError(
            "PEFT has adapters for linear layers, embeddings, and convolutions without groups or "
            "dilation, padded with zeros, each with a weight of its own. Found another kind of "
            f"layer: {', '.join(unknown)}."
        )
    paths = [name.removesuffix(".weight") for name in names]
    config = {
        "peft_type": "LORA",
        "r": rank,
        "lora_alpha": scale,
        # As one text it is an expression that a whole name has to match; a list would match ends.
        "target_modules": "|".join(map(re.escape, paths)),
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
            if isinstance(layers[name], nn.Embedding):  # PEFT stores it transposed
                tensors |= {f"{where}_embedding_A": B.T, f"{where}_embedding_B": A.T}
            else:
                kernel = B.view(*B.shape, *[1] * (A.ndim - 2))
                tensors |= {f"{where}_A.weight": A, f"{where}_B.weight": kernel}
        own = folder / f"member_{k}"
        own.mkdir(exist_ok=True)
        save_file(_plain(tensors), own / "adapter_model.safetensors", {"format": "pt"})
        (own / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def _layer(base: nn.Module, name: str) -> nn.Module | None:
    """The layer whose `weight` has this name, where PEFT has an adapter for it."""
    path, _, leaf = name.rpartition(".")
    layer = base.get_submodule(path)
    every = [weight for _, weight in base.named_parameters(remove_duplicate=False)]
    is_tied = sum(weight is layer._parameters.get(leaf) for weight in every) > 1
    # Not one derived from these: attention reads the weight of its last layer without calling it.
    known = nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding
    if leaf != "weight" or not path or is_tied or type(layer) not in known:
        return None
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        # PEFT copies the size, stride and padding alone.
        is_dilated = any(step != 1 for step in layer.dilation)
        if layer.groups > 1 or is_dilated or layer.padding_mode != "zeros":
            return None
    return layer


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
