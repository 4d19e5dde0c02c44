"""Members from checkpoints: state dicts and safetensors files, given their architecture."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from pamal_core.errors import InputError
from pamal_core.inputs import described
from pamal_core.networks.skeleton import copied


def module_of(checkpoint: Any, architecture: nn.Module | None, k: int) -> nn.Module:
    """A copy of `architecture` with the weights and buffers of `checkpoint`, that of member `k`, in
    the dtypes of `architecture`; InputError unless they are all there, of the right shapes, and
    nothing else is."""
    if not isinstance(architecture, nn.Module):
        raise InputError(
            "State dicts and files have no forward pass: `architecture` must be a module of "
            f"theirs, such as Net(). Found {described(architecture)}, and for member {k} "
            f"{described(checkpoint)}."
        )
    state = checkpoint
    if isinstance(checkpoint, str | Path):
        state = safetensors.torch.load_file(checkpoint)
    module = copied(architecture)
    expected = module.state_dict()
    names = defaultdict(set)  # of one weight: a file need have a tied one once
    for name, weight in module.named_parameters(remove_duplicate=False):
        names[id(weight)].add(name)
    tied = {name: every for every in names.values() for name in every}
    wrong = [f"{n} is missing" for n in expected if not tied.get(n, {n}) & state.keys()]
    wrong += [f"{name} is not in the architecture" for name in state if name not in expected]
    wrong += [
        f"{name} is {[*state[name].shape]} of {state[name].dtype} in place of {[*value.shape]} of "
        f"{value.dtype}"
        for name, value in expected.items()
        if name in state and not _fits(state[name], value)
    ]
    if not wrong:
        wrong = [
            f"{there[0]} and {other} are one weight and differ"
            for there in (sorted(every & state.keys()) for every in names.values())
            for other in there[1:]
            if not torch.equal(state[there[0]], state[other])
        ]
    if wrong:
        rest = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        prefix = next(iter(state), "").partition(".")[0] + "."
        message = (
            f"A checkpoint must be one of `architecture`, a {type(architecture).__name__}. "
            f"Found that member {k} is not: {'; '.join(wrong[:3])}{rest}."
        )
        if {str(name).removeprefix(prefix) for name in state} == expected.keys():
            message += f" All its names begin with {prefix!r}: take that off."
        raise InputError(message)
    with torch.no_grad():
        module.load_state_dict(state, strict=False)
    return module


def _fits(value: Tensor, place: Tensor) -> bool:
    """Whether the numbers of `value` can be copied into `place`: whole ones are no weights, and of
    one that is sparse, quantised or on the meta device torch says so itself."""
    is_number = value.is_floating_point() or not place.is_floating_point()
    return value.shape == place.shape and is_number
