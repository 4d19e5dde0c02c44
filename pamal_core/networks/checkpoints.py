"""Members from checkpoints: state dicts and safetensors files, given their architecture."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from pamal_core.errors import InputError, check_type
from pamal_core.networks.skeleton import copied


def module_of(checkpoint: Any, architecture: nn.Module, k: int) -> nn.Module:
    """A copy of `architecture` with the weights and buffers of `checkpoint`, that of member `k`, in
    the dtypes of `architecture`; InputError unless they are all there, of the right shapes, and
    nothing else is. What wrapped the model is left out."""
    check_type("architecture", architecture, nn.Module, "Net()")
    state = checkpoint
    if isinstance(checkpoint, str | Path):
        state = safetensors.torch.load_file(checkpoint)
    module = copied(architecture)
    expected = module.state_dict()
    names = defaultdict(set)  # of one weight: a file need have a tied one once
    for name, weight in module.named_parameters(remove_duplicate=False):
        names[id(weight)].add(name)
    tied = {name: every for every in names.values() for name in every}
    state = _unwrapped(state, expected)
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
        entries = ", ".join(name for name in state if isinstance(state[name], Mapping))
        hint = f" Give the entry that has the weights, of {entries}." if entries else ""
        raise InputError(
            f"A checkpoint must be one of `architecture`, a {type(architecture).__name__}. "
            f"Found that member {k} is not: {'; '.join(wrong[:3])}{rest}.{hint}"
        )
    with torch.no_grad():
        module.load_state_dict(state, strict=False)
    return module


def _unwrapped(checkpoint: Mapping[str, Any], expected: Collection[str]) -> dict[str, Any]:
    """Return a state by the names that are `expected`: that in a file of Lightning's, without what
    `torch.compile` writes into names and without the prefix that most of them have, as those of
    DataParallel or of `AveragedModel`, which adds its count. Names beside the prefix say so."""
    state = checkpoint.get("state_dict", checkpoint)
    plain = {n: n if n in expected else str(n).replace("_orig_mod.", "") for n in state}
    prefixes = Counter(
        name.removesuffix(own)
        for name in plain.values()
        for own in expected
        if f".{name}".endswith(f".{own}")
    )
    prefix = max(prefixes, key=lambda one: prefixes[one], default="")
    return {
        n.removeprefix(prefix) if n.startswith(prefix) else f"{n} beside {prefix!r}": state[given]
        for given, n in plain.items()
        if n in expected or n.split(".")[-1] != "n_averaged"
    }


def _fits(value: Tensor, place: Tensor) -> bool:
    """Whether the numbers of `value` can be copied into `place`: whole ones are no weights, and of
    one that is sparse, quantised or on the meta device torch says so itself."""
    is_number = value.is_floating_point() or not place.is_floating_point()
    return value.shape == place.shape and is_number
