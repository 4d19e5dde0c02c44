"""What a record says about the fronts of a run in a few numbers."""

from typing import Any

from pamal_core.front import Front
from pamal_core.networks.base import Network
from pamal_core.networks.ensemble import WeightEnsemble


def summarise(
    fronts: dict[str, Front], network: Network, reference: tuple[float, ...]
) -> dict[str, Any]:
    """Per split what the paper reports, and on test the one alpha chosen on validation.

    `reference` is the point the hypervolume is taken from; it is null where tasks were left out.
    `member_similarity` is the smallest cosine between two members, null where there are no two.
    """
    alpha = fronts["validation"].choose()
    chosen = (fronts["test"].alphas == alpha).all(1).argmax()
    metrics = fronts["test"].table.iloc[chosen].to_dict()
    return {name: _describe(front, reference) for name, front in fronts.items()} | {
        "chosen_on_validation": {"alpha": alpha.tolist(), "test": metrics},
        "member_similarity": similarity(network),
    }


def similarity(network: Network) -> float | None:
    """The smallest cosine between two members; None where there are no two."""
    if isinstance(network, WeightEnsemble) and network.num_members > 1:
        return float(network.member_similarity().min())
    return None


def _describe(front: Front, reference: tuple[float, ...]) -> dict[str, Any]:
    losses = front.on("loss")
    comparable = len(front.objectives) == len(reference)
    numbers = {
        "hypervolume": front.hypervolume(reference) if comparable else None,
        "competition": front.competition(),
        "non_dominated": int(front.non_dominated().sum()),
    }
    named = zip(
        front.objectives, front.spearman(), losses.objectives, losses.spearman(), strict=True
    )
    spearman = {key: value for o, s, lo, ls in named for key, value in ((o.name, s), (lo.name, ls))}
    return _without_nan(numbers) | {"spearman": _without_nan(spearman), "best": front.best()}


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a correlation that is not defined is null."""
    return {k: None if isinstance(v, float) and v != v else v for k, v in values.items()}
