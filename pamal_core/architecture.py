"""The values, beside its weights, that decide how a model runs: members must agree on them."""

from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves


def architecture_of(model: nn.Module) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what members must have in common, by name: the class of each part, what torch's own
    parts keep, the kind of each weight and buffer, and to which others it is tied; and the values
    that parts of the user's own classes keep, some of which may say nothing."""
    about: dict[str, Any] = {"their class": type(model).__name__}
    own: dict[str, Any] = {}
    for name, part in model.named_modules():
        if name:
            about[f"the part {name!r}"] = type(part).__name__
        if not _is_torchs(part):
            own |= _values(name, part)
    about |= of_torch(model)
    first_names: dict[int, str] = {}
    parameters = model.named_parameters(remove_duplicate=False)
    for name, tensor in [*parameters, *model.named_buffers()]:
        tied = first_names.setdefault(id(tensor), name)
        about[name] = f"{[*tensor.shape]} of {tensor.dtype} on {tensor.device}"
        if tensor.requires_grad:
            about[name] += ", trained"
        if tied != name:
            about[name] += f", tied to {tied}"
    return about, own


def of_torch(model: nn.Module) -> dict[str, Any]:
    """Return the class of each part that is torch's own, and the values that it keeps, such as a
    stride, by name."""
    about: dict[str, Any] = {}
    for name, part in model.named_modules():
        if _is_torchs(part):
            about |= {f"the part {name!r}": type(part).__name__, **_values(name, part)}
    return about


def _is_torchs(part: nn.Module) -> bool:
    return type(part).__module__.startswith("torch.")


def _values(name: str, part: nn.Module) -> dict[str, Any]:
    """Return the numbers, texts, tensors (by their sum) and functions (by their name) that a part
    keeps. The tensors that torch's own parts keep follow from weights, as a spectral norm does."""

    def plain(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and not leaf.requires_grad and not _is_torchs(part):
            return leaf.double().sum().item()
        return getattr(leaf, "__qualname__", leaf)

    values = {}
    for key, value in vars(part).items():
        leaves = [plain(leaf) for leaf in tree_leaves(value)]
        is_plain = all(isinstance(leaf, int | float | str) for leaf in leaves)
        if is_plain and key[0] != "_" and key != "training":
            values[f"{name}.{key}".lstrip(".")] = leaves
    return values
