"""The setting of a run beside the paper's: data, network, optimiser, and what PaMaL adds."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from pamal_companion.runs.methods import affects

FILE = Path(__file__).with_name("printed") / "settings.csv"
"""The file of what appendices A1 and C1 of the paper say of each experiment, by its parts."""
MANY = 6
"""Number of layers of a part of a network above which they are counted, not listed."""


def table(experiment: str, options: Any, method: Any, splits: Any) -> pd.DataFrame:
    """Return six rows of a setting, "paper" and "here".

    - `options`: those of the run, resolved.
    - `method`: the `Method` that they say.
    - `splits`: the data.
    """
    network, lr = method.network, options.lr
    is_scaled = affects("lr_scaling", options.method) and options.lr_scaling == "members"
    rate = f"{network.num_members} × {lr:g} (LS: {lr:g})" if is_scaled else f"{lr:g}"
    sizes = [len(part) for part in (splits.train, splits.validation, splits.test)]
    here = {
        "data": " / ".join(f"{size:,}" for size in sizes) + " examples",
        "network": described(network.skeleton),
        "members": str(network.num_members),
        "optimiser": f"Adam, rate {rate}",
        "training": f"{options.epochs} epochs, batches of {options.batch_size}",
        "draws": _drawn(method),
    }
    printed = pd.read_csv(FILE, keep_default_na=False).query("experiment == @experiment")
    frame = pd.DataFrame({"here": here})
    if len(printed):
        frame.insert(0, "paper", printed.set_index("part")["paper"])
    return frame


def _drawn(method: Any) -> str:
    """Return W, p and lambda of a method in words."""
    if method.network.num_members == 1:
        return "none: one network"
    strength = method.penalty.lam if method.penalty is not None else 0.0
    p = f"p = {_numbers(method.preference.p)}"
    if hasattr(method.preference, "end"):  # of one that is annealed
        p = f"p from {_numbers(method.preference.p)} to {_numbers(method.preference.end)}"
    return f"W = {method.window}, {p}, λ = {strength:g}"


def _numbers(p: float | tuple[float, ...]) -> str:
    """Return a concentration in words, one or one per member."""
    return " and ".join(f"{each:g}" for each in p) if isinstance(p, tuple) else f"{p:g}"


def described(skeleton: Any) -> str:
    """Return the layers of a network, those of its encoder and of each head, and its number of
    weights."""
    model = skeleton.model
    parts = [(name, [*_layers(part)]) for name, part in model.named_children()]
    heads = [[*_layers(part)] for part in getattr(model, "heads", [])]
    words = [f"{name}: {_listed(layers)}" for name, layers in parts if name != "heads" and layers]
    if heads and all(head == heads[0] for head in heads):
        words.append(f"each of {len(heads)} heads: {_listed(heads[0])}")
    elif heads:
        words.append(f"heads: {' | '.join(map(_listed, heads))}")
    return "; ".join(words) + f"; {skeleton.num_weights:,} weights"


def _layers(part: Any) -> Iterator[str]:
    """Yield the kinds of layers of a part that have weights, with their outputs."""
    for layer in part.modules():
        kind = type(layer).__name__
        if kind == "Conv2d":
            size = "×".join(map(str, layer.kernel_size))
            yield f"convolution {size} to {layer.out_channels}"
        elif kind == "Linear":
            yield f"linear to {layer.out_features}"
        elif kind == "BatchNorm2d":
            yield "BatchNorm"


def _listed(layers: list[str]) -> str:
    """Return layers one by one if they are few, and else how many there are of each kind."""
    if len(layers) <= MANY:
        return ", ".join(layers)
    counts = Counter(layer.split()[0] for layer in layers)
    return ", ".join(f"{number} {kind} layers" for kind, number in counts.items())
