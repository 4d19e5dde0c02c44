"""Members from checkpoints: state dicts and safetensors files, given their architecture."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.networks.skeleton import copied


def module_of(checkpoint: Any, architecture: nn.Module | None, k: int) -> nn.Module:
    """A copy of `architecture` with the weights and buffers of `checkpoint`, that of member `k`;
    InputError unless they are all there, of the right shapes, and nothing else is."""
    if not isinstance(architecture, nn.Module):
        raise InputError(
            "State dicts and files have no forward pass: `architecture` must be a module of "
            f"theirs, such as Net(). Found {described(architecture)}, and for member {k} "
            f"{described(checkpoint)}."
        )
    state = _read(checkpoint, k) if isinstance(checkpoint, str | Path) else checkpoint
    if not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError(
            "A state dict has tensors by their names, as `Net().state_dict()` gives it. "
            f"Found {described(state)} for member {k}."
        )
    module = copied(architecture)
    expected = module.state_dict()
    names = defaultdict(set)  # of one weight: a file need have a tied one once
    for name, weight in module.named_parameters(remove_duplicate=False):
        names[id(weight)].add(name)
    tied = {name: every for every in names.values() for name in every}
    found = [f"{n} is missing" for n in expected if not tied.get(n, {n}) & state.keys()]
    found += [f"{name} is not in the architecture" for name in state if name not in expected]
    found += [
        f"{name} is {[*state[name].shape]} in place of {[*value.shape]}"
        for name, value in expected.items()
        if name in state and state[name].shape != value.shape
    ]
    if found:
        rest = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise InputError(
            f"A checkpoint must be one of `architecture`, a {type(architecture).__name__}. "
            f"Found that member {k} is not: {'; '.join(found[:3])}{rest}."
        )
    with torch.no_grad():
        module.load_state_dict(state, strict=False)
    return module


def _read(path: str | Path, k: int) -> Mapping[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            "A checkpoint in a file must be one of safetensors; of another kind, give the state "
            f"dict that it holds. Found {path} for member {k}: {error}."
        ) from None
